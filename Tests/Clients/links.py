"""Sends links by mail and opens them through a TLS proxy, as scanners and people do: links.py PROGRAM [REQUESTS]

Recipes send links by `mail.send` to aiosmtpd, and Debian's nginx is the proxy. A link scanner takes the link out of each
mail, sends 1,000 requests and runs the page in Chromium: nothing is decided or written. A person then decides on a
phone. Requests that aren't a person's own press are refused, links work after a kill -9, a public form counts the
addresses that the proxy saw, and no file, log or answer has the text of a link.
"""
import contextlib
import email
import email.policy
import http.client
import itertools
import json
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
import types
import urllib.parse

from agent import ROOT, Agent, Answer, expect, main, until

try:
    from aiosmtpd.controller import Controller
except ImportError:
    print("skipped: aiosmtpd isn't installed; 'make clients' installs it, or: apt install python3-aiosmtpd")
    sys.exit()

NGINX = next((file for file in [str(ROOT / ".build/nginx/nginx"), shutil.which("nginx"), "/usr/sbin/nginx"]
              if file and pathlib.Path(file).exists()), None)
if not NGINX:
    print("skipped: nginx isn't there; 'make clients' unpacks it")
    sys.exit()

if not shutil.which("openssl"):
    print("skipped: openssl isn't installed, which makes the certificate: apt install openssl")
    sys.exit()

from pages import Browser, By  # After what is skipped, because it ends where there is no browser.

# How many requests a scanner sends, for all mails together.
SCANS = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
PHONE = 390
# The shape of a link, in bytes; a shorter one isn't a right.
SHAPE = re.compile(rb"edl_[A-Za-z0-9_-]{20,}")
CHANGES = "\n".join(f"Student {number}: {number}.0 → {number}.5" for number in range(1, 451))

TELL = """
          tell:
            - forEach: ${{ question.links }}
              as: person
              steps:
                - uses: mail.send
                  with:
                    to: ["${{ person.name }}@example.org"]
                    subject: "For ${{ person.name }}, of run ${{ run.id }}"
                    text: "${{ question.prompt }}\\n\\nDecide here: ${{ person.link }}\\n"
        """
RECIPES = {
    # Asks two people, with so many rows that the page has links to more.
    "averages": """
        summary: Writes each student's average.
        steps:
          - id: decision
            approve:
              prompt: ${CHANGES}
              by: [ann, bob]
              timeout: 2d
              yes: Writes them into the markbook.
              no: Leaves the markbook as it is.
              link: { for: 1d }
    """ + TELL.replace("\n", "\n    ") + """
          - id: write
            uses: file.write
            with: { path: "done-${{ run.id }}.txt", text: "${{ steps.decision.by }} ${{ steps.decision.via }}" }
        """,
    # A form starts it; another person is asked, and the first one gets a mail.
    "rooms": """
        summary: Finds a room.
        inputs: { who: { type: string }, mail: { type: string }, lesson: { type: string } }
        on:
          - id: request
            form:
              path: rooms
              title: Ask for a room
              text: You will get a mail within a day.
              open: public
              limit: { requests: 10, per: 10m }
              fields:
                who: { type: string, max: 80, summary: Your name. }
                mail: { type: string, max: 80, pattern: "[^@ ]+@[^@ ]+", summary: Your address. }
                lesson: { type: string, max: 80, summary: The lesson. }
              done: "Thank you, ${{ event.data.who }}."
            inputs: { who: "${{ event.data.who }}", mail: "${{ event.data.mail }}", lesson: "${{ event.data.lesson }}" }
        steps:
          - id: room
            ask:
              prompt: Which room is free for ${{ inputs.lesson }}?
              fields: { room: { type: string, pattern: "[A-Z][0-9]+", summary: "The room, such as B12." } }
              by: [office]
              timeout: 2d
              yes: Tells ${{ inputs.who }} by mail.
              link: true
    """ + TELL.replace("\n", "\n    ") + """
          - uses: mail.send
            with:
              to: ["${{ inputs.mail }}"]
              subject: Your room for ${{ inputs.lesson }}
              text: "Dear ${{ inputs.who }}, your room is ${{ steps.room.fields.room }}.\\n"
        outputs: { room: "${{ steps.room.fields.room }}" }
        """,
    # Everyone may send it, as often as a form may be sent unless it says otherwise.
    "notes": """
        summary: Takes a note.
        inputs: { words: { type: string } }
        on:
          - id: note
            form: { path: notes, title: Leave a note, open: public, fields: { words: { type: string, max: 80 } } }
            overlap: allowAll
            inputs: { words: "${{ event.data.words }}" }
        steps: [{ let: { x: "${{ inputs.words }}" } }]
        """,
}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Mailboxes:
    """A mail server that keeps each mail."""

    def __init__(self):
        self.mails, self.lock = [], threading.Lock()
        self.controller = Controller(self, hostname="127.0.0.1", port=free_port())
        self.controller.start()
        self.port = self.controller.port

    async def handle_DATA(self, server, session, envelope):
        mail = email.message_from_bytes(envelope.content, policy=email.policy.default)
        with self.lock:
            self.mails.append((envelope.rcpt_tos, mail["Subject"], mail.get_content()))
        return "250 OK"

    def texts(self, name, about):
        """The texts of the mails to a person whose subject contains some words."""
        with self.lock:
            return [text for to, subject, text in self.mails if to == [f"{name}@example.org"] and about in subject]

    def link(self, name, about):
        """The link in the only mail to a person about something, once it has come."""
        until(lambda: self.texts(name, about), f"no mail to {name} has come about {about}")
        texts = self.texts(name, about)
        links = re.findall(r"https?://\S+", "".join(texts))
        expect(len(texts) == 1 and len(links) == 1, f"{name} got {len(texts)} mails with {len(links)} links")
        return links[0]


class Office(Agent):
    """An agent with a mail server, behind a proxy that speaks TLS and can be reached from several addresses."""

    def __init__(self, program):
        self.mailboxes, self.proxy, self.logs = Mailboxes(), None, []
        recipes = {name: text.replace("${CHANGES}", json.dumps(f"Write 450 averages?\n{CHANGES}", ensure_ascii=False))
                   for name, text in RECIPES.items()}
        super().__init__(
            program, recipes=recipes, configuration="connections:\n  mail: { host: 127.0.0.1, security: none, "
            f"port: {self.mailboxes.port}, from: Errand <errand@example.org> }}\n")
        # The proxy knows the agent's port before the agent has it, and after a restart.
        self.inner, self.outer, self.plain = free_port(), free_port(), free_port()
        self.public = f"https://localhost:{self.outer}"
        file = self.folder / "errand.yaml"
        file.write_text(file.read_text().replace(
            "server: { listen: 127.0.0.1:0 }",
            f"server: {{ listen: 127.0.0.1:{self.inner}, publicURL: '{self.public}', name: School office, "
            "contact: office@example.org }"))

    def start(self, *arguments):
        super().start("--verbose", *arguments)
        self.logs.append(self.log)
        return self

    def start_proxy(self):
        folder = self.folder / "proxy"
        folder.mkdir()
        made = subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
             "-keyout", folder / "key.pem", "-out", folder / "certificate.pem", "-days", "2", "-subj", "/CN=localhost",
             "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], capture_output=True, text=True, timeout=60)
        expect(made.returncode == 0, f"openssl makes no certificate: {made.stderr}")
        self.trust = ssl.create_default_context(cafile=folder / "certificate.pem")
        temporary = "".join(f"{kind}_temp_path {folder}/{kind}; "
                            for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"])
        # The log of a proxy has the path of each request, so it would have the links.
        (folder / "nginx.conf").write_text(f"""
            daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;
            events {{}}
            http {{
              access_log off; {temporary}
              server {{ listen 127.0.0.1:{self.plain}; return 301 {self.public}$request_uri; }}
              server {{
                listen 127.0.0.1:{self.outer} ssl;
                ssl_certificate {folder}/certificate.pem; ssl_certificate_key {folder}/key.pem;
                location / {{
                  proxy_pass http://127.0.0.1:{self.inner};
                  proxy_set_header Host $http_host;
                  proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
                }}
              }}
            }}
            """)
        self.proxy = subprocess.Popen(
            [NGINX, "-e", folder / "error.log", "-c", folder / "nginx.conf"], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def serves():
            expect(self.proxy.poll() is None, lambda: f"nginx ended: {(folder / 'error.log').read_text()}")
            with contextlib.suppress(OSError):
                return socket.create_connection(("127.0.0.1", self.outer), timeout=5).close() is None

        until(serves, "nginx doesn't serve")

    def remove(self):
        if self.proxy and self.proxy.poll() is None:
            self.proxy.kill()
            self.proxy.wait()
        self.mailboxes.controller.stop()
        super().remove()

    # Asking through the proxy.

    def visit(self, method, url, form=None, headers=None, address="127.0.0.1", direct=False):
        """One request from an address of this machine, perhaps past the proxy; a list gives a field several times."""
        parts = urllib.parse.urlsplit(urllib.parse.urljoin(self.public, url))
        expect(parts.hostname == "localhost", f"{url} leads to {parts.netloc}")
        if direct:
            parts = parts._replace(scheme="http", netloc=f"localhost:{self.inner}")
        kind, more = ((http.client.HTTPSConnection, {"context": self.trust}) if parts.scheme == "https"
                      else (http.client.HTTPConnection, {}))
        body = None if form is None else urllib.parse.urlencode(form)
        fields = list({"Host": parts.netloc, **(headers or {})}.items())
        if form is not None:
            fields += [("Content-Type", "application/x-www-form-urlencoded"), ("Content-Length", str(len(body)))]
        with contextlib.closing(
                kind("127.0.0.1", parts.port, timeout=60, source_address=(address, 0), **more)) as connection:
            connection.putrequest(
                method, parts.path + ("?" + parts.query if parts.query else ""), skip_host=True,
                skip_accept_encoding=True)
            for name, values in fields:
                for value in values if isinstance(values, list) else [values]:
                    connection.putheader(name, value)
            connection.endheaders(None if body is None else body.encode())
            answer = connection.getresponse()
            answer = Answer(answer.status, answer.headers, answer.read())
        expect(not SHAPE.search(answer.body), lambda: f"the answer to {method} has the text of a link: {answer}")
        return answer

    def post(self, url, form, origin="own", **more):
        headers = more.pop("headers", {})
        if origin:
            headers["Origin"] = self.public if origin == "own" else origin
        return self.visit("POST", url, form, headers, **more)

    # Looking.

    @property
    def state(self):
        return self.folder / ".errand"

    def files(self):
        """Each file of the state with its bytes, among them the journal."""
        found = {str(file.relative_to(self.state)): file.read_bytes()
                 for file in sorted(self.state.rglob("*")) if file.is_file()}
        expect(any(name.startswith("journal-") for name in found), f"the state has no journal: {list(found)}")
        return found

    def shown(self, run):
        made = self.call("runs", "show", run, "--json")
        expect(made.returncode == 0, f"runs show fails: {made.stderr}")
        return json.loads(made.stdout)

    def asked(self, token):
        """A run that asks ann and bob, and the link that each of them got."""
        run = self.begin(token, "averages")
        links = [self.mailboxes.link(name, run) for name in ["ann", "bob"]]
        self.until_status(token, run, "waiting")
        for link in links:
            expect(link.startswith(f"{self.public}/d/edl_"), f"a link doesn't begin with publicURL: {link}")
        expect(links[0] != links[1], "two people have one link")
        return run, *links

    def phone(self):
        """A browser with the window of a phone, which accepts the self-signed certificate."""
        browser = Browser(types.SimpleNamespace(url=self.public), trusting=True)
        browser.look("light", PHONE, 844)
        return browser


def hidden(answer, name):
    """The value of a hidden field of a page."""
    found = re.search(rf'name="{name}" value="([^"]*)"', answer.body.decode())
    expect(found, lambda: f"the page has no field {name}: {answer}")
    return found[1]


def waits(office, run, files, what):
    """Expects that a question is open, and that nothing was written into the journal or anywhere else in the state."""
    now = office.files()
    expect(now == files, lambda: f"{what} wrote into the state: " + "; ".join(
        f"{name}: {now.get(name, b'')[len(files.get(name, b'')):][:600]!r}"
        for name in sorted({*files, *now}) if now.get(name) != files.get(name)))
    shown = office.shown(run)
    expect(shown["status"] == "waiting", f"after {what}, the run is {shown['status']}")


def silent(office):
    """The log since the first start, which names no link."""
    log = "".join(line for log in office.logs for line in log)
    expect(" serves " in log, "the log is empty")
    named = next((line for line in log.splitlines() if "/d/" in line or "edl_" in line), None)
    expect(not named, lambda: f"the log names a link: {named}")
    return log


# What is tried.

def scanner(office, token):
    """Fetches the links as services do that protect mailboxes: by program, and in a browser."""
    run, *links = office.asked(token)
    files = office.files()
    agents = ["Mozilla/5.0 (compatible; LinkScanner/1.0)", "facebookexternalhit/1.1", "Slackbot-LinkExpanding 1.0", ""]
    kinds = [{"Accept": "*/*"}, {"Accept": "text/html", "Accept-Encoding": "gzip"}, {"Range": "bytes=0-1023"},
             {"Sec-Purpose": "prefetch;prerender", "Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate",
              "Sec-Fetch-Dest": "document"}, {"Referer": "https://mail.example/", "X-Forwarded-For": "203.0.113.9"}]
    plain = f"http://localhost:{office.plain}"
    ways = itertools.cycle(itertools.product(["HEAD", "GET"], agents, kinds, [office.public, plain], links))
    requests = redirects = 0
    while requests < SCANS:
        method, agent, fields, base, link = next(ways)
        url = base + urllib.parse.urlsplit(link).path
        for _ in range(5):
            answer = office.visit(method, url, headers={"User-Agent": agent, **fields}, address="127.0.0.20")
            requests += 1
            if answer.status not in (301, 302, 303, 307, 308):
                break
            url, redirects = urllib.parse.urljoin(url, answer.headers["Location"]), redirects + 1
        expect(answer.status == 200, f"a scanner's {method} of a link is answered with {answer}")
        expect(answer.headers["Set-Cookie"] is None, "a link logs in, or knows its visitor again")
    print(f"links: a scanner has sent {requests} requests, {redirects} of them redirected")
    waits(office, run, files, "a scanner")
    looked = 0
    with office.phone() as browser:
        for link in links:
            todo, done = [urllib.parse.urlsplit(link).path], []
            while todo and len(done) < 20:
                path = todo.pop(0)
                done.append(path)
                browser.open(office.public + path)
                # Scripts have time to do what they do without a press.
                time.sleep(2)
                todo += [found for found in browser.links() if found not in done + todo]
            looked += len(done)
            expect(len(done) > 1, "the page of a long question has no links to its other rows")
        entries = browser.driver.get_log("performance")
        sent = [json.loads(entry["message"])["message"] for entry in entries]
        sent = [entry["params"]["request"] for entry in sent if entry["method"] == "Network.requestWillBeSent"]
        expect(len(sent) >= looked, "the browser's requests aren't seen")
        for request in sent:
            expect(request["method"] in ("GET", "HEAD"), f"the page sends {request['method']} {request['url']} unasked")
            expect(request["url"].startswith((office.public + "/", "data:", "chrome")), f"the page asks {request}")
    waits(office, run, files, "a browser that follows every link")
    silent(office)
    print(f"links: a scanner's Chromium has looked at {looked} pages and sent {len(sent)} requests; nothing was written")
    return run, *links


def person(office, token, run, ann, bob):
    """Rejects on a phone, from a mail program in the browser."""
    with office.phone() as browser:
        # The link is pressed on a page of another site.
        browser.driver.get("data:text/html," + urllib.parse.quote(f"<a href='{ann}'>Decide here</a>"))
        browser.activate("the link in the mail", "a")
        for words in [
            "School office asks you, ann", "Writes each student's average.", "Write 450 averages?", "450 changes",
            "If you approve: Writes them into the markbook.", "Then: write (file.write).",
            "If you reject: Leaves the markbook as it is. The run ends; nothing more is done.", "If nobody decides by",
            "Ask office@example.org if you weren't expecting this.",
        ]:
            expect(words in browser.text, lambda: f"the page doesn't say {words!r}:\n{browser.text[:3000]}")
        expect(run not in browser.driver.page_source, "the page has the run's id")
        faults = [f"{theme}: {fault}" for theme in ["light", "dark"] for fault in browser.faults(theme, PHONE)]
        faults += browser.noise()
        expect(not faults, lambda: "\n".join(faults))
        browser.look("light", PHONE, 844)
        near = browser.ask(
            "const box = document.querySelector('button[value=reject]').getBoundingClientRect();"
            "return box.top >= 0 && box.bottom <= innerHeight && box.right <= innerWidth")
        expect(near, "the buttons aren't in sight on a phone")
        browser.enter("the comment", "[name='comment']", "Ben's mark is wrong.")
        browser.activate("the button that rejects", "button[value='reject']")
        recorded = ["Your decision is recorded.", "You rejected on ", "You can close this page."]
        for what in ["the answer", "the same link"]:
            for words in recorded:
                expect(words in browser.text, lambda: f"{what} doesn't say {words!r}:\n{browser.text[:2000]}")
            browser.open(ann)
        browser.open(bob)
        expect("ann rejected this by link on " in browser.text, lambda: f"bob isn't told:\n{browser.text[:2000]}")
        expect(not browser.driver.find_elements(By.CSS_SELECTOR, "button"), "bob can still decide")
    late = office.post(bob, {"choice": "approve", "question": "0011"})
    expect(late.status == 409 and b"ann rejected this by link on " in late.body, f"bob is late, and gets {late}")
    office.until_status(token, run, "rejected")
    why = office.call("why", run).stdout
    expect("ann rejected 'decision' by link on " in why, f"why doesn't say who and how: {why}")
    decision = next(step for step in office.shown(run)["steps"] if step["path"] == "decision")["decision"]
    told = {key: decision.get(key) for key in ["by", "via", "isApproved", "comment"]}
    expect(told == {"by": "ann", "via": "link", "isApproved": False, "comment": "Ben's mark is wrong."},
           f"runs show says {decision}")
    expect(not (office.folder / f"done-{run}.txt").exists(), "the averages were written all the same")
    print("links: a person has rejected on a phone, and the other one was told")


def refusals(office, token):
    """Sends requests that aren't a person's press on the page of the link."""
    run, ann, bob = office.asked(token)
    question = hidden(office.visit("GET", ann), "question")
    form = {"choice": "approve", "question": question}
    files = office.files()

    def refused(what, status, words, link=ann, form=form, **more):
        answer = office.post(link, form, **more)
        expect(answer.status == status and words in answer.body.decode(),
               lambda: f"{what} is answered with {answer}, not with {status} and {words!r}")
        waits(office, run, files, what)

    html = {"Accept": "text/html"}
    refused("a decision without an Origin", 403, "Origin", origin=None)
    for origin in ["https://evil.example", "null", f"https://localhost:{office.plain}", f"{office.public}.evil.example"]:
        refused(f"a decision from {origin}", 403, "can", origin=origin, headers=dict(html))
    refused("a decision that another site makes the browser send", 403, "Sec-Fetch-Site",
            headers={"Sec-Fetch-Site": "cross-site"})
    another = hidden(office.visit("GET", office.asked(token)[1]), "question")
    expect(another != question, "two runs ask one question")
    files = office.files()
    refused("the digest of another question", 409, "Another question is asked now.",
            form={"choice": "approve", "question": another})
    refused("no choice", 422, "Choose to approve or to reject.", form={"question": question})
    for method in ["PUT", "PATCH", "DELETE", "OPTIONS"]:
        answer = office.visit(method, ann, headers={"Origin": office.public})
        expect(answer.status == 405, f"{method} is answered with {answer}")
    # Requests that fail early aren't logged with their path.
    early = {"another host": {"Host": "evil.example"}, "a field twice": {"Origin": [office.public] * 2}}
    for what, headers in early.items():
        answer = office.visit("POST", ann, form, headers, direct=True)
        expect(answer.status in (400, 403, 421), f"{what} is answered with {answer}")
    large = {**form, "comment": "x" * 900_000}
    expect(office.post(ann, large).status in (413, 422), "a comment of 900 KB is taken")
    waits(office, run, files, "what fails early")
    place = len(ann) - 10
    changed = ann[:place] + ("A" if ann[place] != "A" else "B") + ann[place + 1:]
    refused("a link with one character changed", 404, "This link isn", link=changed)
    # Guesses are counted by the address that the proxy saw, whatever a client says that it is.
    statuses = [office.visit("GET", f"/d/edl_{number:032}", headers={"X-Forwarded-For": f"198.51.100.{number}"},
                             address="127.0.0.30").status for number in range(33)]
    expect(statuses == [404] * 30 + [429] * 3, f"33 guesses are answered with {statuses}")
    for link, address, wanted in [("/d/edl_" + "y" * 32, "127.0.0.31", 404), (ann, "127.0.0.30", 200)]:
        answer = office.visit("GET", link, address=address)
        expect(answer.status == wanted, f"after guesses of another, {address} gets {answer}")
    waits(office, run, files, "guessing")
    ended = office.call("runs", "unlink", run)
    expect(ended.returncode == 0, f"unlink fails: {ended.stderr}")
    files = office.files()
    for link in [ann, bob]:
        refused("a link that was ended", 404, "This link isn", link=link)
    expect(office.visit("GET", ann).body == office.visit("GET", changed).body, "an ended link is told from a false one")
    # Someone who has logged in can still decide.
    done = office.call("runs", "approve", run, "--by", "ann")
    expect(done.returncode == 0, f"the question can't be decided any more: {done.stderr}")
    office.until_status(token, run, "succeeded")
    print("links: requests that aren't a person's own press were refused")
    return [ann, bob]


def killed(office, token):
    """Kills the agent between a mail and the decision."""
    run, ann, bob = office.asked(token)
    office.kill()
    expect(office.visit("GET", ann).status == 502, "the agent was killed, and someone else answers")
    office.start()
    page = office.visit("GET", ann)
    expect(page.status == 200 and b"asks you, ann" in page.body, f"after a kill the link is answered with {page}")
    # A person may copy a link into a comment.
    done = office.post(ann, {"choice": "approve", "question": hidden(page, "question"), "comment": f"As {bob} says."})
    expect(done.status == 200 and b"Your decision is recorded." in done.body, f"after a kill ann gets {done}")
    office.until_status(token, run, "succeeded")
    said = (office.folder / f"done-{run}.txt").read_text()
    expect(said == "ann link", f"the run knows of: {said}")
    for name in ["ann", "bob"]:
        expect(len(office.mailboxes.texts(name, run)) == 1, f"{name} got the mail again")
    print("links: after a kill -9 the same link has worked")
    return run, ann, bob


def limits(office):
    """Sends a public form from several addresses."""
    def send(address, headers=None):
        key = hidden(office.visit("GET", "/forms/notes", address=address), "key")
        return office.post("/forms/notes", {"key": key, "website": "", "field.words": "Hello"},
                           headers=dict(headers or {}), address=address)

    answers = [send("127.0.0.40") for _ in range(12)]
    statuses = [answer.status for answer in answers]
    expect(statuses == [200] * 10 + [429] * 2, f"12 forms from one address are answered with {statuses}")
    after = answers[-1].headers["Retry-After"]
    expect(after and 0 < int(after) <= 600 and b"Hello" in answers[-1].body, f"the last one gets {answers[-1]}")
    expect(send("127.0.0.41").status == 200, "another address doesn't get through")
    # What a client says that it is comes before what the proxy adds.
    for forged in ["203.0.113.7", "203.0.113.7, 203.0.113.8", "127.0.0.42,", ["203.0.113.7", "203.0.113.8"], "x", "",
                   "203.0.113.7, unknown"]:
        answer = send("127.0.0.40", {"X-Forwarded-For": forged})
        expect(answer.status == 429, f"with a forged X-Forwarded-For {forged!r}, the address gets {answer}")
    expect(send("127.0.0.40", {"X-Real-IP": "203.0.113.7", "Forwarded": "for=203.0.113.7"}).status == 429,
           "another field with an address is believed")
    # A new address that invents one for each form has ten forms, and takes none from those that it names.
    statuses = [send("127.0.0.43", {"X-Forwarded-For": ["127.0.0.44", f"198.51.100.{number}, 127.0.0.44"]}).status
                for number in range(12)]
    expect(statuses == [200] * 10 + [429] * 2, f"12 forms with forged addresses are answered with {statuses}")
    expect(send("127.0.0.44").status == 200, "an address pays for what another one forged")
    print("links: a public form counts the address that the proxy saw")


def room(office, token):
    """A person asks for a room by a form; another one is asked by mail, and the first gets the room by mail."""
    with office.phone() as browser:
        browser.open(office.public + "/forms/rooms")
        expect("You will get a mail within a day." in browser.text, lambda: f"the form says:\n{browser.text}")
        for field, text in [("who", "Zoë"), ("mail", "zoe@example.org"), ("lesson", "maths on Monday")]:
            browser.enter(f"the field {field}", f"[name='field.{field}']", text)
        faults = [f"{theme}: {fault}" for theme in ["light", "dark"] for fault in browser.faults(theme, PHONE)]
        browser.look("light", PHONE, 844)
        browser.activate("the button that sends", "main form button")
        expect("Thank you, Zoë." in browser.text, lambda: f"after the form:\n{browser.text}")
        faults += browser.noise()
        expect(not faults, lambda: "\n".join(faults))
    office_link = office.mailboxes.link("office", "For office, of run ")
    [item] = office.ask("GET", "/api/v1/runs?recipe=rooms", token).json["items"]
    run = item["id"]
    with office.phone() as browser:
        browser.open(office_link)
        for words in ["School office asks you, office", "Which room is free for maths on Monday?",
                      "If you answer: Tells Zoë by mail."]:
            expect(words in browser.text, lambda: f"the question doesn't say {words!r}:\n{browser.text}")
        browser.enter("the room", "[name='field.room']", "B12")
        browser.activate("the button that answers", "form[method='post'] .actions button")
        expect("Your answer is recorded." in browser.text, lambda: f"after the answer:\n{browser.text}")
        expect(not browser.noise(), "the console says something")
    office.until_status(token, run, "succeeded")
    mails = until(lambda: office.mailboxes.texts("zoe", "Your room"), "no mail with the room has come")
    expect([mail.strip() for mail in mails] == ["Dear Zoë, your room is B12."], f"the mails with the room are {mails}")
    print("links: a form was answered by mail, and another person was asked in between")
    return run, office_link


def planted(office, token, runs, links):
    """Looks for the texts of links wherever the agent keeps or tells something."""
    texts = [link.rsplit("/d/edl_", 1)[1].encode() for link in links]
    places = 0

    def look(place, data):
        nonlocal places
        places += 1
        found = SHAPE.search(data)
        expect(not found, lambda: f"{place} has the text of a link: {data[max(0, found.start() - 200):found.end()]!r}")
        # Its second half is enough to find one that is written in parts.
        hit = next((text for text in texts if text in data or text[16:] in data), None)
        expect(not hit, lambda: f"{place} has the text of a link without its mark")

    # What is searched isn't compressed: it has a comment that a person wrote.
    known = b"Ben's mark is wrong."
    export = office.call("state", "export", "copy.archive")
    expect(export.returncode == 0, f"no export: {export.stderr}")
    data = (office.folder / "copy.archive").read_bytes()
    expect(known in data and any(known in data for data in office.files().values()), "the comment isn't found")
    look("the export", data)
    for name, data in office.files().items():
        look(f"the file {name}", data)
    for run in runs:
        steps = office.ask("GET", f"/api/v1/runs/{run}/steps", token)
        for path in ["", "/steps", "/logs", "/logs.txt", "/why", "/outputs.json"] + [
                f"/steps/{urllib.parse.quote(step['path'], safe='')}" for step in steps.json["items"]]:
            answer = office.ask("GET", f"/api/v1/runs/{run}{path}", token)
            expect(answer.status == 200, f"{path} is answered with {answer}")
            look(f"the answer {path} of the run", answer.body)
        for arguments in [["runs", "show", run], ["runs", "show", run, "--json"], ["why", run], ["runs", "logs", run]]:
            made = office.call(*arguments)
            expect(made.returncode == 0, f"{arguments} fails: {made.stderr}")
            look(" ".join(arguments), (made.stdout + made.stderr).encode())
    for path, by in [("/metrics", office.token("figures", "metrics")), *[
            (f"/api/v1/{name}", token) for name in ["approvals", "runs", "schedules"]]]:
        answer = office.ask("GET", path, by)
        expect(answer.status == 200, f"{path} is answered with {answer}")
        look(path, answer.body)
    look("the log", silent(office).encode())
    print(f"links: none of {len(links)} links is in {places} files, answers and logs")


def body():
    with Office(sys.argv[1]) as office:
        checked = office.call("check", *[f"recipes/{name}.yaml" for name in RECIPES])
        expect(checked.returncode == 0, lambda: f"the recipes don't check: {checked.stdout}{checked.stderr}")
        office.start()
        office.start_proxy()
        token = office.everything()
        run, ann, bob = scanner(office, token)
        person(office, token, run, ann, bob)
        links = [ann, bob] + refusals(office, token)
        again, *more = killed(office, token)
        links += more
        limits(office)
        last, link = room(office, token)
        planted(office, token, [run, again, last], links + [link])
        office.end()


if __name__ == "__main__":
    main(body)
