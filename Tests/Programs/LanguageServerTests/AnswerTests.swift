import Basics
import RecipeEditing
import Testing

@testable import LanguageServer

@Suite struct AnswerTests {
  @Test(arguments: [
    ("abc", 0..<3, "${1:abc}"),
    ("abc", 1..<2, "a${1:b}c"),
    ("f()", 2..<2, "f($0)"),
    ("a${{ x }}", 5..<6, #"a\${{ ${1:x} \}\}"#),
    (#"a\b"#, 9..<12, #"a\\b$0"#),
    ("ä: ", 4..<4, "ä: $0"),
  ])
  func `what is to be written over is a placeholder`(_ text: String, _ selection: Range<Int>, _ snippet: String) {
    #expect(LanguageServer.snippet(text, selection) == snippet)
  }

  @Test(arguments: [
    ("now() -> timestamp", []),
    ("size(list<int>) -> int", ["list<int>"]),
    ("substring(int, int) -> string", ["int", "int"]),
    ("fold(map<string, int>, (int, int) -> int) -> int", ["map<string, int>", "(int, int) -> int"]),
    ("broken(int, ", ["int"]),
    ("none", []),
  ])
  func `a function's parameters are found in its form`(_ form: String, _ parameters: [String]) {
    #expect(LanguageServer.parameters(of: form).map { String(form[$0]) } == parameters)
  }

  @Test func `tokens are relative to the one before, and end with their lines`() {
    let text = "ä 😀 x\n  y\r\nz"
    let source = Source(name: "/a.yaml", text: text)
    let document = Document(
      uri: "file:///a.yaml", path: "/a.yaml", source: source, positions: TextPositions(source.bytes))
    let tokens: [HighlightedToken] = [
      .init(.string, 8..<16), .init(.property, 3..<7), .init(.variable, 0..<2), .init(.number, 1..<3),
      .init(.number, 16..<99),
    ]
    let numbers = HighlightedTokens(tokens, document).numbers
    #expect(numbers == [0, 0, 1, 0, 0, 0, 2, 2, 1, 0, 0, 3, 1, 5, 0, 1, 0, 3, 5, 0, 1, 0, 1, 5, 0])
  }

  private static let text = "recipe: a\nsummary: A.\nsteps:\n  - { let: { x: 1 } }\noutputs: { x: \"${{ x }}\" }\n"

  /// Requests that every text answers.
  private static let requests: [(method: String, more: KeyValuePairs<String, Value>)] = [
    ("textDocument/completion", [:]), ("textDocument/hover", [:]), ("textDocument/signatureHelp", [:]),
    ("textDocument/definition", [:]),
    ("textDocument/references", ["context": .object(["includeDeclaration": .bool(true)])]),
    ("textDocument/prepareRename", [:]), ("textDocument/rename", ["newName": .string("y")]),
    ("textDocument/documentSymbol", [:]), ("textDocument/foldingRange", [:]), ("textDocument/documentLink", [:]),
    ("textDocument/semanticTokens/full", [:]), ("textDocument/codeAction", ["range": Client.range((0, 0), (9, 0))]),
    ("textDocument/inlayHint", ["range": Client.range((0, 0), (9, 0))]), ("workspace/symbol", ["query": .string("")]),
  ]

  @Test func `every request is answered at every place, in a text that is cut anywhere`() throws {
    let client = try Client()
    let path = "/w/recipes/a.yaml"
    client.open(path, "")
    for length in 0...Self.text.utf8.count {
      let text = String(decoding: Self.text.utf8.prefix(length), as: UTF8.self)
      client.change(path, version: length + 2, [.object(["text": .string(text)])])
      let end = TextPositions(Array(text.utf8)).position(of: length)
      for (method, more) in Self.requests {
        var params = Client.at(path, end.line, end.character).map ?? ValueMap()
        for (name, value) in more { params[name] = value }
        let answer = client.request(method, .map(params))
        // That something can't be renamed is an answer.
        let isFine = answer["result"] != nil || method.hasSuffix("rename") && answer["error"]?["code"] == .int(-32803)
        #expect(isFine, "\(method) at \(length): \(JSON.displayed(answer))")
      }
    }
  }

  /// The capabilities of a client that requests the edit of an action when it is chosen.
  private static let resolving = Value.object([
    "textDocument": .object([
      "codeAction": .object([
        "dataSupport": .bool(true), "resolveSupport": .object(["properties": .list([.string("edit")])]),
      ])
    ])
  ])

  @Test(
    arguments: [
      (
        "steps:\n  - uses: file.read\n    on_error: continue\n    with: { path: a }\n    onerror: continue\n",
        "steps:\n  - uses: file.read\n    onError: continue\n    with: { path: a }\n    onerror: continue\n"
      ),
      (
        "recipe: a\nsteps:\n  - uses: file.write\n    path: a\n    text: b\n",
        "recipe: a\nsteps:\n  - uses: file.write\n    with:\n      path: a\n      text: b\n"
      ),
      (
        "recpie: a\nsummary: A.\nstpes:\n  - wiat: 1s\n  - wait: 1s\n",
        "recipe: a\nsummary: A.\nsteps:\n  - wait: 1s\n  - wait: 1s\n"
      ),
      ("steps:\n  - wait: 5\n", nil),
    ] as [(String, String?)])
  func `all fixes together are those that errand check makes`(_ text: String, _ mended: String?) throws {
    for isResolving in [false, true] {
      let client = try Client(isResolving ? Self.resolving : .object([:]))
      client.open("/w/recipes/a.yaml", text)
      _ = client.sent()
      var params = Client.at("/w/recipes/a.yaml", 0, 0).map ?? ValueMap()
      params["range"] = Client.range((0, 0), (0, 0))
      params["context"] = isResolving ? .object([:]) : .object(["only": .list([.string("source.fixAll")])])
      let actions = client.request("textDocument/codeAction", .map(params))["result"]?.list ?? []
      var action = actions.last { $0["kind"] == .string("source.fixAll") }
      if isResolving {
        #expect(action?["edit"] == nil)
        action = action.flatMap { client.request("codeAction/resolve", $0)["result"] }
      }
      let edits = action?["edit"]?["changes"]?[Client.uri("/w/recipes/a.yaml")]?.list
      #expect(edits == nil ? mended == nil : true)
      let positions = TextPositions(Array(text.utf8))
      let found = (edits ?? []).compactMap { edit -> Diagnostic.Edit? in
        guard let range = edit["range"].flatMap(positions.range) else { return nil }
        return Diagnostic.Edit(range, edit["newText"]?.string ?? "")
      }
      // The order of fields that are put below `with` doesn't matter.
      let result = String(decoding: found.applied(to: Array(text.utf8)), as: UTF8.self)
      #expect(result.split(separator: "\n").sorted() == (mended ?? text).split(separator: "\n").sorted())
    }
  }

  @Test func `a fault beside a secret in plain text keeps its fix`() throws {
    let client = try Client()
    client.open("/w/errand.yaml", "connections:\n  http: { token: PLANTED-ä, baseUrl: https://a.example }\n")
    _ = client.sent()
    var params = Client.at("/w/errand.yaml", 1, 0).map ?? ValueMap()
    params["range"] = Client.range((1, 30), (1, 30))
    let actions = client.request("textDocument/codeAction", .map(params))["result"]?.list ?? []
    let edits = actions.first?["edit"]?["changes"]?[Client.uri("/w/errand.yaml")]
    #expect(
      edits == .list([.object(["range": Client.range((1, 28), (1, 35)), "newText": .string("baseURL")])]),
      "\(JSON.displayed(.list(actions)))")
  }

  @Test func `a fault's fix is offered where it is, and one for all of the text`() throws {
    let client = try Client(Self.resolving)
    client.open("/w/recipes/a.yaml", Self.text)
    _ = client.sent()
    var params = Client.at("/w/recipes/a.yaml", 0, 0).map ?? ValueMap()
    params["range"] = Client.range((0, 0), (0, 0))
    for kind in ["quickfix", "source.fixAll", "source", "refactor"] {
      params["context"] = .object(["only": .list([.string(kind)]), "diagnostics": .list([])])
      #expect(client.request("textDocument/codeAction", .map(params))["result"] == .list([]))
    }
    let uri = Client.uri("/w/recipes/a.yaml")
    client.server.documents[uri]?.found = [
      Diagnostic(
        "no such key", at: .init(Source(name: "/w/recipes/a.yaml", text: Self.text), 0..<6),
        fixes: [.init("write 'recipe'", [.init(0..<6, "recipe")]), .init("remove it", [.init(0..<10, "")])]),
      Diagnostic(
        "no such step", at: .init(Source(name: "/w/recipes/a.yaml", text: Self.text), 10..<15),
        fixes: [.init("write 'steps'", [.init(10..<15, "steps")])]),
      Diagnostic(
        "no such step", at: .init(Source(name: "/w/recipes/a.yaml", text: Self.text), 20..<21),
        fixes: [.init("write '1'", [.init(20..<21, "1")])]),
      Diagnostic(
        "no unit", at: .init(Source(name: "/w/recipes/a.yaml", text: Self.text), 30..<31),
        fixes: [.init("write 5s", [.init(30..<31, "5s")], isTentative: true)]),
    ]
    func titles(_ only: String?) -> [String] {
      params["context"] = .object(["only": only.map { .list([.string($0)]) } ?? .null])
      let actions = client.request("textDocument/codeAction", .map(params))["result"]?.list ?? []
      return actions.map {
        let isPreferred = $0["isPreferred"]?.bool == true
        return "\($0["kind"]?.string ?? "") \($0["title"]?.string ?? "")\(isPreferred ? ", preferred" : "")"
      }
    }
    #expect(titles(nil) == ["quickfix Write 'recipe'", "quickfix Remove it", "source.fixAll Apply all safe fixes"])
    #expect(titles("quickfix") == ["quickfix Write 'recipe'", "quickfix Remove it"])
    // The text has no such faults, so that there is nothing to change.
    #expect(titles("source") == [])
    #expect(titles("source.fixAll") == [])
    #expect(titles("source.organizeImports") == [])
    // Where several may be meant, no client takes one unasked.
    for (place, expected) in [(12, "quickfix Write 'steps', preferred"), (30, "quickfix Write 5s")] {
      params["range"] =
        client.server.documents[uri].map { $0.positions.value(of: place..<place) } ?? .null
      #expect(titles("quickfix") == [expected])
    }
  }
}
