#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs what building, testing and demonstrating papcoll need, on Debian and its relatives.
set -euo pipefail

usage() {
  cat <<END
usage: scripts/install_dependencies.sh [--for demo|tests|full] [--dry-run]
       scripts/install_dependencies.sh --cuda [DIRECTORY]

Installs by apt-get whatever of papcoll's development packages is missing, as root or through sudo: what
scripts/demo.sh needs, what building and testing everything needs (the default), or also what
scripts/test.sh --full needs. Does nothing where all are there. --dry-run only says what would be
installed.

--cuda instead gets a CUDA Toolkit for papcoll::gpu (nvcc and the runtime, 13.0; 0.3 GB), where the
machine has none: by pip, without root, into DIRECTORY (default: ~/.local/share/papcoll/cuda). It
prints what to pass to cmake. The toolkit is NVIDIA's, under NVIDIA's licence, and brings no driver.

To use the library, only a C++20 compiler and an MPI library are needed.
END
}

for_demo=(
  cmake ninja-build g++
  openmpi-bin libopenmpi-dev
  libboost-dev libcli11-dev nlohmann-json3-dev zlib1g-dev
  python3
)
for_tests=(
  "${for_demo[@]}"
  clang mpich libmpich-dev
  catch2 libfmt-dev
  clang-format clang-tidy
  iproute2 util-linux mount
  python3-matplotlib
)
# The sanitizers' run-time libraries of clang++ come in a package of their own on some systems.
# libsimgrid-dev is for tests and benchmarks with simulated ranks, doxygen for the API reference,
# libhwloc-dev for machines by hwloc, libscotch-dev for SCOTCH's orders beside papcoll's,
# libopen-trace-format2-dev for `papcoll report --otf2` and otf2-tools for its test, llvm for the
# lines of places that it tells (addr2line does, too); gfortran, python3-mpi4py, lammps, hpcc and
# scalapack-mpi-test are for programs that papcoll-profile records and papcoll-run runs in the tests;
# libc++-dev and libc++abi-dev for reading the headers with clang++'s own library.
useful_for_tests=(libclang-rt-dev ccache shellcheck pkg-config python3-jsonschema python3-yaml libsimgrid-dev doxygen
  libhwloc-dev libscotch-dev gfortran python3-mpi4py libopen-trace-format2-dev otf2-tools llvm
  lammps hpcc scalapack-mpi-test libc++-dev libc++abi-dev)
# For AArch64: unit tests that QEMU runs. For fuzz.xml: hwloc's reader of XML by libxml2, since its
# own crashes.
for_full=("${for_tests[@]}" g++-aarch64-linux-gnu qemu-user libhwloc-plugins)

# get_cuda DIRECTORY: the parts of a toolkit that compile and link, in the layout that CMake expects.
get_cuda() {
  local directory=$1 toolkit system
  system=$(command -v nvcc || true)
  if [[ -z $system && -x /usr/local/cuda/bin/nvcc ]]; then system=/usr/local/cuda/bin/nvcc; fi
  if [[ -n $system ]]; then
    echo "CUDA: this machine has $system, which cmake finds by itself: pass -DPAPCOLL_WITH_CUDA=ON"
    return
  fi
  toolkit=$directory/nvidia/cu13
  if [[ ! -x $toolkit/bin/nvcc || ! -e $toolkit/lib/libcudart.so ]]; then
    if ! python3 -m pip --version >/dev/null 2>&1; then
      echo "CUDA: python3 has no pip (Debian's package python3-pip), which gets the toolkit" >&2
      return 1
    fi
    python3 -m pip install --quiet --disable-pip-version-check --no-deps --upgrade \
      --target "$directory" nvidia-cuda-nvcc==13.0.88 nvidia-cuda-crt==13.0.88 \
      nvidia-nvvm==13.0.88 nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85
    ln -sfn lib "$toolkit/lib64"
    ln -sfn libcudart.so.13 "$toolkit/lib/libcudart.so"
  fi
  "$toolkit/bin/nvcc" --version | grep release
  echo "CUDA: pass -DPAPCOLL_WITH_CUDA=ON -DCMAKE_CUDA_COMPILER=$toolkit/bin/nvcc"
}

dry_run=false purpose=tests
while (($# > 0)); do
  case "$1" in
    --for) purpose=${2:?--for needs demo, tests or full}; shift ;;
    --dry-run) dry_run=true ;;
    --cuda)
      get_cuda "$(realpath --canonicalize-missing "${2:-$HOME/.local/share/papcoll/cuda}")"
      exit
      ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
  shift
done
case $purpose in
  demo) needed=("${for_demo[@]}") useful=() ;;
  tests) needed=("${for_tests[@]}") useful=("${useful_for_tests[@]}") ;;
  full) needed=("${for_full[@]}") useful=("${useful_for_tests[@]}") ;;
  *) usage >&2; exit 2 ;;
esac

if ! command -v apt-get >/dev/null; then
  echo "No apt-get here; please install the equivalents of these packages:" >&2
  printf '  %s\n' "${needed[@]}" "${useful[@]}" >&2
  exit 1
fi

installed() {
  [[ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]
}

missing() {
  local package
  for package in "$@"; do
    installed "$package" || echo "$package"
  done
}

mapfile -t to_install < <(missing "${needed[@]}")
mapfile -t would_help < <(missing "${useful[@]}")
if ((${#to_install[@]} + ${#would_help[@]} == 0)); then
  echo "Dependencies: all are installed."
  exit 0
fi
echo "Dependencies: missing ${to_install[*]} ${would_help[*]}"
if $dry_run; then exit 0; fi

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "Run this as root, or install sudo." >&2
    exit 1
  fi
  as_root=(sudo)
fi

export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update --quiet
for package in "${would_help[@]}"; do
  # libc++-dev's libunwind would replace another one, and what depends on that.
  if apt-get install --simulate --no-remove --no-install-recommends "${to_install[@]}" "$package" \
    >/dev/null 2>&1; then
    to_install+=("$package")
  else
    echo "Dependencies: this system has no $package, or only in place of others; doing without."
  fi
done
if ((${#to_install[@]} == 0)); then exit 0; fi
"${as_root[@]}" apt-get install --yes --no-install-recommends "${to_install[@]}"
echo "Dependencies: installed ${to_install[*]}"
