"""One life of everything together, and then one exact account: combination.py PROGRAM [SECONDS]

Schedules that come every other second with each overlap, groups with each `onLimit`, webhooks, events, batches, files, starts
with keys, approvals, calls, loops, rounds that carry, a connection with limits, a stored value that many runs change,
retries around blocks, `onFailure`, deletions, and SIGHUP with edited recipes and broken configurations: all at once, while
the agent is killed at random, starts again with another wall clock, and has no room on its disk. People save one recipe
at the same time, decide by links, answer questions, send forms twice, retry and cancel many runs, and stay logged in.
Whatever was acknowledged is written at a server that counts, by one run; the ledger, the history, its counts and sums, the
command, the API and the pages tell the same; each saved text is one commit or kept, and no file has a link; and no agent
ends that wasn't ended, but for want of room.

ERRAND_DATABASE names a database in PostgreSQL: three agents then share a state there. ERRAND_CLOCKS has the libraries
that set a program's clock, as LD_PRELOAD takes them; ERRAND_SEED is what chance begins with.
"""
import collections
import contextlib
import ctypes
import hashlib
import http.client
import http.server
import itertools
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from agent import Agent, Failed, expect, main, until

FROM = 'from: "2026-01-01T00:00:00Z"'
# The recipe that people edit, whose text says of itself whether it is whole, and the shape of a link.
EDITED, WHOLE = "recipes/edited.yaml", re.compile(r"recipe: edited\n# (\S+)\nsteps: .*\n(# A line\.\n)*# \1\n")
LINK = re.compile(rb"edl_[A-Za-z0-9_-]{20,}")


class Counter:
    """A server that keeps which run wrote what, and links; every fourth path or so that begins with /rough fails once."""

    def __init__(self):
        self.lock, self.written, self.failed = threading.Lock(), collections.defaultdict(set), set()
        self.links = collections.defaultdict(set)
        counter = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *words):
                pass

            def do_PUT(self):
                body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
                status = 200
                with counter.lock:
                    kind, item, run = self.path.strip("/").split("/")
                    if "link" in body:
                        counter.links[run, item].add(body["link"])
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
    def put(kind, item, json="{}"):
        return (f'{{ uses: http.put, with: {{ url: "{counter.url}/{kind}/{item}/${{{{ run.id }}}}", json: {json} }}, '
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
        "linked": f"{takes}steps:\n  - {{ id: ask, approve: {{ prompt: \"Write {item}?\", by: [ann, bob], link: true, tell: "
                  f"[{{ forEach: \"${{{{ question.links }}}}\", as: person, steps: ["
                  + put("told", "${{ person.name }}", '{ link: "${{ person.link }}" }') + f"] }}] }} }}\n  - {put('linked', item)}\n",
        "asked": f'{takes}steps: [{{ id: ask, ask: {{ prompt: "{item}?", fields: {{ said: {{ type: string }}, '
                 f"seats: {{ type: int, min: 1 }} }} }} }}, {put('asked', '${{ steps.ask.fields.said }}')}]\n",
        "filled": f"{takes}on: [{{ form: {{ open: public, fields: {{ what: {{ type: string }} }}, "
                  "limit: { requests: 100000, per: 1d, perDay: 100000 }, done: \"Thank you, ${{ event.data.what }}.\" }, "
                  f'inputs: {{ what: "${{{{ event.data.what }}}}" }} }}]\nsteps: [{put("filled", item)}]\n',
        "replied": f"{takes}on: [{{ webhook: {{ verify: {{ none: true }}, {data}, id: event.data.id, answer: [{{ within: 10s, "
                   "body: \"${{ { 'run': run.id, 'what': outputs.what } }}\" }] }, overlap: allowAll, " + given + " }]\n"
                   f'steps: [{put("replied", item)}]\noutputs: {{ what: "{item}" }}\n',
        "marked": f'{takes}steps: [{{ fail: "It is {item}." }}]\n',
        "patient": f"{takes}steps: [{{ wait: {{ event: never }} }}]\n",
        "edited": edited("0").removeprefix("recipe: edited\n"),
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


def edited(item):
    return f"recipe: edited\n# {item}\nsteps: [{{ wait: 1ms }}]\n" + "# A line.\n" * 200 + f"# {item}\n"


def hidden(answer, name):
    """The value of a hidden field of a page."""
    found = re.search(rf'name="{name}" value="([^"]*)"', answer.body.decode())
    expect(found, lambda: f"the page has no field {name}: {answer.body.decode()}")
    return found[1]


class Life:
    def __init__(self, agents, numbers, token, disk, counter):
        self.agents, self.numbers, self.token, self.disk, self.counter = agents, numbers, token, disk, counter
        self.over, self.faults = threading.Event(), []
        self.lock, self.editing = threading.Lock(), threading.Lock()
        self.acknowledged = collections.defaultdict(dict)
        self.count = collections.Counter()
        # How some runs have to end, the retry of each retried run, and what was sent to be saved.
        self.ends, self.retries, self.saves = {}, {}, []
        entered = [agent.ask("GET", "/" + agent.link().split("/", 3)[3]) for agent in agents]
        self.logins = [answer.headers["Set-Cookie"].split(";")[0].split("=")[1] for answer in entered]

    def ask(self, method, path, body=None, headers=None, agent=None, isPage=False):
        agent = agent or random.choice(self.agents)
        try:
            return agent.ask(method, path, None if isPage else self.token, body, headers, timeout=20)
        except (OSError, http.client.HTTPException, ValueError):
            return None

    def visit(self, path, form=None, login=None, method="GET", agent=None):
        """Opens a page, or sends its form as a browser does."""
        agent = agent or random.choice(self.agents)
        # Each agent of a machine has its own name for the cookie.
        headers = {"Accept": "text/html", "Cookie": f"errand_session_{agent.port}={login}"}
        if form:
            method, form = "POST", urllib.parse.urlencode(form)
            headers |= {"Origin": agent.url, "Content-Type": "application/x-www-form-urlencoded"}
        return self.ask(method, path, form, headers, agent, isPage=True)

    def live(self, body, *arguments):
        """Calls the body of a thread; a fault ends the life."""
        try:
            return body(*arguments)
        except Failed as fault:
            self.faults.append(str(fault))
            self.over.set()

    def together(self, *bodies):
        """The values of bodies that run at the same time."""
        values = {}
        threads = [threading.Thread(target=lambda body=body: values.update({body: self.live(body)}), daemon=True)
                   for body in bodies]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expect(not self.faults, "another thread has failed")
        return [values[body] for body in bodies]

    def insist(self, what, request, *ends, isDone=lambda answer: True):
        """Repeats a request until its status is one of these, more and more rarely, as a client of others would."""
        pause, tries = 0.05, 0
        while not self.faults:
            answer, tries = request(), tries + 1
            if answer and answer.status in ends and isDone(answer):
                answer.tries = tries
                return answer
            # What has no room is refused until there is room again.
            expect(not answer or answer.status in (409, 429, 503) or answer.status in ends
                   or (answer.status == 500 and self.disk and self.disk.times), lambda: f"{what}: {answer}")
            time.sleep(pause)
            pause = min(1.0, pause * 1.5)
        raise Failed("another thread has failed")

    def send(self, kind, path, body, item, headers=None):
        """Sends what is acknowledged once."""
        answer = self.insist(f"{kind} {item}", lambda: self.ask("POST", path, body, headers), 200, 202)
        with self.lock:
            self.acknowledged[kind][item] = answer.json.get("run")
        return answer

    def start(self, recipe, item, *statuses):
        """Starts a run, and gives it once it has one of these statuses."""
        run = self.insist(f"{recipe} {item}", lambda: self.ask(
            "POST", f"/api/v1/recipes/{recipe}/runs", {"inputs": {"what": item}}, {"Idempotency-Key": item}),
            200, 202).json["run"]
        self.insist(f"the status of {run}", lambda: self.ask("GET", f"/api/v1/runs/{run}"), 200,
                    isDone=lambda answer: answer.json["status"] in statuses)
        return run

    def client(self, kind, number):
        count = 0
        while not self.over.is_set():
            item = f"{kind}-{number}-{count}"
            count += 1
            if kind in ("linked", "asked", "filled", "replied", "marked"):
                getattr(self, kind)(item)
            elif kind == "hooked":
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

    def linked(self, item):
        """Two people decide by their links at the same time, with two clicks each, after a scanner has opened them."""
        run, names = self.start("linked", item, "waiting"), ["ann", "bob"]
        until(lambda: self.faults or all(self.counter.links[run, name] for name in names), f"{run} tells no links", 3600)
        expect(not self.faults, "another thread has failed")
        paths = ["/" + min(self.counter.links[run, name]).split("/", 3)[3] for name in names]
        choices, forms = random.sample(["approve", "reject"], 2), []
        for path, choice in zip(paths, choices):
            self.visit(path + "?choice=approve", method="HEAD")
            page = self.insist(f"the link of {run}", lambda: self.visit(path + "?choice=approve"), 200)
            forms.append({"choice": choice, "question": hidden(page, "question")})
        clicks = [lambda path=path, form=form: self.insist(f"the decision of {run}", lambda: self.visit(path, form), 200, 409)
                  for path, form in zip(paths, forms) for _ in range(2)]
        answers = self.together(*clicks)
        first = next((number for number in range(2) if answers[2 * number].status == 200), 0)
        told = [f"{names[first]} {'approved' if choices[first] == 'approve' else 'rejected'} this by link".encode()] * 4
        told[2 * first:2 * first + 2] = [b"Your decision is recorded."] * 2
        expect(all(words in answer.body and (answer.status == 200) == (b"Your" in words) for words, answer in zip(told, answers)),
               lambda: f"{names} decide on {run} with {choices}, and get {answers}")
        self.ends[run] = {"approve": "succeeded", "reject": "rejected"}[choices[first]]
        if choices[first] == "approve":
            self.acknowledged["linked"][item] = run

    def asked(self, item):
        """Two people answer a question at the same time, and each repeats it."""
        run = self.start("asked", item, "waiting")

        def answer(said):
            body = {"step": "ask", "fields": {"said": said, "seats": 3}}
            return [self.insist(f"asked {said}", lambda: self.ask(
                "POST", f"/api/v1/runs/{run}/answers", body, {"Idempotency-Key": said}), 200, 409,
                isDone=lambda answer: answer.status == 200 or "'ask' was " in answer.json["detail"]) for _ in range(2)]

        said = [f"{item}-{number}" for number in range(2)]
        answers = self.together(*[lambda one=one: answer(one) for one in said])
        statuses = [[answer.status for answer in some] for some in answers]
        expect(sorted(statuses) == [[200, 200], [409, 409]], lambda: f"answers to {run} are answered with {answers}")
        self.acknowledged["asked"][said[statuses.index([200, 200])]] = run

    def filled(self, item):
        """Sends a form with two clicks, and once more; then its page with another text."""
        key = hidden(self.insist("the form", lambda: self.visit("/forms/filled"), 200), "key")

        def click(text=item, status=200):
            form = {"key": key, "website": "", "field.what": text}
            return self.insist(f"filled {text}", lambda: self.visit("/forms/filled", form), status)

        for answer in self.together(click, lambda: click()) + [click()]:
            expect(f"Thank you, {item}.".encode() in answer.body, lambda: f"{item} gets {answer}")
        click(f"{item}-other", 409)
        self.acknowledged["filled"][item] = None

    def replied(self, item):
        """A delivery and its repetition get the answer of one run."""
        first, again = [self.send("replied", "/hooks/replied", {"id": item}, item) for _ in range(2)]
        runs = {answer.json["run"] for answer in (first, again) if answer.json.get("run")}
        expect(len(runs) < 2 and first.json.get("what", item) == item
               and (first.status == 202 or again.json == first.json), lambda: f"{item} is answered with {first}, {again}")

    def marked(self, item):
        """Retries and cancels many runs, with requests that are repeated, and dismisses the failures."""
        failed = [self.start("marked", f"{item}-{number}", "failed") for number in range(2)]
        waiting = [self.start("patient", f"{item}-{number}", "waiting") for number in range(2)]
        for verb, runs in [("retry", failed), ("cancel", waiting)]:
            # What has no room is left out, until there is room again.
            answers = [self.insist(f"{verb} {runs}", lambda: self.ask(
                "POST", "/api/v1/runs/steer", {"verb": verb, "runs": runs}, {"Idempotency-Key": f"{verb}-{item}"}), 200,
                isDone=lambda answer: answer.json["changed"] == len(runs)).json for _ in range(2)]
            expect(answers[0] == answers[1], lambda: f"{verb}, repeated, is answered with {answers}")
            self.ends.update({run: "cancelled" if verb == "cancel" else "failed" for run in runs})
            if verb == "retry":
                self.retries.update({one["run"]: one["accepted"] for one in answers[0]["items"]})
        self.dismiss("marked")

    def dismiss(self, recipe):
        for group in self.insist("failures", lambda: self.ask("GET", f"/api/v1/failures?recipe={recipe}"), 200).json["items"]:
            self.insist("a dismissal", lambda: self.ask("POST", "/api/v1/failures/dismiss", {"group": group["id"]}), 200)

    def edit(self, number):
        """Saves the recipe again and again, as it was read, and at times restores one of its versions."""
        for count in itertools.takewhile(lambda _: not self.over.is_set(), itertools.count()):
            self.save(f"edit-{number}-{count}", random.random() < 0.15)
            time.sleep(0.1)

    def save(self, item, isRestored=False):
        def files(path, body=None, *ends):
            return self.insist(f"{path} {item}", lambda: self.ask(
                "POST" if body else "GET", f"/api/v1/files{path}", body, body and {"Idempotency-Key": item}, self.agents[0]),
                200, *ends)

        base, text, more = files(f"/text?path={EDITED}").json, edited(item), {"text": edited(item)}
        if isRestored:
            version = random.choice(files(f"/versions?path={EDITED}").json["items"])["version"]
            # A kept one may go.
            found = files(f"/versions/{version}?path={EDITED}", None, 404)
            text, more = found.status == 200 and found.json["text"], {"version": version}
        saved = files("/restore" if isRestored else "", {"path": EDITED, "base": base["digest"], **more}, 409, 404)
        if saved.status == 409:
            expect(WHOLE.fullmatch(saved.json["current"]["text"]), lambda: f"{item} is refused with {saved}")
        self.saves.append((text, isRestored, base["text"], saved))
        return saved

    def look(self):
        """Reads the edited file, and opens a page with the logins from before the kills."""
        for login in itertools.takewhile(lambda _: not self.over.is_set(), itertools.cycle(self.logins)):
            for _ in range(50):
                text = (self.agents[0].folder / EDITED).read_text()
                expect(WHOLE.fullmatch(text), lambda: f"the edited file is {text!r}")
                time.sleep(0.02)
            self.insist("a page", lambda: self.visit("/runs", login=login), 200)

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
    for schedule in ["hooked", "signalled", "batched", "filed", "filled", "replied"]:
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
    for run in random.sample(sorted(runs), min(20, len(runs))):
        page = life.visit(f"/runs/{run}", login=random.choice(life.logins), agent=agent)
        expect(page.status == 200 and runs[run]["status"].encode() in page.body,
               lambda: f"the page of {run}, which {runs[run]['status']}, says {page}")
    kept = agent.call("store", "get", "tally")
    if kept.returncode == 0:
        expect(int(kept.stdout) == 3 * len(ended), f"the value is {kept.stdout.strip()} after {len(ended)} runs of 3")
    started = [row["run"] for row in rows if row["outcome"] == "started" and row.get("run")]
    expect(len(started) == len(set(started)), "a run was started by two slots")
    for run, wanted in life.ends.items():
        expect(run in runs and runs[run]["status"] == wanted, lambda: f"{run}, which has to be {wanted}, is {runs.get(run)}")
    retries = [(run["cause"]["run"], run["id"]) for run in runs.values() if run["cause"]["kind"] == "retry"]
    expect(sorted(retries) == sorted(life.retries.items()), lambda: f"{len(retries)} retries of {len(life.retries)}")
    others = [key for key, links in counter.links.items() if len(links) != 1]
    expect(not others, lambda: f"people were told several links: {others}")
    wanted, asked = collections.defaultdict(collections.Counter), lambda path: agent.ask("GET", f"/api/v1/{path}", token).json
    for run in runs.values():
        wanted[run["recipe"]][run["status"]] += 1
    sums = {one["recipe"]: one["counts"] for one in asked("statistics")["items"]}
    expect(sums == wanted, lambda: f"the statistics are {sums}, the history {dict(wanted)}")
    counted, failed = asked("runs/count"), sum(group["count"] for group in asked("failures?all=true")["items"])
    expect(counted["statuses"] == sum(wanted.values(), collections.Counter()), lambda: f"{dict(wanted)} is counted as {counted}")
    expect(failed == counted["statuses"]["failed"], lambda: f"{failed} runs are in groups of failures, not {counted}")
    odd = [run for run in runs.values() if run["status"] in ("uncertain", "paused", "running", "queued", "waiting")]
    expect(not odd, f"{len(odd)} runs don't end: {odd[:2]}")
    return runs, rows


def account_of_saves(life):
    """Each text that was saved is in one commit or kept, and no refused one is; gives the number of commits."""
    def git(*words):
        return subprocess.run(["git", *words], cwd=life.agents[0].folder, capture_output=True, text=True, check=True).stdout

    log = [line.split(" ", 1) for line in git("log", "--format=%H %s", "--", EDITED).splitlines()]
    texts = {commit: git("show", f"{commit}:{EDITED}") for commit, _ in log}
    edits = collections.Counter(texts[commit] for commit, words in log if words.startswith("Edit "))
    versions = life.ask("GET", f"/api/v1/files/versions?path={EDITED}", agent=life.agents[0]).json["items"]
    # The last 20 are kept.
    kept = {int(item["version"]): item["digest"] for item in versions if len(item["version"]) < 40}
    oldest = min(kept) if len(kept) == 20 else 0
    restored = collections.Counter(text for text, is_restored, _, _ in life.saves if is_restored)
    for text, is_restored, base, saved in life.saves:
        commit, version = (saved.json.get(key) for key in ["commit", "version"]) if saved.status == 200 else (None, None)
        if commit:
            # A request that is repeated saves again if its base was restored meanwhile.
            most = 1 + (restored[base] if saved.tries > 1 else 0)
            isRight = texts.get(commit) == text and (is_restored or 1 <= edits[text] <= most)
        elif version:
            isRight = int(version) < oldest or kept.get(int(version)) == hashlib.sha256(text.encode()).hexdigest()
        elif saved.status == 200:
            isRight = "notKept" in saved.json and life.disk and life.disk.times
        else:
            isRight = is_restored or saved.tries > 1 or text not in edits
        expect(isRight, lambda: f"a save is answered with {saved}, and is in {edits[text]} commits: {text[:40]}")
    expect(set(edits) <= {text for text, *_ in life.saves}, "texts are committed that weren't sent")
    expect(not git("status", "--porcelain", "--", EDITED), "the last save isn't committed")
    return len(log)


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
        for words in [["init", "-q"], ["add", EDITED], ["-c", "user.name=ann", "-c", "user.email=ann@errand.invalid",
                                                        "commit", "-qm", "Begin"]]:
            subprocess.run(["git", *words], cwd=agent.folder, check=True)
        # Refuses about every eighth commit, so that the state keeps its text.
        hook = agent.folder / ".git" / "hooks" / "pre-commit"
        hook.write_text("#!/bin/sh\ntest $(( $$ % 8 )) != 0\n")
        hook.chmod(0o755)
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
            configuration.write_text(configuration.read_text().replace("listen:", "edit: true, listen:") + limited)
            checked = agent.call("check", *(f"recipes/{name}.yaml" for name in made))
            expect(checked.returncode == 0, f"the recipes don't check: {checked.stdout[:1500]}{checked.stderr[:1500]}")
            agent.start()
            configuration.write_text(configuration.read_text().replace("127.0.0.1:0", f"127.0.0.1:{agent.port}"))
        agent = agents[0]
        token = agent.token("everything", "read", "data", "start", "steer", "approve", "edit")
        life = Life(agents, numbers, token, disk, counter)
        kinds = ["keyed", "hooked", "signalled", "batched", "filed", "asking", "tally", "calling", "limited", "rounds",
                 "rough", "failing", "linked", "asked", "filled", "replied", "marked"]
        # What an agent of several finds in its folder, it tells nobody unless it leads.
        if len(agents) > 1:
            kinds.remove("filed")
        threads = [threading.Thread(target=life.live, args=(life.client, kind, number), daemon=True)
                   for kind in kinds for number in range(1 if kind == "filed" else 2)]
        disturber = threading.Thread(target=life.disturb, daemon=True)
        threads += [threading.Thread(target=life.live, args=body, daemon=True) for body in [
            [life.flood], [life.approve], [life.look], [life.edit, 0], [life.edit, 1]]] + [disturber]
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
            waiting = [kind for kind in ["hooked", "signalled", "batched", "filed", "filled", "replied"]
                       if set(life.acknowledged[kind]) - set(counter.of(kind))]
            return status and status.status == 200 and not status.json["runs"] and not waiting

        # What is left over is told by the account.
        try:
            go_on(is_quiet, "")
        except Failed:
            is_alive()
        runs, rows = account(agent, counter, life, token)
        # The next save commits what a kill has left, unless the hook refuses it.
        saves = itertools.count()
        until(lambda: life.save(f"last-{next(saves)}").json.get("commit"), lambda: f"Git commits nothing: {life.saves[-1][-1]}")
        commits = account_of_saves(life)
        life.dismiss("failing")
        life.dismiss("marked")
        for one in agents:
            one.end()
            one.start()
        again, _ = account(agent, counter, life, token)
        expect(set(again) == set(runs), "a restart changes the history")
        left = life.ask("GET", "/api/v1/failures").json["items"]
        expect(not left, f"after a restart, failures aren't dismissed: {left}")
        exported = agent.call("state", "export", "copy.archive")
        expect(exported.returncode == 0, f"no export: {exported.stderr}")
        for file in [agent.folder / "copy.archive", *(pathlib.Path(disk.place) if disk else agent.folder).rglob("*")]:
            found = file.is_file() and LINK.search(file.read_bytes())
            expect(not found, lambda: f"{file} has a link: {found}")
        expect(b"Write linked-" in (agent.folder / "copy.archive").read_bytes(), "the export has no question")
        ended = agent.call("open", "--log-out", "--everyone")
        expect(ended.returncode == 0, f"logins don't end: {ended.stderr}")
        held = [page for login in life.logins if (page := life.visit("/runs", login=login)).status == 200]
        expect(not held, lambda: f"a login holds after its end: {held}")
        print(
            f"combination: seed {seed}: {kills} kills, {life.count['full']} full disks, "
            f"{sum(map(len, life.acknowledged.values()))} acknowledged, "
            f"{len(runs)} runs, {len(rows)} rows, {life.count['deleted']} deleted, {len(life.saves)} saves, {commits} commits, "
            f"{len(counter.links)} links, {len(life.retries)} retries; each once")
        for one in agents:
            one.end()


main(run)
