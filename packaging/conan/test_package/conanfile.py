# SPDX-License-Identifier: BSD-3-Clause
"""Builds examples/cmake with the package, and runs it on two ranks. LAUNCHER starts these, if another is
wanted."""

import os

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout


class TestPackage(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps"

    def requirements(self):
        self.requires(self.tested_reference_str)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False  # nothing beside the sources
        toolchain.cache_variables["PAPCOLL_FROM"] = "find_package"
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure(build_script_folder=os.path.join("..", "..", "..", "examples", "cmake"))
        cmake.build()

    def test(self):
        launcher = os.environ.get("LAUNCHER", "mpiexec -n 2")
        self.run(f"{launcher} {os.path.join(self.cpp.build.bindir, 'first')}", env="conanrun")
