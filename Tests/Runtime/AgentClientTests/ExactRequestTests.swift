import ActionKit
import AgentClient
import Basics
import HTTPTypes
import Operations
import ProcessTestKit
import RunState
import Testing

@testable import Agent

/// Requests in the exact form, as a client sends them.
@Suite(.timeLimit(.minutes(20))) struct ExactRequestTests {
  private static func connect(to server: ScriptedServer, person: String? = nil) throws -> FolderAgent {
    try #require(
      try FolderAgent.find(
        server.folder.path, identity: SocketBench.identity, person: person, patience: WirePatience(time: HastyTime())))
  }

  @Test func `a request names its operation, its client and the form of its answer`() async throws {
    let server = try ScriptedServer(answering: [])
    let client = try ExactRequestTests.connect(to: server, person: "änn +%")
    #expect(try await client.answer(to: ShowRun.with { $0.run = "r1" }) == nil)
    for try await _ in try client.events(of: WatchRuns()) {}
    _ = try await ExactRequestTests.connect(to: server).answer(to: ListRuns(), among: ["a", "ä\n"])
    let requests = server.requests
    #expect(
      requests.map { $0.head.first } == [
        "POST /api/v1/operations/show HTTP/1.1", "POST /api/v1/operations/watch HTTP/1.1",
        "POST /api/v1/operations/runs HTTP/1.1",
      ])
    #expect(
      requests.map { $0.field("Accept") } == [
        "application/vnd.errand.exact+json", "application/vnd.errand.exact+jsonl", "application/vnd.errand.exact+json",
      ])
    for (request, person) in zip(requests, ["%C3%A4nn%20%2B%25", "%C3%A4nn%20%2B%25", nil]) {
      #expect(request.field("Host") == "errand" && request.field("Connection") == "close")
      #expect(request.field("Content-Type") == "application/json")
      #expect(request.field("Content-Length") == "\(request.body.count)")
      #expect(request.field("Errand-Program") == "errand 0.1")
      #expect(request.field("Errand-Configuration") == PercentEncoding.encode("/school/errand.yaml"))
      #expect(request.field("Errand-Person") == person)
    }
    #expect(requests.first?.body == Array(#"{"run":"r1"}"#.utf8))
    // A member that no operation has as an input.
    let last = try JSON.parse(try #require(requests.last?.body))
    #expect(last[ExactForm.recipes] == .list([.string("a"), .string("ä\n")]))
    #expect(OperationList.all.allSatisfy { !$0.parameters.map(\.name).contains(ExactForm.recipes) })
  }

  @Test func `a request of any size arrives whole`() async throws {
    let server = try ScriptedServer(answering: [])
    let client = try ExactRequestTests.connect(to: server)
    for size in [1 << 20, 12 << 20, 40 << 20] {
      let request = FindRun.with { $0.run = String(repeating: "+=äöü", count: size / 8) }
      #expect(try await client.answer(to: request) == nil)
      let body = try #require(server.requests.last?.body)
      let inputs = try #require(try JSON.parse(body).map)
      #expect(try FindRun(inputs: inputs, isExact: true).run.hasSameScalars(as: request.run), "\(size)")
    }
  }

  @Test func `the inputs of each operation arrive as they were given`() async throws {
    let server = try ScriptedServer(answering: [])
    let client = try ExactRequestTests.connect(to: server)
    var maker = InputMaker()
    func send<Asked: Operation>(_ operation: Asked) async throws {
      #expect(try await client.answer(to: operation) == nil)
    }
    for type in OperationList.all {
      var names: Set<String> = []
      for number in 0..<20 {
        let operation = try type.init(inputs: maker.inputs(of: type, areAll: number == 0), isExact: false)
        try await send(operation)
        let request = try #require(server.requests.last)
        #expect(request.head.first == "POST \(ExactForm.path)\(type.name) HTTP/1.1")
        let inputs = try #require(try JSON.parse(request.body, limits: ExactForm.limits(4 << 20)).map)
        let read = try type.init(inputs: inputs, isExact: true)
        let wanted = try JSON.text(.map(operation.exactInputs), .sorted)
        #expect(try JSON.text(.map(read.exactInputs), .sorted) == wanted, "\(type.name)")
        #expect(try JSON.text(.map(inputs), .sorted) == wanted, "\(type.name)")
        names.formUnion(inputs.members.compactMap(\.name))
      }
      #expect(names == Set(type.parameters.map(\.name)), "\(type.name)")
    }
    #expect(server.requests.count == OperationList.all.count * 20)
  }
}

/// Makes inputs of operations, as their declarations allow; each test makes the same.
private struct InputMaker {
  private var random = SeededGenerator(seed: 1)

  /// Inputs that hold records of the state.
  private static let records: [String: Value] = [
    "submit.run": RunCreated(
      run: "r1", at: ManualClock.start, recipe: "r", file: "r.yaml",
      texts: .inline(.object(["r.yaml": .string("steps: []")])),
      inputs: .object(["data": .bytes([0, 255]), "at": .timestamp(ManualClock.start), "mean": .double(.infinity)]),
      overrides: ["a": .int(1)], program: "test", key: RunKey("k", caller: "ann"), zone: "UTC"
    ).encoded(),
    "value.blob": BlobReference(sha256: String(repeating: "ab", count: 32), size: 7).encoded(),
    "why.about": RunFacts.Question(
      run: "r1", cause: RunCause(.retry, run: "r0"), group: "g", awaits: ["paid"]
    ).encoded(),
  ]

  private static let texts = [
    "r1", "", " ", "ä€🦀", "line\nbreak\r\t", "\u{0}\u{1B}[2J\u{7F}", "\"\\/", "$bytes", "{\"$int\":1}", "e\u{301}",
    String(repeating: "long ", count: 1000),
  ]

  /// - Parameter areAll: Whether each input is given, and not only those that have to be.
  mutating func inputs(of operation: any Operation.Type, areAll: Bool) -> ValueMap {
    var inputs = ValueMap()
    for field in operation.schema.fields where areAll || field.isRequired || Bool.random(using: &random) {
      if let record = InputMaker.records["\(operation.name).\(field.name)"] {
        inputs[field.name] = record
      } else {
        inputs[field.name] = value(of: field.type, field.limits)
      }
    }
    return inputs
  }

  private mutating func value(of type: FieldType, _ limits: [Limit]) -> Value {
    switch type {
    case .bool: return .bool(Bool.random(using: &random))
    case .int: return .int(int(limits))
    case .uint: return .uint(UInt.random(in: 0...UInt.max, using: &random))
    case .double: return .double([0.5, -0.0, 1e300, .infinity, -.infinity][Int.random(in: 0..<5, using: &random)])
    case .string: return .string(text(limits))
    case .date: return .string("2026-11-22")
    case .bytes: return .bytes((0..<Int.random(in: 0..<40, using: &random)).map { UInt8(truncatingIfNeeded: $0 * 77) })
    case .timestamp: return .timestamp([ManualClock.start, .earliest, .latest][Int.random(in: 0..<3, using: &random)])
    case .duration: return .duration(.milliseconds(Int.random(in: 0..<1_000_000, using: &random)))
    case .dyn: return anything(depth: 3)
    case .choice(let words): return .string(words[Int.random(in: 0..<words.count, using: &random)])
    case .list(let element):
      var items = [value(of: element, [])]
      while Bool.random(using: &random) { items.append(value(of: element, [])) }
      return .list(items)
    case .map(let type):
      var map = ValueMap()
      while map.isEmpty || Bool.random(using: &random) { map[text([])] = value(of: type, []) }
      return .map(map)
    case .object(let schema):
      return .map(ValueMap(schema.fields.map { ($0.name, value(of: $0.type, $0.limits)) }))
    case .optional(let wrapped), .secret(let wrapped): return value(of: wrapped, limits)
    }
  }

  private mutating func int(_ limits: [Limit]) -> Int {
    var (least, most) = (Int.min, Int.max)
    for limit in limits {
      switch limit {
      case .atLeast(let bound): least = bound.int ?? least
      case .atMost(let bound): most = bound.int ?? most
      default: break
      }
    }
    let edges = [least, most, max(least, min(most, 7))]
    return edges[Int.random(in: 0..<edges.count, using: &random)]
  }

  private mutating func text(_ limits: [Limit]) -> String {
    var isLimited = false
    for limit in limits {
      switch limit {
      case .minLength, .maxLength, .pattern: isLimited = true
      default: break
      }
    }
    return isLimited ? "a1" : InputMaker.texts[Int.random(in: 0..<InputMaker.texts.count, using: &random)]
  }

  /// A value of any type, but not null, which an input can't be.
  private mutating func anything(depth: Int) -> Value {
    switch Int.random(in: 0..<(depth > 0 ? 10 : 7), using: &random) {
    case 0: return .bool(true)
    case 1: return .int(int([]))
    case 2: return .uint(.max)
    case 3: return .double(-.infinity)
    case 4: return .string(text([]))
    case 5: return .bytes([0, 1, 255])
    case 6: return .duration(.milliseconds(1))
    case 7: return .list([.null, anything(depth: depth - 1), .timestamp(ManualClock.start)])
    case 8: return .object(["$bytes": anything(depth: depth - 1)])
    default: return .map(ValueMap([(text([]), anything(depth: depth - 1)), ("b", .null)]))
    }
  }
}
