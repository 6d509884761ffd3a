#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The command papcoll gets each file of the corpus, in 1 GB of memory and 5 s of processor time: it
# answers, or refuses the file in a sentence of its own.
#   corpus.sh PAPCOLL
set -u
papcoll=$(realpath "$1")
cd "$(dirname "$0")/corpus" || exit 1
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
ulimit -v 1000000 -t 5

failed=0
run() {
  "$papcoll" "$@" >/dev/null 2>"$directory/said"
  local status=$?
  case $file in # sound files are answered
    */good | arrivals/times | network/hops | network/tree | opareport/* | report/*)
      if ((status == 2)); then
        echo "FAILED: papcoll $* refuses $file, which is sound:"
        cat "$directory/said"
        failed=1
      fi
      ;;
  esac
  if ((status > 2)) || { ((status == 2)) && ! tail -n 1 "$directory/said" | grep -q '^papcoll: .* '; }; then
    echo "FAILED: status $status of papcoll $* < $file:"
    cat "$directory/said"
    failed=1
  fi
}

for file in */*; do
  simulate=(simulate Ring --ranks 4 --bytes 8)
  case $file in
    arrivals/*) run simulate Ring --ranks 2 --bytes 8 --arrival "trace:$file" ;;
    expect/*) run report . --expect "$(<"$file")" ;;
    elf/*) ;;  # is named by a trace
    ibnetdiscover/* | opareport/*) run topology --from "${file%/*}" "$file" ;;
    links/*) run "${simulate[@]}" --link-costs "$file" ;;
    model/*) run "${simulate[@]}" --model "$file" ;;
    name/* | rules/*) run simulate "$(<"$file")" --ranks 4 --bytes 8 ;;
    network/*) run topology --machine "$file" ;;
    node_costs/*) run simulate DynamicLeader --ranks 4 --bytes 8 --node-costs "$file" ;;
    report/*)
      mkdir "$directory/traces"
      cp "$file" "$directory/traces/rank-00000.trace"
      run report "$directory/traces" --json="$directory/json" --html "$directory/html"
      rm -r "$directory/traces"
      ;;
    shape/*) run topology --machine "$(<"$file")" ;;
    sizes/*) run report . --size-classes "$(<"$file")" ;;
    synthetic/*) run topology --machine "synthetic:$(<"$file")" ;;
    tuning/*) run explain allreduce --bytes 8 --ranks 4 --tuning "$file" ;;
    xml/*)
      cp "$file" "$directory/node.xml"
      # By libxml2 where hwloc has it, and by hwloc's own reader.
      HWLOC_LIBXML_IMPORT=1 run topology --machine "$directory/node.xml"
      HWLOC_LIBXML_IMPORT=0 run topology --machine "$directory/node.xml"
      ;;
    *)
      echo "FAILED: no reader for $file"
      failed=1
      ;;
  esac
done
exit $failed
