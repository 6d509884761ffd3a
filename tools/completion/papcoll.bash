# SPDX-License-Identifier: BSD-3-Clause
# Completion for bash: subcommands, options and values that a program's own --help names.
# Sourced, or installed as share/bash-completion/completions/papcoll.

_papcoll_complete() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words=("$1") help values=''
  if [[ ${1##*/} == papcoll && $COMP_CWORD -gt 1 && ${COMP_WORDS[1]} != -* ]]; then words+=("${COMP_WORDS[1]}"); fi
  help=$("${words[@]}" --help 2>/dev/null) || return
  # Values that the line of the option before lists: --order TEXT:{rank,machine} or --start barrier|clock.
  if [[ $previous == -* ]]; then
    values=$(sed -nE "s/^ +(-.,)?$previous +(TEXT:)?\{([a-z,-]+)\}.*/\3/p; s/^ +$previous +([a-z|-]+\|[a-z|-]+)( .*)?$/\1/p" \
      <<<"$help" | tr ',|' '  ')
  fi
  if [[ -n $values ]]; then
    help=$values
  elif [[ $current == -* ]]; then
    help=$(grep -oE -- '--[a-z][a-z-]*' <<<"$help" | sort -u)
  elif [[ ${1##*/} == papcoll && $COMP_CWORD -eq 1 ]]; then
    help=$(sed -nE '/^Subcommands:/,$ s/^  ([a-z-]+) .*/\1/p' <<<"$help")
  else
    return
  fi
  mapfile -t COMPREPLY < <(compgen -W "$help" -- "$current")
}

complete -o default -F _papcoll_complete papcoll papcoll-bench papcoll-run papcoll-profile
