#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# conan.sh DIRECTORY COMPILER MPI-COMPILER LAUNCHER…: Conan makes a package by its recipe, without a network. The
# recipe's test builds a program with it, and runs it.
set -eu

command -v conan >/dev/null || { echo "SKIPPED: no conan (pip install conan)"; exit 77; }
case $(conan --version) in "Conan version 1."*) echo "SKIPPED: the recipe is for Conan 2"; exit 77 ;; esac

here=$1/conan compiler=$2 mpi_compiler=$3
shift 3
rm -rf "$here"
mkdir -p "$here"
export CONAN_HOME="$here/home" CXX="$compiler" LAUNCHER="$*"

conan profile detect
conan create packaging/conan --no-remote -s build_type=Debug \
  -c "tools.cmake.cmake_layout:test_folder=$here/build" \
  -c "tools.cmake.cmaketoolchain:extra_variables={'MPI_CXX_COMPILER': '$mpi_compiler', 'PAPCOLL_CORE_FLAGS': '-O0'}"
