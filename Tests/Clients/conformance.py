"""Asks all that the API's document describes, rightly and wrongly: conformance.py PROGRAM [EXAMPLES]

schemathesis, with all its checks, finds answers that the document doesn't describe, requests that are taken and
shouldn't be, and faults of the agent.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

from agent import Agent, expect, main

HERE = pathlib.Path(__file__).parent


def run():
    examples = sys.argv[2] if len(sys.argv) > 2 else "20"
    with Agent(sys.argv[1]) as agent:
        agent.start()
        token = agent.everything()
        waiting = agent.until_status(token, agent.begin(token, "patient"), "waiting")
        with tempfile.TemporaryDirectory() as folder:
            ended = subprocess.run(
                [pathlib.Path(sys.executable).parent / "st", "--config-file", HERE / "schemathesis.toml", "run",
                 f"{agent.url}/openapi.json", "--checks", "all", "--max-examples", examples,
                 "--continue-on-failure", "--no-color", "--suppress-health-check", "all"],
                cwd=folder, env=dict(os.environ, ERRAND_TOKEN=token, ERRAND_RUN=waiting), capture_output=True, text=True)
        print(ended.stdout[-20000:], ended.stderr[-2000:])
        expect(agent.ask("GET", "/healthz").status == 200, "the agent is gone")
        expect(ended.returncode == 0, f"schemathesis exited with {ended.returncode}")
        agent.end()


main(run)
