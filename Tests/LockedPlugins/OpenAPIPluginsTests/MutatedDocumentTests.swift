import ActionKit
import ActionTestKit
import Basics
import Foundation
import HTTPClient
import PluginLocks
import Synchronization
import Testing

@testable import OpenAPIPlugins

/// Documents that are changed at random: each is refused with a reason, or becomes a plugin whose actions can be called,
/// whatever is answered.
///
/// `ERRAND_DOCUMENTS=3600 swift test --filter MutatedDocumentTests` takes that many seconds; `ERRAND_SEED` plays one again.
@Suite(.timeLimit(.minutes(240))) struct MutatedDocumentTests {
  private static let words = [
    "$ref", "allOf", "anyOf", "oneOf", "type", "properties", "items", "required", "nullable", "enum", "const", "format",
    "in", "name", "schema", "content", "style", "explode", "operationId", "parameters", "requestBody", "responses",
    "x-errand-effect", "additionalProperties", "minimum", "maximum", "default", "servers", "url", "tags", "summary",
    "application/json", "multipart/form-data", "headers", "Link", "page", "cursor", "next", "binary", "path", "query",
  ]

  @Test func `mutated documents trap nothing`() async throws {
    let environment = ProcessInfo.processInfo.environment
    let seconds = environment["ERRAND_DOCUMENTS"].flatMap { Double($0) }
    let first = environment["ERRAND_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...UInt64(UInt32.max))
    var documents: [Value] = []
    for name in ["shop.yaml", "pets.json"] {
      documents.append(try OpenAPIDocument(fixture(name), called: name).root)
    }
    if seconds != nil {
      for name in RealDocument.allCases {
        if let bytes = name.bytes { documents.append(try OpenAPIDocument(bytes, called: name.rawValue).root) }
      }
    }
    let begin = ContinuousClock.now
    var (count, plugins, calls) = (0, 0, 0)
    while seconds.map({ begin.duration(to: .now) < .seconds($0) }) ?? (count < 150) {
      let seed = first &+ UInt64(count)
      // After a trap, the last line written holds the seed.
      if seconds != nil { try Data("\(seed)\n".utf8).write(to: URL(filePath: "/tmp/errand-mutated-seed")) }
      var random = SeededGenerator(seed: seed)
      count += 1
      var document = documents[Int.random(in: 0..<documents.count, using: &random)]
      // Few parts of a large document are enough, and quick.
      document = document.keepingPaths(8, &random)
      var mutation = Mutation(document, words: Self.words, random)
      for _ in 0..<Int.random(in: 1...12, using: &random) { document = mutation.mutated(document) }
      guard let text = try? JSON.write(document) else { continue }
      calls += try await Self.use(text, &random, plugins: &plugins)
      await Task.yield()
    }
    #expect(plugins > 0 && calls > 0)
    print("mutated documents: seed \(first): \(count) documents, \(plugins) plugins, \(calls) calls")
  }

  /// Does all that can be done with a document; gives how many actions were called.
  private static func use(_ bytes: [UInt8], _ random: inout SeededGenerator, plugins: inout Int) async throws -> Int {
    let lock: PluginLock
    do throws(PluginLockError) {
      lock = try OpenAPIKind.lock(
        name: "made", document: bytes, source: "https://a.example/x.json", only: [], effects: [:], file: "made")
    } catch {
      #expect(!error.message.isEmpty && !error.message.contains("\n"))
      return 0
    }
    plugins += 1
    _ = OpenAPIKind.connectionSketch(lock)
    _ = lock.leftOut
    let read = try PluginLock(reading: try lock.written(), of: "made")
    let plugin = PluginDescriptor(LockedPlugin(read, OpenAPIKind.self))
    let answers = Answers()
    var context = PluginContext(connection: "made", time: TestTime())
    context.interceptor = { _, _ in answers }
    let settings = Value.object(["baseURL": .string("http://a.example"), "folder": .string("/nothing")])
    let service = try await plugin.connect(settings, in: context)
    var calls = 0
    // Every part of a lock can be read, whatever the document contained.
    #expect(plugin.actions.count == plugin.actionNames.count)
    for action in plugin.actions {
      calls += 1
      let input = FieldType.object(action.input).sample(&random)
      var output = try JSON.text((action.output.field(named: "body")?.type ?? .dyn).sample(&random))
      if Int.random(in: 0..<4, using: &random) == 0 { output = String(output.dropLast()) }
      answers.next = (Int.random(in: 0..<5, using: &random) == 0 ? 404 : 200, output)
      let name = String(action.id.dropFirst("made.".count))
      _ = plugin.footprint(of: name, input, settings: settings, in: .testing())
      _ = plugin.refusals(of: name, StepInput(input, computed: [:]), settings: settings, in: .testing())
      _ = try? await action.run(input, on: service, in: .testing())
      _ = try? await action.preview(input, on: service, in: .testing())
    }
    return calls
  }
}

/// Answers every request alike.
private final class Answers: HTTPTransport {
  private let stored = Mutex<(status: Int, body: String)>((200, ""))
  var next: (status: Int, body: String) {
    get { stored.withLock { $0 } }
    set { stored.withLock { $0 = newValue } }
  }

  func send(_ request: HTTPRequest, into sink: (any HTTPBodySink)?) async throws(HTTPError) -> HTTPResponse {
    let (status, body) = next
    return HTTPResponse(
      status: status, headers: ["Content-Type": "application/json", "Link": "<?page=\(body.utf8.count)>; rel=next"],
      body: Array(body.utf8), url: request.url)
  }
}

extension Value {
  /// A document with some of its paths.
  fileprivate func keepingPaths(_ count: Int, _ random: inout SeededGenerator) -> Value {
    guard var document = map, let paths = document["paths"]?.map else { return self }
    var kept = ValueMap()
    for member in paths.members.shuffled(using: &random).prefix(count) { kept[member.key] = member.value }
    document["paths"] = .map(kept)
    return .map(document)
  }
}
