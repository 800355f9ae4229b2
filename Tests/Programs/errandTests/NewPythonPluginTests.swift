import ActionKit
import ActionTestKit
import Basics
import Foundation
import MCPPlugins
import PluginLocks
import Testing

@Suite(.timeLimit(.minutes(20))) struct NewPythonPluginTests {
  static let sdk = [PythonPackage("mcp", "2.3.0")]

  /// Writes the lock of a server as `errand plugin add` does.
  static func lock(_ name: String, _ source: MCPSource, in program: Program) async throws {
    var context = PluginContext(connection: name, time: SystemTime())
    context.folder = program.folder.path
    // The start of Python takes long while other tests run.
    let lock = try await MCPKind.lock(
      name: name, source: source, settings: .object(["requestTimeout": .string("15m")]), in: context)
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "plugins"), withIntermediateDirectories: true)
    try program.write(String(decoding: try lock.written(), as: UTF8.self), to: lock.file)
  }

  static func with(_ body: (Program) async throws -> Void) async throws {
    let program = try await Program()
    do { try await body(program) } catch {
      await program.remove()
      throw error
    }
    await program.remove()
  }

  @Test func `a plugin in Python is written, tested, added and used`() async throws {
    guard let python = await pythonInterpreter(with: Self.sdk) else { return }
    try await Self.with { program in
      try program.write("", to: "errand.yaml")
      let written = try await program.call("new", "plugin", "python", "notes")
      #expect(written.code == 0, "\(written.error)")
      #expect(written.out == "plugins/notes.py\nplugins/test_notes.py\n")
      #expect(
        written.error == """
          next: python3 -m venv .venv && .venv/bin/pip install mcp==2.3.0
                .venv/bin/python plugins/test_notes.py
                errand plugin add mcp notes -- .venv/bin/python plugins/notes.py
                errand test

          """)
      let tested = try await program.shell("\(python) plugins/test_notes.py")
      #expect(tested.code == 0, "\(tested.error)")
      try await Self.lock("notes", MCPSource(.command([python, "plugins/notes.py"])), in: program)
      let lock = try JSON.parse(try program.read("plugins/notes.lock.json"))
      #expect(lock["actions"]?.map?.members.compactMap(\.name) == ["addNote", "listNotes"])
      let well = try await program.call("test")
      #expect(well.code == 0, "\(well.out)\(well.error)")
      #expect(
        well.out.replacing(#/ +\d+ ms/#, with: "") == """
          plugins/notes.lock.json
            ✓ is as errand wrote it
            ✓ says what its actions do
            ✓ is what the server offers

          """)
      try program.write(
        """
        recipe: note
        steps:
          - { id: added, uses: notes.addNote, with: { text: Milk } }
          - { id: all, uses: notes.listNotes }
        outputs:
          text: ${{ steps.added.text }}
          count: ${{ size(steps.all.result) }}
        """, to: "note.yaml")
      let plan = try await program.call("plan", "note.yaml")
      #expect(plan.out.contains("Note 1"), "\(plan.out)\(plan.error)")
      let run = try await program.call("run", "note.yaml", "--json")
      #expect(run.code == 0, "\(run.out)\(run.error)")
      #expect(run.json["outputs"] == .object(["text": .string("Milk"), "count": .int(1)]))

      // Only the real service exists, so a test has to replay a recording.
      try FileManager.default.createDirectory(
        at: program.folder.appending(path: "recipes/tests"), withIntermediateDirectories: true)
      try program.write(
        "recipe: ../../note.yaml\ncases: [{ case: Alone, do: [{ run: {}, expect: { status: succeeded } }] }]\n",
        to: "recipes/tests/note.test.yaml")
      let alone = try await program.call("test", "recipes/tests/note.test.yaml")
      #expect(
        alone.out.contains("the plugin 'notes' has no sandbox; 'errand run --record FILE' records"), "\(alone.out)")
      #expect(try program.read("notes.jsonl").split(separator: "\n").count == 1)

      // The program moves on, and the lock doesn't.
      try program.write(
        program.read("plugins/notes.py").replacing(
          "def add_note(text: str, key: str)", with: "def add_note(text: int, key: str)"),
        to: "plugins/notes.py")
      let moved = try await program.call("test")
      #expect(moved.code == 1)
      #expect(moved.out.contains("addNote: input.text: string → int"), "\(moved.out)")
      let refused = try await program.call("run", "note.yaml")
      #expect(refused.code != 0)
      #expect(
        refused.error.contains("addNote: input.text: string → int"), "\(refused.error)")
      #expect(try program.read("notes.jsonl").split(separator: "\n").count == 1)
    }
  }

  @Test(arguments: [
    (
      "my-notes",
      "the plugin's name 'my-notes' isn't a name: a name begins with a lowercase letter, and letters and digits follow, "
        + "as in 'taskKey2'; write 'myNotes'"
    ),
    (
      "ähm",
      "the plugin's name 'ähm' isn't a name: a name begins with a lowercase letter, and letters and digits follow, as in "
        + "'taskKey2'"
    ),
    ("steps", "the plugin's name 'steps' has a meaning of its own in recipes; choose another name"),
    ("pathlib", "Python, or what a plugin in it needs, uses the name 'pathlib'; choose another name"),
    ("anyio", "Python, or what a plugin in it needs, uses the name 'anyio'; choose another name"),
    ("shell", "there is a plugin 'shell' already"),
  ])
  func `refuses names that a plugin can't have`(_ name: String, _ message: String) async throws {
    try await Self.with { program in
      let outcome = try await program.call("new", "plugin", "python", name)
      #expect(outcome.error == "error: \(message)\n")
      #expect(outcome.code == 64)
    }
  }
}
