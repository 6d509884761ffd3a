# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034 # variables are for the scripts
# What the scripts that preload a library have in common. CMake puts it into each of them, behind
# with_library(). Of bash, since dash keeps no variables whose names are none of a shell's, such as
# those of functions that bash has exported, and gives no input to background processes; -p: such
# functions are none here, and BASH_ENV is not read.

# What the script was given, whatever its variables are called.
environment=()
while IFS= read -r -d '' entry; do
  case $entry in ?*=*) environment+=("$entry") ;; esac
done <"/proc/$$/environ"
unset CDPATH
PATH=$PATH:/usr/bin:/bin # for what is called here

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
  case $("$1" --version </dev/null 2>&1) in
    *'Open MPI'* | *OpenRTE* | *PRRTE* | *prte*) echo openmpi ;;
    *HYDRA* | *Hydra* | *Intel*) echo mpich ;;
  esac
}

# begin_command: role_of() is told a command from its first word on.
begin_command() {
  owner='' launching='' takes='' takes_two='' operands=0 values=0 option='' is_doubtful=false
}

# role_of WORD: sets `role` to what a word of a command is, all of which come here in turn:
#   launcher
#   script    one of these, which hands on to the job what it finds in its environment
#   wrapper   whatever else runs the words after it
#   option    of one of those, or the colon behind which a launcher's options begin again
#   value     of the option `option`, or another word that a program of those takes for itself
#   program   the first word that is none of these
#   argument  of the program, whatever it looks like
# and `path` to the file of a launcher or program.
role_of() {
  role=value
  if [ "$1" = : ] && [ -n "$launching" ]; then
    role=option owner=$launching values=0
    take_options_of "$owner"
    return
  fi
  if [ "$owner" = program ]; then
    role=argument
    return
  fi
  if [ "$values" -gt 0 ]; then
    values=$((values - 1))
    return
  fi
  if [ -n "$owner" ] && [ -n "$1" ]; then
    case $owner,$1 in
      env,*=*) return ;;
      *,-*)
        role=option option=$1
        count_values
        return
        ;;
      flux,run | flux,mini | flux,submit | flux,alloc) return ;;
      chrt,*[!0-9]*) ;;
      *)
        operands=$((operands - 1))
        if [ "$operands" -ge 0 ]; then
          is_doubtful=false
          return
        fi
        ;;
    esac
  fi
  path=$(type -P -- "$1") && [ -x "$path" ] || path=''
  if $is_doubtful && [ -z "$path" ]; then
    is_doubtful=false
    return
  fi
  role=wrapper owner=${1##*/}
  case $owner in
    papcoll-run | papcoll-profile) role=script ;;
    env | timeout | nice | ionice | time | stdbuf | nohup) ;;
    setsid | taskset | numactl | chrt | salloc) ;;
    mpirun | mpirun.* | mpiexec | mpiexec.* | orterun | prterun) role=launcher owner=mpirun ;;
    srun | aprun | jsrun | ibrun | flux) role=launcher ;;
    *) role=program ;;
  esac
  # A program of MPI's may have such a name: a solver called flux.
  case $role,$owner,$1 in
    program,* | *,mpirun,*) ;;
    launcher,* | *,*/*) [ -z "$(kind_of_program "$path")" ] || role=program ;;
  esac
  case $role,$launching in
    launcher,) launching=$owner ;;
    launcher,* | program,*) role=program owner=program ;;
  esac
  take_options_of "$owner"
}

# take_options_of NAME: which options take a word, or two; what is behind others is a value only if
# it is no program. How many words are taken before the next program.
take_options_of() {
  takes='' takes_two='' operands=0 is_doubtful=false
  case $1 in
    env) takes='u unset C chdir' ;;
    timeout) takes='k kill-after s signal' operands=1 ;;
    nice) takes='n adjustment' ;;
    ionice) takes='c class n classdata' ;;
    time) takes='f format o output' ;;
    stdbuf) takes='i input o output e error' ;;
    taskset) operands=1 ;;
    numactl)
      takes='i interleave w weighted-interleave p preferred P preferred-many c cpubind C'
      takes="$takes physcpubind N cpunodebind m membind S shm f file o offset L length M shmmode I"
      takes="$takes shmid"
      ;;
    chrt) takes='T sched-runtime P sched-period D sched-deadline' operands=1 ;;
    papcoll-run) takes='algorithm contract after abi' ;;
    papcoll-profile) takes='o output ring local abi' ;;
    salloc | srun)
      takes='A b B c C d D e F g G i J L m M n N o p P q r S t T U w W x account chdir job-name'
      takes="$takes mpi nodelist partition qos reservation"
      ;;
    mpirun)
      takes='n np c N npernode npersocket ppn perhost host hosts H f hostfile machinefile rankfile'
      takes="$takes rf default-hostfile x genvlist envlist wd wdir path prefix preload-files tune"
      takes="$takes am app configfile bind-to map-by rank-by membind slot-list cpu-set cpu-list stdin"
      takes="$takes xterm output-filename report-pid report-uri ompi-server nameserver timeout rmk"
      takes="$takes debugger personality launch-agent launcher launcher-exec bootstrap demux iface"
      takes="$takes bootstrap-exec topolib localhost usize with-ft display output runtime-options"
      takes_two='mca gmca omca prtemca pmixmca env genv'
      ;;
  esac
}

# Of the option that has come.
count_values() {
  values=0 is_doubtful=false name=${option#-}
  name=${name#-}
  case $owner,$name in
    *,*=* | *,) return ;;
    env,S* | env,split-string) owner=program ;; # a text with words of env's
  esac
  case " $takes_two / $takes " in
    *" $name "*/*) values=2 ;;
    */*" $name "*) values=1 ;;
    *) is_doubtful=true ;;
  esac
}

# Ranks whose launcher is of another MPI than they are start each alone, of which no MPI tells.
warn_of_other_launcher() {
  case $kind in openmpi | mpich) ;; *) return ;; esac
  [ -n "$launcher" ] && [ -z "$hands_on" ] || return
  case $launcher_abi in
    '' | "$kind") ;;
    *)
      echo "${0##*/}: $launcher is of another MPI ($launcher_abi) than $program ($kind): each rank" \
        "may be alone" >&2
      ;;
  esac
}

# look_at ABI COMMAND...: what it is. Sets `launcher` and `program`, if that is one of MPI's, or
# leaves them empty; `abi` to ABI, or if that is empty to the program's MPI or else the launcher's;
# and `before` to how many words stand before the one that gets the library.
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
  if ! type -P -- "$1" >/dev/null; then
    [ ! -f "$1" ] || fail "$1 may not be run: chmod +x makes a script a program"
    fail "cannot find the program $1"
  fi
  launcher='' launcher_abi='' program='' kind='' before='' place=0 unserved='' hands_on=''
  begin_command
  for word in "$@"; do
    role_of "$word"
    case $role,$option,$word in
      launcher,*)
        launcher=$path launcher_abi=$(abi_of_launcher "$path")
        before=${before:-$place}
        ;;
      script,*)
        before=${before:-$place}
        hands_on=yes # that script looks at the same command
        ;;
      program,*)
        kind=$(kind_of_program "$path")
        before=${before:-$place}
        [ -z "$kind" ] || program=$path
        # Of a job there may be other programs, behind colons.
        if [ -n "$kind" ] || [ -z "$launcher" ]; then break; fi
        ;;
      option,*,--app | option,*,-app)
        unserved="$word: programs of a file get no library; write ${0##*/} before each, there"
        ;;
      value,-*mca,mca_base_env_list) unserved=$(beside_list "$option $word") ;;
    esac
    place=$((place + 1))
  done
  before=${before:-0}
  warn_of_other_launcher
  [ -n "$abi" ] || abi=${kind:-$launcher_abi}
  if [ -z "$abi" ] && [ -n "${OMPI_COMM_WORLD_SIZE-}" ]; then abi=openmpi; fi
  if [ -z "$abi" ] && [ -n "${PMI_SIZE-}" ]; then abi=mpich; fi
  if [ -z "$unserved" ] && [ "$launcher_abi" = openmpi ]; then unserved=$(other_list); fi
}

# beside_list WHERE: why Open MPI's ranks get no library from here.
beside_list() {
  echo "Open MPI takes no -x beside $1: write ${0##*/} behind $launcher"
}

# Why they get none, if mca_base_env_list is set in the environment or in a file of parameters.
other_list() {
  if [ -n "${OMPI_MCA_mca_base_env_list-}" ]; then
    beside_list OMPI_MCA_mca_base_env_list
    return
  fi
  for file in "${HOME-}/.openmpi/mca-params.conf" /etc/openmpi*/openmpi-mca-params.conf \
    "$(dirname "$(readlink -f "$launcher")")/../etc/openmpi-mca-params.conf"; do
    if grep -qs '^[[:space:]]*mca_base_env_list[[:space:]]*=[[:space:]]*[^[:space:]]' "$file"; then
      beside_list "mca_base_env_list in $file"
      return
    fi
  done
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

# run COMMAND...: in place of this process, with the environment that the script was given and what
# has been set of papcoll's variables and LD_PRELOAD.
run() {
  for name in "${!PAPCOLL_@}" ${LD_PRELOAD+LD_PRELOAD}; do environment+=("$name=${!name}"); done
  case $1 in *=*) set -- nice -n 0 "$@" ;; esac # to env it would be no command
  exec -c "$(command -pv env)" -- "${environment[@]}" "$@" # no other program of that name
}

# start_preloaded COMMAND...: in place of this process, so that what comes behind the first `before`
# words preloads the library. Those may set the environment, and preload something themselves
# (stdbuf): this script runs again behind them, is told papcoll's variables as they are now, takes
# those that are gone (env -i), and adds the library to what it finds.
start_preloaded() {
  command=("${@:1:before}" "$(cd "$(dirname "$(command -v "$0")")" && pwd)/${0##*/}"
    --behind "$library")
  for name in "${!PAPCOLL_@}"; do command+=("$name=${!name}"); done
  run "${command[@]}" -- "${@:before+1}"
}

# start_behind LIBRARY VARIABLE=VALUE... -- COMMAND...: in place of this process, so that a program
# preloads the library, or the ranks that a launcher starts do and have papcoll's variables. The
# launcher itself does not preload it, unless it is one that hands its environment on.
start_behind() {
  library=$1 kind='' last='' command=()
  shift
  while [ "$1" != -- ]; do
    name=${1%%=*}
    [ -n "${!name+set}" ] || export "${1?}"
    shift
  done
  shift
  preloaded=$(with_library "$library" "${LD_PRELOAD-}")
  begin_command
  for word in "$@"; do
    role_of "$word"
    # What the launcher is told to preload itself, or words behind it preload.
    case $role,$last,$word in
      value,-x,LD_PRELOAD) word=LD_PRELOAD=$preloaded ;;
      value,LD_PRELOAD,*)
        case $option in *env) word=$(with_library "$library" "$word") ;; esac
        ;;
      value,*)
        case $word in LD_PRELOAD=*) word=LD_PRELOAD=$(with_library "$library" "${word#*=}") ;; esac
        ;;
    esac
    command+=("$word")
    if [ -z "$last" ] && [ "$role" = launcher ]; then kind=$(abi_of_launcher "$word"); fi
    case $kind,$role,$word in
      # Settings are for one program of those that stand between colons.
      openmpi,launcher,* | openmpi,option,:)
        command+=(-x "LD_PRELOAD=$preloaded")
        for name in "${!PAPCOLL_@}"; do command+=(-x "$name"); done
        ;;
      mpich,launcher,*)
        command+=(-genv LD_PRELOAD "$preloaded")
        for name in "${!PAPCOLL_@}"; do command+=(-genv "$name" "${!name}"); done
        ;;
    esac
    last=$word
  done
  case $kind in
    openmpi | mpich) ;;
    *) export LD_PRELOAD="$preloaded" ;;
  esac
  run "${command[@]}"
}

if [ "${1-}" = --behind ]; then
  shift
  start_behind "$@"
fi
