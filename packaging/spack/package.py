"""Spack's recipe for papcoll.

Put it into a package repository of your own, as packages/papcoll/package.py, and install from a
clone of the sources:

    spack install papcoll dev_path=/path/to/papcoll
"""

from spack.package import *

try:  # Spack 1.0 and newer
    from spack_repo.builtin.build_systems.cmake import CMakePackage
except ImportError:
    from spack.package import CMakePackage


class Papcoll(CMakePackage):
    """MPI collectives for ranks that do not arrive together, in a header-only C++20 library."""

    license("BSD-3-Clause")

    version("0.1.0")

    variant("mpi", default=True, description="The target papcoll::papcoll, which needs MPI")
    variant("hwloc", default=False, description="Machines by hwloc, papcoll/topology/hwloc.hpp")
    variant("tools", default=False, description="Build the command papcoll")
    variant("benchmarks", default=False, description="Build papcoll-bench", when="+mpi")

    depends_on("cxx", type="build")
    depends_on("cmake@3.23:", type="build")
    depends_on("mpi", when="+mpi")
    depends_on("hwloc@2:", when="+hwloc")
    depends_on("boost@1.71:", type="build", when="+tools")
    depends_on("cli11", type="build", when="+tools")
    depends_on("nlohmann-json", type="build", when="+tools")
    depends_on("boost@1.71:", type="build", when="+benchmarks")
    depends_on("cli11", type="build", when="+benchmarks")
    depends_on("nlohmann-json", type="build", when="+benchmarks")
    depends_on("fmt", when="+benchmarks")

    conflicts("%gcc@:10", msg="papcoll needs g++ 11 or newer")
    conflicts("%clang@:13", msg="papcoll needs clang++ 14 or newer")
    requires("platform=linux", msg="papcoll needs Linux")

    def cmake_args(self):
        return [
            self.define_from_variant("PAPCOLL_WITH_MPI", "mpi"),
            self.define_from_variant("PAPCOLL_WITH_HWLOC", "hwloc"),
            self.define_from_variant("PAPCOLL_BUILD_TOOLS", "tools"),
            self.define_from_variant("PAPCOLL_BUILD_BENCHMARKS", "benchmarks"),
            self.define("PAPCOLL_BUILD_TESTS", False),
            self.define("PAPCOLL_BUILD_EXAMPLES", False),
        ]
