"""Asks `errand lsp` what editors ask, about every recipe of the tree, with the client of pytest-lsp: lsp.py PROGRAM

The client refuses answers that don't have the form of the protocol, or that it didn't say it can take.
"""
import asyncio
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import warnings

from lsprotocol import types as lsp
from pygls.protocol import default_converter
from pytest_lsp import LanguageClient, client_capabilities
from pytest_lsp.checks import LspSpecificationWarning

from agent import ROOT, main, Failed

PROGRAM = str(pathlib.Path(sys.argv[1]).resolve())
FAULTS = []


def expect(condition, message):
    """Notes what isn't so; all of it is told in the end."""
    if not condition:
        FAULTS.append(message() if callable(message) else message)


def uri(path):
    return path.as_uri()


def edits_by_uri(edit):
    if edit.document_changes:
        return {change.text_document.uri: change.edits for change in edit.document_changes}
    return edit.changes or {}


class Editor:
    """An editor with a folder open."""

    def __init__(self, folder, capabilities):
        self.folder, self.capabilities = folder, capabilities
        self.published, self.texts, self.versions = {}, {}, {}
        self.client = LanguageClient(converter_factory=default_converter)
        self.news = asyncio.Event()

        @self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params):
            self.published[params.uri] = (params.version, params.diagnostics)
            self.news.set()

        @self.client.feature(lsp.CLIENT_REGISTER_CAPABILITY)
        def register(params):
            return None

    async def __aenter__(self):
        await self.client.start_io(PROGRAM, "lsp", cwd=str(self.folder))
        self.server = await self.client.initialize_session(
            lsp.InitializeParams(capabilities=self.capabilities, root_uri=uri(self.folder)))
        return self

    async def __aexit__(self, *_):
        process = self.client._server
        await asyncio.wait_for(self.client.shutdown_session(), 20)
        expect(process.returncode == 0, f"after shutdown and exit the exit code is {process.returncode}")
        await self.client.stop()

    def units(self, text):
        """How many code units a text has, as was agreed."""
        if self.server.capabilities.position_encoding == lsp.PositionEncodingKind.Utf8:
            return len(text.encode())
        return len(text.encode("utf-16-le")) // 2

    def place(self, text, offset):
        before = text[:offset]
        return lsp.Position(before.count("\n"), self.units(before[before.rfind("\n") + 1:]))

    def offset(self, text, position):
        lines = text.split("\n")
        line = lines[position.line]
        count = next((n for n in range(len(line)) if self.units(line[:n]) >= position.character), len(line))
        return sum(len(line) + 1 for line in lines[:position.line]) + count

    def edited(self, text, edits):
        """A text with edits made, which must not overlap."""
        spans = sorted((self.offset(text, edit.range.start), self.offset(text, edit.range.end), edit.new_text)
                       for edit in edits)
        for (_, end, _), (start, _, _) in zip(spans, spans[1:]):
            expect(end <= start, f"edits overlap: {spans}")
        for start, end, new in reversed(spans):
            text = text[:start] + new + text[end:]
        return text

    def open(self, path, text=None, language="yaml"):
        text = path.read_text() if text is None else text
        self.texts[path], self.versions[path] = text, 1
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(
            lsp.TextDocumentItem(uri=uri(path), language_id=language, version=1, text=text)))

    def change(self, path, start, end, new):
        """Replaces a part of a text, as one that types does."""
        text = self.texts[path]
        change = lsp.TextDocumentContentChangePartial(
            range=lsp.Range(self.place(text, start), self.place(text, end)), text=new)
        self.texts[path] = text[:start] + new + text[end:]
        self.versions[path] += 1
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(
            text_document=lsp.VersionedTextDocumentIdentifier(version=self.versions[path], uri=uri(path)),
            content_changes=[change]))

    def close(self, path):
        self.client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri(path))))

    async def diagnostics(self, path):
        """What is found in the last version of a text."""
        async def wait():
            while self.published.get(uri(path), (0, []))[0] != self.versions[path]:
                self.news.clear()
                await self.news.wait()
        await asyncio.wait_for(wait(), 60)
        return list(self.published[uri(path)][1])

    def document(self, path):
        return lsp.TextDocumentIdentifier(uri(path))

    def whole(self, path):
        text = self.texts[path]
        return lsp.Range(lsp.Position(0, 0), self.place(text, len(text)))

    async def at(self, kind, path, index, **more):
        """Asks about a place: `hover`, `completion` and so on."""
        parameters = {
            "completion": lsp.CompletionParams, "hover": lsp.HoverParams, "signature_help": lsp.SignatureHelpParams,
            "definition": lsp.DefinitionParams, "references": lsp.ReferenceParams,
            "prepare_rename": lsp.PrepareRenameParams, "rename": lsp.RenameParams,
        }[kind]
        ask = getattr(self.client, f"text_document_{kind}_async")
        return await asyncio.wait_for(
            ask(parameters(text_document=self.document(path), position=self.place(self.texts[path], index), **more)), 60)

    async def labels(self, path, index):
        found = await self.at("completion", path, index)
        items = found.items if isinstance(found, lsp.CompletionList) else found or []
        return [item.label for item in items]

    async def actions(self, path, range_, *only):
        context = lsp.CodeActionContext(diagnostics=[], only=list(only) or None)
        return await self.client.text_document_code_action_async(
            lsp.CodeActionParams(text_document=self.document(path), range=range_, context=context)) or []


EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.S)
ACCESS = re.compile(r"\b(steps|inputs)\.([A-Za-z_]\w*)")


def accesses(text):
    """Where expressions read a step or an input: the offset of its name, the name, and what it is."""
    for expression in EXPRESSION.finditer(text):
        for access in ACCESS.finditer(expression.group(1)):
            quoted = expression.group(1)[:access.start()]
            if quoted.count('"') % 2 == 0 and quoted.count("'") % 2 == 0:
                yield expression.start(1) + access.start(2), access.group(2), access.group(1)


def symbols(items):
    for item in items or []:
        yield item
        yield from symbols(getattr(item, "children", None))


def within(inner, outer):
    def key(position):
        return (position.line, position.character)
    return key(outer.start) <= key(inner.start) and key(inner.end) <= key(outer.end)


def shown(hover):
    return getattr(hover.contents, "value", hover.contents)


async def whole_texts(editor, path):
    """What is asked about a text as a whole."""
    text, name = editor.texts[path], path.name
    lines = text.count("\n")
    document = editor.document(path)
    found = await editor.diagnostics(path)
    errors = [fault.message for fault in found if fault.severity == lsp.DiagnosticSeverity.Error]
    expect(not errors, f"{name} has errors: {errors}")
    expect(all(fault.source == "errand" for fault in found), f"{name}: a fault is of another source")

    items = await editor.client.text_document_document_symbol_async(lsp.DocumentSymbolParams(document))
    all_items = list(symbols(items))
    expect(all_items, f"{name} has no outline")
    for item in all_items:
        if isinstance(item, lsp.DocumentSymbol):
            expect(within(item.selection_range, item.range), f"{name}: the name of {item.name} is outside of it")
            for child in item.children or []:
                expect(within(child.range, item.range), f"{name}: {child.name} is outside of {item.name}")
    names = {item.name for item in all_items}
    if not name.endswith(".test.yaml"):
        ids = set(re.findall(r"^ +(?:- )?id: ([A-Za-z_]\w*)$", text, re.M))
        expect(ids <= names, f"{name}: the outline lacks {ids - names}")

    folds = await editor.client.text_document_folding_range_async(lsp.FoldingRangeParams(document))
    expect(folds, f"{name} has no folds")
    expect(all(fold.start_line < fold.end_line <= lines for fold in folds or []), f"{name}: folds are {folds}")

    links = await editor.client.text_document_document_link_async(lsp.DocumentLinkParams(document))
    calls = re.findall(r"\bcall: *([\w./-]+\.ya?ml)", text)
    expect(len(links or []) >= len(calls), f"{name} calls {calls}, and links to {links}")
    for link in links or []:
        target = pathlib.Path(link.target.removeprefix("file://"))
        expect(target.suffix not in (".yaml", ".yml") or target.exists(), f"{name} links to {link.target}")

    tokens = await editor.client.text_document_semantic_tokens_full_async(lsp.SemanticTokensParams(document))
    expect(len(tokens.data) % 5 == 0, f"{name}: {len(tokens.data)} numbers of tokens")
    expect(tokens.data or "${{" not in text, f"{name} has no tokens")
    kinds = editor.server.capabilities.semantic_tokens_provider.legend.token_types
    line = character = 0
    for index in range(0, len(tokens.data), 5):
        down, right, length, kind, _ = tokens.data[index:index + 5]
        line, character = line + down, right if down else character + right
        expect(kind < len(kinds) and length > 0, f"{name}: a token of {length} characters and kind {kind}")
        width = editor.units(text.split("\n")[line])
        expect(character + length <= width, f"{name}: a token beyond the end of line {line + 1}")

    hints = await editor.client.text_document_inlay_hint_async(lsp.InlayHintParams(document, editor.whole(path)))
    if not name.endswith(".test.yaml"):
        expect(hints or not re.search(r"^ +- cron:", text, re.M), f"{name}: no fire times")


async def places(editor, path):
    """What is asked about places of a recipe."""
    text, name = editor.texts[path], path.name
    for use in re.finditer(r"\buses: ([\w.]+)", text):
        hover = await editor.at("hover", path, use.start(1) + 1)
        action = use.group(1)
        expect(hover and action in shown(hover), lambda: f"{name}: hovering over {action} shows {hover}")
        # Written anew, it is offered.
        editor.change(path, use.start(1), use.end(1), "")
        labels = await editor.labels(path, use.start(1))
        expect(action in labels, lambda: f"{name}: {action} isn't offered, but {labels[:5]}")
        editor.change(path, use.start(1), use.start(1), action)

    met = set()
    for index, member, root in accesses(text):
        if (member, root) in met:
            continue
        met.add((member, root))
        definition = await editor.at("definition", path, index + 1)
        expect(definition is not None, f"{name}: {root}.{member} is defined nowhere")
        if definition is not None:
            defined = editor.offset(text, definition.range.start)
            expect(definition.uri == uri(path) and member in text[defined:].split("\n")[0],
                   lambda: f"{name}: {root}.{member} is defined at {text[defined:defined + 20]!r}")
            uses = await editor.at(
                "references", path, index + 1, context=lsp.ReferenceContext(include_declaration=True))
            expect(uses and len(uses) >= 2, f"{name}: {root}.{member} is used at {uses}")
        hover = await editor.at("hover", path, index + 1)
        expect(hover is not None, f"{name}: nothing is shown about {root}.{member}")
        editor.change(path, index, index + len(member), "")
        labels = await editor.labels(path, index)
        expect(member in labels, lambda: f"{name}: after '{root}.', {member} isn't offered, but {labels[:5]}")
        editor.change(path, index, index, member)
    expect(editor.texts[path] == text, f"{name}: the script lost its place")


async def rename(editor, path, capabilities):
    """Renames a step and an input of a recipe, and checks what comes of it."""
    text, name = editor.texts[path], path.name
    met = set()
    for index, member, root in accesses(text):
        if root in met:
            continue
        met.add(root)
        what = await editor.at("prepare_rename", path, index + 1)
        expect(what is not None, f"{name}: {root}.{member} can't be renamed")
        if what is None:
            continue
        expect(text[editor.offset(text, what.range.start):editor.offset(text, what.range.end)] == member,
               f"{name}: of {root}.{member}, {what} would be renamed")
        edit = await editor.at("rename", path, index + 1, new_name="renamedThing")
        with tempfile.TemporaryDirectory() as copy:
            recipes = pathlib.Path(copy) / "recipes"
            shutil.copytree(editor.folder / "recipes", recipes)
            for address, edits in edits_by_uri(edit).items():
                changed = pathlib.Path(address.removeprefix("file://"))
                target = recipes / changed.relative_to(editor.folder / "recipes")
                target.write_text(editor.edited(target.read_text(), edits))
            expect("renamedThing" in (recipes / name).read_text(), f"{name}: nothing is renamed")
            checked = [f"recipes/{name}"]
            if (recipes / "tests" / f"{path.stem}.test.yaml").exists():
                checked.append(f"recipes/tests/{path.stem}.test.yaml")
            result = subprocess.run([PROGRAM, "check", *checked], cwd=copy, capture_output=True, text=True)
            expect(result.returncode == 0, f"{name}: after {root}.{member} is renamed: {result.stderr}")
    for bad in ["two words", "", "1st"]:
        for index, member, root in list(accesses(text))[:1]:
            try:
                await editor.at("rename", path, index + 1, new_name=bad)
                expect(False, f"{name}: {root}.{member} may be named {bad!r}")
            except Exception as error:
                code = getattr(error, "code", None)
                expect(code == -32803, f"{name}: renaming to {bad!r} fails with {code}: {error}")


async def while_writing(editor):
    """What is asked while a recipe is being written."""
    path = editor.folder / "recipes" / "new.yaml"
    editor.open(path, "")
    text = (editor.folder / "recipes" / "hello.yaml").read_text()
    labels = await editor.labels(path, 0)
    expect("steps" in labels and "inputs" in labels, f"an empty recipe may begin with {labels}")
    for index, character in enumerate(text):
        editor.change(path, index, index, character)
        if index % 5 == 0 or character in ".({":
            await editor.labels(path, index + 1)
        if character == "(":
            help_ = await editor.at("signature_help", path, index + 1)
            expect(help_ and help_.signatures and help_.signatures[0].parameters,
                   f"no help after {text[:index + 1][-20:]!r}")
    expect(await editor.diagnostics(path) == [], f"typed, it has faults: {editor.published[uri(path)]}")

    # A fault, and its fix.
    start = editor.texts[path].index("steps:\n  - id")
    editor.change(path, start, start + 5, "stpes")
    found = await editor.diagnostics(path)
    expect([(fault.range.start, fault.severity) for fault in found if "'stpes'" in fault.message]
           == [(editor.place(text, start), lsp.DiagnosticSeverity.Error)], f"a misspelt key: {found}")
    for only in [lsp.CodeActionKind.QuickFix, lsp.CodeActionKind.SourceFixAll]:
        range_ = lsp.Range(editor.place(text, start + 2), editor.place(text, start + 2))
        actions = [action for action in await editor.actions(path, range_, only) if action.title == "Apply all safe fixes"
                   or "'steps'" in action.title]
        expect(len(actions) == 1, f"{only}: {actions}")
        for action in actions:
            expect(action.kind == only, f"an action of kind {action.kind} for {only}")
            mended = editor.edited(editor.texts[path], edits_by_uri(action.edit)[uri(path)])
            expect(mended == text, f"{only} makes {mended!r}")
    actions = await editor.actions(path, lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0)), "refactor")
    expect(actions == [], f"refactorings: {actions}")
    editor.close(path)


async def other_files(editor):
    """Files that aren't ours, errand.yaml, and files that change beside."""
    compose = editor.folder / "docker-compose.yaml"
    editor.open(compose, "services:\n  web: { image: nginx }\n")
    expect(await editor.at("hover", compose, 3) is None, "something is shown about a docker-compose.yaml")
    expect(not await editor.labels(compose, 10), "something is offered in a docker-compose.yaml")
    expect(uri(compose) not in editor.published, "a docker-compose.yaml has diagnostics")

    caller, callee = editor.folder / "recipes" / "caller.yaml", editor.folder / "recipes" / "callee.yaml"
    editor.open(caller, "recipe: caller\nsummary: Calls.\nsteps:\n  - id: c\n    call: callee.yaml\n"
                "outputs: { x: \"${{ steps.c.x }}\" }\n")
    found = await editor.diagnostics(caller)
    expect(any("callee.yaml" in fault.message for fault in found), f"a missing recipe: {found}")
    callee.write_text("recipe: callee\nsummary: Computes.\nsteps:\n  - let: { x: 1 }\noutputs: { x: \"${{ x }}\" }\n")
    del editor.published[uri(caller)]
    editor.client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams(
        changes=[lsp.FileEvent(uri=uri(callee), type=lsp.FileChangeType.Created)]))
    expect(await editor.diagnostics(caller) == [], f"the recipe came: {editor.published[uri(caller)]}")
    # The text in the editor counts, and not that on disk.
    del editor.published[uri(caller)]
    editor.open(callee, "recipe: callee\nsummary: Computes.\nsteps:\n  - let: { x: 1 }\n")
    found = await editor.diagnostics(caller)
    expect([fault.range.start.line for fault in found] == [5], f"the recipe that is called has no outputs: {found}")
    editor.close(callee)
    callee.unlink()

    configuration = editor.folder / "errand.yaml"
    editor.open(configuration, "recipse: [recipes]\n")
    found = await editor.diagnostics(configuration)
    expect(any("'recipse'" in fault.message for fault in found), f"a misspelt key of errand.yaml: {found}")
    editor.close(configuration)

    found = await editor.client.workspace_symbol_async(lsp.WorkspaceSymbolParams("greet"))
    expect(any(symbol.location.uri.endswith("/hello.yaml") for symbol in found or []), f"symbols: {found}")


async def configured(editor):
    """What an errand.yaml in the editor says counts, in a folder of its own."""
    folder = editor.folder / "school"
    (folder / "chores").mkdir(parents=True)
    secrets = folder / "secrets.yaml"
    secrets.touch(0o600)
    secrets.write_text("MAIL_PASSWORD: hidden\n")
    configuration, chore = folder / "errand.yaml", folder / "chores" / "fetch.yaml"
    settings = "recipes: chores\nsecrets: { files: secrets.yaml, commands: { API_KEY: [pass, show, key] } }\n"
    school = "connections: { school: { plugin: http, baseURL: \"https://school.example\" } }\n"
    editor.open(configuration, settings)
    text = ("recipe: fetch\nsummary: Fetches.\nsteps:\n  - id: page\n    uses: http.get\n    connection: school\n"
            "    with:\n      path: /\noutputs: { page: \"${{ steps.page.status }}\" }\n")
    editor.open(chore, text)
    found = await editor.diagnostics(chore)
    expect(any("'school'" in fault.message for fault in found), f"there is no connection yet: {found}")
    del editor.published[uri(chore)]
    editor.change(configuration, len(settings), len(settings), school)
    found = [fault.message for fault in await editor.diagnostics(chore)]
    expect(not any("'school'" in message for message in found), f"now there is a connection: {found}")
    expect(not await editor.diagnostics(configuration), f"errand.yaml: {editor.published[uri(configuration)]}")
    start = text.index("school")
    editor.change(chore, start, start + 6, "")
    labels = await editor.labels(chore, start)
    expect("school" in labels, f"connections are {labels}")
    editor.change(chore, start, start, "school")
    end = text.index("steps.page.status")
    editor.change(chore, end, end + len("steps.page.status"), "secrets.")
    labels = await editor.labels(chore, end + len("secrets."))
    expect(["API_KEY", "MAIL_PASSWORD"] == sorted(labels)[:2], f"secrets are {labels}")
    editor.close(chore)
    editor.close(configuration)


async def session(folder, capabilities, isFull):
    async with Editor(folder, capabilities) as editor:
        paths = sorted(folder.glob("recipes/*.yaml")) + sorted(folder.glob("recipes/tests/*.yaml"))
        for path in paths:
            editor.open(path)
        for path in paths:
            await whole_texts(editor, path)
            if isFull and not path.name.endswith(".test.yaml"):
                await places(editor, path)
                await rename(editor, path, capabilities)
        await while_writing(editor)
        await other_files(editor)
        await configured(editor)
        return len(paths)


def frame(message):
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def ends():
    """How the server ends, by its client's ways of going."""
    start = frame({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}})
    shutdown = frame({"jsonrpc": "2.0", "id": 2, "method": "shutdown"})
    exit_ = frame({"jsonrpc": "2.0", "method": "exit"})
    for sent, code in [
        (start + shutdown + exit_, 0), (start + exit_, 1), (exit_, 1), (start + shutdown, 0), (start, 1), (b"", 1),
        (b"\x00\xff\r\n\r\nContent-Length: -1\r\n\r\n" + start + shutdown + exit_, 0),
    ]:
        result = subprocess.run([PROGRAM, "lsp", "--stdio"], input=sent, capture_output=True, timeout=20)
        expect(result.returncode == code, f"{sent!r} ends with {result.returncode}")
        expect(result.stdout == b"" or result.stdout.startswith(b"Content-Length: "), f"printed: {result.stdout!r}")
        expect(result.stderr == b"", f"complained: {result.stderr!r}")
    # A client that reads nothing doesn't keep the server when it goes.
    silent = subprocess.Popen([PROGRAM, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    silent.stdin.write(start + 5000 * frame({"jsonrpc": "2.0", "id": 3, "method": "no/such"}))
    silent.stdin.close()
    expect(silent.wait(30) == 1, "a server without a client ended well")
    silent.stdout.close()


async def sessions():
    for name, isFull in [("neovim@v0.11.0", True), ("visual-studio-code@v1.65.2", False), ("emacs@v29.1", False)]:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            shutil.copytree(ROOT / "recipes", folder / "recipes")
            count = await session(folder, client_capabilities(name), isFull)
    return count


def body():
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", LspSpecificationWarning)
        ends()
        count = asyncio.run(sessions())
    for warning in warned:
        if issubclass(warning.category, LspSpecificationWarning):
            FAULTS.append(f"not as the client can take it: {warning.message}")
    if FAULTS:
        raise Failed("\n  ".join([f"{len(FAULTS)} faults", *FAULTS]))
    print(f"editors are answered about {count} files")


main(body)
