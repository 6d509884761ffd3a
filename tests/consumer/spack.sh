#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# spack.sh DIRECTORY: Spack accepts the recipe, and knows what to install for its variants.
set -eu

command -v spack >/dev/null || { echo "SKIPPED: no spack (https://spack.io)"; exit 77; }

here=$1/spack
rm -rf "$here"
mkdir -p "$here/recipes/packages/papcoll"
export SPACK_USER_CONFIG_PATH="$here/config" SPACK_USER_CACHE_PATH="$here/cache" SPACK_DISABLE_LOCAL_CONFIG=1
cp packaging/spack/package.py "$here/recipes/packages/papcoll"
printf 'repo:\n  namespace: of_papcoll\n' >"$here/recipes/repo.yaml"
spack repo add --scope user "$here/recipes"
spack audit packages papcoll
for variants in +mpi+library ~mpi +hwloc+tools+benchmarks +cuda; do spack spec "papcoll$variants"; done
