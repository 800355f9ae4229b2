"""Uses the API by a client that openapi-python-client makes from its document: api_client.py PROGRAM

Starts a run, follows it, approves it, resolves another, and pages through them all. Calls every operation of the
document once.
"""
import importlib
import inspect
import os
import pathlib
import pkgutil
import subprocess
import sys
import tempfile
import threading
import typing

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


def call_all(client, run, other):
    """Calls each operation of the document but the two streams once, about a run that has succeeded.

    The other run is deleted. Gives how many operations there are.
    """
    import errand_client.api.default as api

    made = {"recipe": "sum", "id": "sum", "run": run, "step": "ask", "name": "store.get", "number": 1,
            "path": "recipes/sum.yaml", "version": "1"}
    # What an operation needs besides the names above: its parameters, its body, its status.
    special = {
        "start": ({"recipe": "greeting"}, {"inputs": {"name": "Bob"}}, 202),
        "plan": ({"recipe": "greeting"}, {"inputs": {"name": "Bob"}}, 201),
        "check": ({}, {"text": "steps: [{ let: { x: 1 } }]"}, 200),
        "signal": ({}, {"name": "never", "data": 1}, 202),
        "backfill": ({}, {"from": "2026-01-01T00:00:00Z", "to": "2026-01-03T00:00:00Z", "isDryRun": True}, 200),
        "issue_token": ({}, {"name": "made", "scopes": ["read"]}, 201),
        "revoke_token": ({"name": "made"}, None, 204),
        "trigger": ({}, {}, 200),
        # There is nothing to decide, resolve, drain or evict, or it is over.
        "answer": ({}, {"fields": {"room": "B12"}}, 409), "decide": ({}, {"approved": True}, 409), "resolve": ({}, {"step": "ask", "as": "retry"}, 409),
        "pause": ({}, None, 409), "resume": ({}, None, 409), "retry": ({}, {}, 409),
        "cancel": ({}, {}, 409), "reset_schedule": ({}, None, 409),
        "drain_worker": ({"worker": "nobody"}, None, 422), "evict_worker": ({"worker": "nobody"}, None, 422), "workers": ({}, None, 422),
        "delete": ({"run": other}, None, 204),
        # The run has one output, which is a text, and wrote no file.
        "output_table": ({}, None, 404), "run_file": ({}, None, 404), "unlink": ({}, {}, 409),
    }
    # The token may not edit.
    text, place = {"path": "recipes/sum.yaml", "text": "steps: []"}, {"line": 0, "column": 0}
    for name, body in {
        "editor_check": text, "editor_complete": dict(text, at=place), "editor_hover": dict(text, at=place),
        "editor_plan": text, "editor_test": text, "list_files": None, "read_file": None, "save_file": text,
        "list_versions": None, "read_version": None, "restore_file": {"path": "recipes/sum.yaml", "version": "1"},
        "list_templates": None, "new_file": {"from": "hello"}, "reload": {},
    }.items():
        special[name] = ({}, body, 403)
    special["steer_runs"] = ({}, {"verb": "retry", "runs": [run]}, 200)
    special["dismiss_failure"] = ({}, {"group": "0"}, 404)
    names = [module.name for module in pkgutil.iter_modules(api.__path__) if module.name not in ("follow", "watch")]
    faults = []
    # What another one needs comes before it.
    for name in sorted(names, key=lambda name: (name in ("revoke_token", "delete", "show_plan"), name)):
        module = importlib.import_module(f"errand_client.api.default.{name}")
        given, body, status = special.get(name, ({}, None, 200))
        arguments = {}
        for parameter in inspect.signature(module.sync_detailed).parameters.values():
            if parameter.name == "client":
                arguments["client"] = client
            elif parameter.name == "body":
                kinds = typing.get_args(parameter.annotation) or (parameter.annotation,)
                arguments["body"] = kinds[0].from_dict(body or {})
            elif parameter.default is inspect.Parameter.empty:
                arguments[parameter.name] = given.get(parameter.name) or made[parameter.name]
        answer = module.sync_detailed(**arguments)
        got = int(answer.status_code)
        if got != status:
            faults.append(f"{name} gets {got} and not {status}: {answer.content[:300]}")
        elif status != 204 and answer.parsed is None:
            faults.append(f"{name} gets {got}, which can't be read: {answer.content[:300]}")
        if name == "plan":
            made["plan"] = made["digest"] = answer.parsed.digest
    expect(not faults, "\n".join(faults))
    return len(names)


def run():
    with Agent(sys.argv[1]) as agent, tempfile.TemporaryDirectory() as folder:
        agent.start()
        generate(agent, pathlib.Path(folder))
        from errand_client import AuthenticatedClient
        from errand_client import models
        from errand_client.api.default import decide, follow, resolve, runs, show, start

        token = agent.token("shop", "read", "data", "start", "steer", "approve", "tokens")
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
        count = call_all(client, first.run, made[0])
        print(f"api client: called {count} operations once; started, followed, approved, resolved; {len(listed)} runs on {pages} pages")
        agent.end()


main(run)
