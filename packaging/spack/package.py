# SPDX-License-Identifier: BSD-3-Clause
"""Spack's recipe for papcoll.

Put it into a package repository of your own, as packages/papcoll/package.py, install from a clone of
the sources, and test what was installed:

    spack install papcoll dev_path=/path/to/papcoll
    spack test run papcoll

RELEASE marks what only a release knows.
"""

from spack.package import *

try:  # Spack 1.0 and newer
    from spack_repo.builtin.build_systems.cmake import CMakePackage
except ImportError:
    from spack.package import CMakePackage


class Papcoll(CMakePackage):
    """MPI collectives for ranks that do not arrive together, in a header-only C++20 library."""

    # RELEASE: homepage = , url = "…/papcoll-0.1.0.tar.gz", git = , maintainers("…")
    license("BSD-3-Clause")

    version("0.1.0")  # RELEASE: sha256="…"

    variant("mpi", default=True, description="The target papcoll::papcoll, which needs MPI")
    variant("library", default=True, when="+mpi",
            description="Compile libpapcoll.a, for this compiler and MPI; else each program's build does")
    variant("cuda", default=False, description="Collectives on memory of GPUs, papcoll::gpu")
    variant("hwloc", default=False, description="Machines by hwloc, papcoll/topology/hwloc.hpp")
    variant("tools", default=False, description="Build the command papcoll")
    variant("benchmarks", default=False, description="Build papcoll-bench", when="+mpi")

    depends_on("cxx", type="build")
    depends_on("cmake@3.23:", type=("build", "test"))
    depends_on("mpi", when="+mpi")
    depends_on("cuda@12:", when="+cuda")  # programs compile the kernels, too
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
            self.define_from_variant("PAPCOLL_BUILD_LIBRARY", "library"),
            self.define_from_variant("PAPCOLL_WITH_CUDA", "cuda"),
            self.define_from_variant("PAPCOLL_WITH_HWLOC", "hwloc"),
            self.define_from_variant("PAPCOLL_BUILD_TOOLS", "tools"),
            self.define_from_variant("PAPCOLL_BUILD_BENCHMARKS", "benchmarks"),
            self.define("PAPCOLL_BUILD_TESTS", False),
            self.define("PAPCOLL_BUILD_EXAMPLES", False),
        ]

    @run_after("install")
    def keep_sources_of_test(self):
        cache_extra_test_sources(self, ["examples/cmake"])

    def test_first(self):
        """a program finds what was installed, and two ranks count each other"""
        if not self.spec.satisfies("+mpi"):
            raise SkipTest("papcoll was installed without MPI")
        mpi = self.spec["mpi"]
        sources = join_path(self.test_suite.current_test_cache_dir, "examples", "cmake")
        cmake = self.spec["cmake"].command
        cmake("-S", sources, "-B", "build", "-DPAPCOLL_FROM=find_package",
              f"-DCMAKE_PREFIX_PATH={self.prefix}",
              f"-DMPI_CXX_COMPILER={mpi.mpicxx}")
        cmake("--build", "build")
        launcher = which("mpiexec", "mpirun", path=[mpi.prefix.bin])
        said = launcher("-n", "2", join_path("build", "first"), output=str.split, error=str.split)
        assert "counted 2 ranks" in said
