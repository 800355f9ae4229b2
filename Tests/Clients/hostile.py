"""Treats the agent as hostile programs do: hostile.py PROGRAM

Requests that are meant to smuggle others, foreign names, tokens that don't allow what is asked, paths that lead out,
bodies and heads without end, clients that write or read a byte at a time or nothing: each is refused as docs/api.md
says, others are served meanwhile, no answer has a secret, and a schedule that is due each second stays on time.
"""
import contextlib
import datetime
import json
import os
import re
import select
import socket
import sys
import time

from agent import RECIPES, SECRET, Agent, Failed, expect, main, until

# What the agent promises.
MOST_STREAMS, MOST_CONNECTIONS, LARGEST_BODY, LARGEST_HEAD = 200, 400, 4 << 20, 16 << 10
# How long a request may take to arrive, and a client may be silent, in seconds.
LONGEST_REQUEST, LONGEST_SILENCE = 15, 30
# What a recipe is late beside all this; the machine runs other tests as well.
LATEST = 2.0

TICK = """
    summary: Is due each second.
    on: [{ every: 1s, overlap: allowAll, catchup: all }]
    steps: [{ let: { a: 1 } }]
    """


def megabytes(agent):
    text = open(f"/proc/{agent.process.pid}/status").read()
    return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) / 1024


def sockets(agent):
    found = 0
    for name in os.listdir(f"/proc/{agent.process.pid}/fd"):
        with contextlib.suppress(OSError):
            found += os.readlink(f"/proc/{agent.process.pid}/fd/{name}").startswith("socket:")
    return found


def connected(agent, receives=None):
    client = socket.socket()
    if receives:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
    client.settimeout(60)
    client.connect(("127.0.0.1", agent.port))
    return client


def answered(agent, request, most=60):
    """What the agent answers to some bytes, until it closes, is silent for a second, or some seconds are over."""
    end = time.monotonic() + most
    with contextlib.closing(connected(agent)) as client:
        text = b""
        with contextlib.suppress(ConnectionError):
            client.sendall(request)
        while True:
            # The first part may take longer.
            if time.monotonic() > end or not select.select([client], [], [], 1 if text else 20)[0]:
                return text
            try:
                part = client.recv(1 << 16)
            except ConnectionError:
                part = b""
            if not part:
                return text
            text += part


def statuses(text):
    return [int(status) for status in re.findall(rb"HTTP/1\.[01] (\d{3}) ", text)]


def head(agent, first, *fields):
    return "\r\n".join([first, f"Host: 127.0.0.1:{agent.port}", *fields, "", ""]).encode("latin-1")


# What is tried.

def smuggling(agent, token):
    """Requests whose end is told in two ways: what follows the first one is never done."""
    inner = head(agent, "POST /api/v1/recipes/broken/runs HTTP/1.1", f"Authorization: Bearer {token}", "Content-Length: 0")
    target = "POST /api/v1/recipes/sum/runs HTTP/1.1"
    shapes = {
        "a length and chunks": (["Content-Length: 5", "Transfer-Encoding: chunked"], b"0\r\n\r\n" + inner),
        "chunks and a length": (["Transfer-Encoding: chunked", "Content-Length: 5"], b"0\r\n\r\n" + inner),
        "two lengths": (["Content-Length: 0", f"Content-Length: {len(inner)}"], inner),
        "a list of lengths": ([f"Content-Length: 0, {len(inner)}"], inner),
        "a length with a sign": (["Content-Length: +0"], inner),
        "a negative length": (["Content-Length: -1"], inner),
        "a hexadecimal length": (["Content-Length: 0x0"], inner),
        "an endless length": (["Content-Length: 99999999999999999999999999"], inner),
        "a space before the colon": ([f"Content-Length : {len(inner)}"], inner),
        "an encoding of another name": (["Transfer-Encoding: xchunked"], b"0\r\n\r\n" + inner),
        "two encodings": (["Transfer-Encoding: chunked", "Transfer-Encoding: identity"], b"0\r\n\r\n" + inner),
        "an encoding after chunks": (["Transfer-Encoding: chunked, identity"], b"0\r\n\r\n" + inner),
        "a chunk whose size is none": (["Transfer-Encoding: chunked"], b"zz\r\n" + inner),
        "a chunk that is too large": (["Transfer-Encoding: chunked"], b"ffffffffffffffffff\r\n" + inner),
    }
    faults = []
    for name, (fields, body) in shapes.items():
        found = statuses(answered(agent, head(agent, target, f"Authorization: Bearer {token}", *fields) + body))
        # Refused, perhaps with its head twice, which libmicrohttpd does; the hidden request's answer would be 202.
        if any(not 400 <= status < 600 or status in (500, 503) for status in found):
            faults.append(f"{name}: {found}")
    expect(not faults, f"requests that hide another: {faults}")
    runs = agent.ask("GET", "/api/v1/runs?recipe=broken", token).json["items"]
    expect(runs == [], f"a hidden request started {len(runs)} runs")
    return len(shapes)


def names_and_tokens(agent, token):
    """Hosts and origins that aren't the agent's, and tokens that don't allow what is asked."""
    own = f"127.0.0.1:{agent.port}"
    narrow = agent.token("narrow", "read", "start", recipes=["sum"])
    reader = agent.token("reader", "read")
    brief = agent.token("brief", "read", more=["--expires", "1s"])
    revoked = agent.token("revoked", "read")
    expect(agent.call("token", "revoke", "revoked").returncode == 0, "a token isn't revoked")
    until(lambda: agent.ask("GET", "/api/v1/runs", brief).status == 401, "a token doesn't expire")
    waiting = agent.until_status(token, agent.begin(token, "patient"), "waiting")
    faults = []

    def check(what, wanted, method, path, bearer=token, **headers):
        answer = agent.ask(method, path, bearer, headers={k.replace("_", "-"): v for k, v in headers.items()})
        if answer.status != wanted:
            faults.append(f"{what}: {answer}")

    for host in ["evil.example", f"evil.example:{agent.port}", f"127.0.0.1.evil.example:{agent.port}",
                 f"evil.example@{own}", f"{own}.evil.example", "0.0.0.0", ""]:
        for path in ["/api/v1/runs", "/", "/healthz", "/openapi.json", "/hooks/none"]:
            check(f"the host {host!r} at {path}", 421, "GET", path, Host=host)
    for origin in ["http://evil.example", f"http://evil.example:{agent.port}", "null", f"https://{own}.evil.example",
                   f"http://{own}@evil.example", "file://", f"http://127.0.0.1:{agent.port + 1}"]:
        for method, path in [("POST", "/api/v1/recipes/sum/runs"), ("GET", "/api/v1/runs"), ("POST", "/login")]:
            check(f"the origin {origin} at {path}", 403, method, path, Origin=origin)
    for what, bearer in [("no token", None), ("an expired token", brief), ("a revoked token", revoked),
                         ("a guess", "errand_" + "0" * 43), ("a cut token", token[:-1]), ("a longer token", token + "0")]:
        for method, path in [("GET", "/api/v1/runs"), ("GET", f"/api/v1/runs/{waiting}/events"),
                             ("POST", "/api/v1/recipes/sum/runs"), ("POST", f"/api/v1/runs/{waiting}/cancel")]:
            check(f"{what} at {method} {path}", 401, method, path, bearer)
    for method, path in [("POST", "/api/v1/recipes/sum/runs"), ("POST", f"/api/v1/runs/{waiting}/cancel"),
                         ("POST", f"/api/v1/runs/{waiting}/decisions"), ("POST", "/api/v1/events"),
                         ("DELETE", f"/api/v1/runs/{waiting}"), ("POST", "/api/v1/schedules/sum/trigger")]:
        check(f"a reader at {method} {path}", 403, method, path, reader)
    for method, path in [("GET", f"/api/v1/runs/{waiting}"), ("GET", f"/api/v1/runs/{waiting}/steps"),
                         ("GET", "/api/v1/recipes/patient"), ("GET", "/api/v1/runs?recipe=patient"),
                         ("POST", "/api/v1/recipes/patient/runs")]:
        check(f"another recipe's token at {method} {path}", 404, method, path, narrow)
    found = statuses(answered(agent, (
        f"GET /api/v1/runs HTTP/1.1\r\nHost: {own}\r\nHost: evil.example\r\nAuthorization: Bearer {token}\r\n\r\n").encode()))
    if found != [400]:
        faults.append(f"two hosts: {found}")
    expect(not faults, f"{len(faults)} callers weren't refused: " + "\n".join(faults[:20]))


def paths(agent, token):
    """Paths that lead elsewhere, are very long, or aren't text."""
    faults = []
    for path in ["/../../../../etc/passwd", "/assets/../errand.yaml", "/assets/%2e%2e/errand.yaml", "/%2e%2e/errand.yaml",
                 "/assets/..%2ferrand.yaml", "/assets/%2e%2e%2ferrand.yaml", "/assets//etc/passwd", "/assets/%00",
                 "/assets/errand.css%00.html", "/assets/errand.css/..", "//evil.example/", "///", "/api//v1/runs",
                 "/api/v1/../v1/runs", "/api/v1/runs/%00", "/api/v1/runs/..%2f..%2ferrand.yaml", "/api/v1/runs/%ff%fe",
                 "/api/v1/recipes/..%2f..%2f..%2fetc%2fpasswd", "/api/v1/recipes/%2e%2e", "/api/v1/runs/%", "/hooks/",
                 "/hooks/..", "/hooks/%2e%2e/api/v1/runs", "/api/v1/runs/" + "a" * 8000, "/runs/" + "%41" * 2000,
                 "/recipes/%2e%2e%2ferrand.yaml", "/approvals/%00/%00", "/.errand/api.sock", "/errand.yaml"]:
        text = answered(agent, head(agent, f"GET {path} HTTP/1.1", f"Authorization: Bearer {token}", "Connection: close"))
        found = statuses(text)
        place = re.search(rb"\r\nLocation: ([^\r]*)", text)
        if len(found) != 1 or found[0] not in (303, 400, 404, 405, 414, 422) or (
                place and not place[1].startswith(b"/login?")) or b"root:" in text or b"listen:" in text:
            faults.append(f"{path[:60]}: {found} {text[:300]}")
    for what, request in [
            ("a path of 20 KB", head(agent, f"GET /{'a' * 20000} HTTP/1.1")),
            ("a path of 10 MB", head(agent, f"GET /{'a' * 10_000_000} HTTP/1.1")),
            ("a field of 10 MB", head(agent, "GET /healthz HTTP/1.1", f"X-Long: {'a' * 10_000_000}")),
            ("100,000 fields", head(agent, "GET /healthz HTTP/1.1", *(f"X-{n}: {n}" for n in range(100_000)))),
            ("no HTTP", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + os.urandom(500) + b"\r\n\r\n"),
            ("another protocol", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), ("a method of 10 KB", b"A" * 10_000 + b" / HTTP/1.1\r\n\r\n"),
    ]:
        found = statuses(answered(agent, request))
        if any(not 400 <= status < 600 or status in (500, 503) for status in found):
            faults.append(f"{what}: {found}")
    expect(not faults, f"{len(faults)} paths and heads: " + "\n".join(faults))


def bodies(agent, token):
    """A hundred megabytes, announced and not."""
    before, size = megabytes(agent), 100 << 20
    path, bearer = "/api/v1/recipes/sum/runs", f"Authorization: Bearer {token}"
    for target in [path, "/hooks/none", "/login", "/nothing"]:
        text = answered(agent, head(agent, f"POST {target} HTTP/1.1", bearer, f"Content-Length: {size}"))
        expect(statuses(text) == [413], f"an announced body of 100 MB at {target}: {text[:200]}")
    with contextlib.closing(connected(agent)) as client:
        client.sendall(head(agent, f"POST {path} HTTP/1.1", bearer, "Transfer-Encoding: chunked"))
        sent, chunk = 0, b"10000\r\n" + b"x" * 65536 + b"\r\n"
        with contextlib.suppress(OSError):
            while sent < size:
                client.sendall(chunk)
                sent += 65536
        expect(sent < size, "a body of 100 MB in chunks was read to its end")
    # A hundred at once hold what one may hold, and no more than they sent.
    clients = [connected(agent) for _ in range(100)]
    for client in clients:
        client.sendall(head(agent, f"POST {path} HTTP/1.1", bearer, f"Content-Length: {LARGEST_BODY}"))
    expect(agent.ask("GET", "/healthz").status == 200, "announced bodies hold up others")
    grown = megabytes(agent) - before
    for client in clients:
        client.close()
    expect(grown < 48, f"bodies that were only announced made the agent grow by {grown:.0f} MB")
    return grown


def streams(agent, token, run):
    """As many streams as there may be, and one more."""
    # One whose client is gone keeps its place until the agent writes to it.
    metrics = agent.token("metrics", "metrics")
    until(lambda: b"\nerrand_streams_open 0\n" in agent.ask("GET", "/metrics", metrics).body,
          "streams of clients that are gone are still open", 60)
    before = megabytes(agent)
    request = head(agent, f"GET /api/v1/runs/{run}/events HTTP/1.1", f"Authorization: Bearer {token}")
    clients = [connected(agent) for _ in range(MOST_STREAMS)]
    try:
        for client in clients:
            client.sendall(request)
        for client in clients:
            text = b""
            while b"event: snapshot" not in text:
                part = client.recv(65536)
                expect(part, f"a stream ended: {text[:300]}")
                text += part
        refused = agent.ask("GET", f"/api/v1/runs/{run}/events", token)
        expect(refused.status == 429 and refused.headers["Retry-After"] == "15", f"one stream more: {refused}")
        expect(agent.ask("GET", f"/api/v1/runs/{run}", token).status == 200, "streams hold up others")
        grown = megabytes(agent) - before
        expect(grown < 40, f"{MOST_STREAMS} streams made the agent grow by {grown:.0f} MB")
    finally:
        for client in clients:
            client.close()
    # The places of those that are gone are free again, at the latest when the agent writes to them.
    def is_free():
        with contextlib.closing(connected(agent)) as client:
            client.sendall(request)
            return statuses(client.recv(4096)) == [200]
    until(is_free, "the places of streams that are gone aren't free", 60)
    return grown


def slow_readers(agent, token):
    """Clients that never read are cut off, and hold no more than the run's bounded queue."""
    before, connections = megabytes(agent), sockets(agent)
    run = agent.begin(token, "busy", count=3000)
    request = head(agent, f"GET /api/v1/runs/{run}/events HTTP/1.1", f"Authorization: Bearer {token}")
    clients = [connected(agent, receives=4096) for _ in range(20)]
    for client in clients:
        client.sendall(request)
    agent.until_status(token, run, "succeeded")
    grown = megabytes(agent) - before
    expect(grown < 100, f"20 clients that don't read made the agent grow by {grown:.0f} MB")
    # Once they have read nothing for as long as clients may be silent, the agent holds nothing for them.
    until(lambda: sockets(agent) <= connections, "clients that don't read are still connected", LONGEST_SILENCE * 4)
    for client in clients:
        client.close()
    return grown


def slow_writers(agent, token):
    """More clients than may be connected, each of which writes a byte at a time: all are cut off, and others served."""
    text = head(agent, "GET /healthz HTTP/1.1", "X-Slow: " + "a" * 10_000)
    body = head(agent, "POST /api/v1/recipes/sum/runs HTTP/1.1", "Content-Length: 100000") + b" " * 10_000
    # Slow from the first byte on, in the head, and in the body.
    kinds = [(text, 0), (text, text.index(b"X-Slow")), (body, body.index(b"\r\n\r\n") + 4)]
    began, slow = time.monotonic(), {}
    for number in range(MOST_CONNECTIONS + 50):
        client = socket.socket()
        client.setblocking(False)
        client.connect_ex(("127.0.0.1", agent.port))
        text, sent = kinds[number % len(kinds)]
        with contextlib.suppress(OSError):
            client.send(text[:sent])
        slow[client] = text, sent
    count, longest, rounds = len(slow), 0, 0
    while slow and time.monotonic() - began < LONGEST_SILENCE * 4:
        for client, (text, sent) in list(slow.items()):
            try:
                slow[client] = text, sent + client.send(text[sent:sent + 1])
                if client.recv(4096):
                    continue
            except BlockingIOError:
                continue
            except OSError:
                pass
            del slow[client]
            client.close()
        rounds += 1
        if rounds % 5 == 1:
            asked = time.monotonic()
            expect(agent.ask("GET", "/healthz", timeout=LONGEST_SILENCE * 2).status == 200, "slow writers hold up others")
            longest = max(longest, time.monotonic() - asked)
        time.sleep(0.5)
    took = time.monotonic() - began
    expect(not slow, f"after {took:.0f} s {len(slow)} clients that write a byte at a time are still connected")
    return f"{count} were cut off within {took:.0f} s, others waited {longest:.1f} s at most"


def secrets(agent, token):
    """No answer has a secret, at any path of the document and on any page."""
    waiting = agent.until_status(token, agent.begin(token, "secretive", note=SECRET), "waiting")
    ended = agent.until_status(token, agent.begin(token, "secretive", note=SECRET), "waiting")
    decided = agent.ask("POST", f"/api/v1/runs/{ended}/decisions", token, {"approved": True, "comment": SECRET})
    expect(decided.status == 200, f"no decision: {decided}")
    agent.until_status(token, ended, "failed")
    # What was in an answer to a request that had it says nothing that the caller doesn't know.
    document = agent.ask("GET", "/openapi.json").json
    entered = agent.ask("GET", "/" + agent.link().split("/", 3)[3])
    cookie = entered.headers["Set-Cookie"].split(";")[0]
    asked, found = 0, []

    def look(path, **headers):
        nonlocal asked
        asked += 1
        if path.endswith("/events"):
            # The runs of a schedule that is due each second leave the stream of all runs no silence.
            text = answered(agent, head(agent, f"GET {path} HTTP/1.1", f"Authorization: Bearer {token}"), most=3)
            status = statuses(text)[0]
        else:
            answer = agent.ask("GET", path, None if headers else token, headers=headers)
            status, text = answer.status, answer.body + str(answer.headers).encode()
        if SECRET.encode() in text:
            found.append(path)
        return status, text

    for run in [waiting, ended, "last:secretive"]:
        for path, item in document["paths"].items():
            if "get" in item:
                path = path.replace("{run}", run).replace("{recipe}", "secretive").replace("{id}", "sum")
                path = path if path.startswith("/api/") else "/api/v1" + path
                status, text = look(path)
                # Files are for tokens with another scope; their pages are looked at below.
                isOfFiles = status == 403 and b"the scope 'edit'" in text
                expect(isOfFiles or status in (200, 404, 422), f"{path}: {status} {text[:200]}")
        pages = [f"/runs/{run}", f"/runs/{run}/why", f"/runs/{run}/log", f"/runs/{run}/steps/print", f"/runs/{run}/steps/ask",
                 f"/approvals/{run}/ask", "/", "/runs", "/runs?recipe=secretive", "/approvals", "/recipes",
                 "/recipes/secretive", "/schedules", "/schedules/sum", "/state", "/connections", "/plans",
                 "/check", "/actions", "/workers", "/tokens", "/edit", "/edit/recipes%2Fsecretive.yaml"]
        for page in pages:
            look(page, Cookie=cookie)
    expect(not found, f"a secret is in {len(found)} answers: {found}")
    held = agent.call("runs", "show", ended, "--json").stdout
    expect("•••" in held, f"the run holds no masked secret, so that this shows nothing: {held[:400]}")
    return asked


def lateness(agent):
    """How late each slot of the schedule began, in seconds, in their order."""
    found = {}
    listed = agent.call("schedule", "log", "tick", "-n", "10000", "--json")
    for row in json.loads(listed.stdout or "[]"):
        if row["outcome"] == "started":
            slot, at = (datetime.datetime.fromisoformat(row[key].replace("Z", "+00:00")) for key in ("slot", "at"))
            found[slot] = (at - slot).total_seconds()
    return sorted(found.items())


def run():
    busy = RECIPES["many"].replace("store.get, with: { name: \"item\" }", "store.get, with: { name: \"${{ 'item' + string(n) }}\" }")
    with Agent(sys.argv[1], recipes={**RECIPES, "tick": TICK, "busy": busy}) as agent:
        agent.start()
        token = agent.token("everything", "read", "data", "start", "steer", "approve", "tokens")
        waiting = agent.until_status(token, agent.begin(token, "patient"), "waiting")
        until(lambda: len(lateness(agent)) > 2, "the schedule doesn't begin")
        parts = [
            ("smuggling", lambda: smuggling(agent, token)), ("names and tokens", lambda: names_and_tokens(agent, token)),
            ("paths", lambda: paths(agent, token)), ("bodies", lambda: bodies(agent, token)),
            ("secrets", lambda: secrets(agent, token)), ("streams", lambda: streams(agent, token, waiting)),
            ("slow readers", lambda: slow_readers(agent, token)), ("slow writers", lambda: slow_writers(agent, token)),
        ]
        faults = []
        for name, part in parts:
            began = time.monotonic()
            try:
                said = part()
            except Failed as fault:
                faults.append(f"{name}: {fault}")
                continue
            print(f"hostile: {name} took {time.monotonic() - began:.1f} s" + (f": {said}" if said is not None else ""))
            expect(agent.process.poll() is None, f"the agent ended: {''.join(agent.log[-10:])}")
        slots = lateness(agent)
        late = sorted(seconds for _, seconds in slots)
        print(f"hostile: {len(slots)} slots, late by {late[len(late) // 2] * 1000:.0f} ms in the middle, {late[-1] * 1000:.0f} ms at most")
        gaps = [f"{one}" for (one, _), (other, _) in zip(slots, slots[1:]) if (other - one).total_seconds() > 1.5]
        expect(not gaps, f"slots are missing after {gaps[:5]}")
        expect(late[-1] <= LATEST, f"a slot began {late[-1]:.1f} s late")
        expect(not faults, "\n".join(faults))
        agent.end()


main(run)
