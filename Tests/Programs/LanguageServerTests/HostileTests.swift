import Basics
import Testing

@testable import LanguageServer

@Suite struct HostileTests {
  private static let methods = [
    "initialize", "initialized", "$/cancelRequest", "$/setTrace", "textDocument/didOpen", "textDocument/didChange",
    "textDocument/didSave", "textDocument/didClose", "textDocument/completion", "textDocument/hover",
    "textDocument/signatureHelp", "textDocument/definition", "textDocument/references", "textDocument/prepareRename",
    "textDocument/rename", "textDocument/documentSymbol", "textDocument/foldingRange", "textDocument/documentLink",
    "textDocument/semanticTokens/full", "textDocument/codeAction", "textDocument/inlayHint", "workspace/symbol",
    "workspace/didChangeWatchedFiles", "workspace/didChangeWorkspaceFolders",
  ]

  private static let names = [
    "textDocument", "uri", "text", "version", "position", "range", "start", "end", "line", "character",
    "contentChanges", "context", "only", "newName", "query", "changes", "event", "added", "removed", "id",
    "capabilities", "workspaceFolders", "languageId",
  ]

  /// Parameters that have some of the names of the protocol, and any values.
  private func value(_ random: inout SeededGenerator, _ depth: Int = 0) -> Value {
    switch Int.random(in: 0..<(depth > 4 ? 6 : 10), using: &random) {
    case 0: return .null
    case 1: return .bool(Bool.random(using: &random))
    case 2: return .int([0, 1, 3, -1, .max, .min, 70_000].randomElement(using: &random) ?? 0)
    case 3: return .double(1.5)
    case 4: return .string(["", "yaml", "a: ${{ steps.", "😀\r\n", "y"].randomElement(using: &random) ?? "")
    case 5:
      return .string(
        ["file:///w/recipes/a.yaml", "file:///", "file:///w/errand.yaml"].randomElement(using: &random) ?? "")
    case 6: return .list((0..<Int.random(in: 0...3, using: &random)).map { _ in value(&random, depth + 1) })
    default:
      let members = (0..<Int.random(in: 0...5, using: &random)).map { _ in
        (Self.names.randomElement(using: &random) ?? "", value(&random, depth + 1))
      }
      return .map(ValueMap(members))
    }
  }

  /// A place in the file, or any value.
  private func place(_ random: inout SeededGenerator) -> Value {
    let numbers = [0, 1, 2, 5, -1, .max, .min]
    let number = { (random: inout SeededGenerator) in Value.int(numbers.randomElement(using: &random) ?? 0) }
    guard Int.random(in: 0..<4, using: &random) > 0 else { return value(&random) }
    return .object(["line": number(&random), "character": number(&random)])
  }

  @Test func `every request is answered, whatever is asked`() throws {
    var random = SeededGenerator(seed: 3)
    let client = try Client()
    for round in 0..<3000 {
      if round % 100 == 0 {
        client.open("/w/recipes/a.yaml", "recipe: a\nsteps:\n  - id: b\n    if: ${{ inputs.x }}\n    uses: ")
      }
      let method = Self.methods.randomElement(using: &random) ?? ""
      var params = value(&random)
      if var map = params.map, Int.random(in: 0..<4, using: &random) > 0 {
        map["textDocument"] = .object(["uri": .string("file:///w/recipes/a.yaml"), "version": .int(round)])
        map["position"] = place(&random)
        map["range"] = .object(["start": place(&random), "end": place(&random)])
        map["contentChanges"] = .list([
          .object([
            "range": .object(["start": place(&random), "end": place(&random)]),
            "text": .string(["", "x", "\n", "😀"].randomElement(using: &random) ?? ""),
          ])
        ])
        params = .map(map)
      }
      if method.hasPrefix("textDocument/did") || method.hasPrefix("$") || method == "initialized" {
        client.notify(method, params)
        _ = client.sent()
      } else {
        let answer = client.request(method, params)
        #expect(answer["result"] != nil || answer["error"] != nil, "\(method) \(JSON.displayed(params))")
      }
    }
  }
}
