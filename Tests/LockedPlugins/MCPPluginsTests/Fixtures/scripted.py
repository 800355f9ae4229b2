"""A server of MCP on standard streams that does what tests ask of it, without the SDK.

python3 scripted.py ERA [OPTION]...

ERA is modern (2026-07-28), handshake (2025-11-25), old (2024-11-05), new (a version of the future), silent (leaves what it
doesn't know unanswered), deaf (answers nothing), strict (exits when it is asked anything before the handshake).
Options: pages (lists its tools one by one), drift (offers something else), gone (lacks a tool), banner (prints a line before
it serves), nameless (has tools without a name or a schema), starts=FILE (notes in a file that it was started), asked=FILE (notes the
methods that it is asked), mark (begins each line with a byte order mark), ids=HOW (repeats ids as text or float, or gives
other ones), serves=FILE (has the tools in a file, each with the results of its calls as `answers`; notes its calls beside it).
"""
import json
import os
import sys
import threading
import time

ERA, OPTIONS = sys.argv[1], sys.argv[2:]
VERSION = {"old": "2024-11-05", "new": "2031-01-01"}.get(ERA, "2025-11-25")


def schema(required=(), **properties):
    return {"type": "object", "properties": properties, "required": list(required)}


TEXT, INT = {"type": "string"}, {"type": "integer"}
READ = {"readOnlyHint": True, "idempotentHint": True}
TOOLS = [
    {
        "name": "echo_text",
        "description": "Gives a text back.\n\nMore is not shown.",
        "inputSchema": schema(
            ["text", "note"],
            text=INT if "drift" in OPTIONS else TEXT,
            note={"anyOf": [TEXT, {"type": "null"}], "description": "May be null."},
            times={"type": "integer", "default": 1, "minimum": 1, "maximum": 5},
        ),
        "outputSchema": schema(["text", "note"], text=TEXT, note={"type": ["string", "null"]}),
        "annotations": READ,
    },
    {"name": "crash", "inputSchema": schema()},
    {"name": "garbage", "inputSchema": schema(line=TEXT)},
    {"name": "huge", "inputSchema": schema(["size"], size=INT)},
    {"name": "late", "inputSchema": schema(["file"], file=TEXT)},
    {"name": "wait", "inputSchema": schema(["file"], file=TEXT, answers={"type": "boolean"})},
    {"name": "pair", "inputSchema": schema(["name"], name=TEXT), "annotations": READ},
    {"name": "steps", "inputSchema": schema(), "annotations": READ},
    {"name": "asks", "inputSchema": schema(), "annotations": READ},
    {"name": "refuse", "inputSchema": schema(["code"], code=INT)},
    {"name": "fail", "inputSchema": schema(), "annotations": {"idempotentHint": True}},
    {"name": "misfit", "inputSchema": schema(), "outputSchema": schema(["n"], n=INT)},
    {"name": "question", "inputSchema": schema()},
    {"name": "environment", "inputSchema": schema(), "annotations": READ},
    {"name": "number", "inputSchema": schema(), "annotations": READ},
    {"name": "mute", "inputSchema": schema()},
    {"name": "strange", "inputSchema": schema()},
]
if "nameless" in OPTIONS:
    TOOLS += [{"name": 7, "inputSchema": schema()}, None, {"name": "", "inputSchema": schema()}]
    TOOLS += [{"name": "bare"}, {"name": "open", "inputSchema": True}]
if "gone" in OPTIONS:
    TOOLS = [tool for tool in TOOLS if tool["name"] != "crash"]


FILE = next((option.removeprefix("serves=") for option in OPTIONS if option.startswith("serves=")), None)
ANSWERS = {}
if FILE:
    TOOLS = json.load(open(FILE))
    ANSWERS = {tool["name"]: tool.pop("answers", []) for tool in TOOLS}


ASKED = next((option.removeprefix("asked=") for option in OPTIONS if option.startswith("asked=")), None)
IDS = next((option.removeprefix("ids=") for option in OPTIONS if option.startswith("ids=")), None)


def send(message):
    if IDS and "id" in message:
        message["id"] = {"text": str(message["id"]), "float": float(message["id"]), "other": 4711}[IDS]
    mark = "\ufeff" if "mark" in OPTIONS else ""
    sys.stdout.buffer.write((mark + json.dumps(dict(message, jsonrpc="2.0")) + "\n").encode())
    sys.stdout.flush()


def receive():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def answer(id, result):
    if ERA == "modern":
        result = dict(result, resultType=result.get("resultType", "complete"))
    send({"id": id, "result": result})


def text(id, words, **more):
    answer(id, dict({"content": [{"type": "text", "text": words}]}, **more))


held = {}


def tell(file, words):
    """Writes the file as a whole: who looks at it meanwhile sees what it held before, and never a part."""
    with open(file + ".new", "w") as new:
        new.write(words)
    os.replace(file + ".new", file)


def call(id, name, given, meta):
    if FILE:
        with open(FILE + ".calls", "a") as calls:
            calls.write(json.dumps([name, given]) + "\n")
        answer(id, ANSWERS[name].pop(0))
    elif name == "echo_text":
        assert "note" in given
        words = " ".join([given["text"]] * given.get("times", 1))
        text(id, words, structuredContent={"text": words, "note": given["note"], "more": 1})
    elif name == "crash":
        sys.stderr.write("the disk is full\n")
        os._exit(3)
    elif name == "garbage":
        print(given.get("line", "Downloading the model: 10 %").replace("<id>", str(id)), flush=True)
    elif name == "huge":
        text(id, "x" * given["size"])
    elif name == "late":
        def later():
            while not os.path.exists(given["file"]):
                time.sleep(0.05)
            text(id, "late")
        tell(given["file"] + ".began", "began")
        threading.Thread(target=later, daemon=True).start()
    elif name == "wait":
        tell(given["file"], str(os.getpid()))
        message = receive()
        assert message["method"] == "notifications/cancelled" and message["params"]["requestId"] == id, message
        tell(given["file"], "cancelled")
        if given.get("answers"):
            text(id, "done all the same")
    elif name == "pair":
        held[given["name"]] = id
        if len(held) == 2:
            for name, id in sorted(held.items()):
                text(id, name)
            held.clear()
    elif name == "steps":
        token = meta["progressToken"]
        for progress, more in [(1, {"total": 4, "message": "one"}), (0.5, {"total": 1}), (7, {})]:
            send({"method": "notifications/progress", "params": dict(more, progressToken=token, progress=progress)})
        sys.stderr.write("working\n")
        sys.stderr.flush()
        send({"method": "notifications/message", "params": {"level": "info", "data": "x"}})
        text(id, "three")
    elif name == "asks":
        send({"id": "p", "method": "ping"})
        send({"id": 77, "method": "sampling/createMessage", "params": {}})
        text(id, json.dumps([receive(), receive()]))
    elif name == "refuse":
        send({"id": id, "error": {"code": given["code"], "message": "no"}})
    elif name == "fail":
        text(id, "it is closed\nsince Monday", isError=True)
    elif name == "misfit":
        text(id, "none", structuredContent={"n": "many"})
    elif name == "question":
        answer(id, {"resultType": "input_required", "inputRequests": {}, "requestState": "s"})
    elif name == "environment":
        text(id, json.dumps(dict(os.environ)))
    elif name == "mute":
        os.close(1)
        while receive():
            pass
    elif name == "strange":
        send({"id": 4711, "result": {"content": []}})
        answer(id, {"content": "it is a text"})
    elif name == "number":
        text(id, str(os.getpid()))


for option in OPTIONS:
    if option.startswith("starts="):
        tell(option.removeprefix("starts="), "started")
if "banner" in OPTIONS:
    print("Welcome to the server", flush=True)
began = False
while True:
    message = receive()
    if ERA == "deaf":
        continue
    method, id, params = message.get("method"), message.get("id"), message.get("params", {})
    if ASKED:
        with open(ASKED, "a") as asked:
            asked.write(method + "\n")
    if method == "server/discover" and ERA == "modern":
        info = {"io.modelcontextprotocol/serverInfo": {"name": "scripted", "version": "1", "title": "A scripted server"}}
        answer(id, {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "_meta": info})
    elif method == "initialize" and ERA != "modern":
        began = True
        answer(id, {"protocolVersion": VERSION, "capabilities": {"tools": {}}, "serverInfo": {"name": "scripted", "version": "1"}})
    elif ERA == "strict" and not began:
        sys.exit(2)
    elif method == "tools/list" and (began or ERA == "modern"):
        if "pages" in OPTIONS:
            at = int(params.get("cursor", "0"))
            answer(id, dict({"tools": TOOLS[at : at + 1]}, **({"nextCursor": str(at + 1)} if at + 1 < len(TOOLS) else {})))
        else:
            answer(id, {"tools": TOOLS})
    elif method == "tools/call" and (began or ERA == "modern"):
        call(id, params["name"], params.get("arguments", {}), params.get("_meta", {}))
    elif id is not None and ERA != "silent":
        send({"id": id, "error": {"code": -32601, "message": "Method not found"}})
