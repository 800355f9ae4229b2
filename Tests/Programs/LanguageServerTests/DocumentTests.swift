import Basics
import RecipeEditing
import Testing

@testable import LanguageServer

@Suite struct DocumentTests {
  private static let sound = "recipe: a\nsummary: A.\nsteps:\n  - let: { x: 1 }\noutputs: { x: \"${{ x }}\" }\n"
  private static let faulty = "recipe: a\nsummary: A.\nsteps:\n  - let: { x: 1 }\noutputs: { x: \"${{ y }}\" }\n"

  @Test func `a text is checked when nothing else waits, and only its last state`() throws {
    let client = try Client()
    client.open("/w/recipes/a.yaml", Self.faulty)
    let opened = client.published()
    #expect(opened.count == 1)
    #expect(opened.first?.hasPrefix("a.yaml 1: 4:19 ") == true, "\(opened)")
    for version in 2...9 {
      client.change("/w/recipes/a.yaml", version: version, [.object(["text": .string("steps: \(version)\n")])])
    }
    client.change("/w/recipes/a.yaml", version: 10, [.object(["text": .string(Self.sound)])])
    #expect(client.published() == ["a.yaml 10: "])
    client.change("/w/recipes/a.yaml", version: 11, [.object(["text": .string(Self.faulty)])])
    _ = client.sent()
    client.notify(
      "textDocument/didClose", .object(["textDocument": .object(["uri": .string(Client.uri("/w/recipes/a.yaml"))])]))
    #expect(client.published() == ["a.yaml: "])
  }

  /// A file, and whether it is one of ours.
  struct Name: CustomTestStringConvertible, Sendable {
    var path: String
    var language: String
    var text: String
    var isOurs: Bool

    init(_ path: String, _ text: String, language: String = "yaml", isOurs: Bool) {
      (self.path, self.language, self.text, self.isOurs) = (path, language, text, isOurs)
    }

    var testDescription: String { "\(path) \(text.debugDescription)" }
  }

  @Test(arguments: [
    Name("/w/recipes/a.yaml", "", isOurs: true),
    Name("/w/recipes/a.yml", "odd: 1\n", isOurs: true),
    Name("/w/a.yaml", "steps: []\n", isOurs: true),
    Name("/w/a.yaml", "# Says what it does.\nrecipe: a\n", isOurs: true),
    Name("/w/a.yaml", "on:\n  - cron: x\n", isOurs: true),
    Name("/w/a", "steps: []\n", isOurs: true),
    Name("/w/a.test.yaml", "", isOurs: true),
    Name("/w/errand.yaml", "", isOurs: true),
    Name("/w/docker-compose.yaml", "services:\n  web: {}\n", isOurs: false),
    Name("/w/.github/workflows/build.yaml", "on: push\njobs: {}\n", isOurs: false),
    Name("/w/a.yaml", "x:\n  steps: []\n", isOurs: false),
    // Files of build services, of cooks, and of templates.
    Name(
      "/w/azure-pipelines.yml", "trigger: [main]\npool: { vmImage: ubuntu }\nsteps:\n  - script: make\n", isOurs: false),
    Name("/w/pipeline.yml", "steps:\n  - label: a\n    command: make\n", isOurs: false),
    Name("/w/cloudbuild.yaml", "steps:\n  - name: builder\n    args: [a]\nimages: [b]\n", isOurs: false),
    Name("/w/cake.yaml", "recipe: Cake\nsteps:\n  - Stir.\n", isOurs: false),
    Name("/w/api.yaml", "openapi: 3.0.0\npaths: {}\non: true\n", isOurs: false),
    Name("/w/chart.yaml", "on: x\n{{ if .Values.a }}\nsteps: []\n{{ end }}\n", isOurs: false),
    Name("/w/other.test.yaml", "suite: a\ntests: []\n", isOurs: false),
    Name("/w/a.yaml", "stesp: 1\nrecipe: a\nsteps:\n  - id: a\n    wait: 1s\n", isOurs: true),
    Name("/w/a.yaml", "steps:\n  -\n", isOurs: true),
    Name("/w/a.yaml", "recipe: x\nsteps:\n  - forEach: a in b\n", isOurs: true),
    Name("/w/a.yaml", "recipe: x\nstep:\n  - uses: http.get\n", isOurs: true),
    Name("/w/a.yaml", "steps:\n  - uses: actions/checkout@v4\n    with: {}\n", isOurs: false),
    Name("/w/a.yaml", "steps:\n  - command: a\n    label: b\n  - wait: ~\n  - group: x\n", isOurs: false),
    Name("/w/recipes/a.json", "{}", language: "json", isOurs: false),
  ])
  func `files are known by their names, folders and keys`(_ name: Name) throws {
    let client = try Client()
    client.open(name.path, name.text, language: name.language)
    #expect(!client.published().isEmpty == name.isOurs)
    #expect(client.server.documents[Client.uri(name.path)]?.isTreated ?? false == name.isOurs)
    let answer = client.request("textDocument/hover", Client.at(name.path, 0, 0))
    if !name.isOurs { #expect(answer["result"] == .null) }
  }

  @Test func `half of a surrogate pair loses no text`() throws {
    let client = try Client()
    client.open("/w/recipes/a.yaml", "")
    _ = client.sent()
    client.send(
      #"{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"textDocument":{"uri":"file:///w/recipes/a.yaml","#
        + ##""version":2},"contentChanges":[{"text":"# \ud800 \ud83d\ude00\nodd: 1\n"}]}}"##)
    #expect(client.published().first?.hasPrefix("a.yaml 2: 1:0 ") == true)
    #expect(client.server.documents["file:///w/recipes/a.yaml"]?.source.bytes == Array("# \u{FFFD} 😀\nodd: 1\n".utf8))
  }

  @Test func `folders of recipes are those of the nearest errand.yaml`() throws {
    let client = try Client()
    client.open("/w/errand.yaml", "recipes: [chores]\n")
    client.open("/w/chores/a.yaml", "odd: 1\n")
    client.open("/w/others/a.yaml", "odd: 1\n")
    _ = client.sent()
    let treated = client.server.documents.filter(\.value.isTreated).keys.sorted()
    #expect(treated == ["file:///w/chores/a.yaml", "file:///w/errand.yaml"])
    client.change("/w/errand.yaml", version: 2, [.object(["text": .string("recipes: [others]\n")])])
    _ = client.sent()
    let now = client.server.documents.filter(\.value.isTreated).keys.sorted()
    #expect(now == ["file:///w/errand.yaml", "file:///w/others/a.yaml"])
  }

  @Test func `a text is checked again when another that its check reads changes`() throws {
    let client = try Client()
    let caller = "recipe: b\nsummary: B.\nsteps:\n  - id: c\n    call: a.yaml\noutputs: { x: \"${{ steps.c.x }}\" }\n"
    client.open("/w/recipes/b.yaml", caller)
    client.open("/w/recipes/c.yaml", "recipe: c\nsummary: C.\nsteps:\n  - let: { x: 1 }\n")
    #expect(client.published().map { String($0.prefix(8)) } == ["c.yaml 1", "b.yaml 1"])
    // A change to a missing file causes a new check, too.
    client.open("/w/recipes/a.yaml", Self.sound)
    #expect(client.published() == ["a.yaml 1: ", "b.yaml 1: "])
    let other = Self.sound.replacing("outputs: { x:", with: "outputs: { y:")
    client.change("/w/recipes/a.yaml", version: 2, [.object(["text": .string(other)])])
    let found = client.published()
    #expect(found.count == 2)
    #expect(found.last?.hasPrefix("b.yaml 1: 5:") == true, "\(found)")
    let changes = Value.list([.object(["uri": .string("file:///w/recipes/a.yaml"), "type": .int(2)])])
    client.notify("workspace/didChangeWatchedFiles", .object(["changes": changes]))
    #expect(client.published().map { String($0.prefix(8)) } == ["b.yaml 1"])
  }

  @Test(arguments: ["textDocument/didSave", "textDocument/didOpen"])
  func `folders are read anew when a text is opened or saved, if the client doesn't watch files`(
    _ method: String
  ) throws {
    let folder = try Files.makeTemporaryFolder("errand-lsp")
    defer { Files.removeTree(folder) }
    let watching = try JSON.parse(#"{"workspace":{"didChangeWatchedFiles":{"dynamicRegistration":true}}}"#)
    for (capabilities, isRead) in [(Value.object([:]), true), (watching, false)] {
      try Files.write(Array("recipes: [others]\n".utf8), to: "\(folder)/errand.yaml")
      let client = try Client(capabilities)
      let path = "\(folder)/chores/a.yaml"
      client.open(path, "steps: []\n")
      #expect(client.server.folders.folder(of: path).recipeFolders == ["\(folder)/others"])
      try Files.write(Array("recipes: [chores]\n".utf8), to: "\(folder)/errand.yaml")
      if method == "textDocument/didSave" {
        client.notify(method, .object(["textDocument": .object(["uri": .string("file://\(path)")])]))
      } else {
        client.open(path, "steps: []\n")
      }
      _ = client.sent()
      #expect(client.server.folders.folder(of: path).recipeFolders == ["\(folder)/\(isRead ? "chores" : "others")"])
    }
  }

  @Test func `faults in errand.yaml are displayed there, and what held before them holds`() throws {
    let client = try Client()
    client.open("/w/errand.yaml", "recipes: [chores]\n")
    client.open("/w/chores/a.yaml", Self.sound)
    _ = client.sent()
    client.change("/w/errand.yaml", version: 2, [.object(["text": .string("recipes: [\n")])])
    let found = client.published()
    #expect(found.count == 2)
    #expect(found.contains("a.yaml 1: "))
    #expect(found.contains { $0.hasPrefix("errand.yaml 2: ") && $0 != "errand.yaml 2: " }, "\(found)")
    #expect(client.server.documents["file:///w/chores/a.yaml"]?.isTreated == true)
  }

  @Test(arguments: [
    "{}", #"{"textDocument":{}}"#, #"{"textDocument":{"uri":7,"text":"a","version":1}}"#, "null", "[]",
    #"{"textDocument":{"uri":"file:///w/recipes/a.yaml"},"contentChanges":[{"range":7,"text":"x"}]}"#,
    #"{"textDocument":{"uri":"file:///w/recipes/a.yaml"},"contentChanges":[{"range":{"start":{"line":1}},"text":"x"}]}"#,
    #"{"textDocument":{"uri":"file:///w/recipes/a.yaml"},"contentChanges":[{}]}"#,
    #"{"textDocument":{"uri":"file:///w/recipes/b.yaml"},"contentChanges":[{"text":"x"}]}"#,
  ])
  func `notifications that make no sense change nothing`(_ params: String) throws {
    let client = try Client()
    client.open("/w/recipes/a.yaml", Self.sound)
    for method in ["didOpen", "didChange", "didClose"] where method != "didClose" || !params.contains("a.yaml") {
      client.notify("textDocument/\(method)", try JSON.parse(params))
    }
    _ = client.sent()
    #expect(client.text("/w/recipes/a.yaml") == Self.sound)
  }
}
