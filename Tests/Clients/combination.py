"""One life of everything together, and then one exact account: combination.py PROGRAM [SECONDS]

Schedules that come every other second with each overlap, groups with each `onLimit`, webhooks, events, batches, files, starts
with keys, approvals, calls, loops, rounds that carry, a connection with limits, a stored value that many runs change,
retries around blocks, `onFailure`, deletions, and SIGHUP with edited recipes and broken configurations: all at once, while
the agent is killed at random, starts again with another wall clock, and has no room on its disk. Whatever was
acknowledged is written at a server that counts, by one run; the ledger, the history, the command, the API and the pages
tell the same; and no agent ends that wasn't ended, but for want of room.

ERRAND_DATABASE names a database in PostgreSQL: three agents then share a state there. ERRAND_CLOCKS has the libraries
that set a program's clock, as LD_PRELOAD takes them; ERRAND_SEED is what chance begins with.
"""
import collections
import contextlib
import ctypes
import http.client
import http.server
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

from agent import Agent, Failed, expect, main, until

FROM = 'from: "2026-01-01T00:00:00Z"'


class Counter:
    """A server that keeps which run wrote what; about every fourth path that begins with /rough fails once."""

    def __init__(self):
        self.lock, self.written, self.failed = threading.Lock(), collections.defaultdict(set), set()
        counter = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *words):
                pass

            def do_PUT(self):
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status = 200
                with counter.lock:
                    kind, item, run = self.path.strip("/").split("/")
                    if kind == "rough" and self.path not in counter.failed and hash(run) % 4 == 0:
                        counter.failed.add(self.path)
                        status = 503
                    elif kind == "broken":
                        status = 500
                    else:
                        for one in item.split("+"):
                            counter.written[kind, one].add(run)
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        # Agents that are killed leave requests behind.
        self.server.handle_error = lambda *_: None
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def of(self, kind):
        with self.lock:
            return {item: set(runs) for (known, item), runs in self.written.items() if known == kind}


class Disk:
    """A file system for the state, which can be full."""

    def __init__(self):
        # What is mounted is this process's and its children's, and goes with them.
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(0x00020000) or libc.mount(b"none", b"/", None, 0x4000 | 0x40000, None):  # CLONE_NEWNS; private
            raise OSError(ctypes.get_errno(), "no mounts of one's own")
        self.place = tempfile.mkdtemp(prefix="errand-disk-")
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m,mode=700", "tmpfs", self.place], check=True)
        self.is_full, self.times = False, 0

    @contextlib.contextmanager
    def full(self):
        self.is_full, self.times = True, self.times + 1
        filler = f"{self.place}/filler"
        try:
            with contextlib.suppress(OSError), open(filler, "wb", buffering=0) as file:
                while True:
                    file.write(bytes(4096))
            yield
        finally:
            os.unlink(filler)


def recipes(counter):
    """The recipes, by name."""
    def put(kind, item):
        return (f'{{ uses: http.put, with: {{ url: "{counter.url}/{kind}/{item}/${{{{ run.id }}}}", json: {{}} }}, '
                "retry: { maxAttempts: 6, initial: 200ms } }")

    item = "${{ inputs.what }}"
    takes = "inputs: { what: { type: string } }\n"
    data = 'type: { id: string }'
    given = 'inputs: { what: "${{ event.data.id }}" }'
    made = {
        "keyed": f"{takes}steps: [{put('keyed', item)}]\n",
        "hooked": f"{takes}on: [{{ webhook: {{ verify: {{ none: true }}, {data}, id: event.data.id }}, {given} }}]\n"
                  f"steps: [{put('hooked', item)}]\n",
        "signalled": f"{takes}on: [{{ event: {{ name: ping, {data} }}, {given} }}]\nsteps: [{put('signalled', item)}]\n",
        "batched": f"{takes}on: [{{ event: {{ name: many, {data} }}, batch: {{ for: 1s, max: 7 }}, "
                   'inputs: { what: "${{ events.map(e, e.data.id).join(\'+\') }}" } }]\n'
                   f"steps: [{put('batched', item)}]\n",
        "filed": f'{takes}on: [{{ file: {{ path: "inbox/*.txt", settle: 1s, existing: run }}, '
                 'inputs: { what: "${{ event.path.replace(\'inbox/\', \'\') }}" } }]\n'
                 f"steps: [{put('filed', item)}]\n",
        "asking": f'{takes}steps: [{{ id: ask, approve: {{ prompt: "Go on?" }} }}, {put("asking", item)}]\n',
        "tally": 'steps: [{ id: l, forEach: "${{ lists.range(3) }}", as: n, maxParallel: 3, steps: '
                 "[{ id: i, uses: store.increment, with: { name: tally } }] }]\n",
        "calling": f"{takes}steps: [{{ id: c, call: ../lib/called.yaml, with: {{ what: \"{item}\" }} }}]\n",
        "limited": f'{takes}steps: [{{ uses: http.put, connection: limited, with: {{ url: "/limited/{item}/${{{{ run.id }}}}", json: {{}} }} }}]\n',
        "rounds": f'{takes}steps: [{{ id: r, repeat: {{ carry: {{ n: 0 }}, next: {{ n: "${{{{ n + 1 }}}}" }}, until: n == 3 }}, '
                  f"steps: [{{ wait: 20ms }}] }}, {put('rounds', item)}]\n",
        "rough": f"{takes}steps: [{{ id: b, retry: {{ maxAttempts: 5, initial: 100ms }}, steps: "
                 f"[{{ wait: 10ms }}, {put('rough', item)}] }}]\n",
        "failing": f"{takes}steps: [{{ fail: \"It is ${{{{ inputs.what }}}}.\" }}]\nonFailure: [{put('failing', item)}]\n",
    }
    for overlap in ["skip", "bufferOne", "bufferAll", "cancelOther", "terminateOther", "allowAll"]:
        made[f"each-{overlap.lower()}"] = (
            f"on: [{{ every: 2s, {FROM}, overlap: {overlap}, catchup: last }}]\nsteps: [{{ wait: 1500ms }}]\n")
    for on_limit in ["queue", "skip", "cancelOldest"]:
        for number in range(2):
            made[f"group-{on_limit.lower()}-{number}"] = (
                f"on: [{{ every: 2s, {FROM}, overlap: allowAll, catchup: none }}]\n"
                f"concurrencyGroup: {{ name: {on_limit}, limit: 1, onLimit: {on_limit} }}\nsteps: [{{ wait: 1ms }}]\n")
    return {name: f"recipe: {name}\n{text}" for name, text in made.items()}, (
        f"recipe: called\n{takes}steps: [{put('calling', item)}]\n")


class Life:
    def __init__(self, agents, numbers, token, disk):
        self.agents, self.numbers, self.token, self.disk = agents, numbers, token, disk
        self.over, self.faults = threading.Event(), []
        self.lock, self.editing = threading.Lock(), threading.Lock()
        self.acknowledged = collections.defaultdict(dict)
        self.count = collections.Counter()

    def ask(self, method, path, body=None, headers=None):
        try:
            agent = random.choice(self.agents)
            return agent.ask(method, path, self.token, body, headers, timeout=20)
        except (OSError, http.client.HTTPException, ValueError):
            return None

    def send(self, kind, path, body, item, headers=None):
        """Repeats a request until it is acknowledged, more and more rarely, as a client of others would."""
        pause = 0.05
        while True:
            answer = self.ask("POST", path, body, headers)
            if answer and answer.status in (200, 202):
                with self.lock:
                    self.acknowledged[kind][item] = answer.json.get("run")
                return
            # What has no room is refused until there is room again.
            if answer and answer.status not in (409, 429, 503) and not (answer.status == 500 and self.disk and self.disk.times):
                self.faults.append(f"{kind} {item}: {answer}")
                return self.over.set()
            time.sleep(pause)
            pause = min(1.0, pause * 1.5)

    def client(self, kind, number):
        count = 0
        while not self.over.is_set():
            item = f"{kind}-{number}-{count}"
            count += 1
            if kind == "hooked":
                self.send(kind, "/hooks/hooked", {"id": item}, item)
            elif kind in ("signalled", "batched"):
                name = "ping" if kind == "signalled" else "many"
                self.send(kind, "/api/v1/events", {"name": name, "id": item, "data": {"id": item}}, item)
            elif kind == "filed":
                place = self.agents[0].folder / "inbox" / f"{item}.txt"
                place.with_suffix(".part").write_text("x")
                place.with_suffix(".part").rename(place)
                self.acknowledged[kind][f"{item}.txt"] = None
                time.sleep(0.5)
            else:
                inputs = {} if kind == "tally" else {"what": item}
                self.send(kind, f"/api/v1/recipes/{kind}/runs", {"inputs": inputs}, item, {"Idempotency-Key": item})
            time.sleep(0.5)

    def flood(self):
        """More deliveries at once than may wait, until the time is over."""
        def some(number):
            for count in range(40):
                if self.over.is_set():
                    break
                item = f"flood-{number}-{count}"
                self.send("hooked", "/hooks/hooked", {"id": item}, item)

        threads = [threading.Thread(target=some, args=(number,), daemon=True) for number in range(32)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def approve(self):
        while not self.over.is_set():
            self.approve_all()
            time.sleep(0.5)

    def approve_all(self):
        answer = self.ask("GET", "/api/v1/runs?recipe=asking&status=waiting&limit=100")
        for run in answer.json["items"] if answer and answer.status == 200 else []:
            self.ask("POST", f"/api/v1/runs/{run['id']}/decisions", {"approved": True})

    def disturb(self):
        """Deletes what schedules have started, edits recipes, and breaks the configuration for a moment."""
        edited = (self.agents[0].folder / "recipes" / "each-skip.yaml").read_text()
        while not self.over.is_set():
            time.sleep(self.numbers.uniform(1, 3))
            agent = self.numbers.choice(self.agents)
            configuration = agent.folder / "errand.yaml"
            whole = configuration.read_text()
            answer = self.ask("GET", "/api/v1/runs?recipe=each-allowall&status=succeeded&limit=3")
            for run in answer.json["items"] if answer and answer.status == 200 else []:
                gone = self.ask("DELETE", f"/api/v1/runs/{run['id']}")
                self.count["deleted"] += bool(gone and gone.status == 204)
            if self.over.is_set():
                break
            # An agent that starts reads a whole configuration.
            with self.editing:
                configuration.write_text(whole + "server: [\n")
                self.hang_up(agent)
                time.sleep(0.1)
                configuration.write_text(whole)
                if self.disk and self.numbers.random() < 0.3:
                    with self.disk.full():
                        time.sleep(self.numbers.uniform(0.1, 1))
                    self.start_what_had_no_room()
            text = edited.replace("1500ms", f"{self.numbers.randrange(600, 1900)}ms")
            for agent in self.agents:
                (agent.folder / "recipes" / "each-skip.yaml").write_text(text)
                self.hang_up(agent)

    def start_what_had_no_room(self):
        """An agent that can't write its state ends; only this starts it again."""
        time.sleep(0.3)
        for agent in self.agents:
            if agent.process.poll() == 73:
                self.count["full"] += 1
                agent.start()
        self.disk.is_full = False

    def hang_up(self, agent):
        # It may be starting, before it heeds the signal.
        if any(" serves " in line for line in agent.log) and agent.process.poll() is None:
            agent.process.send_signal(signal.SIGHUP)

    def ended(self):
        """What says that an agent has ended which nobody ended; nil if none has."""
        for agent in self.agents:
            code = agent.process.poll()
            if code is not None and not (code == 73 and self.disk and self.disk.is_full):
                return f"the agent ended with {code}: {agent.log[-1:]}"
        return None


def every(agent, token, path):
    items, cursor = [], None
    while True:
        page = agent.ask("GET", path + "&limit=200" + (f"&cursor={cursor}" if cursor else ""), token).json
        items += page["items"]
        cursor = page.get("next")
        if not cursor:
            return items


def account(agent, counter, life, token):
    """What was acknowledged, written, recorded and shown is the same."""
    runs = {run["id"]: run for run in every(agent, token, "/api/v1/runs?")}
    rows = every(agent, token, "/api/v1/slots?")
    dropped = collections.Counter(row["schedule"] for row in rows if row["outcome"] == "dropped")
    for schedule in ["hooked", "signalled", "batched", "filed"]:
        expect(not dropped[schedule], f"{dropped[schedule]} of {schedule} were acknowledged and dropped")
    for kind, items in life.acknowledged.items():
        if kind == "tally":
            continue
        written = counter.of(kind)
        lost = sorted(set(items) - set(written))
        expect(not lost, f"{kind}: {len(lost)} of {len(items)} were acknowledged and not done: {lost[:3]}")
        for item, run in items.items():
            expect(len(written[item]) == 1, f"{kind}: {item} was done by {len(written[item])} runs")
            (writer,) = written[item]
            expect(run in (None, writer), f"{kind}: {item} was answered with {run} and done by {writer}")
            wanted = "failed" if kind == "failing" else "succeeded"
            known = runs.get(writer, {}).get("status")
            expect(known == wanted, f"{kind}: {item} was done, and its run {writer} is {known}")
        expect(set(written) == set(items), f"{kind}: {len(set(written) - set(items))} were done and not acknowledged")
    ended = [run for run in runs.values() if run["recipe"] == "tally"]
    expect(len(ended) == len(life.acknowledged["tally"]), f"{len(ended)} runs of {len(life.acknowledged['tally'])} starts")
    listed = agent.call("runs", "list", "--json", "-n", "10000")
    expect(listed.returncode == 0, f"the command lists nothing: {listed.stderr[-300:]}")
    shown = json.loads(listed.stdout)
    command = {run["id"]: run["status"] for run in shown["open"] + shown["finished"]}
    expect(
        command == {run["id"]: run["status"] for run in runs.values()},
        lambda: f"the command lists {len(command)} runs, the API {len(runs)}")
    entered = agent.ask("GET", "/" + agent.link().split("/", 3)[3])
    headers = {"Cookie": entered.headers["Set-Cookie"].split(";")[0]}
    for run in random.sample(sorted(runs), min(20, len(runs))):
        page = agent.ask("GET", f"/runs/{run}", headers=headers)
        expect(page.status == 200 and runs[run]["status"].encode() in page.body,
               lambda: f"the page of {run}, which {runs[run]['status']}, says {page}")
    kept = agent.call("store", "get", "tally")
    if kept.returncode == 0:
        expect(int(kept.stdout) == 3 * len(ended), f"the value is {kept.stdout.strip()} after {len(ended)} runs of 3")
    started = [row["run"] for row in rows if row["outcome"] == "started" and row.get("run")]
    expect(len(started) == len(set(started)), "a run was started by two slots")
    odd = [run for run in runs.values() if run["status"] in ("uncertain", "paused", "running", "queued", "waiting")]
    expect(not odd, f"{len(odd)} runs don't end: {odd[:2]}")
    return runs, rows


def made_agents(stack, program, disk, made, called):
    """One agent, or three that share a state in a database, each with its recipes and none running yet."""
    database = os.environ.get("ERRAND_DATABASE")
    settings = [f"state: {database}\nworker: {{ name: w{number} }}\n" for number in range(3)] if database else [
        f"state: {disk.place}/state\n" if disk else ""]
    agents = []
    for text in settings:
        agent = stack.enter_context(Agent(program, recipes=made, configuration=text))
        agents.append(agent)
        for folder in ["lib", "inbox"]:
            (agent.folder / folder).mkdir()
        (agent.folder / "lib" / "called.yaml").write_text(called)
    if database:
        begun = agents[0].call("state", "init")
        expect(begun.returncode == 0, f"no state: {begun.stderr}")
    return agents


def run():
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    seed = int(os.environ.get("ERRAND_SEED") or random.randrange(1 << 32))
    numbers, counter, disk = random.Random(seed), Counter(), None
    if not os.environ.get("ERRAND_DATABASE"):
        try:
            disk = Disk()
        except (OSError, subprocess.CalledProcessError) as fault:
            print(f"note: full disks are left out: {fault}")
    made, called = recipes(counter)
    with contextlib.ExitStack() as stack:
        agents = made_agents(stack, sys.argv[1], disk, made, called)
        limited = (f"connections:\n  limited: {{ plugin: http, baseURL: \"{counter.url}\", "
                   "limits: { maxParallel: 2, requests: 20, per: 1s } }\n")
        for agent in agents:
            configuration = agent.folder / "errand.yaml"
            configuration.write_text(configuration.read_text() + limited)
            checked = agent.call("check", *(f"recipes/{name}.yaml" for name in made))
            expect(checked.returncode == 0, f"the recipes don't check: {checked.stdout[:1500]}{checked.stderr[:1500]}")
            agent.start()
            configuration.write_text(configuration.read_text().replace("127.0.0.1:0", f"127.0.0.1:{agent.port}"))
        agent = agents[0]
        token = agent.everything()
        life = Life(agents, numbers, token, disk)
        kinds = ["keyed", "hooked", "signalled", "batched", "filed", "asking", "tally", "calling", "limited", "rounds",
                 "rough", "failing"]
        # What an agent of several finds in its folder, it tells nobody unless it leads.
        if len(agents) > 1:
            kinds.remove("filed")
        threads = [threading.Thread(target=life.client, args=(kind, number), daemon=True)
                   for kind in kinds for number in range(1 if kind == "filed" else 2)]
        disturber = threading.Thread(target=life.disturb, daemon=True)
        threads += [threading.Thread(target=body, daemon=True) for body in [life.flood, life.approve]] + [disturber]
        for thread in threads:
            thread.start()
        end, kills = time.monotonic() + seconds, 0
        while time.monotonic() < end and not life.faults:
            # Long enough that it serves between two kills, which itself has to hold.
            wait = time.monotonic() + numbers.uniform(2, 8)
            while time.monotonic() < min(wait, end) and not life.faults:
                expect(not life.ended(), lambda: f"seed {seed}: {life.ended()}")
                time.sleep(0.05)
            if time.monotonic() < end:
                with life.editing:
                    victim = numbers.choice(agents)
                    if os.environ.get("ERRAND_CLOCKS"):
                        victim.environment.update(
                            LD_PRELOAD=os.environ["ERRAND_CLOCKS"], FAKETIME_DONT_FAKE_MONOTONIC="1",
                            FAKETIME=f"{numbers.choice([0, 0, -20, 40]):+d}")
                    victim.kill()
                    kills += 1
                    victim.start()
        life.over.set()

        def is_alive():
            expect(not life.ended(), lambda: f"seed {seed}: {life.ended()}")

        def go_on(is_done, message):
            """Waits as long as anything goes on: how long it takes depends on the machine, that it goes on doesn't."""
            def condition():
                is_alive()
                return is_done()

            until(condition, lambda: f"seed {seed}: {message}", 60,
                  lambda: (sum(len(agent.log) for agent in agents), sum(map(len, life.acknowledged.values()))))

        # No more slots come, the clients get their answers, and what is open ends.
        go_on(lambda: not disturber.is_alive(), "the reloads don't end")
        for agent in agents:
            for name in made:
                if name.startswith(("each-", "group-")):
                    (agent.folder / "recipes" / f"{name}.yaml").unlink()
            life.hang_up(agent)
        agent = agents[0]
        go_on(lambda: not any(thread.is_alive() for thread in threads), "a client waits for its answer")
        expect(not life.faults, f"seed {seed}: {life.faults[:3]}")

        def is_quiet():
            time.sleep(0.3)
            life.approve_all()
            status = life.ask("GET", "/api/v1/status")
            waiting = [kind for kind in ["hooked", "signalled", "batched", "filed"]
                       if set(life.acknowledged[kind]) - set(counter.of(kind))]
            return status and status.status == 200 and not status.json["runs"] and not waiting

        # What is left over is told by the account.
        try:
            go_on(is_quiet, "")
        except Failed:
            is_alive()
        runs, rows = account(agent, counter, life, token)
        for one in agents:
            one.end()
            one.start()
        again, _ = account(agent, counter, life, token)
        expect(set(again) == set(runs), "a restart changes the history")
        print(
            f"combination: seed {seed}: {kills} kills, {life.count['full']} full disks, "
            f"{sum(map(len, life.acknowledged.values()))} acknowledged, "
            f"{len(runs)} runs, {len(rows)} rows, {life.count['deleted']} deleted; each once")
        for one in agents:
            one.end()


main(run)
