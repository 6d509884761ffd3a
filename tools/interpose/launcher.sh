# shellcheck shell=sh
# What the scripts that preload a library have in common. CMake puts it into each of them.

# The MPI library that a program needs, by its name; nothing for scripts and for programs that load
# it later.
abi_of_program() {
  needed=$(ldd "$1" 2>/dev/null) || return 0
  case $needed in
    *libmpi.so.40*) echo openmpi ;;
    *libmpi_abi.so*) echo abi ;;
    *libmpi.so.12* | *libmpich.so.12*) echo mpich ;;
  esac
}

abi_of_launcher() {
  case $("$1" --version 2>&1) in
    *'Open MPI'* | *OpenRTE* | *PRRTE* | *prte*) echo openmpi ;;
    *HYDRA* | *Hydra* | *Intel*) echo mpich ;;
  esac
}

is_launcher() {
  case ${1##*/} in
    mpirun | mpirun.* | mpiexec | mpiexec.* | orterun | prterun | srun | aprun | jsrun | ibrun | flux) ;;
    *) return 1 ;;
  esac
}

# first_program COMMAND...: of a launcher's arguments the first that is a program of MPI's; values of
# options seldom are. `test`: a function that says yes to it.
first_program() {
  test=$1
  shift 2
  for argument in "$@"; do
    if path=$(command -v -- "$argument") && [ -x "$path" ] && [ -n "$("$test" "$path")" ]; then
      echo "$path"
      return
    fi
  done
}

# abi_of_command COMMAND...: which MPI it is for; nothing if that cannot be told.
abi_of_command() {
  if is_launcher "$1"; then
    program=$(first_program abi_of_program "$@")
    if [ -n "$program" ]; then
      abi_of_program "$program"
    else
      abi_of_launcher "$1"
    fi
    return
  fi
  found=$(abi_of_program "$(command -v "$1")")
  if [ -z "$found" ]; then
    if [ -n "${OMPI_COMM_WORLD_SIZE-}" ]; then
      found=openmpi
    elif [ -n "${PMI_SIZE-}" ]; then
      found=mpich
    fi
  fi
  echo "$found"
}

# library_path NAME: where a library is, beside this script or where it was installed.
library_path() {
  here=$(cd "$(dirname "$(command -v "$0")")" && pwd)
  for directory in "$here" "$here/../@papcoll_library_directory@" \
    '@CMAKE_INSTALL_PREFIX@/@papcoll_library_directory@'; do
    if [ -e "$directory/$1" ]; then
      echo "$(cd "$directory" && pwd)/$1"
      return
    fi
  done
}

# run_launcher LIBRARIES NAMES LAUNCHER ARGUMENT...: in place of this process, so that the ranks
# preload the libraries and have the exported variables of those names. The launcher itself preloads
# nothing.
run_launcher() {
  preloaded=$1 names=$2 launcher=$3
  shift 3
  case $(abi_of_launcher "$launcher") in
    openmpi)
      # -x is for one program of those that stand between colons.
      left=$# is_first=true
      while $is_first || [ "$left" -gt 0 ]; do
        if $is_first || [ "$1" = : ]; then
          if ! $is_first; then
            shift
            left=$((left - 1))
            set -- "$@" :
          fi
          is_first=false
          set -- "$@" -x "LD_PRELOAD=$preloaded"
          for name in $names; do set -- "$@" -x "$name"; done
        else
          argument=$1
          shift
          left=$((left - 1))
          set -- "$@" "$argument"
        fi
      done
      ;;
    mpich) # which hands on what is exported, too
      set -- -genv LD_PRELOAD "$preloaded" "$@"
      for name in $names; do
        value=''
        eval "value=\$$name"
        set -- -genv "$name" "$value" "$@"
      done
      ;;
    *) # srun and its like hand their environment on
      export LD_PRELOAD="$preloaded"
      ;;
  esac
  exec "$launcher" "$@"
}
