# SPDX-License-Identifier: BSD-3-Clause
"""Conan 2's recipe for papcoll: in the root of a clone, with an MPI library and CMake 3.23 on the machine,

    conan create packaging/conan

A program's CMakeLists.txt then says find_package(papcoll REQUIRED). The package has headers alone, and what
they share is compiled once in each program's build: Conan does not know which MPI library that has.
RELEASE marks what only a release knows.
"""

import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class Papcoll(ConanFile):
    name = "papcoll"
    description = "MPI collectives for ranks that do not arrive together"
    license = "BSD-3-Clause"
    # RELEASE: homepage, url and author; for ConanCenter sources of a release instead of export_sources()
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"mpi": [True, False]}
    default_options = {"mpi": True}

    def _root(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        text = load(self, os.path.join(self._root(), "include", "papcoll", "base", "version.hpp"))
        self.version = ".".join(re.findall(r"#define PAPCOLL_VERSION_\w+ (\d+)", text))

    def export_sources(self):
        for files in ("CMakeLists.txt", "LICENSE", "include/*", "analysis/*", "gpu/*", "packaging/*"):
            copy(self, files, self._root(), self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def package_id(self):
        self.info.settings.clear()

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["PAPCOLL_WITH_MPI"] = bool(self.options.mpi)
        toolchain.cache_variables["PAPCOLL_WITH_CUDA"] = "OFF"  # what is installed is the same
        for part in ("LIBRARY", "TESTS", "EXAMPLES", "BENCHMARKS", "TOOLS"):
            toolchain.cache_variables[f"PAPCOLL_BUILD_{part}"] = False
        toolchain.generate()

    def package(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")  # it has a papcollConfig.cmake
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "papcoll")]
        self.cpp_info.bindirs = self.cpp_info.libdirs = []
        self.cpp_info.system_libs = ["pthread"]
