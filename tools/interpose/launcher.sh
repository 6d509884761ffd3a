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

is_a_launcher() {
  case ${1##*/} in
    mpirun | mpirun.* | mpiexec | mpiexec.* | orterun | prterun | srun | aprun | jsrun | ibrun | flux) ;;
    *) return 1 ;;
  esac
}

# set_abi COMMAND...: which MPI the command is for, in $abi if that was left empty, and in
# $launcher_kind that of the launcher, if it begins with one.
set_abi() {
  launcher_kind=''
  if $is_launcher; then
    launcher_kind=$(abi_of_launcher "$1")
    [ -z "$abi" ] || return 0
    # The first argument that is a program of MPI's; values of options seldom are.
    first=true
    for argument in "$@"; do
      if $first; then
        first=false
      elif path=$(command -v -- "$argument") && [ -x "$path" ]; then
        abi=$(abi_of_program "$path")
        [ -z "$abi" ] || break
      fi
    done
    [ -n "$abi" ] || abi=$launcher_kind
  elif [ -z "$abi" ]; then
    abi=$(abi_of_program "$(command -v "$1")")
    if [ -z "$abi" ]; then
      if [ -n "${OMPI_COMM_WORLD_SIZE-}" ]; then
        abi=openmpi
      elif [ -n "${PMI_SIZE-}" ]; then
        abi=mpich
      fi
    fi
  fi
}

# Where a library is, beside this script or where it was installed; nothing if it is not there.
library_path() {
  here=$(cd "$(dirname "$(command -v "$0")")" && pwd)
  for directory in "$here" "$here/../@papcoll_library_directory@" \
    '@CMAKE_INSTALL_PREFIX@/@papcoll_library_directory@'; do
    if [ -e "$directory/$1" ]; then
      echo "$(cd "$directory" && pwd)/$1"
      break
    fi
  done
}
