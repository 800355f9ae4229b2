"""Uses the recipes as an assistant does, by the SDK of the Model Context Protocol: mcp_tools.py PROGRAM

Over standard streams and over HTTP, in every mode of the client: it lists the tools, calls them, is asked to confirm what
they would write, agrees, declines, and forges. The client itself checks each result against the tool's outputSchema. At
last it calls every recipe of the repository against made-up services.
"""
import contextlib
import re
import sys

import anyio
import httpx2
import mcp_types as types
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from agent import RECIPES, ROOT, SECRET, Agent, expect, main

MODES = ["auto", "legacy", "2026-07-28"]
LOOKING = ["errand_runs", "errand_run", "errand_why", "errand_check", "errand_actions"]
TOOLS = ["broken", "greeting", "keep", "many", "secretive", "sum"]
# Inputs of the repository's recipes that have no defaults.
INPUTS = {name: {"markbook": 1207731} for name in ["approve-averages", "markbook-averages", "weekly-report"]}
# What waits for a person or for a time, and so isn't over when the call is.
WAITING = {
    "approve-averages", "approved-command", "ask-and-remind", "ask-for-a-room", "markbook-backup", "train-watch",
}
# What waits or not by the day: on a Sunday the first day of the made-up week is still to come.
EITHER = {"interview-week"}
# What reads files of the folder, and how it ends in a sandbox while they aren't there: with their absence, or with what
# the made-up file of that name gives.
FILES = {"inbox-import": None, "marks-report": "84.3"}


class Person:
    """The user at the client: agrees or doesn't, and remembers what was asked."""

    def __init__(self, answer="accept", confirm=True):
        self.answer, self.confirm, self.asked = answer, confirm, []

    async def __call__(self, context, params):
        self.asked.append(params.message)
        content = {"confirm": self.confirm} if self.answer == "accept" else None
        return types.ElicitResult(action=self.answer, content=content)


def agent(program):
    made = Agent(program, {name: text.replace("summary:", "mcp: true\n        summary:", 1)
                           for name, text in RECIPES.items() if name in TOOLS} | {"other": RECIPES["patient"]})
    return made


@contextlib.asynccontextmanager
async def over_streams(made, mode, person):
    parameters = StdioServerParameters(
        command=made.program, args=["mcp"], cwd=made.folder, env=made.environment)
    async with Client(stdio_client(parameters), mode=mode, elicitation_callback=person) as client:
        yield client


@contextlib.asynccontextmanager
async def over_http(made, mode, person):
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {made.secret}"}, timeout=60) as http:
        transport = streamable_http_client(f"{made.url}/mcp", http_client=http)
        async with Client(transport, mode=mode, elicitation_callback=person) as client:
            yield client


def text(result):
    return "\n".join(part.text for part in result.content)


def started(made):
    """How many runs there are of the recipe that writes."""
    listed = made.call("runs", "list", "--recipe", "keep", "--json")
    return sum(len(re.findall(r'"recipe": ?"keep"', line)) for line in listed.stdout.splitlines())


async def check_lists(client, mode):
    first, second = await client.list_tools(), await client.list_tools()
    expect(first == second, "two lists of the tools differ")
    tools = {tool.name: tool for tool in first.tools}
    expect(list(tools) == LOOKING + TOOLS, f"the tools are {list(tools)}")
    hints = {name: tools[name].annotations for name in TOOLS}
    expect(hints["sum"].read_only_hint and not hints["sum"].open_world_hint, f"{hints['sum']}")
    expect(not hints["keep"].read_only_hint and hints["keep"].destructive_hint, f"{hints['keep']}")
    expect(tools["sum"].input_schema["properties"]["n"]["maximum"] == 1000, f"{tools['sum'].input_schema}")
    outputs = tools["sum"].output_schema["properties"]["outputs"]
    expect(outputs["properties"]["m"]["type"] == "integer" and outputs["required"] == ["m"], f"{outputs}")


async def check_reading(client, made):
    told = []

    async def progress(done, total, message):
        told.append(message)

    result = await client.call_tool("sum", {"n": 41})
    expect(result.structured_content["outputs"] == {"m": 42}, f"{result}")
    result = await client.call_tool("many", {"count": 300}, progress_callback=progress)
    expect(not result.is_error and told, f"{result} with progress {told}")
    for arguments, words in [({"n": "x"}, "must be an int"), ({"m": 1}, "has no input 'm'"), ({"n": 2000}, "1000")]:
        result = await client.call_tool("sum", arguments)
        expect(result.is_error and words in text(result), f"{arguments}: {result}")
    result = await client.call_tool("broken", {})
    expect(result.is_error and "The report is missing." in text(result), f"{result}")
    result = await client.call_tool("greeting", {"name": "Ada"})
    status, run = result.structured_content["status"], result.structured_content["run"]
    expect(status == "waiting" and "Greet Ada?" in result.structured_content["waitsFor"], f"{result}")
    approved = made.call("runs", "approve", run)
    expect(approved.returncode == 0, approved.stderr)
    result = await client.call_tool("errand_run", {"run": run})
    expect(result.structured_content["recipe"] == "greeting", f"{result}")
    result = await client.call_tool("errand_why", {"run": run})
    expect("greeting" in result.structured_content["text"], f"{result}")
    result = await client.call_tool("errand_runs", {"limit": 5, "recipe": "sum"})
    expect({run["recipe"] for run in result.structured_content["items"]} == {"sum"}, f"{result}")
    result = await client.call_tool("errand_check", {"text": "steps: [{ uses: nothing.there }]"})
    expect("nothing.there" in result.structured_content["items"][0]["message"], f"{result}")
    result = await client.call_tool("errand_actions", {"action": "http.get"})
    expect(result.structured_content["items"][0]["effect"] == "read", f"{result}")
    for name in ["nothing", "other", "errand.approve"]:
        try:
            result = await client.call_tool(name, {})
        except MCPError as error:
            expect(f"there is no tool '{name}'" in str(error), f"{name}: {error}")
        else:
            expect(False, f"{name} is a tool: {result}")


async def check_writing(client, made, person, asks):
    """What is confirmed runs, once; nothing else does."""
    before = started(made)
    for answer, confirm in [("decline", None), ("cancel", None), ("accept", False)]:
        person.answer, person.confirm, person.asked = answer, confirm, []
        result = await client.call_tool("keep", {"words": answer})
        expect(result.is_error and "othing was started" in text(result), f"{answer}: {result}")
        expect(len(person.asked) == (1 if asks else 0), f"asked {person.asked}")
    expect(started(made) == before, "something ran that wasn't confirmed")
    if not asks:
        return
    person.answer, person.confirm, person.asked = "accept", True, []
    result = await client.call_tool("keep", {"words": f"number {before}"})
    expect(result.structured_content["status"] == "succeeded", f"{result}")
    expect(f"number {before}" in person.asked[0] and "Plan of keep" in person.asked[0], f"asked {person.asked}")
    expect(started(made) == before + 1, "it ran more than once, or not at all")


async def check_forging(client, made):
    """A state that was made up, changed, or used before starts nothing."""
    yes = {"plan": types.ElicitResult(action="accept", content={"confirm": True})}
    session, before = client.session, started(made)

    async def call(words, **more):
        return await session.call_tool("keep", {"words": words}, allow_input_required=True, **more)

    async def refused(words, state, why):
        try:
            result = await call(words, request_state=state, input_responses=yes)
        except MCPError as error:
            expect(error.code == types.INVALID_PARAMS and why in str(error), f"{state}: {error}")
        else:
            expect(False, f"a forged state was accepted: {result}")

    asked = await call("mine")
    expect(isinstance(asked, types.InputRequiredResult), f"{asked}")
    state = asked.request_state
    for forged in ["", "x", state[:-1] + ("0" if state[-1] != "0" else "1"), state.replace(".", "!", 1), state + "0"]:
        await refused("mine", forged, "isn't one for this tool")
    await refused("others", state, "isn't one for this tool")
    expect(started(made) == before, "a forged state started a run")
    made.call("runs", "list")
    result = await call("mine", request_state=state, input_responses=yes)
    expect(result.structured_content["status"] == "succeeded", f"{result}")
    await refused("mine", state, "was used already")
    # A state is used up by a no as well.
    state = (await call("mine")).request_state
    no = {"plan": types.ElicitResult(action="decline")}
    expect((await call("mine", request_state=state, input_responses=no)).is_error, "a no was taken for a yes")
    await refused("mine", state, "was used already")
    # What was read for the plan has changed since.
    state = (await call("mine")).request_state
    expect((await call("yours")).request_state != state, "two plans have one state")
    asked = await call("changed")
    result = await call("changed", request_state=asked.request_state, input_responses=yes)
    expect(result.structured_content["status"] == "succeeded", f"{result}")
    result = await call("mine", request_state=state, input_responses=yes)
    expect(result.is_error and "the plan no longer holds" in text(result), f"{result}")
    expect(started(made) == before + 2, "the runs aren't those that were confirmed")


async def check_secrets(client, received):
    for note in ["plain", SECRET]:
        result = await client.call_tool("secretive", {"note": note})
        received.append(result.model_dump_json())
        run = (result.structured_content or {}).get("run")
        for tool in ["errand_run", "errand_why"] if run else []:
            received.append((await client.call_tool(tool, {"run": run})).model_dump_json())
    try:
        received.append((await client.call_tool(SECRET, {})).model_dump_json())
    except MCPError as error:
        received.append(str(error))
    expect(not any(SECRET in part for part in received), "a secret was told")


async def use(connect, made, hasForms):
    """Does everything in each mode of the client.

    `hasForms` says in which modes the server can ask.
    """
    for mode in MODES:
        person, received = Person(), []
        asks = hasForms(mode)
        async with connect(made, mode, person) as client:
            await check_lists(client, mode)
            await check_reading(client, made)
            await check_writing(client, made, person, asks)
            if mode != "legacy":
                await check_forging(client, made)
            await check_secrets(client, received)
        print(f"{connect.__name__}, {mode}: well")


async def call_all(program):
    """Calls every recipe of the repository against made-up services, in both eras of the protocol."""
    for mode in ["auto", "legacy"]:
        with Agent(program, {}, copies=True) as made:
            (made.folder / "errand.yaml").write_text("server: { mcp: { recipes: ['*'] } }\n")
            person = Person()
            parameters = StdioServerParameters(
                command=made.program, args=["mcp", "--sandbox"], cwd=made.folder, env=made.environment)
            async with Client(stdio_client(parameters), mode=mode, elicitation_callback=person) as client:
                names = [tool.name for tool in (await client.list_tools()).tools if tool.name not in LOOKING]
                expect(len(names) == len(list((ROOT / "recipes").glob("*.yaml"))), f"{names}")
                ended = 0
                for name in names:
                    # How long it asks again depends on the time of day, up to three hours.
                    if name == "train-watch":
                        continue
                    result = await client.call_tool(name, INPUTS.get(name, {}))
                    if name in FILES and FILES[name] is None:
                        expect(result.is_error and "no such file" in text(result), f"{name}: {result}")
                        continue
                    if name in FILES:
                        mean = (result.structured_content or {}).get("outputs", {}).get("mean")
                        expect(mean == FILES[name], f"{name}: {result}")
                    wanted = ["waiting"] if name in WAITING else ["succeeded"]
                    wanted += ["waiting"] if name in EITHER else []
                    status = (result.structured_content or {}).get("status")
                    expect(not result.is_error and status in wanted, f"{name}: {result}")
                    ended += status == "succeeded"
            # What runs in a sandbox write is in a copy.
            left = [file.name for file in made.folder.rglob("*.md")] + [file.name for file in made.folder.rglob("*.csv")]
            expect(not left, f"the sandbox wrote {left} into the folder")
            # Two recipes read files, which are put into a real folder.
            (made.folder / "inbox").mkdir()
            (made.folder / "inbox/orders.csv").write_text("item,price\npens,12.5\n")
            (made.folder / "marks.csv").write_text("student,class,task,mark\nAda,8a,Maps,7.5\nBo,8a,Maps,\n")
            parameters.args = ["mcp"]
            async with Client(stdio_client(parameters), mode=mode, elicitation_callback=person) as client:
                for name in FILES:
                    result = await client.call_tool(name, {})
                    expect(
                        not result.is_error and result.structured_content["status"] == "succeeded", f"{name}: {result}")
                    ended += 1
                    # The user's own table counts, not the made-up one.
                    mean = result.structured_content["outputs"].get("mean")
                    expect(name != "marks-report" or mean == "7.5", f"{name}: {result}")
            print(f"{len(names)} recipes, {mode}: {ended} results match their schemas")


def run():
    program = sys.argv[1]
    with agent(program) as made:
        anyio.run(use, over_streams, made, lambda mode: True)
    with agent(program) as made:
        made.start()
        made.secret = made.token("assistant", "read", "data", "start")
        # Without a session, questions can only be asked of a client that repeats its request.
        anyio.run(use, over_http, made, lambda mode: mode != "legacy")
        made.end()
    anyio.run(call_all, program)
    print("the assistant's client found what it should")


main(run)
