import Basics
import Foundation
import Testing

@testable import errand

@Suite(.timeLimit(.minutes(20))) struct NewFolderTests {
  @Test func `a new folder has a recipe that checks, runs and has a test that passes`() async throws {
    let program = try await Program()
    let made = try await program.call("new", "folder", "own", environment: ["TZ": "Europe/Berlin"])
    #expect(made.code == 0, "\(made.error)")
    #expect(
      made.out == """
        own/errand.yaml
        own/.gitignore
        own/recipes/hello.yaml
        own/recipes/tests/hello.test.yaml
        own/recipes/recipe.schema.json
        own/recipes/test.schema.json
        own/recipes/errand.schema.json

        """)
    #expect(
      made.error == """
        next: cd own && errand run recipes/hello.yaml -i name=Ada
              errand test
              errand new recipe

        """)
    let configuration = try String(contentsOf: program.folder.appending(path: "own/errand.yaml"), encoding: .utf8)
    #expect(configuration.contains("\nzone: Europe/Berlin\n"))
    #expect(configuration.contains("\n# server:\n#   listen: 127.0.0.1:7373\n"))
    let errand = "cd own && '\(Program.binary.path)'"
    for command in ["check", "lint --strict", "run recipes/hello.yaml -i name=Ada", "test"] {
      let outcome = try await program.shell("\(errand) \(command)")
      #expect(outcome.code == 0, "\(command): \(outcome.out)\(outcome.error)")
    }
    // The next recipe names the schema that is there.
    #expect(try await program.shell("\(errand) new recipe --from streak").code == 0)
    let streak = try String(contentsOf: program.folder.appending(path: "own/recipes/streak.yaml"), encoding: .utf8)
    #expect(streak.hasPrefix("# yaml-language-server: $schema=recipe.schema.json\nrecipe: streak\n"), "\(streak)")
    await program.remove()
  }

  @Test func `nothing that is there is overwritten`() async throws {
    let program = try await Program()
    try Files.makeFolder(program.folder.appending(path: "own").path)
    try program.write("mine\n", to: "own/.gitignore")
    let made = try await program.call("new", "folder", "own/")
    #expect(made.code == 0)
    #expect(made.error.hasPrefix("'own/.gitignore' already exists and was left unchanged\nnext: "), "\(made.error)")
    #expect(try String(contentsOf: program.folder.appending(path: "own/.gitignore"), encoding: .utf8) == "mine\n")
    let again = try await program.call("new", "folder", "own")
    #expect(again.code == 73)
    #expect(
      again.error
        == "error: 'own/errand.yaml' already exists and was left unchanged; 'errand new recipe' adds a recipe\n")
    await program.remove()
  }

  @Test func `a bare errand says what to do first where there are no recipes, and helps elsewhere`() async throws {
    let program = try await Program()
    try? FileManager.default.removeItem(at: program.folder.appending(path: "recipes"))
    try? FileManager.default.removeItem(at: program.folder.appending(path: "errand.yaml"))
    let first = try await program.call()
    #expect(first.code == 0)
    #expect(first.out.split(separator: "\n").count == 3)
    #expect(first.out.hasPrefix("There are no recipes here yet. 'errand new folder' makes a folder for them"))
    try program.write("", to: "errand.yaml")
    #expect(try await program.call().out.hasPrefix("Runs recipes: "))
    await program.remove()
  }

  @Test func `a test of a recipe passes, whatever its run does in a sandbox`() async throws {
    let program = try await Program()
    let cases: [(name: String, text: String, lines: [String])] = [
      ("done", "steps: [{ let: { x: 1 } }]\n", ["      - run: {}", "          status: succeeded"]),
      ("open", "steps: [{ approve: { prompt: Now? } }]\n", ["          status: waiting"]),
      ("wrong", "steps: [{ fail: It is over. }]\n", ["          status: failed"]),
      (
        "given",
        """
        inputs: { n: int, word: { type: string, choices: [a, b] }, t: { type: string, secret: true } }
        on: [{ every: 1d, inputs: { n: 7, word: b, t: "@secret:OTHER" } }]
        steps: [{ if: inputs.n != 7, fail: No. }]
        """,
        ["secrets: { T: made-up }", #"      - run: { n: 7, word: "b", t: "@secret:T" }"#]
      ),
    ]
    try Files.makeFolder(program.folder.appending(path: "recipes").path)
    for one in cases {
      try program.write(one.text, to: "recipes/\(one.name).yaml")
      let made = try await program.call("new", "test", "recipes/\(one.name).yaml")
      #expect(made.code == 0, "\(made.error)")
      let path = "recipes/tests/\(one.name).test.yaml"
      #expect(made.out == "\(path)\n")
      #expect(made.error.hasSuffix("next: errand test \(path)\n"))
      #expect(made.error.contains("the run fails in its sandbox") == (one.name == "wrong"))
      let text = try String(contentsOf: program.folder.appending(path: path), encoding: .utf8)
      for line in one.lines { #expect(text.split(separator: "\n").map(String.init).contains(line), "\(text)") }
    }
    let tested = try await program.call("test")
    #expect(tested.code == 0, "\(tested.out)")
    let taken = try await program.call("new", "test", "recipes/done.yaml")
    #expect(taken.code == 73)
    #expect(
      taken.error == "error: 'recipes/tests/done.test.yaml' already exists and was left unchanged; 'errand test "
        + "recipes/tests/done.test.yaml' runs it\n")
    await program.remove()
  }
}
