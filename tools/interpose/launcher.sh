# shellcheck shell=sh disable=SC2034 # variables are for the scripts
# What the scripts that preload a library have in common. CMake puts it into each of them, behind
# with_library().

fail() {
  echo "${0##*/}: $*" >&2
  exit 2
}

# kind_of_program FILE: the MPI that a program needs; `own` if it has one within itself, where no
# other library can come before it, `checked` if AddressSanitizer's has to; nothing for scripts and
# for programs that load MPI later.
kind_of_program() {
  head -c 4 "$1" 2>/dev/null | grep -qa ELF || return 0
  case $(ldd "$1" 2>&1) in
    *libasan.so*) echo checked ;;
    *libmpi.so.40*) echo openmpi ;;
    *libmpi_abi.so*) echo abi ;;
    *libmpi.so.12* | *libmpich.so.12*) echo mpich ;;
    *libmpi*) ;;
    *'not a dynamic executable'* | *'statically linked'*)
      ! grep -qaE 'PMPI_Init|ompi_mpi_init|MPIR_' "$1" || echo own
      ;;
    *)
      if grep -qa PMPI_Init "$1" && nm "$1" 2>/dev/null | grep -q ' T PMPI_Init$'; then
        echo own
      fi
      ;;
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
    mpirun | mpirun.* | mpiexec | mpiexec.* | orterun | prterun) ;;
    srun | aprun | jsrun | ibrun | flux) ;;
    *) return 1 ;;
  esac
}

# One of these scripts, which hands on to the job what it finds in its environment.
is_preloading() {
  case ${1##*/} in
    papcoll-run | papcoll-profile) ;;
    *) return 1 ;;
  esac
}

# What runs the words after it, or some of them.
is_wrapper() {
  case ${1##*/} in
    env | timeout | nice | ionice | time | stdbuf | nohup) ;;
    setsid | taskset | numactl | chrt | salloc) ;;
    *) is_preloading "$1" ;;
  esac
}

# Ranks whose launcher is of another MPI than they are start each alone, of which no MPI tells.
warn_of_other_launcher() {
  case $kind in openmpi | mpich) ;; *) return ;; esac
  [ -n "$launcher" ] && [ -z "$hands_on" ] || return
  started=$(abi_of_launcher "$launcher")
  case $started in
    '' | "$kind") ;;
    *)
      echo "${0##*/}: $launcher is of another MPI ($started) than $program ($kind): each rank may be" \
        "alone" >&2
      ;;
  esac
}

# look_at ABI COMMAND...: what it is. Sets `launcher` and `program`, the first word that is a
# program of MPI's (values of options seldom are), or leaves them empty; `abi` to ABI, or if that is
# empty to the program's MPI; and `before` to how many words stand before the one that gets the
# library.
look_at() {
  abi=$1
  shift
  if [ $# -eq 0 ]; then
    usage >&2
    exit 2
  fi
  case $abi in
    '' | openmpi | mpich | abi) ;;
    *) fail "--abi $abi: there are openmpi, mpich and abi" ;;
  esac
  command -v "$1" >/dev/null || fail "cannot find the program $1"
  launcher='' program='' before='' place=0 unserved='' hands_on=''
  for word in "$@"; do
    path=$(command -v -- "$word") && [ -x "$path" ] || path=''
    kind=''
    case $launcher,$word in
      ?*,--app | ?*,-app)
        unserved="$word: programs of a file get no library; write ${0##*/} before each, there"
        ;;
    esac
    if [ -z "$path" ]; then
      :
    elif [ -z "$launcher" ] && is_launcher "$word"; then
      launcher=$path
      before=${before:-$place}
    elif is_preloading "$word"; then
      before=${before:-$place}
      hands_on=yes # that script looks at the same command
    else
      kind=$(kind_of_program "$path")
    fi
    if [ -n "$kind" ]; then
      program=$path
      before=${before:-$place}
      break
    fi
    # Of a program that is no wrapper the other words are arguments.
    [ -n "$launcher" ] || is_wrapper "$1" || break
    place=$((place + 1))
  done
  before=${before:-0}
  warn_of_other_launcher
  [ -n "$abi" ] || abi=$kind
  [ -n "$abi" ] || [ -z "$launcher" ] || abi=$(abi_of_launcher "$launcher")
  if [ -z "$abi" ] && [ -n "${OMPI_COMM_WORLD_SIZE-}" ]; then abi=openmpi; fi
  if [ -z "$abi" ] && [ -n "${PMI_SIZE-}" ]; then abi=mpich; fi
}

# find_library NAME: sets `library` to that for the MPI of the command that was looked at, and
# `reason` to why none can be preloaded, or to nothing.
find_library() {
  library='' reason=''
  if [ "$kind" = own ]; then
    reason="$program has MPI within itself, where no other library can come before it"
  elif [ "$kind" = checked ]; then
    reason="$program was built with AddressSanitizer, whose library has to come first"
  elif [ -n "$unserved" ]; then
    reason=$unserved
  elif [ -n "$launcher" ] && [ "$abi" = openmpi ] && [ -n "${OMPI_MCA_mca_base_env_list-}" ]; then
    reason="Open MPI takes no -x beside OMPI_MCA_mca_base_env_list: write ${0##*/} behind $launcher"
  elif [ -z "$abi" ]; then
    reason="cannot tell which MPI the program is for: give --abi openmpi, mpich or abi"
  else
    name=libpapcoll_$1_$abi.so
    here=$(dirname "$(readlink -f "$(command -v "$0")")")
    for directory in "$here" "$here/../@papcoll_library_directory@" \
      '@CMAKE_INSTALL_PREFIX@/@papcoll_library_directory@'; do
      [ -n "$library" ] || [ ! -e "$directory/$name" ] || library=$(cd "$directory" && pwd)/$name
    done
    case $library in
      '') reason="there is no $name for $here/${0##*/}: papcoll was built without that MPI" ;;
      *[\ :]*)
        reason="$library: the system preloads no library at a path with a blank or a colon"
        ;;
    esac
  fi
}

# papcoll's variables, by name.
papcoll_variables() {
  env | sed -n 's/^\(PAPCOLL_[A-Z0-9_]*\)=.*/\1/p'
}

# start_preloaded COMMAND...: in place of this process, so that what comes behind the first `before`
# words preloads the library. Those may set the environment, and preload something themselves
# (stdbuf): this script runs again behind them, is told papcoll's variables as they are now, takes
# those that are gone (env -i), and adds the library to what it finds.
start_preloaded() {
  place=0
  for word in "$@"; do
    shift
    if [ "$place" -eq "$before" ]; then
      set -- "$@" "$(cd "$(dirname "$(command -v "$0")")" && pwd)/${0##*/}" --behind "$library"
      for name in $(papcoll_variables); do
        eval "set -- \"\$@\" \"\$name=\${$name-}\""
      done
      set -- "$@" --
    fi
    set -- "$@" "$word"
    place=$((place + 1))
  done
  exec "$@"
}

# start_behind LIBRARY VARIABLE=VALUE... -- COMMAND...: in place of this process, so that a program
# preloads the library, or the ranks that a launcher starts do and have papcoll's variables. The
# launcher itself does not preload it, unless it is one that hands its environment on.
start_behind() {
  library=$1 kind='' is_first=true before_last='' last=''
  shift
  while [ "$1" != -- ]; do
    eval "[ -n \"\${${1%%=*}+set}\" ]" || export "${1?}"
    shift
  done
  shift
  preloaded=$(with_library "$library" "${LD_PRELOAD-}")
  ! is_launcher "$1" || kind=$(abi_of_launcher "$1")
  for word in "$@"; do
    shift
    # What the launcher is told to preload itself, or words behind it preload.
    case $before_last,$last in
      -genv,LD_PRELOAD | -env,LD_PRELOAD) word=$(with_library "$library" "$word") ;;
    esac
    case $last,$word in
      -x,LD_PRELOAD) word=LD_PRELOAD=${LD_PRELOAD-} ;;
    esac
    case $word in
      *[[:space:]]*) ;; # text for a shell
      LD_PRELOAD=*) word=LD_PRELOAD=$(with_library "$library" "${word#*=}") ;;
    esac
    set -- "$@" "$word"
    case $kind,$is_first,$word in
      # Settings are for one program of those that stand between colons.
      openmpi,true,* | openmpi,false,:)
        set -- "$@" -x "LD_PRELOAD=$preloaded"
        for name in $(papcoll_variables); do set -- "$@" -x "$name"; done
        ;;
      mpich,true,*)
        set -- "$@" -genv LD_PRELOAD "$preloaded"
        for name in $(papcoll_variables); do
          eval "set -- \"\$@\" -genv \"\$name\" \"\${$name-}\""
        done
        ;;
    esac
    is_first=false before_last=$last last=$word
  done
  case $kind in
    openmpi | mpich) ;;
    *) export LD_PRELOAD="$preloaded" ;;
  esac
  exec "$@"
}

if [ "${1-}" = --behind ]; then
  shift
  start_behind "$@"
fi
