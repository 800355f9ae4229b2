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
      // What traps tells its seed by the last line.
      if seconds != nil { try Data("\(seed)\n".utf8).write(to: URL(filePath: "/tmp/errand-mutated-seed")) }
      var random = SeededGenerator(seed: seed)
      count += 1
      var document = documents[Int.random(in: 0..<documents.count, using: &random)]
      // Few parts of a large document are enough, and quick.
      document = document.keepingPaths(8, &random)
      var mutation = Mutation(document, random)
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
    _ = OpenAPIKind.leftOut(lock)
    let read = try PluginLock(reading: try lock.written(), of: "made")
    let plugin = PluginDescriptor(LockedPlugin(read, OpenAPIKind.self))
    let answers = Answers()
    var context = PluginContext(connection: "made", time: TestTime())
    context.interceptor = { _, _ in answers }
    let settings = Value.object(["baseURL": .string("http://a.example"), "folder": .string("/nothing")])
    let service = try await plugin.connect(settings, in: context)
    var calls = 0
    // What a lock has can be read, whatever the document had.
    #expect(plugin.actions.count == plugin.actionNames.count)
    for action in plugin.actions {
      calls += 1
      let input = Sample.value(.object(action.input), &random)
      var output = try JSON.text(Sample.value(action.output.field(named: "body")?.type ?? .dyn, &random))
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

/// Values of types.
private enum Sample {
  static func value(_ type: FieldType, _ random: inout SeededGenerator, depth: Int = 0) -> Value {
    switch type {
    case .bool: return .bool(Bool.random(using: &random))
    case .int: return .int([0, 1, -1, Int.max, Int.min, 7].randomElement(using: &random) ?? 0)
    case .double: return .double([0, -1.5, 1e300, 3].randomElement(using: &random) ?? 0)
    case .string: return .string(text(&random))
    case .date: return .string("2026-11-20")
    case .bytes: return .bytes([0, 255])
    case .timestamp: return Timestamp("2026-11-20T09:30:00Z").map(Value.timestamp) ?? .null
    case .duration: return .duration(.seconds(90))
    case .dyn:
      return depth > 3
        ? .null
        : [.null, .int(3), .string(text(&random)), .list([.list([])]), .object(["a/b": .null, "c": .list([.int(1)])])]
          .randomElement(using: &random) ?? .null
    case .choice(let options): return .string(options.randomElement(using: &random) ?? "")
    case .list(let element):
      return .list((0..<Int.random(in: 0...2, using: &random)).map { _ in value(element, &random, depth: depth + 1) })
    case .map(let element): return .object([text(&random): value(element, &random, depth: depth + 1)])
    case .object(let schema):
      var map = ValueMap()
      for field in schema.fields where depth < 6 || field.isRequired {
        if !field.isRequired, Bool.random(using: &random) { continue }
        map[field.name] =
          field.isOptional && Int.random(in: 0..<5, using: &random) == 0
          ? .null : value(field.type, &random, depth: depth + 1)
      }
      return .map(map)
    case .optional(let wrapped), .secret(let wrapped): return value(wrapped, &random, depth: depth)
    }
  }

  private static func text(_ random: inout SeededGenerator) -> String {
    ["", "a", "..", "a/b", "ä\u{1F600}", "x\r\ny", "{}", "%2E", "a?b#c&d=e", "\u{0}"].randomElement(using: &random)
      ?? ""
  }
}

/// Changes documents.
private struct Mutation {
  private var random: SeededGenerator
  /// Parts of the document, to be put elsewhere.
  private var parts: [Value] = []
  private var pointers: [String] = []

  init(_ document: Value, _ random: SeededGenerator) {
    self.random = random
    collect(document, at: "#", depth: 0)
  }

  private mutating func collect(_ value: Value, at pointer: String, depth: Int) {
    guard depth < 12, parts.count < 5000 else { return }
    parts.append(value)
    pointers.append(pointer)
    for member in value.map?.members ?? [] {
      let name = (member.name ?? "").replacing("~", with: "~0").replacing("/", with: "~1")
      collect(member.value, at: "\(pointer)/\(name)", depth: depth + 1)
    }
    for (index, item) in (value.list ?? []).enumerated() { collect(item, at: "\(pointer)/\(index)", depth: depth + 1) }
  }

  private static let words = [
    "$ref", "allOf", "anyOf", "oneOf", "type", "properties", "items", "required", "nullable", "enum", "const", "format",
    "in", "name", "schema", "content", "style", "explode", "operationId", "parameters", "requestBody", "responses",
    "x-errand-effect", "additionalProperties", "minimum", "maximum", "default", "servers", "url", "tags", "summary",
    "application/json", "multipart/form-data", "headers", "Link", "page", "cursor", "next", "binary", "path", "query",
  ]
  private static let scalars: [Value] = [
    .null, .bool(true), .bool(false), .int(0), .int(-1), .int(.max), .int(.min), .double(1e308), .double(-0.5),
    .string(""), .string("object"), .string("array"), .string("string"), .string("null"), .string("file"), .string("{"),
    .string("a{b}{c}d}"), .string("/x/{id}/../{id}"), .string("\u{202E}\n\t"), .string("deepObject"), .string("matrix"),
    .string("write"), .string(String(repeating: "é", count: 3000)), .list([]), .map(ValueMap()),
  ]

  private mutating func part() -> Value {
    switch Int.random(in: 0..<10, using: &random) {
    case 0..<4: return Self.scalars.randomElement(using: &random) ?? .null
    case 4..<6: return parts.randomElement(using: &random) ?? .null
    case 6..<8: return .object(["$ref": .string(pointers.randomElement(using: &random) ?? "#")])
    case 8: return .string(Self.words.randomElement(using: &random) ?? "")
    default:
      // A few levels that double, or many that don't.
      let isDouble = Bool.random(using: &random)
      var deep = Value.object(["type": .string("string")])
      for _ in 0..<Int.random(in: 1...(isDouble ? 6 : 60), using: &random) {
        deep =
          Bool.random(using: &random)
          ? .object(["type": .string("object"), "properties": .object(["a": deep])])
          : .object([
            ["items", "anyOf", "allOf"].randomElement(using: &random) ?? "": .list(isDouble ? [deep, deep] : [deep])
          ])
      }
      return deep
    }
  }

  /// The document with one of its parts changed.
  mutating func mutated(_ value: Value, depth: Int = 0) -> Value {
    let count = value.map?.count ?? value.list?.count ?? 0
    // Near the root hardly anything would be left.
    let isKept = Int.random(in: 0..<(depth < 4 ? 200 : 10), using: &random) > 0
    guard count > 0, depth < 14, isKept else { return part() }
    let index = Int.random(in: 0..<count, using: &random)
    if var list = value.list {
      switch Int.random(in: 0..<20, using: &random) {
      case 0: list.remove(at: index)
      case 1: list.append(part())
      default: list[index] = mutated(list[index], depth: depth + 1)
      }
      return .list(list)
    }
    guard var map = value.map else { return value }
    let key = map.members[index].key
    switch Int.random(in: 0..<(depth < 3 ? 100 : 15), using: &random) {
    case 0: map[key] = nil
    case 1: map[Self.words.randomElement(using: &random) ?? ""] = part()
    case 2:
      let moved = map[key]
      map[key] = nil
      map[Self.words.randomElement(using: &random) ?? ""] = moved
    default: map[key] = map[key].map { mutated($0, depth: depth + 1) }
    }
    return .map(map)
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
