import ActionKit
import AgentRuntime
import Basics
import Foundation
import PluginList
import RecipeEditing
import Synchronization
import Testing

@testable import LanguageServer
@testable import errand

/// `errand lsp` and the agent over HTTP give the same faults, fixes, completions and hovers.
@Suite(.timeLimit(.minutes(60))) struct EditorAgreementTests {
  /// A client of `errand lsp` in this process, for one text.
  private final class Editor {
    private let server: LanguageServer
    private let received: Received
    private let uri: String
    private var version = 1
    private let paths: ServerPaths

    private final class Received {
      var reader = FrameReader()
      var messages: [Value] = []
    }

    init(_ path: String, in root: String) {
      let received = Received()
      self.received = received
      paths = ServerPaths(root: root)
      uri = FileAddress.address(path)
      let program = ServerProgram(version: "1", configuration: nil) { path, root, files in
        ServedFolder(path, root, files, ActionCatalog(everyPlugin))
      }
      server = LanguageServer(program) { bytes in
        for case .body(let body) in received.reader.read(bytes) {
          received.messages.append((try? JSON.parse(body)) ?? .null)
        }
      }
      let capabilities = """
        {"textDocument":{"publishDiagnostics":{"relatedInformation":true,"dataSupport":true},
        "completion":{"completionItem":{"snippetSupport":true,"documentationFormat":["markdown"]}},
        "hover":{"contentFormat":["markdown"]}}}
        """
      _ = ask(
        "initialize", .object(["rootUri": .null, "capabilities": (try? JSON.parse(capabilities)) ?? .null]))
      tell("initialized", .object([:]))
      tell(
        "textDocument/didOpen",
        .object([
          "textDocument": .object([
            "uri": .string(uri), "languageId": .string("yaml"), "version": .int(1), "text": .string(""),
          ])
        ]))
    }

    private func send(_ message: Value) {
      server.receive(FrameReader.frame(message))
      while server.work() {}
    }

    private func tell(_ method: String, _ params: Value) {
      send(.object(["jsonrpc": .string("2.0"), "method": .string(method), "params": params]))
    }

    private func ask(_ method: String, _ params: Value) -> Value {
      received.messages = []
      send(.object(["jsonrpc": .string("2.0"), "id": .int(1), "method": .string(method), "params": params]))
      return received.messages.first { $0["id"]?.int == 1 }?["result"] ?? .null
    }

    /// The faults of a text.
    func faults(of text: String) -> [String] {
      received.messages = []
      version += 1
      tell(
        "textDocument/didChange",
        .object([
          "textDocument": .object(["uri": .string(uri), "version": .int(version)]),
          "contentChanges": .list([.object(["text": .string(text)])]),
        ]))
      let published = received.messages.last { $0["method"]?.string == "textDocument/publishDiagnostics" }
      return (published?["params"]?["diagnostics"]?.list ?? []).map { fault in
        var lines = [
          "\(fault["severity"]?.int ?? 0) \(place(fault["range"])) \(paths.told(fault["message"]?.string ?? ""))"
        ]
        for note in fault["relatedInformation"]?.list ?? [] {
          lines.append("note \(place(note["location"]?["range"])) \(paths.told(note["message"]?.string ?? ""))")
        }
        for fix in fault["data"]?["fixes"]?.list ?? [] {
          lines.append("fix \(paths.told(fix["title"]?.string ?? ""))")
          for edit in fix["edits"]?.list ?? [] {
            lines.append("edit \(place(edit["range"])) \(edit["newText"]?.string ?? "")")
          }
        }
        return lines.joined(separator: "\n")
      }
    }

    func completions(at position: TextPosition) -> [String] {
      let items = ask("textDocument/completion", at(position)).list ?? []
      return items.prefix(100).map { item in
        let text = item["textEdit"]?["newText"]?.string ?? ""
        return [
          item["label"]?.string ?? "", "\(item["kind"]?.int ?? 0)", item["detail"]?.string ?? "",
          item["documentation"]?["value"]?.string ?? "", place(item["textEdit"]?["range"]), text,
        ].joined(separator: "|")
      }
    }

    func hover(at position: TextPosition) -> String {
      let hover = ask("textDocument/hover", at(position))
      return hover.isNull ? "" : "\(place(hover["range"])) \(hover["contents"]?["value"]?.string ?? "")"
    }

    private func at(_ position: TextPosition) -> Value {
      .object(["textDocument": .object(["uri": .string(uri)]), "position": position.value])
    }

    private func place(_ range: Value?) -> String {
      let (start, end) = (range?["start"], range?["end"])
      return
        "\(start?["line"]?.int ?? -1):\(start?["character"]?.int ?? -1)-\(end?["line"]?.int ?? -1):\(end?["character"]?.int ?? -1)"
    }
  }

  /// The same, asked over HTTP.
  private struct Remote {
    let bench: APITests.Bench
    let token: String
    let path: String

    private func ask(_ what: String, _ text: String, _ position: TextPosition? = nil) async throws -> Value {
      var body = ValueMap([("path", .string(path)), ("text", .string(text))])
      if let position {
        body["at"] = .object(["line": .int(position.line), "column": .int(position.character)])
      }
      let answer = try await bench.send("POST", "/api/v1/editor/\(what)", token, JSON.text(.map(body)))
      #expect(answer.status == 200, "\(what): \(answer.json)")
      return answer.json
    }

    private func place(_ value: Value?) -> String {
      let (from, to) = (value?["from"], value?["to"])
      return
        "\(from?["line"]?.int ?? -1):\(from?["column"]?.int ?? -1)-\(to?["line"]?.int ?? -1):\(to?["column"]?.int ?? -1)"
    }

    func faults(of text: String) async throws -> [String] {
      (try await ask("check", text)["faults"]?.list ?? []).map { fault in
        let severity = ["error": 1, "warning": 2, "hint": 4][fault["severity"]?.string ?? ""] ?? 0
        // Notes without a place are part of the message there.
        let notes = fault["notes"]?.list ?? []
        let message =
          ([fault["message"]?.string ?? ""]
          + notes.filter { $0["path"] == nil }.map { "note: \($0["message"]?.string ?? "")" }).joined(separator: "\n")
        var lines = ["\(severity) \(place(fault)) \(message)"]
        for note in notes where note["path"] != nil {
          lines.append("note \(place(note)) \(note["message"]?.string ?? "")")
        }
        for fix in fault["fixes"]?.list ?? [] {
          lines.append("fix \(fix["title"]?.string ?? "")")
          for edit in fix["edits"]?.list ?? [] { lines.append("edit \(place(edit)) \(edit["text"]?.string ?? "")") }
        }
        return lines.joined(separator: "\n")
      }
    }

    private static let kinds = [
      "method": 2, "function": 3, "field": 5, "variable": 6, "action": 9, "key": 10, "value": 12, "file": 17,
      "connection": 18, "secret": 21,
    ]

    func completions(of text: String, at position: TextPosition) async throws -> [String] {
      (try await ask("complete", text, position)["items"]?.list ?? []).map { item in
        let new = item["edit"]?["text"]?.string ?? ""
        // The selection counts UTF-16 units; in snippets it is a range of bytes.
        let selection = item["selection"].map { range -> Range<Int> in
          func bytes(_ units: Int) -> Int {
            String(decoding: Array(new.utf16.prefix(units)), as: UTF16.self).utf8.count
          }
          return bytes(range["from"]?.int ?? 0)..<bytes(range["to"]?.int ?? 0)
        }
        return [
          item["label"]?.string ?? "", "\(Remote.kinds[item["kind"]?.string ?? ""] ?? 0)",
          item["detail"]?.string ?? "", item["text"]?.string ?? "", place(item["edit"]),
          selection.map { LanguageServer.snippet(new, $0) } ?? new,
        ].joined(separator: "|")
      }
    }

    func hover(of text: String, at position: TextPosition) async throws -> String {
      let hover = try await ask("hover", text, position)
      return hover["text"] == nil ? "" : "\(place(hover)) \(hover["text"]?.string ?? "")"
    }
  }

  private static func agree(
    _ editor: Editor, _ remote: Remote, _ text: String, at offsets: [Int], _ name: String
  ) async throws {
    let faults = try await remote.faults(of: text)
    #expect(editor.faults(of: text) == faults, "\(name)")
    let positions = TextPositions(Array(text.utf8))
    for offset in offsets {
      let position = positions.position(of: offset)
      let completions = try await remote.completions(of: text, at: position)
      #expect(editor.completions(at: position) == completions, "\(name) at \(offset)")
      let hover = try await remote.hover(of: text, at: position)
      #expect(editor.hover(at: position) == hover, "\(name) at \(offset)")
    }
  }

  /// Texts with a fault each, as people make them.
  private static let faulty = [
    "", "steps:", "steps: []", "steps: [{ lett: { a: 1 } }]", "steps:\n- uses: http.gett\n",
    "steps:\n- uses: http.get\n  with: { ulr: \"https://example.org\" }\n", "steps:\n  - let: { a: \"${{ b }}\" }\n",
    "steps:\n  - let: { a: \"${{ 1 + 'x' }}\" }\n", "steps:\n  - let: { a: \"${{ [1].mapp(x, x) }}\" }\n",
    "steps:\n  - let: { a: \"${{ steps. }}\" }\n", "steps:\n\t- let: { a: 1 }\n",
    "steps:\n  - let: { a: 1 }\n  let: 2\n",
    "on:\n  - cron: \"61 * * * *\"\nsteps: [{ let: { a: 1 } }]\n",
    "inputs: { n: { type: itn } }\nsteps: [{ let: { a: 1 } }]\n",
    "inputs: { é😀: { type: int } }\nsteps: [{ lett: { a: 1 } }]\n", "steps: [{ call: nothing.yaml }]\n",
    "steps: [{ call: sum.yaml, with: { x: 1 } }]\n", "recipe: a b\nsteps: [{ wait: 1x }]\n", "steps: { a: 1 }\n",
    "recipe: x\r\nsteps:\r\n  - lett: { a: \"😀\", b: 2 }\r\n",
    "steps:\n  - { id: a, let: { b: 1 } }\n  - { id: a, let: { c: 2 } }\n",
    "steps: [{ approve: { prompt: \"Go?\", by: [], timeout: 0s } }]\n",
  ]

  private static func bench() async throws -> (APITests.Bench, token: String, root: String) {
    let bench = try await APITests.Bench(settings: ", edit: true", more: "secrets: { environment: false }\n")
    let token = try await bench.token("ann", "--scope", "edit")
    let root = try #require(realpath(bench.program.folder.path, nil).map { String(cString: $0) })
    return (bench, token, root)
  }

  /// The repository's recipes, by their names.
  private static func recipes() throws -> [(name: String, text: String)] {
    let folder = Program.root.appending(path: "recipes").path
    return try Files.list(folder).filter { $0.hasSuffix(".yaml") }.map { name in
      (name, String(decoding: try Files.read("\(folder)/\(name)"), as: UTF8.self))
    }
  }

  @Test func `the language server and the agent agree on each recipe and each faulty text`() async throws {
    let (bench, token, root) = try await Self.bench()
    let recipes = try Self.recipes()
    // Recipes that others call are there.
    for (name, text) in recipes { try bench.program.write(text, to: "recipes/\(name)") }
    for (name, text) in recipes + Self.faulty.enumerated().map({ ("faulty-\($0.offset).yaml", $0.element) }) {
      let editor = Editor("\(root)/recipes/\(name)", in: root)
      let remote = Remote(bench: bench, token: token, path: "recipes/\(name)")
      let count = text.utf8.count
      let offsets = Set([0, count / 5, count / 3, count / 2, count * 4 / 5, count]).sorted()
      try await Self.agree(editor, remote, text, at: offsets, name)
    }
    await bench.end()
  }

  @Test(arguments: 0..<3)
  func `the language server and the agent agree on each byte prefix of three recipes`(_ index: Int) async throws {
    let (bench, token, root) = try await Self.bench()
    // The shortest ones, since each prefix is checked, completed and explained twice.
    let recipe = try Self.recipes().sorted { ($0.text.utf8.count, $0.name) < ($1.text.utf8.count, $1.name) }[index]
    let editor = Editor("\(root)/recipes/\(recipe.name)", in: root)
    let remote = Remote(bench: bench, token: token, path: "recipes/\(recipe.name)")
    let bytes = Array(recipe.text.utf8)
    for end in 0...bytes.count {
      // A text in JSON has whole characters.
      guard let text = String(validating: bytes[..<end], as: UTF8.self) else { continue }
      try await Self.agree(editor, remote, text, at: [end], "\(recipe.name) to \(end)")
    }
    await bench.end()
  }
}
