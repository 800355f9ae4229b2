"""Uses the pages as people do, in Chromium: pages.py PROGRAM [--only PART] [--pictures FOLDER]

Every page that a link leads to is looked at, light and dark, narrow and wide: nothing that axe finds, no scrolling to the
side, no message on the console, no request to elsewhere, and texts from outside are text. A person starts, plans,
approves, resolves, checks, backfills, sends an event, makes a token and edits recipes by the keyboard alone, and again
without JavaScript. With --pictures it saves each page instead.
"""
import argparse
import pathlib
import re
import shutil
import sys
import tempfile
import time
import urllib.parse

from agent import HOSTILE, RECIPES, ROOT, Agent, Failed, expect, main, until

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.remote.remote_connection import RemoteConnection
except ImportError:
    sys.exit("Selenium isn't installed; 'make clients' installs it, or: apt install python3-selenium")

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
if not (BROWSER and DRIVER):
    sys.exit("Chromium isn't installed; 'make clients' installs it, or: apt install chromium chromium-driver")

AXE = next(ROOT.glob(".build/clients/lib/python3*/site-packages/axe_playwright_python/axe.min.js"), None)
AXE_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
THEMES, WIDTHS = ["light", "dark"], [360, 1280]
# The editor has more in a row than other pages.
WIDTHS_OF_EDITOR = [320, 390, 1280]
# How many pages of a kind are looked at, where there are more of the same.
MOST_OF_A_KIND = 2
# Markup that the hostile text would have become.
INJECTED = "img[onerror], svg[onload], script:not([src]), [onerror], [onload], [onclick], [onfocus]"


class Browser:
    """Chromium, driven as a person does.

    With `trusting` it accepts a self-signed certificate.
    """

    def __init__(self, agent, scripts=True, trusting=False):
        options = webdriver.ChromeOptions()
        options.accept_insecure_certs = trusting
        options.binary_location = BROWSER
        self.profile = tempfile.mkdtemp(prefix="errand-browser-")
        for argument in ["headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "no-first-run",
                         "disable-background-networking", "disable-component-update", "force-prefers-reduced-motion",
                         "disable-extensions", "hide-scrollbars", f"user-data-dir={self.profile}"]:
            options.add_argument(f"--{argument}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        if not scripts:
            options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
        self.agent, self.scripts, self.dialogs = agent, scripts, 0
        # A browser that doesn't answer is a failure, and not waited for without end.
        RemoteConnection.set_timeout(180)
        self.driver = webdriver.Chrome(options=options, service=Service(DRIVER))
        self.driver.set_page_load_timeout(120)
        self.driver.set_script_timeout(120)
        self.look("light", 1280)

    def quit(self):
        self.driver.quit()
        shutil.rmtree(self.profile, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *fault):
        if fault[0]:
            try:
                print("the browser is at", self.driver.current_url)
                print(*self.text.splitlines()[:60], sep="\n  | ")
            except Exception as gone:  # What failed is reported anyway.
                print("the browser is gone:", gone)
        self.quit()

    # Looking.

    def look(self, theme, width, height=900, scale=1):
        self.driver.execute_cdp_cmd(
            "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}]})
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False})

    def open(self, path):
        self.driver.get(path if path.startswith("http") else self.agent.url + path)

    def log_in(self):
        self.open(self.agent.link())
        expect(self.path == "/", f"the link leads to {self.path}")

    @property
    def path(self):
        parts = urllib.parse.urlsplit(self.driver.current_url)
        return parts.path + ("?" + parts.query if parts.query else "")

    @property
    def text(self):
        return self.driver.find_element(By.TAG_NAME, "body").text

    def ask(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def links(self):
        """The pages of this agent that the page links to."""
        found = []
        # Asked at once: a live page may replace an element between finding and using it.
        for link in self.ask("return [...document.querySelectorAll('a[href]')].map(a => a.href)"):
            url = urllib.parse.urlsplit(link)
            expect(url.netloc == urllib.parse.urlsplit(self.agent.url).netloc, f"{self.path} links to {url.geturl()}")
            path = url.path + ("?" + url.query if url.query else "")
            # The document of the API is for programs, and no page.
            if path not in found and not path.endswith(".json"):
                found.append(path)
        return found

    def noise(self):
        """What the console says, and requests that leave the agent, since the last time."""
        noise = [f"console: {entry['message']}" for entry in self.driver.get_log("browser")]
        for entry in self.driver.get_log("performance"):
            url = re.search(r'"method":"Network\.requestWillBeSent".*?"request":\{.*?"url":"([^"]*)"', entry["message"])
            if url and not url[1].startswith((self.agent.url + "/", "data:", "blob:", "chrome", "devtools:")):
                noise.append(f"request: {url[1]}")
        return noise

    @staticmethod
    def rules(theme):
        """All rules in the first theme; in the other one only those of colours, because nothing else differs."""
        if theme == THEMES[0]:
            return {"runOnly": AXE_TAGS}
        return {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}

    def faults(self, theme, width):
        """What is wrong with the page in a theme at a width."""
        self.look(theme, width)
        faults = []
        wide, room = self.ask(
            "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        if wide > room:
            widest = self.ask(
                "return [...document.body.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right >"
                " document.documentElement.clientWidth + 1).slice(0, 3).map(e => e.outerHTML.slice(0, 120))")
            faults.append(f"scrolls to the side: {wide} > {room}: {widest}")
        if injected := self.ask("return [...document.querySelectorAll(arguments[0])].map(e => e.outerHTML)", INJECTED):
            faults.append(f"markup from outside: {injected}")
        # Of the colours, which alone differ, one width is enough.
        if AXE and self.scripts and (theme == THEMES[0] or width == WIDTHS[-1]):
            if not self.ask("return !!window.axe"):
                self.ask(AXE.read_text() + ";window.axe = axe;")
            violations = self.driver.execute_async_script(
                "const done = arguments[arguments.length - 1];"
                "axe.run(document, {...arguments[0], resultTypes: ['violations']}).then("
                " found => done(found.violations.map(v => v.id + ': ' + v.help + ': '"
                "  + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + ' ('"
                "   + [...n.any, ...n.all, ...n.none].map(c => c.message).join('; ').slice(0, 200) + ')').join(' | '))),"
                " fault => done(['axe: ' + fault]))", self.rules(theme))
            faults += violations
        return faults

    # Using the keyboard.

    def press(self, *keys):
        actions = ActionChains(self.driver)
        actions.send_keys(*keys).perform()

    def held(self, key):
        """Presses a key while Ctrl is held."""
        ActionChains(self.driver).key_down(Keys.CONTROL).send_keys(key).key_up(Keys.CONTROL).perform()

    def tab_to(self, what, selector):
        """Moves the focus to an element with the Tab key alone; the focus has to be visible everywhere."""
        expect(
            self.driver.find_elements(By.CSS_SELECTOR, selector),
            lambda: f"{self.path} has no {what} ({selector}):\n{self.text[:2000]}")
        for _ in range(400):
            self.press(Keys.TAB)
            # Asked at once: a live page may replace an element between finding and using it.
            active = self.ask(
                "const active = document.activeElement;"
                "if (!active || active.matches('body, html')) return null;"
                # The component of the editor shows the focus of its text around itself.
                "const style = getComputedStyle(active.closest('.CodeMirror') ?? active);"
                "return {isWanted: active.matches(arguments[0]) && !active.disabled, html: active.outerHTML.slice(0, 200),"
                " isSeen: style.outlineStyle !== 'none' || style.boxShadow !== 'none'}", selector)
            if active is None:
                continue
            expect(active["isSeen"], f"{self.path}: no focus is seen at {active['html']}")
            if active["isWanted"]:
                return
        raise Failed(f"{self.path}: the Tab key doesn't reach {what}")

    def activate(self, what, selector, key=Keys.ENTER):
        """Presses a link or button with the keyboard, and waits for the page that follows."""
        self.tab_to(what, selector)
        before = self.driver.find_element(By.TAG_NAME, "html").id
        self.press(key)
        until(lambda: self.is_other(before), lambda: f"{self.path}: {what} leads nowhere")

    def is_other(self, page):
        """Whether another page has come, and is there whole."""
        try:
            html = self.driver.find_element(By.TAG_NAME, "html")
            return html.id != page and self.driver.find_elements(By.CSS_SELECTOR, "main, body > *")
        except Exception:  # The page is going.
            return False

    def enter(self, what, selector, text):
        self.tab_to(what, selector)
        self.driver.switch_to.active_element.clear()
        self.press(*text)

    def until_shows(self, what, selector, reload=True):
        """Waits until the page has an element; without JavaScript a person reloads it."""
        def shows():
            if self.driver.find_elements(By.CSS_SELECTOR, selector):
                return True
            if reload:
                self.driver.refresh()
                time.sleep(0.1)
        until(shows, lambda: f"{self.path} doesn't show {what} ({selector})")


# What there is to see.

class Content:
    """An agent with runs of every status."""

    def __init__(self, program):
        self.agent = agent = Agent(program, copies=True, services=["markbook", "notify"])
        # A recipe is called as its file is, unless it says otherwise.
        (agent.folder / "recipes" / "<img src=x onerror=alert(1)>.yaml").write_text(
            "summary: Is called oddly.\nsteps: [{ let: { a: 1 } }]\n")
        # And one that doesn't check is shown with its faults.
        (agent.folder / "recipes" / "faulty.yaml").write_text(
            "summary: Has a fault.\nsteps: [{ uses: '<script>alert(4)</script>' }]\n")
        agent.start()
        token = self.token = agent.everything()
        self.runs = runs = {}
        runs["uncertain"] = agent.uncertain(token)
        # The averages that are approved are computed before others are written.
        for name, recipe, status, inputs in [
            ("failed", "broken", "failed", {}),
            ("long", "many", "succeeded", {"count": 400}),
            ("approval", "approve-averages", "waiting", {"markbook": 1207731}),
            ("averages", "markbook-averages", "succeeded", {"markbook": 1207731}),
            ("hello", "hello", "succeeded", {"name": "Ada", "times": 3}),
            ("hostile", "hostile", "waiting", {"words": HOSTILE}),
            ("paused", "patient", "waiting", {}),
            ("waiting", "greeting", "waiting", {"name": "Ada"}),
        ]:
            runs[name] = agent.begin(token, recipe, **inputs)
            agent.until_status(token, runs[name], status)
        paused = agent.ask("POST", f"/api/v1/runs/{runs['paused']}/pause", token, {"reason": HOSTILE})
        expect(paused.status == 200, f"no pause: {paused}")
        # One that ended with what came from outside in its error.
        ended = runs["hostile-ended"] = agent.begin(token, "hostile", words=HOSTILE)
        agent.until_status(token, ended, "waiting")
        decided = agent.ask("POST", f"/api/v1/runs/{ended}/decisions", token, {"approved": True, "comment": HOSTILE})
        expect(decided.status == 200, f"no decision: {decided}")
        agent.until_status(token, ended, "failed")
        # What plans would change, and what comes from outside in one.
        agent.until_status(token, agent.begin(token, "keep", words="before"), "succeeded")
        self.plans = []
        for recipe, inputs in [("keep", {"words": HOSTILE}), ("hostile", {"words": HOSTILE}), ("broken", {})]:
            planned = agent.ask("POST", f"/api/v1/recipes/{recipe}/plans", token, {"inputs": inputs})
            expect(planned.status == 201, f"no plan: {planned}")
            self.plans.append(planned.json["digest"])
        triggered = agent.ask("POST", "/api/v1/schedules/hostile/trigger", token, {})
        expect(triggered.status in (200, 202), f"not triggered: {triggered}")

    def __enter__(self):
        return self

    def __exit__(self, *fault):
        self.agent.__exit__(*fault)


class Everyday:
    """An agent as a school has it, for pictures."""

    def __init__(self, program):
        recipes = {name: RECIPES[name] for name in ["letter", "broken"]}
        self.agent = agent = Agent(program, recipes=recipes, copies=True, services=["markbook", "notify"])
        (agent.folder / "recipes" / "class-list.yaml").write_text(
            "summary: Writes the list of a class.\nsteps:\n  - id: book\n    uses: markbook.getMarkbok\n"
            "    with: { markbookKey: 1207731 }\n")
        agent.start()
        token = agent.everything()
        self.runs = runs = {"uncertain": agent.uncertain(token)}
        planned = agent.ask(
            "POST", "/api/v1/recipes/markbook-averages/plans", token, {"inputs": {"markbook": 1207731}})
        expect(planned.status == 201, f"no plan: {planned}")
        self.plan = planned.json["digest"]
        for name, recipe, status, inputs in [
            ("failed", "broken", "failed", {}),
            ("approval", "approve-averages", "waiting", {"markbook": 1207731}),
            ("averages", "markbook-averages", "succeeded", {"markbook": 1207731}),
            ("hello", "hello", "succeeded", {"name": "Ada", "times": 3}),
        ]:
            runs[name] = agent.begin(token, recipe, **inputs)
            agent.until_status(token, runs[name], status)

    def __enter__(self):
        return self

    def __exit__(self, *fault):
        self.agent.__exit__(*fault)


def kind(path):
    """What pages that differ only in what they are about have in common."""
    path, _, query = path.partition("?")
    parts = path.strip("/").split("/")
    names = "&".join(sorted(urllib.parse.parse_qs(query)))
    return "/".join([parts[0]] + ["*"] * (len(parts) - 1)) + ("?" + names if names else "")


def pages(browser, content):
    """The pages that links lead to, from the first one on, some of each kind."""
    of_runs = [f"/runs/{run}" for run in content.runs.values()]
    of_plans = [f"/plans/{digest}" for digest in content.plans]
    waiting = ["/", "/login", *of_runs, *of_plans, "/recipes/hostile", "/recipes/approve-averages", "/recipes/faulty",
               "/check", "/edit", "/edit/new", "/edit/recipes%2Ffaulty.yaml", "/actions", "/actions/shell.run", "/workers", "/tokens",
               "/schedules/hostile", urllib.parse.quote("/recipes/<img src=x onerror=alert(1)>"), "/nothing"]
    found, counts, first = [], {}, set(waiting)
    while waiting:
        path = waiting.pop(0)
        if path in found or (path not in first and counts.get(kind(path), 0) >= MOST_OF_A_KIND):
            continue
        if path not in first:
            counts[kind(path)] = counts.get(kind(path), 0) + 1
        found.append(path)
        yield path
        waiting += [link for link in browser.links() if link not in waiting]


# What is tried.

def appearance(content):
    """Every page in both themes, narrow and wide."""
    faults, count, shown = [], 0, {}
    with Browser(content.agent) as browser:
        # A dialog would block the page; what would open one is counted.
        browser.driver.execute_cdp_cmd(
            "Page.addScriptToEvaluateOnNewDocument",
            {"source": "for (const name of ['alert', 'confirm', 'prompt']) window[name] = () => { window.hit = name; }"})
        browser.log_in()
        browser.noise()
        for path in pages(browser, content):
            browser.look("light", 1280)
            browser.open(path)
            count += 1
            # Of a page that isn't there the browser itself says so on the console.
            said = REFUSED.get(path)
            found = [entry for entry in browser.noise() if not (said and f"status of {said}" in entry)]
            for theme in THEMES:
                for width in WIDTHS:
                    found += [f"{theme}, {width} px: {fault}" for fault in browser.faults(theme, width)]
            if browser.ask("return window.hit"):
                found.append("a text from outside ran as a script")
            shown[path] = browser.text
            found += browser.noise()
            faults += [f"{path}: {fault}" for fault in found]
        for form, said in answers(browser, "looks"):
            count += 1
            for theme in THEMES:
                for width in WIDTHS:
                    faults += [f"answer of {form}: {theme}, {width} px: {fault}" for fault in browser.faults(theme, width)]
            browser.look("light", 1280)
            found = [entry for entry in browser.noise() if not (said and f"status of {said}" in entry)]
            faults += [f"answer of {form}: {fault}" for fault in found]
    for path in ["/", f"/runs/{content.runs['hostile']}", f"/runs/{content.runs['hostile-ended']}", "/recipes/hostile"]:
        if "onerror=alert(1)" not in shown[path]:
            faults.append(f"{path}: doesn't show the text from outside, which this is about")
    print(f"pages: {count} pages of {len({kind(path) for path in shown})} kinds" + ("" if AXE else ", without axe"))
    expect(not faults, f"{len(faults)} faults:\n" + "\n".join(faults))


def answers(browser, name):
    """Fills in the forms that a page answers, by the keyboard, and yields each answer's form, and its status if it refuses."""
    browser.open("/recipes")
    browser.activate("the link to the check", "a[href='/check']")
    browser.enter("the text", "[name='text']", "steps: [{ uses: shell.rum }]")
    browser.activate("the button that checks", "form[action='/check'] button")
    expect("'shell.run'" in browser.text, f"the check finds nothing:\n{browser.text}")
    kept = browser.driver.find_element(By.NAME, "text").get_property("value")
    expect(kept == "steps: [{ uses: shell.rum }]", f"the text is now: {kept}")
    yield "/check", None
    browser.open("/schedules/hostile")
    browser.enter("the start", "[name='from']", "2026-01-10")
    browser.enter("the end", "[name='to']", "2026-01-12")
    browser.activate("the button that lists the slots", "form#backfill button")
    expect("Start 2 runs" in browser.text, f"the backfill lists no slots:\n{browser.text}")
    yield "/schedules/hostile/backfill", None
    # A form that is refused says so in its title, has the focus at its faults, and leads from there to the field.
    browser.open("/schedules/hostile")
    browser.enter("the start", "[name='from']", "yesterday")
    browser.enter("the end", "[name='to']", "2026-01-12")
    browser.activate("the button that lists the slots", "form#backfill button")
    expect(browser.driver.title.startswith("Error: "), f"the title of a refused form is {browser.driver.title}")
    focused = "return document.activeElement.id"
    until(lambda: browser.ask(focused) == "faults", lambda: f"the focus is at {browser.ask(focused)}, not at the faults")
    browser.tab_to("the link to the field", "#faults a")
    browser.press(Keys.ENTER)
    until(lambda: browser.ask(focused) == "from", lambda: f"the focus is at {browser.ask(focused)}, not at the field")
    kept = browser.driver.find_element(By.NAME, "from").get_property("value")
    expect(kept == "yesterday", f"the start is now: {kept}")
    yield "/schedules/hostile/backfill", 422
    if browser.scripts:
        browser.open("/runs")
        browser.press("/")
        expect(browser.ask("return document.activeElement.matches('main input')"), "/ leads to no field")
    browser.open("/state")
    browser.activate("the link to tokens", "a[href='/tokens']")
    browser.enter("the token's name", "[name='name']", name)
    browser.activate("the button that makes the token", "form[action='/tokens'] button")
    expect("Save this token now" in browser.text, f"there is no new token:\n{browser.text}")
    yield "/tokens", None


def person(content, scripts):
    """Starts, plans, approves and resolves by the keyboard alone."""
    agent, token = content.agent, content.token
    with Browser(agent, scripts=scripts) as browser:
        browser.log_in()
        # Starts and approves.
        browser.activate("the link to recipes", "nav a[href='/recipes']")
        browser.activate("the recipe", "a[href='/recipes/greeting']")
        browser.enter("the field of the name", "[name='input.name']", "Grace")
        browser.activate("the button that starts", START.format("greeting"))
        expect(browser.path.startswith("/runs/"), f"starting leads to {browser.path}")
        run = browser.path.split("/")[2].split("?")[0]
        link = f"a[href^='/approvals/{run}/']"
        browser.until_shows("the approval", link, reload=not scripts)
        browser.activate("the approval", link)
        browser.enter("the comment", "[name='comment']", "Agreed")
        browser.activate("the button that approves", "button[value='approve']")
        agent.until_status(token, run, "succeeded")
        browser.open(f"/runs/{run}")
        expect("Hello Grace" in browser.text, "the run's page doesn't show its output")
        if scripts:
            decided_elsewhere(browser, agent, token)
        # Plans before running, and runs exactly that.
        words = f"kept {'with' if scripts else 'without'} scripts"
        browser.activate("the link to recipes", "nav a[href='/recipes']")
        browser.activate("the recipe", "a[href='/recipes/keep']")
        browser.enter("the field of the words", "[name='input.words']", words)
        browser.activate("the button that plans", "button[formaction='/recipes/keep/plan']")
        expect(browser.path.startswith("/plans/"), f"planning leads to {browser.path}")
        plan = browser.path
        old, new = (browser.driver.find_elements(By.CSS_SELECTOR, f"td .{side}") for side in ["before", "after"])
        expect(old and new and words in new[0].text, f"the plan's page doesn't show what would change: {browser.text}")
        browser.activate("the button that runs the plan", f"form[action='{plan}/run'] button")
        expect(browser.path.startswith("/runs/"), f"running the plan leads to {browser.path}")
        agent.until_status(token, browser.path.split("/")[2].split("?")[0], "succeeded")
        # It can't be run again, because it has moved; planned again, nothing would change.
        browser.open(plan)
        browser.activate("the button that runs the plan", f"form[action='{plan}/run'] button")
        expect("the plan no longer holds" in browser.text, f"the plan still holds: {browser.text}")
        browser.activate("the button that plans again", f"form[action='{plan}/again'] button")
        expect("No changes. Nothing was written." in browser.text, f"something would change: {browser.text}")
        # Resolves: what was written is looked at, and is done again, or was done with this output.
        uncertain = content.runs["uncertain"] if scripts else agent.uncertain(token)
        browser.log_in()
        browser.activate("the uncertain run", f"a[href^='/runs/{uncertain}']")
        browser.activate("the button that does it again", "button[name='as'][value='retry']")
        agent.until_status(token, uncertain, "succeeded")
        # Sends the event that a run waits for.
        patient = agent.until_status(token, agent.begin(token, "patient"), "waiting")
        browser.open(f"/runs/{patient}")
        browser.enter("the event's data", "[name='data']", '{"a": 1}')
        browser.activate("the button that sends the event", f"form[action='/runs/{patient}/events'] button")
        agent.until_status(token, patient, "succeeded")
        change_many(browser, agent, token)
        for _ in answers(browser, "scripts" if scripts else "no-scripts"):
            pass
        print(f"pages: started, planned, approved, resolved and the rest {'with' if scripts else 'without'} JavaScript, by keyboard")


def change_many(browser, agent, token):
    """Retries a run that is marked and then all that match, and starts one again."""
    failed = [agent.until_status(token, agent.begin(token, "broken"), "failed") for _ in range(2)]
    browser.open("/runs?recipe=broken&status=failed")
    browser.tab_to("the mark of a run", f"input[type='checkbox'][value='{failed[0]}']")
    browser.press(Keys.SPACE)
    browser.activate("the button that retries marked runs", "button[name='do'][value='retry']")
    expect("1 of 1 run retried" in browser.text, f"the marked run isn't retried:\n{browser.text}")
    link = browser.driver.find_element(By.CSS_SELECTOR, "ul.rows .quiet a").get_attribute("href")
    agent.until_status(token, link.rsplit("/", 1)[1], "failed")
    browser.activate("the way back to the list", "main p.actions a[href^='/runs']")
    browser.open("/runs?recipe=broken&status=failed")
    browser.tab_to("what opens the rest", "form#steer summary")
    browser.press(Keys.ENTER)
    browser.activate("the button that retries all", "button[name='do'][value='retry all']")
    expect("runs retried" in browser.text and "was retried as" in browser.text, f"not all are retried:\n{browser.text}")
    browser.open(f"/runs/{failed[1]}")
    browser.activate("the link to its inputs", f"a[href='/recipes/broken?like={failed[1]}']")
    expect("With the inputs of broken" in browser.text, f"the form has no inputs:\n{browser.text}")
    browser.activate("the button that starts", START.format("broken"))
    run = browser.path.split("/")[2].split("?")[0]
    agent.until_status(token, run, "failed")
    browser.open(f"/runs/{failed[1]}")
    expect("Repeated as" in browser.text and "Retried as" in browser.text, f"no run does it again:\n{browser.text}")


def decided_elsewhere(browser, agent, token):
    """The page of a question says by itself that another person has decided, and keeps a comment that is being typed."""
    for comment in ["", "Half a sen"]:
        run = agent.until_status(token, agent.begin(token, "greeting", name="Alan"), "waiting")
        browser.open(f"/approvals/{run}/ask")
        if comment:
            browser.enter("the comment", "[name='comment']", comment)
        decided = agent.ask("POST", f"/api/v1/runs/{run}/decisions", token, {"approved": True})
        expect(decided.status == 200, f"no decision: {decided}")
        until(lambda: "approved this on" in browser.text, lambda: f"{browser.path} doesn't say so:\n{browser.text}")
        if comment:
            kept = browser.driver.find_element(By.NAME, "comment").get_property("value")
            expect(kept == comment, f"the comment is now: {kept}")
        else:
            expect("Nothing to decide" in browser.text, f"the page is still there:\n{browser.text}")


EDITED = """summary: Is edited in a browser.
steps:
  - id: one
    uses: shell.run
    with: { effect: read, script: echo one }
"""
FAULTY = 'outputs: { said: "${{ steps.on.output }}" }'
MENDED = EDITED + 'outputs: { said: "${{ steps.one.output }}" }'


def editor(content):
    """Edits recipes in the component, and in the field without it."""
    file = content.agent.folder / "recipes" / "edited.yaml"
    file.write_text(EDITED)
    for scripts in [True, False]:
        with Browser(content.agent, scripts=scripts) as browser:
            browser.log_in()
            (in_component if scripts else in_field)(browser, content.agent.folder / "recipes")
        print(f"pages: edited {'with' if scripts else 'without'} JavaScript, by keyboard")


def well_made(browser, what):
    """Expects nothing of what can be wrong with a page."""
    faults = [f"{what}: {theme}, {width} px: {fault}" for theme in THEMES for width in WIDTHS_OF_EDITOR
              for fault in browser.faults(theme, width)] + [f"{what}: {fault}" for fault in browser.noise()]
    browser.look("light", 1280)
    expect(not faults, lambda: "\n".join(faults))


def in_component(browser, folder):
    text = lambda: browser.ask("return document.querySelector('.CodeMirror').CodeMirror.getValue()")
    shows = lambda what, selector: browser.until_shows(what, selector, reload=False)
    part = lambda name: browser.ask("return document.getElementById(arguments[0]).textContent", name)
    # What a browser asks when a page with typed text is left, which WebDriver answers unasked.
    asks = lambda: browser.ask("return !dispatchEvent(new Event('beforeunload', { cancelable: true }))")

    def until_part(name, words):
        until(lambda: words in part(name), lambda: f"#{name} doesn't say {words!r}: {part(name)[:500]}\n{browser.text[:3000]}")

    file = folder / "edited.yaml"
    browser.noise()
    browser.open("/edit")
    well_made(browser, "the list of files")
    browser.activate("the file", "a[href='/edit/recipes%2Fedited.yaml']")
    shows("the component", ".CodeMirror-code")
    expect(text() == EDITED, lambda: f"the component has another text: {text()}")
    well_made(browser, "at rest")
    # A fault is shown under its line and read out, and its fix applied.
    browser.tab_to("the text", ".CodeMirror-code")
    browser.held(Keys.END)
    browser.press(*FAULTY)
    shows("the fault under its line", ".CodeMirror-linewidget .finding")
    until_part("saved", "not saved")
    expect(asks(), "the page is left without asking")
    well_made(browser, "with a fault")
    browser.press(Keys.F8)
    until_part("said", "Line 6")
    browser.held("s")
    until_part("notices", "It wasn't saved")
    expect(file.read_text() == EDITED, "a text with an error was saved")
    browser.held(".")
    until(lambda: text() == MENDED, lambda: f"it isn't mended: {text()}")
    until(lambda: "error" not in part("count"), lambda: f"the fault is still counted: {part('count')}")
    # The list of completions, and the words about a name.
    browser.held(Keys.END)
    browser.press(Keys.ENTER, *"zon")
    shows("completions", ".CodeMirror-hints li")
    well_made(browser, "with completions")
    browser.press(Keys.ENTER)
    until(lambda: "zone" in text(), lambda: f"nothing was completed: {text()}")
    browser.ask("document.querySelector('.CodeMirror').CodeMirror.setValue(arguments[0])", MENDED)
    browser.held(Keys.HOME)
    browser.held("i")
    shows("the words about a key", ".about-word")
    well_made(browser, "with words about a key")
    browser.press(Keys.ESCAPE)
    # The tabs keep the text and what can be undone.
    for tab in ["plan", "test", "difference", "versions", "check"]:
        browser.tab_to(f"the tab {tab}", f".tabs button[value='{tab}']")
        browser.press(Keys.ENTER)
        shows(f"the answer of {tab}", f"#result[data-tab='{tab}']:not([aria-busy]) h2")
        well_made(browser, tab)
    browser.held("s")
    until_part("notices", "Saved")
    until(lambda: part("saved") == "saved", lambda: f"it isn't saved: {part('standing')}")
    expect(file.read_text() == MENDED and not asks(), lambda: f"the file has: {file.read_text()}")
    # Another person saves meanwhile.
    browser.tab_to("the text", ".CodeMirror-code")
    browser.held(Keys.END)
    browser.press(*"\n# Mine.")
    theirs = MENDED + "\n# Theirs.\n"
    file.write_text(theirs)
    browser.held("s")
    shows("both texts", "#result[data-tab='conflict'] .diff")
    expect("# Theirs." in part("result") and "# Mine." in text(), lambda: f"a text is missing: {part('result')}")
    well_made(browser, "with a conflict")
    expect(file.read_text() == theirs, "the other text is lost")
    browser.tab_to("the button that saves all the same", "button[name='over']")
    browser.press(Keys.ENTER)
    until_part("notices", "Saved")
    expect(file.read_text() == MENDED + "\n# Mine.", lambda: f"the file has: {file.read_text()}")
    # An earlier version comes back.
    browser.tab_to("the tab versions", ".tabs button[value='versions']")
    browser.press(Keys.ENTER)
    shows("versions", "button[name='version']")
    first = browser.driver.find_elements(By.CSS_SELECTOR, "button[name='version']")[-1].get_attribute("value")
    browser.tab_to("the first version", f"button[name='version'][value='{first}']")
    browser.press(Keys.ENTER)
    shows("the comparison", "#result summary")
    browser.tab_to("the way to restore", "#result summary")
    browser.press(Keys.ENTER)
    well_made(browser, "with a version")
    browser.tab_to("the button that restores", "button[name='restore']")
    browser.press(Keys.ENTER)
    until(lambda: text() == EDITED, lambda: f"the first text isn't there: {text()}")
    expect(file.read_text() == EDITED, lambda: f"the file has: {file.read_text()}")
    expect(not browser.noise(), "the console says something")


def in_field(browser, folder):
    text = lambda: browser.driver.find_element(By.NAME, "text").get_property("value")
    file = folder / "begun.yaml"
    browser.open("/edit/new?from=hello&name=begun")
    expect("begun" in text(), lambda: f"the template isn't there: {text()}")
    browser.tab_to("the text", "[name='text']")
    browser.held("a")
    browser.press(*"steps: [{ uses: shell.rum, with: { effect: read, script: echo } }]\n")
    browser.activate("the button that checks", "button[value='check']")
    expect("'shell.run'" in browser.text, lambda: f"the check finds nothing:\n{browser.text}")
    browser.activate("the button that saves", "button[value='save']")
    expect("It wasn't saved" in browser.text and not file.exists(), lambda: f"a faulty text was saved:\n{browser.text}")
    browser.activate("the fix", "button[name='fix']")
    expect("shell.run," in text(), lambda: f"it isn't mended: {text()}")
    browser.activate("the button that saves", "button[value='save']")
    expect("Saved" in browser.text and "shell.run," in file.read_text(), lambda: f"it isn't saved:\n{browser.text}")
    file.write_text(file.read_text() + "# Theirs.\n")
    browser.tab_to("the text", "[name='text']")
    browser.held(Keys.END)
    browser.press(*"# Mine.\n")
    browser.activate("the button that saves", "button[value='save']")
    expect("# Mine." in text() and "# Theirs." in browser.text, lambda: f"a text is missing:\n{browser.text}")
    for tab in ["plan", "test", "difference", "versions"]:
        browser.activate(f"the tab {tab}", f".tabs button[value='{tab}']")
        expect("# Mine." in text(), lambda: f"{tab} loses the text:\n{browser.text}")


# The pages that are no page: the status of the problem that is shown.
REFUSED = {"/nothing": 404}
START = "form[action='/recipes/{0}/start'] button:not([formaction])"


def pictures(content, folder):
    """Saves each page as people see it, in both themes, wide and on a phone."""
    runs = content.runs
    folder.mkdir(parents=True, exist_ok=True)
    with Browser(content.agent) as browser:
        browser.log_in()
        shown = {
            "now": "/", "runs": "/runs", "run": f"/runs/{runs['averages']}", "run-failed": f"/runs/{runs['failed']}",
            "run-uncertain": f"/runs/{runs['uncertain']}", "recipes": "/recipes",
            "recipe": "/recipes/approve-averages", "recipe-faulty": "/recipes/class-list", "schedules": "/schedules",
            "schedule": "/schedules/markbook-averages", "plan": f"/plans/{content.plan}",
            "connections": "/connections", "state": "/state", "login": "/login",
            "editor": "/edit/recipes%2Fapprove-averages.yaml", "editor-faulty": "/edit/recipes%2Fclass-list.yaml",
        }
        # Pages that have no place of their own are where links lead.
        browser.open(f"/runs/{runs['approval']}")
        shown["approval"] = next(link for link in browser.links() if link.startswith("/approvals/"))
        # What a colleague sees who has a link and no login.
        made = content.agent.call("runs", "link", runs["approval"])
        expect(made.returncode == 0, f"no link: {made.stderr}")
        shown["link"] = urllib.parse.urlsplit(made.stdout.strip()).path
        for name, path in shown.items():
            for width, height in [(1280, 860), (390, 844)]:
                for theme in THEMES:
                    browser.look(theme, width, height)
                    browser.open(path)
                    file = folder / f"{name}-{width}-{theme}.png"
                    browser.driver.save_screenshot(str(file))
    names = "".join(f"\n## {name}\n\n" + " ".join(
        f'<a href="{name}-{width}-{theme}.png"><img src="{name}-{width}-{theme}.png" height="320" alt="{name}, {theme}"></a>'
        for width in (1280, 390) for theme in THEMES) + "\n" for name in shown)
    (folder / "README.md").write_text(
        "<!-- Made by 'make pictures'. Do not edit. -->\n\n# The pages\n\nWide and on a phone, light and dark.\n" + names)
    print(f"pictures: {len(list(folder.glob('*.png')))} in {folder}")


def run():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--only", choices=["appearance", "keyboard", "no-scripts", "editor"])
    parser.add_argument("--pictures", type=pathlib.Path)
    options = parser.parse_args()
    if options.pictures:
        with Everyday(options.program) as content:
            return pictures(content, options.pictures)
    with Content(options.program) as content:
        parts = {
            "appearance": lambda: appearance(content), "keyboard": lambda: person(content, True),
            "no-scripts": lambda: person(content, False), "editor": lambda: editor(content),
        }
        for name, part in parts.items():
            if options.only in (None, name):
                began = time.monotonic()
                part()
                print(f"pages: {name} took {time.monotonic() - began:.1f} s")
        if not AXE:
            print("skipped: axe comes from PyPI, and isn't there; 'make clients' installs it")


if __name__ == "__main__":
    main(run)
