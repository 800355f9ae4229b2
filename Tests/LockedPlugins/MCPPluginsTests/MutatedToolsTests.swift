import ActionKit
import ActionTestKit
import Basics
import Foundation
import HTTPServer
import MCPPlugins
import PluginLocks
import Synchronization
import Testing

/// Lists of tools that are changed at random: each is refused with a reason, or becomes a plugin whose actions can be
/// called, whatever the server answers.
///
/// `ERRAND_TOOLS=3600 swift test --filter MutatedToolsTests` takes that many seconds; `ERRAND_SEED` plays one again.
@Suite(.timeLimit(.minutes(240))) struct MutatedToolsTests {
  private static let words = [
    "$ref", "$defs", "allOf", "anyOf", "oneOf", "type", "properties", "items", "required", "enum", "const", "format",
    "additionalProperties", "minimum", "maxLength", "default", "name", "title", "description", "inputSchema",
    "outputSchema", "annotations", "readOnlyHint", "idempotentHint", "_meta", "errand/effect", "errand/reconcile",
    "errand/baseline", "errand/preview", "errand/key", "errand/timeout", "errand/secrets", "content", "text",
    "structuredContent", "isError", "nextCursor", "changes", "subject", "outcome",
  ]
  private static let list = """
    {"tools": [
      {"name": "get_note", "description": "Reads.\\nMore.", "annotations": {"readOnlyHint": true},
       "inputSchema": {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer", "minimum": 1},
         "at": {"type": "string", "format": "date-time"}, "kind": {"enum": ["a", "b"]}}},
       "outputSchema": {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"},
         "tags": {"type": "array", "items": {"type": ["string", "null"]}}, "more": {"$ref": "#/$defs/more"}},
         "$defs": {"more": {"type": "object", "properties": {"next": {"$ref": "#/$defs/more"}}}}}},
      {"name": "add-note", "inputSchema": {"type": "object", "required": ["text", "key"], "properties": {
         "text": {"anyOf": [{"type": "string"}, {"type": "null"}]}, "key": {"type": "string"},
         "token": {"type": "string"}, "deep": {"type": "object", "additionalProperties": {"type": "number"}}}},
       "outputSchema": {"type": "object", "properties": {"id": {"type": "integer"}}},
       "_meta": {"errand/effect": "write", "errand/key": "key", "errand/reconcile": "find_note",
         "errand/baseline": "count", "errand/preview": "what", "errand/timeout": "30s", "errand/secrets": ["token"]}},
      {"name": "find_note", "inputSchema": {"type": "object", "properties": {"key": {"type": "string"},
         "baseline": {}, "startedAt": {"type": "string"}}}},
      {"name": "count", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object", "required": ["n"],
         "properties": {"n": {"type": "integer"}}}},
      {"name": "what", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}},
      {"name": "put", "annotations": {"idempotentHint": true}, "_meta": {"errand/effect": "idempotentWrite:1d"},
       "inputSchema": {"allOf": [{"type": "object", "properties": {"a": {"const": 3}}},
         {"type": "object", "properties": {"b": {"type": "boolean", "default": true}}}]}}]}
    """

  /// The server's answers.
  private final class Answers: Sendable {
    struct Texts {
      var list = "{}"
      var result = "{}"
      var isStream = false
    }
    private let texts = Mutex(Texts())

    func set(_ change: (inout Texts) -> Void) { texts.withLock { change(&$0) } }

    func answer(_ request: HTTPServerRequest) -> HTTPServerResponse {
      let message = try? JSON.parse(request.body)
      guard let id = message?["id"] else { return HTTPServerResponse(status: 202) }
      let texts = texts.withLock { $0 }
      let result =
        switch message?["method"]?.string {
        case "server/discover": #"{"supportedVersions":["2026-07-28"]}"#
        case "tools/list": texts.list
        default: texts.result
        }
      let text = #"{"jsonrpc":"2.0","id":\#(JSON.displayed(id)),"result":\#(result)}"#
      return texts.isStream
        ? .text("data: \(text)\n\n", type: "text/event-stream") : .text(text, type: "application/json")
    }
  }

  @Test func `mutated lists of tools trap nothing`() async throws {
    let environment = ProcessInfo.processInfo.environment
    let seconds = environment["ERRAND_TOOLS"].flatMap { Double($0) }
    let first = environment["ERRAND_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...UInt64(UInt32.max))
    let whole = try JSON.parse(Self.list)
    let answers = Answers()
    let server = try HTTPServer { answers.answer($0) }
    let begin = ContinuousClock.now
    var (count, plugins, calls) = (0, 0, 0)
    while seconds.map({ begin.duration(to: .now) < .seconds($0) }) ?? (count < 100) {
      let seed = first &+ UInt64(count)
      if seconds != nil { try Data("\(seed)\n".utf8).write(to: URL(filePath: "/tmp/errand-mutated-tools-seed")) }
      var random = SeededGenerator(seed: seed)
      count += 1
      var mutation = Mutation(whole, words: Self.words, random)
      var list = whole
      for _ in 0..<Int.random(in: 0...8, using: &random) { list = mutation.mutated(list) }
      guard let text = try? JSON.text(list) else { continue }
      answers.set { ($0.list, $0.isStream) = (text, Bool.random(using: &random)) }
      calls += try await Self.use(server.baseURL, answers, &random, plugins: &plugins)
    }
    await server.stop()
    #expect(plugins > 0 && calls > 0)
    print("mutated tools: seed \(first): \(count) lists, \(plugins) plugins, \(calls) calls")
  }

  /// Does all that can be done with the tools; gives how many actions were called.
  private static func use(
    _ url: String, _ answers: Answers, _ random: inout SeededGenerator, plugins: inout Int
  ) async throws -> Int {
    let lock: PluginLock
    do throws(PluginLockError) {
      lock = try await MCPKind.lock(
        name: "made", source: MCPSource(.url("\(url)/mcp"), trustsHints: Bool.random(using: &random)),
        in: LockedServer.context("made"))
    } catch {
      #expect(!error.message.isEmpty)
      return 0
    }
    plugins += 1
    _ = MCPKind.connectionSketch(lock)
    let read = try PluginLock(reading: try lock.written(), of: "made")
    let locked = try await LockedServer(read)
    #expect(locked.plugin.actions.count == locked.plugin.actionNames.count)
    var calls = 0
    for action in locked.plugin.actions {
      calls += 1
      let input = FieldType.object(action.input).sample(&random)
      var output = FieldType.object(action.output).sample(&random)
      if Int.random(in: 0..<3, using: &random) == 0 {
        var mutation = Mutation(output, words: Self.words, random)
        output = mutation.mutated(output)
      }
      let structured = JSON.displayed(output.encoded())
      let result =
        switch Int.random(in: 0..<6, using: &random) {
        case 0: #"{"content":[{"type":"text","text":"no"}],"isError":true}"#
        case 1: structured
        case 2: #"{"content":\#(structured)}"#
        case 3: #"{"content":[{"type":"text","text":\#(JSON.quoted(structured))}]}"#
        default: #"{"content":[],"structuredContent":\#(structured)}"#
        }
      answers.set { $0.result = result }
      let name = String(action.id.dropFirst("made.".count))
      _ = locked.plugin.footprint(of: name, input, settings: .map(ValueMap()), in: .testing())
      _ = try? await locked.run(name, input)
      _ = try? await action.preview(input, on: locked.service, in: .testing(time: SystemTime()))
      if action.canReconcile {
        _ = try? await action.reconcile(
          input, with: output, startedAt: SystemTime().now(), on: locked.service, in: .testing(time: SystemTime()))
      }
    }
    return calls
  }
}
