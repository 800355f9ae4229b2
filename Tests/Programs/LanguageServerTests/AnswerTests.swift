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

  @Test func `of fixes that overlap the first is made`() {
    func fix(_ ranges: Range<Int>...) -> Diagnostic.Fix { .init("\(ranges)", ranges.map { .init($0, "x") }) }
    let fixes = [fix(0..<2), fix(1..<3), fix(2..<4, 9..<9), fix(9..<9), fix(4..<5)]
    #expect(LanguageServer.compatible(fixes) == [fixes[0], fixes[2], fixes[4]])
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
        #expect(isFine, "\(method) at \(length): \(JSON.shown(answer))")
      }
    }
  }

  @Test func `a fault's fix is offered where it is, and with the others of the text`() throws {
    let client = try Client()
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
    #expect(titles(nil) == ["quickfix Write 'recipe'", "quickfix Remove it", "source.fixAll Mend 2 faults"])
    #expect(titles("quickfix") == ["quickfix Write 'recipe'", "quickfix Remove it"])
    #expect(titles("source") == ["source.fixAll Mend 2 faults"])
    #expect(titles("source.fixAll") == ["source.fixAll Mend 2 faults"])
    #expect(titles("source.organizeImports") == [])
    // Where several may be meant, no client takes one unasked.
    for (place, expected) in [(12, "quickfix Write 'steps', preferred"), (30, "quickfix Write 5s")] {
      params["range"] =
        client.server.documents[uri].map { $0.positions.value(of: place..<place) } ?? .null
      #expect(titles("quickfix") == [expected])
    }
  }
}
