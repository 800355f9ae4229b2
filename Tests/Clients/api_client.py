"""Uses the API by a client that openapi-python-client makes from its document: api_client.py PROGRAM

Starts a run, follows it, approves it, resolves another, and pages through them all.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

from agent import Agent, expect, main, until


def generate(agent, folder):
    """Makes the client, and lets it be imported."""
    (folder / "openapi.json").write_bytes(agent.ask("GET", "/openapi.json").body)
    programs = pathlib.Path(sys.executable).parent
    made = subprocess.run(
        [programs / "openapi-python-client", "generate", "--path", "openapi.json", "--output-path", "client",
         "--fail-on-warning"], cwd=folder, env=dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}"),
        capture_output=True, text=True)
    expect(made.returncode == 0, f"no client is made: {made.stdout}{made.stderr}")
    sys.path.insert(0, str(folder / "client"))


def run():
    with Agent(sys.argv[1]) as agent, tempfile.TemporaryDirectory() as folder:
        agent.start()
        generate(agent, pathlib.Path(folder))
        from errand_client import AuthenticatedClient
        from errand_client import models
        from errand_client.api.default import decide, follow, resolve, runs, show, start

        token = agent.everything("shop")
        uncertain = agent.uncertain(token)
        client = AuthenticatedClient(agent.url, token, raise_on_unexpected_status=True)

        # Starts: the key makes it one run.
        body = models.StartBody.from_dict({"inputs": {"name": "Ada"}})
        first = start.sync("greeting", client=client, body=body, idempotency_key="order-1")
        again = start.sync("greeting", client=client, body=body, idempotency_key="order-1")
        expect(first.is_new and not again.is_new and first.run == again.run, f"{first} and {again}")
        other = start.sync("greeting", client=client, body=models.StartBody(), idempotency_key="order-2")
        expect(isinstance(other, models.Problem) and other.status == 422, f"no inputs are taken: {other}")

        # Follows until the end, which comes with the decision.
        stream = []
        follower = threading.Thread(
            target=lambda: stream.append(follow.sync_detailed(first.run, client=client.with_timeout(60))), daemon=True)
        follower.start()
        until(lambda: show.sync(first.run, client=client).status == "waiting", "it doesn't wait")
        decided = decide.sync(first.run, client=client, body=models.DecideBody(approved=True, comment="Agreed."))
        expect(decided.step == "ask", f"{decided}")
        follower.join(60)
        text = stream[0].content.decode()
        expect(text.startswith("event: snapshot\n") and "event: ended\n" in text and "Hello Ada" in text, text)
        shown = show.sync(first.run, client=client)
        expect(shown.status == "succeeded" and shown.outputs["words"] == "Hello Ada", f"{shown}")

        # Resolves: the run goes on, and nobody has to resume it.
        said = resolve.sync(
            uncertain, client=client, body=models.ResolveBody(step="send", as_=models.ResolveBodyAs("retry")))
        expect(said.run == uncertain, f"{said}")
        until(lambda: show.sync(uncertain, client=client).status == "succeeded", "the resolved run doesn't go on")

        # Pages: each run once, the latest first.
        made = [start.sync("sum", client=client, body=models.StartBody()).run for _ in range(25)]
        for name in made:
            until(lambda: show.sync(name, client=client).status == "succeeded", "a sum doesn't end")
        listed, cursor, pages = [], None, 0
        while True:
            page = runs.sync(client=client, limit=7, **({"cursor": cursor} if cursor else {}))
            listed += [run.id for run in page.items]
            pages += 1
            cursor = getattr(page, "next_", None)
            if not cursor:
                break
        expect(len(listed) == 27 and set(listed) == {first.run, uncertain, *made}, f"{len(listed)} runs are listed")
        expect(pages == 4, f"{pages} pages of 7 for 27 runs")
        print(f"api client: started, followed, approved, resolved; {len(listed)} runs on {pages} pages")
        agent.end()


main(run)
