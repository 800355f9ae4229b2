"""Has Debian's Prometheus read `/metrics` of a real agent: prometheus.py PROGRAM FOLDER [SECONDS]

The folder has `promtool` and `prometheus`. `promtool check metrics` has nothing to say, and a Prometheus that is set up
as docs/api.md shows reads the figures for some seconds, without a scrape that fails.
"""
import http.client
import json
import pathlib
import socket
import subprocess
import sys
import time
import urllib.parse

from agent import ROOT, Agent, expect, main, until

folder, seconds = pathlib.Path(sys.argv[2]).resolve(), float(sys.argv[3]) if len(sys.argv) > 3 else 5
HOOK = """
    on: [{ id: come, webhook: { path: hook, verify: { none: true } } }, { id: tick, every: 1s }]
    steps: [{ let: { a: 1 } }]
    """


def documented(agent, token):
    """The block of the page, with this agent's address and token file, and more scrapes."""
    page = (ROOT / "docs/api.md").read_text()
    block = next(part for part in page.split("```\n") if part.startswith("scrape_configs:"))
    for old, new in [("/etc/prometheus/errand.token", str(token)), ("127.0.0.1:7373", f"127.0.0.1:{agent.port}")]:
        expect(old in block, f"docs/api.md doesn't name {old} for Prometheus")
        block = block.replace(old, new)
    return "global: { scrape_interval: 500ms }\n" + block


def asked(port, path):
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("GET", path)
        return json.loads(connection.getresponse().read())["data"]
    except (OSError, ValueError, KeyError):  # It isn't ready.
        return None


def body():
    with Agent(sys.argv[1], recipes={"hook": HOOK, "sum": "steps: [{ let: { a: 1 } }]\n"}) as agent:
        agent.start()
        everything, token = agent.everything(), agent.folder / "errand.token"
        agent.until_status(everything, agent.begin(everything, "sum"), "succeeded")
        expect(agent.ask("POST", "/hooks/hook", body={}).status == 202, "a delivery isn't taken")
        token.write_text(agent.token("prometheus", "metrics"))
        figures = agent.ask("GET", "/metrics", token.read_text()).body
        checked = subprocess.run(
            [folder / "promtool", "check", "metrics"], input=figures, capture_output=True, timeout=60)
        expect(checked.returncode == 0 and not checked.stdout + checked.stderr,
               f"promtool says {checked.stdout + checked.stderr}")

        (agent.folder / "prometheus.yml").write_text(documented(agent, token))
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        server = subprocess.Popen(
            [folder / "prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=prometheus-data",
             f"--web.listen-address=127.0.0.1:{port}"],
            cwd=agent.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        agent.services.append(server)

        def values(query):
            found = asked(port, "/api/v1/query?" + urllib.parse.urlencode({"query": query}))
            return [float(row["value"][1]) for row in (found or {}).get("result", [])]

        until(lambda: values("up") == [1], lambda: f"no scrape: {asked(port, '/api/v1/targets')}")
        until(lambda: values('errand_runs_ended_total{recipe="sum",status="succeeded"}') == [1], "no run is counted")
        time.sleep(seconds)
        length = f"{seconds:g}s"
        scrapes, = values(f"count_over_time(up[{length}])")
        expect(scrapes > seconds and values(f"min_over_time(up[{length}])") == [1], f"scrapes failed: {scrapes}")
        expect(values(f"max_over_time(scrape_duration_seconds[{length}])")[0] < 2, "a scrape took 2 s or longer")
        expect(values(f"increase(errand_slots_total[{max(seconds, 3):g}s]) > 0") != [], "no slot is counted")
        target = asked(port, "/api/v1/targets")["activeTargets"][0]
        expect(not target["lastError"], f"the last scrape: {target['lastError']}")
        print(f"{scrapes:g} scrapes, {len(figures.splitlines())} lines, and nothing to say for promtool")


main(body)
