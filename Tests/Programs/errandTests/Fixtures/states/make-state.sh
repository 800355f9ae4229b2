#!/bin/bash
# make-state.sh PROGRAM FOLDER: has a version of the program leave the state that ReleasedStateTests finishes.
#
# The folder gets what the program wrote: the state, and the files of its recipes. Waiting, approving, uncertain and
# looping runs are open in it, of a killed agent; schedules have slots, one buffered; events are kept; values and outputs
# lie in blobs. The program's clock begins on 2026-11-20; libfaketime sets it.
set -euo pipefail
program=$(realpath "$1")
project=$(realpath "$(dirname "$0")/project")
mkdir "$2"
folder=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work" "$timer"' EXIT
timer=$(mktemp --suffix .so)
cp -r "$project/." "$work"
cd "$work"

# Timers of Swift's concurrency go by the clock that runs from the machine's start; libfaketime would move them too.
clang -shared -fPIC -x c -o "$timer" - <<'C'
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>
int timerfd_settime(int timer, int flags, const struct itimerspec *time, struct itimerspec *before) {
  return (int)syscall(SYS_timerfd_settime, timer, flags, time, before);
}
C
library=$(echo /usr/lib/*/faketime/libfaketimeMT.so.1)
export FAKETIME_DONT_FAKE_MONOTONIC=1 TZ=UTC
errand() { LD_PRELOAD="$timer:$library" FAKETIME="@$now" "$program" --no-color "$@"; }
serve() {
  now=$1
  LD_PRELOAD="$timer:$library" FAKETIME="@$now" "$program" serve 2>> serve.log &
  agent=$!
  until errand schedule list > /dev/null 2>&1 && [ -S .errand/agent.sock ]; do sleep 0.1; done
}
until_said() { until grep -q "$1" serve.log; do sleep 0.1; done; }
begin() { errand run "recipes/$1.yaml" --detach "${@:2}" > "$1.id"; }

serve '2026-11-20 09:05:00'
for recipe in waiting event approving nested retrying failing; do begin "$recipe"; done
begin large -i copies=3
for recipe in waiting event approving nested retrying large; do until_said " $(cat $recipe.id) waits"; done
until_said " $(cat failing.id) failed"
errand runs signal any early --data '{"kept": true}' --id early-1
errand runs signal any delivered --data '{"parcels": 2}' --id delivered-1
errand schedule pause skipping --note 'A pause by hand.'
kill -KILL $agent
wait $agent || true

serve '2026-11-20 12:30:00'
errand schedule resume skipping
kill -TERM $agent
wait $agent

serve '2026-11-20 13:10:00'
begin looping
begin uncertain
until [ -s sent.txt ] && [ "$(grep -c 0 items.txt)" = 3 ]; do sleep 0.1; done
# The end of what came before is in the journal with the attempt that begins after it.
until errand runs show "$(cat looping.id)" | grep -q 'items\[2\]/look .*running'; do sleep 0.1; done
kill -KILL $agent
wait $agent || true
# Ends the commands of the killed agent.
touch gate; sleep 0.5; rm gate

rm .errand/agent.sock .errand/agent.lock
rm -r recipes serve.log errand.yaml
mv .errand "$folder/state"
mv ./*.txt ./*.id "$folder"
