#!/bin/bash
# make-state.sh PROGRAM FOLDER: has a version of the program leave the state that ReleasedStateTests finishes.
#
# The folder gets what the program wrote: the state, and the files of its recipes. Waiting, approving, uncertain and
# looping runs are open in it, of a killed agent; schedules have slots, one buffered; events are kept; values and outputs
# lie in blobs. Since 0.3.0 there are deliveries of a webhook, of which some are received and not decided, and those that
# were answered with 202 are listed in accepted.txt; a batch with two events; a token; a run that waits before an action
# of a plugin with a lock. Since 0.7.0 the link in link.txt carries the right to decide. The program's clock begins on
# 2026-11-20; libfaketime sets it.
set -euo pipefail
program=$(realpath "$1")
project=$(realpath "$(dirname "$0")/project")
mkdir "$2"
folder=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work" "$timer"' EXIT
timer=$(mktemp --suffix .so)
cp -r "$project/." "$project-0.3/." "$work"
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
  # A killed agent leaves its socket behind.
  rm -f .errand/*.sock
  LD_PRELOAD="$timer:$library" FAKETIME="@$now" "$program" serve 2>> serve.log &
  agent=$!
  until errand schedule list > /dev/null 2>&1 && [ -S .errand/api.sock ]; do sleep 0.1; done
}
until_said() { until grep -q "$1" serve.log; do sleep 0.1; done; }
begin() { errand run "recipes/$1.yaml" --detach "${@:2}" > "$1.id"; }

"$program" plugin add openapi parcels parcels.json > /dev/null
serve '2026-11-20 09:05:00'
for recipe in waiting event approving nested retrying failing; do begin "$recipe"; done
begin large -i copies=3
begin locked
for recipe in waiting event approving nested retrying large locked; do until_said " $(cat $recipe.id) waits"; done
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
errand token new reader --scope read > /dev/null
# Versions before 0.7.0 know no links.
errand runs link "$(cat approving.id)" ask > link.txt 2> /dev/null || rm link.txt
for n in 1 2; do errand runs signal any parcel --data "{\"n\": $n}" --id parcel-$n; done
until [ -s sent.txt ] && [ "$(grep -c 0 items.txt)" = 3 ]; do sleep 0.1; done
# The end of what came before is in the journal with the attempt that begins after it.
until errand runs show "$(cat looping.id)" | grep -q 'items\[2\]/look .*running'; do sleep 0.1; done
# Thirty clients post until the agent is killed, which leaves deliveries that are received and not decided.
/usr/bin/python3 - $agent "$(grep -o 'http://127.0.0.1:[0-9]*' serve.log | tail -n 1)" > accepted.txt << 'PYTHON'
import itertools, json, os, signal, sys, threading, urllib.request
agent, address = int(sys.argv[1]), sys.argv[2]
numbers, accepted = itertools.count(1), []
def post():
    while True:
        n = next(numbers)
        request = urllib.request.Request(
            address + "/hooks/hook", json.dumps({"n": n}).encode(), {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                if answer.status == 202: accepted.append(n)
        except OSError:
            return
        if len(accepted) == 60: os.kill(agent, signal.SIGKILL)
clients = [threading.Thread(target=post) for _ in range(30)]
for client in clients: client.start()
for client in clients: client.join()
print(*sorted(accepted), sep="\n")
PYTHON
wait $agent || true
# Ends the commands of the killed agent.
touch gate; sleep 0.5; rm gate

rm .errand/*.sock .errand/agent.lock
rm -r recipes serve.log errand.yaml parcels.json
mv .errand "$folder/state"
mv plugins ./*.txt ./*.id "$folder"
/usr/bin/python3 - "$folder/state" << 'PYTHON'
import glob, json, sys
received, decided = set(), set()
for name in glob.glob(sys.argv[1] + "/journal-*.jsonl"):
    for event in map(json.loads, open(name)):
        if event.get("event") == "eventReceived" and "delivery" in event: received.add(event["id"])
        if event.get("event") == "eventConsumed": decided.add(event["id"])
print(f"{len(received)} deliveries, of which {len(received - decided)} are not decided")
sys.exit(not received - decided)
PYTHON
