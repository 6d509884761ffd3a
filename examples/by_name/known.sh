#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# known.sh PAPCOLL BENCH LAUNCHER…: both know ThroughTheMiddle and LastCombines.
set -eu
papcoll=$1 bench=$2
shift 2
"$papcoll" list ThroughTheMiddle | grep -q 'One in the middle combines'
"$papcoll" verify ThroughTheMiddle --max-ranks 8 | grep -q '1 proven, 0 at fault'
"$papcoll" simulate ThroughTheMiddle Ring --ranks 16 --bytes 64k --machine nodes=4,cores=4 | grep -q ThroughTheMiddle
"$papcoll" map ThroughTheMiddle --machine nodes=4,cores=4 --placement random >/dev/null
"$papcoll" draw ThroughTheMiddle --ranks 8 -o - | grep -q '<svg'
hierarchy=Hierarchical:ThroughTheMiddle,Ring
"$papcoll" verify $hierarchy --max-ranks 6 | grep -q ' 0 at fault'
"$papcoll" simulate $hierarchy Ring --ranks 16 --bytes 64k --machine nodes=4,cores=4 | grep -q $hierarchy
"$papcoll" draw $hierarchy --ranks 8 --machine nodes=4,cores=2 -o - | grep -q '<svg'
"$papcoll" explain allreduce --ranks 8 --nodes 2 --bytes 8 --algorithm $hierarchy | grep -q 'the call names it'
"$papcoll" simulate LastCombines DynamicLeader --ranks 4 --bytes 64 | grep -q LastCombines
"$@" "$bench" allreduce --bytes 8,4k --check --iterations 5 \
  --algorithm ThroughTheMiddle LastCombines Hierarchical:Exchange,ThroughTheMiddle | grep -q '^4096 *ThroughTheMiddle'
