import ActionKit
import AgentRuntime
import Basics
import CommandLineParser
import Recipes

/// `errand new plugin`: writes a plugin in another language, and a test of it.
struct NewPluginCommand: DispatchedCommand {
  let dispatch: Dispatch

  /// Words and modules of Python, and the modules that the SDK needs.
  ///
  /// A plugin's file with such a name would hide the module from every plugin in the folder, or can't be imported.
  private static let taken = Set(
    """
    abc aifc and annotated antigravity anyio argparse array as assert ast async asynchat asyncio asyncore atexit
    attr attrs audioop await base64 bdb binascii bisect break builtins bz2 cProfile calendar certifi cffi cgi
    cgitb chunk class click cmath cmd code codecs codeop collections colorsys compileall concurrent configparser
    contextlib contextvars continue copy copyreg crypt cryptography csv ctypes curses dataclasses datetime dbm
    decimal def del difflib dis distutils doctest dotenv elif else email encodings ensurepip enum errno except
    faulthandler fcntl filecmp fileinput finally fnmatch for fractions from ftplib functools gc genericpath
    getopt getpass gettext glob global graphlib grp gzip h11 hashlib heapq hmac html http httpcore httpcore2
    httpx httpx2 idlelib idna if imaplib imghdr imp import importlib in inspect io ipaddress is itertools json
    jsonschema jwt keyword lambda lib2to3 linecache locale logging lzma mailbox mailcap marshal math mcp
    mimetypes mmap modulefinder msilib msvcrt multipart multiprocessing netrc nis nntplib nonlocal not nt ntpath
    nturl2path numbers opcode opentelemetry operator optparse or os ossaudiodev pass pathlib pdb pickle
    pickletools pip pipes pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty pwd pyclbr
    pycparser pydantic pydoc pyexpat pygments queue quopri raise random re readline referencing reprlib resource
    return rich rlcompleter rpds runpy sched secrets select selectors setuptools shellingham shelve shlex shutil
    signal site six smtpd smtplib sndhdr socket socketserver spwd sqlite3 ssl starlette stat statistics string
    stringprep struct subprocess sunau symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile termios
    textwrap this threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc truststore
    try tty turtle turtledemo typer types typing tzdata tzlocal unicodedata unittest urllib uu uuid uvicorn venv
    warnings wave weakref webbrowser while winreg winsound with wsgiref xdrlib xml xmlrpc yield zipapp zipfile
    zipimport zlib zoneinfo
    """.split { " \n".contains($0) })

  func run() throws(RuntimeError) -> ExitCode {
    let name = parsed["name"].text ?? ""
    if let fault = Names.fault(in: name) {
      throw RuntimeError(.usage, "the plugin's name '\(name.safe)' \(fault.text)")
    }
    if dispatch.catalog.plugin(name) != nil { throw RuntimeError(.usage, "there is a plugin '\(name)' already") }
    if Self.taken.contains(name[...]) {
      throw RuntimeError(.usage, "Python, or what a plugin in it needs, uses the name '\(name)'; choose another name")
    }
    let folder = Workspace.displayed("\(try dispatch.workspace().root)/plugins")
    for (path, text) in [("\(folder)/\(name).py", Self.server), ("\(folder)/test_\(name).py", Self.test)] {
      try NewFile.write(text.replacing("NAME", with: name), to: path, orElse: "give the plugin another name")
      console.out(path)
    }
    let file = "\(folder)/\(name).py".shellQuoted
    console.say("next: python3 -m venv .venv && .venv/bin/pip install mcp==2.3.0")
    console.say("      .venv/bin/python \("\(folder)/test_\(name).py".shellQuoted)")
    console.say("      errand plugin add mcp \(name) -- .venv/bin/python \(file)")
    console.say("      errand test")
    return .done
  }

  static let server = #"""
    """NAME: keeps notes in a file. A server of MCP, whose tools recipes call as NAME.addNote and NAME.listNotes:

        errand plugin add mcp NAME -- .venv/bin/python plugins/NAME.py

    docs/plugins-from-outside.md of Errand describes the members of `meta`, and the answers of find_note and preview_note.
    """
    from pathlib import Path
    from typing import Any

    from mcp.server import MCPServer
    from pydantic import BaseModel

    FILE = Path("NAME.jsonl")
    server = MCPServer("NAME")


    class Note(BaseModel):
        key: str
        text: str


    def notes() -> list[Note]:
        if not FILE.exists():
            return []
        with FILE.open() as file:
            return [Note.model_validate_json(line) for line in file]


    @server.tool(meta={"errand/effect": "read"})
    def list_notes() -> list[Note]:
        """Lists the notes."""
        return notes()


    @server.tool(
        meta={
            "errand/effect": "write",
            "errand/key": "key",
            "errand/reconcile": "find_note",
            "errand/preview": "preview_note",
        }
    )
    def add_note(text: str, key: str) -> Note:
        """Adds a note, once for each key."""
        for note in notes():
            if note.key == key:
                return note
        note = Note(key=key, text=text)
        with FILE.open("a") as file:
            file.write(note.model_dump_json() + "\n")
        return note


    @server.tool()
    def find_note(key: str) -> dict[str, Any]:
        """Looks whether a note was added whose answer was lost."""
        for note in notes():
            if note.key == key:
                return {"outcome": "done", "output": note}
        return {"outcome": "notDone"}


    @server.tool()
    def preview_note(text: str) -> dict[str, Any]:
        """Says what adding a note would change."""
        return {"changes": [{"subject": f"Note {len(notes()) + 1}", "after": text}]}


    if __name__ == "__main__":
        server.run()

    """#

  static let test = #"""
    """Tests the plugin NAME: .venv/bin/python plugins/test_NAME.py"""
    import os
    import tempfile
    import unittest

    import NAME
    from mcp import Client


    class Tests(unittest.IsolatedAsyncioTestCase):
        async def test_a_note_is_added_once(self):
            os.chdir(tempfile.mkdtemp())
            async with Client(NAME.server) as client:

                async def call(tool, **arguments):
                    return (await client.call_tool(tool, arguments)).structured_content

                self.assertEqual(await call("find_note", key="k"), {"outcome": "notDone"})
                note = await call("add_note", text="Milk", key="k")
                self.assertEqual(await call("find_note", key="k"), {"outcome": "done", "output": note})
                self.assertEqual(await call("add_note", text="Milk", key="k"), note)
                self.assertEqual(await call("list_notes"), {"result": [note]})
                changes = [{"subject": "Note 2", "after": "Eggs"}]
                self.assertEqual(await call("preview_note", text="Eggs"), {"changes": changes})


    if __name__ == "__main__":
        unittest.main()

    """#
}
