"""What the scripts beside this one share: a folder with recipes, made-up services, and the real `errand serve` in it.

A script is called with the program's path. It prints what it found, and exits with 1 if something isn't as it should be.
"""
import contextlib
import ctypes
import datetime
import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]

# What a page has to show as text, wherever it comes from. Each would run its script if it became markup.
HOSTILE = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script></textarea><svg/onload=alert(3)>&lt;b&gt;"

# A secret whose value may be seen nowhere.
SECRET = "planted-s3cret-0f4e9d1c"

# An hour in which no trial runs, in UTC as in Berlin, so that a schedule starts nothing while runs are counted.
LATER = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=12)).hour

RECIPES = {
    # Waits for a person.
    "greeting": """
        summary: Greets after a person has agreed.
        inputs: { name: { type: string, summary: The name to greet. } }
        steps:
          - id: ask
            approve: { prompt: "Greet ${{ inputs.name }}?" }
          - let: { words: "Hello ${{ inputs.name }}" }
        outputs: { words: "${{ words }}" }
        """,
    # Computes and ends.
    "sum": """
        summary: Adds one to a number.
        inputs: { n: { type: int, default: 1, min: 0, max: 1000, summary: The number. } }
        on: [{ cron: "0 ${LATER} * * *" }]
        steps: [{ let: { m: "${{ inputs.n + 1 }}" } }]
        outputs: { m: "${{ m }}" }
        """,
    # Changes what is kept, so that a plan has something to show.
    "keep": """
        summary: Keeps some words.
        inputs: { words: { type: string, summary: What is kept. } }
        steps:
          - { id: old, uses: store.get, with: { name: kept } }
          - { id: put, uses: store.put, with: { name: kept, value: "${{ inputs.words }}" } }
        """,
    # Fails.
    "broken": """
        summary: Fails after some steps.
        inputs: { why: { type: string, default: The report is missing. } }
        steps:
          - { id: look, uses: store.get, with: { name: nothing } }
          - { id: stop, fail: "${{ inputs.why }}" }
        """,
    # Has many items.
    "many": """
        summary: Looks at hundreds of items.
        inputs: { count: { type: int, default: 600, min: 1, max: 20000 } }
        steps:
          - id: each
            forEach: ${{ lists.range(inputs.count) }}
            as: n
            steps:
              - { id: look, uses: store.get, with: { name: "item" } }
        """,
    # Waits, so that it can be paused.
    "patient": """
        summary: Waits for an event.
        steps: [{ id: wait, wait: { event: never } }]
        """,
    # Is uncertain when the agent is killed while it writes.
    "letter": """
        summary: Sends a letter that can't be taken back.
        steps:
          - id: send
            uses: shell.run
            with: { effect: write, script: "echo sent >> sent.txt; until [ -e gate ]; do sleep 0.05; done" }
        """,
    # What it is called, asks and prints comes from elsewhere.
    "hostile": """
        summary: ${HOSTILE}
        inputs: { words: { type: string, summary: ${HOSTILE} } }
        on: [{ cron: "0 ${LATER} * * *", inputs: { words: ${HOSTILE} } }]
        steps:
          - id: print
            uses: shell.run
            with:
              effect: read
              script: echo "$1"; echo "$1" >&2
              arguments: ["${{ inputs.words }}"]
          - id: ask
            approve: { prompt: "${{ inputs.words }}", onReject: continue }
          - { if: "inputs.words != ''", fail: "${{ inputs.words }}" }
        outputs: { said: "${{ steps.print.output }}" }
        """,
    # Holds a secret where each value of a run is.
    "secretive": """
        summary: Uses a secret.
        inputs: { note: { type: string, default: none } }
        steps:
          - id: print
            uses: shell.run
            with:
              effect: read
              script: echo "$PLANTED"; echo "$PLANTED" >&2; echo "$1"
              arguments: ["${{ inputs.note }}"]
              secretEnvironment: { PLANTED: "${{ secrets.PLANTED }}" }
          - id: ask
            approve: { prompt: "Is it ${{ steps.print.output }}?" }
          - { id: stop, fail: "It was ${{ steps.print.output }}." }
        """,
}


class Failed(Exception):
    """Something isn't as it should be."""


def expect(condition, message):
    if not condition:
        raise Failed(message() if callable(message) else message)


def until(condition, message, seconds=120, progress=lambda: None):
    """Waits until a condition is true, and gives its value; so long because other tests use the machine as well.

    The time begins again whenever the progress is another one.
    """
    end, seen = time.monotonic() + seconds, progress()
    while True:
        value = condition()
        if value:
            return value
        now = progress()
        if now != seen:
            end, seen = time.monotonic() + seconds, now
        if time.monotonic() > end:
            raise Failed(message() if callable(message) else message)
        time.sleep(0.02)


def end_others():
    """Kills what this process started and hasn't ended, and what those started: browsers, agents, made-up services."""
    for _ in range(100):
        mine = pathlib.Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        for child in mine:
            with contextlib.suppress(OSError):
                os.kill(int(child), signal.SIGKILL)
                os.waitpid(int(child), 0)
        if not mine:
            return


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.body[:400]!r}"


class Agent:
    """The real program in a folder of its own."""

    def __init__(self, program, recipes=None, copies=False, services=(), configuration=""):
        self.program = str(pathlib.Path(program).resolve())
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="errand-"))
        self.environment = dict(os.environ, PLANTED=SECRET, NO_COLOR="1")
        self.services, self.process, self.log = [], None, []
        (self.folder / "recipes").mkdir()
        if copies:
            for file in (ROOT / "recipes").glob("*.yaml"):
                shutil.copy(file, self.folder / "recipes")
        for name, text in (RECIPES if recipes is None else recipes).items():
            text = text.replace("${HOSTILE}", json.dumps(HOSTILE)).replace("${LATER}", str(LATER))
            (self.folder / "recipes" / f"{name}.yaml").write_text(text)
        connections = ""
        for service in services:
            connections += self.start_service(service)
        (self.folder / "errand.yaml").write_text(
            "zone: Europe/Berlin\nserver: { listen: 127.0.0.1:0 }\n"
            + (f"connections:\n{connections}" if connections else "") + configuration)

    # Running.

    def start_service(self, name):
        """Starts a made-up service, and gives its lines of `errand.yaml`."""
        process = subprocess.Popen(
            [self.program, "sandbox", name], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, cwd=self.folder)
        self.services.append(process)
        lines = ""
        for line in process.stdout:
            if line.startswith("  "):
                lines += line
            elif lines or (line.strip() and not line.startswith(("#", "connections:"))):
                break
            if line.startswith("    ") and self.is_last(name, lines):
                break
        threading.Thread(target=process.stdout.read, daemon=True).start()
        return lines

    @staticmethod
    def is_last(name, lines):
        return {"markbook": "password", "notify": "topic"}.get(name, "baseURL") + ":" in lines

    def start(self, *arguments):
        """Starts `errand serve`, and returns when it serves."""
        self.process = subprocess.Popen(
            [self.program, "serve", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, cwd=self.folder, env=self.environment)
        process, log = self.process, []
        self.log = log

        def read():
            for line in process.stderr:
                log.append(line)

        threading.Thread(target=read, daemon=True).start()
        until(
            lambda: any(" serves " in line for line in log) or process.poll() is not None,
            lambda: "errand serve doesn't serve: " + "".join(log[-20:]), progress=lambda: len(log))
        expect(process.poll() is None, f"errand serve exited with {process.poll()}: {''.join(log[-20:])}")
        address = next((line for line in log if "listens on http://" in line), None)
        self.url = address and "http://" + address.split("http://")[1].strip()
        return self

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def end(self):
        """Ends the agent in order."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(30)
        expect(code in (0, -signal.SIGTERM), f"errand serve exited with {code}: {''.join(self.log[-10:])}")

    def remove(self):
        for process in [*self.services, self.process]:
            if process and process.poll() is None:
                process.kill()
                process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *fault):
        if fault[0] and self.log:
            print("the agent's last lines:", *self.log[-8:], sep="\n  ")
        self.remove()

    # Asking.

    def call(self, *arguments):
        return subprocess.run(
            [self.program, *arguments], cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=120)

    def token(self, name, *scopes, recipes=(), more=()):
        """A new token."""
        words = [word for scope in scopes for word in ("--scope", scope)]
        words += [word for recipe in recipes for word in ("--recipe", recipe)]
        made = self.call("token", "new", name, *words, *more)
        expect(made.returncode == 0, f"no token: {made.stderr}")
        return made.stdout.strip()

    def everything(self, name="everything"):
        return self.token(name, "read", "data", "start", "steer", "approve")

    def link(self):
        """A link that logs a browser in, once."""
        return self.call("open", "--print", "--quiet").stdout.strip()

    @property
    def port(self):
        return urllib.parse.urlsplit(self.url).port

    def ask(self, method, path, token=None, body=None, headers=None, timeout=60):
        """One request on a connection of its own; a body that is no text goes as JSON."""
        headers = dict(headers or {})
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)) as connection:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())

    def begin(self, token, recipe, **inputs):
        answer = self.ask("POST", f"/api/v1/recipes/{recipe}/runs", token, {"inputs": inputs})
        expect(answer.status == 202, f"{recipe} did not start: {answer}")
        return answer.json["run"]

    def status(self, token, run):
        return self.ask("GET", f"/api/v1/runs/{run}", token).json["status"]

    def until_status(self, token, run, *statuses):
        until(
            lambda: self.status(token, run) in statuses,
            lambda: f"{run} is {self.status(token, run)}, not {' or '.join(statuses)}")
        return run

    def uncertain(self, token):
        """A run whose step is uncertain, because the agent was killed while it wrote."""
        for name in ["sent.txt", "gate"]:
            (self.folder / name).unlink(missing_ok=True)
        run = self.begin(token, "letter")
        until(lambda: (self.folder / "sent.txt").exists(), "the letter is not sent")
        self.kill()
        (self.folder / "gate").touch()
        self.start()
        return self.until_status(token, run, "uncertain")


def main(body):
    """Runs the body of a script; what it expects and isn't so is printed.

    However the script ends, what it started ends with it: children of children are adopted for that.
    """
    ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER
    sys.stdout.reconfigure(line_buffering=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended before its time"))
    try:
        body()
    except Failed as fault:
        print(f"FAILED: {fault}")
        raise SystemExit(1)
    finally:
        end_others()
