import Basics
import Foundation
import HTTPClient
import RunState
import Synchronization
import Testing

@testable import errand

/// Generated requests with tokens that are limited to some recipes.
///
/// The routes and their parameters are read from the document that the agent serves, so that a new one is asked as well.
/// Each request about a thing of another recipe has a partner about a thing of the same form that never existed. Both must
/// get the same answer, and no answer may hold a mark of another recipe.
///
/// A tenth of the requests is sent. With the variable `ERRAND_LIMITS`, which `make soak` sets, all of them are.
@Suite(.timeLimit(.minutes(20))) struct LimitTests {
  // MARK: How much is asked

  /// Whether all requests are sent.
  private static let isWhole = ProcessInfo.processInfo.environment["ERRAND_LIMITS"] != nil

  /// A part of the requests: every tenth of each list, and at least one.
  ///
  /// The place of the first moves on with each list and with each turn. A turn is all that a caller asks about a side. So
  /// every turn asks every route, and all turns together ask eight tenths of each list.
  private struct Sample {
    private let turn: Int
    private var lists = 0

    init(turn: Int) { self.turn = turn }

    mutating func part<Item>(of items: [Item]) -> [Item] {
      if LimitTests.isWhole { return items }
      let first = (turn + lists) % max(1, min(10, items.count))
      lists += 1
      return items.enumerated().filter { $0.offset % 10 == first }.map(\.element)
    }
  }

  /// Waits before the next look at something that changes by itself.
  private static func pause() async throws { try await Task.sleep(for: .milliseconds(20)) }

  // MARK: Requests and answers

  /// A request.
  private struct Ask: Sendable {
    var method: String
    var path: String
    var body: String?
    var headers: HTTPHeaders = [:]
    /// What an answer may repeat, because the caller sent it.
    var sent: [String] = []
    var isStream = false

    var words: String {
      let keys = headers.fields.filter { $0.name != "Authorization" }.map { "\($0.name): \($0.value)" }
      return "\(method) \(path) \(keys.joined(separator: ", ")) \(body ?? "")"
    }
  }

  /// A request about another recipe's thing, and the same about one that never existed.
  private struct Pair: Sendable {
    var theirs: Ask
    var missing: Ask
  }

  private struct Answer: Sendable {
    var status: Int
    var headers: String
    var text: String

    /// The answer without what the caller sent.
    func without(_ sent: [String]) -> String {
      // Pages repeat a path in another spelling than the caller's.
      var whole = PercentEncoding.decode("\(status)\n\(headers)\n\(text)", plusIsSpace: false)
      // The version of a live page has a digest of the repeated text.
      whole.replace(/Errand-Seen&quot;:&quot;[^&]*/, with: "§")
      let parts = sent + sent.flatMap { $0.split(separator: "/").filter { $0.utf8.count > 3 }.map { String($0) } }
      let forms = Set(
        parts.flatMap { part in
          let decoded = PercentEncoding.decode(part, plusIsSpace: false)
          return [part, PercentEncoding.encode(part), part.trimmed, decoded, PercentEncoding.encode(decoded)]
        }
      ).filter { !$0.isEmpty }
      for form in forms.sorted(by: { ($0.utf8.count, $0) > ($1.utf8.count, $1) }) where whole.contains(form) {
        whole = whole.replacingOccurrences(of: form, with: "§")
      }
      return whole
    }
  }

  /// What came of an answer, which may be a stream without an end.
  private final class Received: HTTPBodySink {
    private struct Content {
      var head: HTTPResponse?
      var bytes: [UInt8] = []
    }

    private let content = Mutex(Content())

    func accepts(_ head: HTTPResponse) -> Bool {
      content.withLock { $0.head = head }
      return true
    }

    func receive(_ bytes: RawSpan) throws(HTTPError) {
      let more: [UInt8] = bytes.withUnsafeBytes { Array($0) }
      content.withLock { $0.bytes += more }
    }

    var head: HTTPResponse? { content.withLock { $0.head } }
    var bytes: [UInt8] { content.withLock { $0.bytes } }
  }

  /// The fields of a head that may differ: the time.
  private static func displayed(_ headers: HTTPHeaders) -> String {
    let fields = headers.fields.filter { !$0.isNamed("Date") }
    return fields.map { "\($0.name): \($0.value)" }.sorted().joined(separator: "\n")
  }

  /// The most requests at once.
  private static let mostAtOnce = 16

  /// Sends requests with tokens.
  private struct Sender: Sendable {
    let url: String
    let client = HTTPClient()

    func send(_ ask: Ask, _ token: String) async throws -> Answer {
      var headers = ask.headers
      headers["Authorization"] = "Bearer \(token)"
      if ask.body != nil, headers["Content-Type"] == nil { headers["Content-Type"] = "application/json" }
      let received = Received()
      let request = HTTPRequest(
        ask.method, url + ask.path, headers: headers, body: ask.body.map { Array($0.utf8) },
        limits: HTTPLimits(total: .seconds(ask.isStream ? 2 : 60)), redirects: .none)
      let head: HTTPResponse
      var rest: [UInt8] = []
      do {
        head = try await client.send(request, into: received)
        rest = head.body
      } catch {
        // A stream is read for a while.
        guard ask.isStream, let begun = received.head else { throw error }
        head = begun
      }
      return Answer(
        status: head.status, headers: LimitTests.displayed(head.headers),
        text: String(decoding: received.bytes + rest, as: UTF8.self))
    }

    /// The answers, in the order of the requests.
    func send(_ asks: [Ask], _ token: String) async throws -> [Answer] {
      var answers = [Answer?](repeating: nil, count: asks.count)
      try await withThrowingTaskGroup(of: (Int, Answer).self) { group in
        var next = 0
        while next < min(LimitTests.mostAtOnce, asks.count) {
          let (index, ask) = (next, asks[next])
          group.addTask { (index, try await send(ask, token)) }
          next += 1
        }
        while let (index, answer) = try await group.next() {
          answers[index] = answer
          if next < asks.count {
            let (following, ask) = (next, asks[next])
            group.addTask { (following, try await send(ask, token)) }
            next += 1
          }
        }
      }
      return answers.compactMap { $0 }
    }
  }

  // MARK: What the agent has

  /// The word that is in all names of the recipes of a side, and in all that they show.
  private static let (first, second, hidden) = ("aardvarkamber", "buffalobronze", "cheetahcobalt")
  /// A word of the same length that nothing has, and that is near no other.
  private static let nobody = "wqjzxkvypfghm"
  /// The recipe that runs when others fail; no token sees it.
  private static let handler = "violethandler"
  /// The recipe that others follow; no token sees it, though their texts name it.
  private static let upstream = "upstream"

  private static func recipes(of word: String) -> [String: String] {
    [
      word: """
      summary: About \(word).
      mcp: true
      on:
        - { id: nightly, cron: "0 \(Program.farHour) * * *" }
        - { id: posted, event: { name: \(word)posted } }
        - { id: hooked, webhook: { path: \(word)-hook, verify: { none: true } } }
      steps:
        - id: said
          uses: shell.run
          with: { effect: read, script: "echo \(word) printed" }
        - let: { kept: \(word) }
      outputs: { kept: "${{ kept }}" }
      """,
      "\(word)-fails": """
      steps:
        - let: { kept: \(word) }
        - { id: got, uses: http.get, connection: \(word)net, with: { url: /a }, retry: { maxAttempts: 1 } }
      """,
      "\(word)-waits": """
      on: [{ id: nightly, cron: "0 \(Program.farHour) * * *" }]
      steps: [{ id: held, wait: { event: \(word)never, timeout: 30d } }]
      """,
      "\(word)-asks": """
      mcp: true
      steps: [{ id: ask, approve: { prompt: "\(word) asks?" } }]
      """,
      "\(word)-queue": """
      concurrencyGroup: { name: shared, limit: 1 }
      steps: [{ id: held, wait: { event: \(word)never, timeout: 30d } }]
      """,
      "\(word)-after": """
      on: [{ id: next, afterRecipe: \(upstream) }]
      steps: [{ let: { kept: \(word) } }]
      """,
    ]
  }

  /// The things of a side that requests name.
  private struct Side: Sendable {
    var word: String
    /// Some runs, in several states.
    var runs: [String]
    var digest: String
    var event: String
    var key: String
    var token: String

    var schedules: [String] { ["\(word)/nightly", "\(word)/posted", "\(word)-waits/nightly", "\(word)-after/next"] }

    /// Things of the same form that never existed.
    var missing: Side {
      func unknown(_ text: String) -> String { text.replacingOccurrences(of: word, with: LimitTests.nobody) }
      return Side(
        word: LimitTests.nobody, runs: runs.map { String($0.dropLast(12)) + "f0e1d2c3b4a5" },
        digest: String(digest.reversed()), event: unknown(event), key: unknown(key), token: unknown(token))
    }
  }

  /// A program that may do everything.
  private struct Owner {
    let bench: APITests.Bench
    let token: String

    @discardableResult
    func send(
      _ method: String, _ path: String, _ body: String? = nil, headers: HTTPHeaders = [:]
    ) async throws -> Value {
      let answer = try await bench.send(method, "/api/v1" + path, token, body, headers: headers)
      #expect((200..<300).contains(answer.status), "\(method) \(path): \(answer)")
      return answer.json
    }

    @discardableResult
    func start(_ recipe: String) async throws -> String {
      try await send("POST", "/recipes/\(recipe)/runs", "{}")["run"]?.string ?? ""
    }

    /// Starts a run, and waits until it has ended.
    func run(_ recipe: String, until status: String, key: String? = nil) async throws -> String {
      var headers: HTTPHeaders = ["Prefer": "wait=20"]
      headers["Idempotency-Key"] = key
      let answer = try await send("POST", "/recipes/\(recipe)/runs", "{}", headers: headers)
      // The answer is the run if it has ended by then.
      let run = (answer["id"] ?? answer["run"])?.string ?? ""
      try await wait(for: run, status)
      return run
    }

    func wait(for run: String, _ statuses: String...) async throws {
      while true {
        let status = try await send("GET", "/runs/\(run)")["status"]?.string ?? ""
        if statuses.contains(status) { return }
        try await LimitTests.pause()
      }
    }

    /// The ids of runs by recipe.
    func runs(of recipe: String? = nil) async throws -> [(id: String, recipe: String)] {
      var found: [(id: String, recipe: String)] = []
      var cursor = ""
      while true {
        let filter = recipe.map { "&recipe=\($0)" } ?? ""
        let page = try await send("GET", "/runs?limit=200\(filter)\(cursor)")
        found += (page["items"]?.list ?? []).map { (id: $0["id"]?.string ?? "", recipe: $0["recipe"]?.string ?? "") }
        guard let next = page["next"]?.string else { return found }
        cursor = "&cursor=\(PercentEncoding.encode(next))"
      }
    }

    /// Waits until all runs of a recipe have ended.
    func settle(_ recipe: String) async throws {
      while true {
        let page = try await send("GET", "/runs?limit=200&recipe=\(recipe)")
        if (page["items"]?.list ?? []).allSatisfy({ $0["endedAt"]?.string != nil }) { return }
        try await LimitTests.pause()
      }
    }

    /// The first run of a recipe that the agent starts without a request.
    func begun(_ recipe: String) async throws -> String {
      while true {
        if let run = try await runs(of: recipe).last { return run.id }
        try await LimitTests.pause()
      }
    }
  }

  /// An agent with the recipes of all sides.
  private static func serve() async throws -> APITests.Bench {
    let bench = try await APITests.Bench([
      handler: "inputs: { runID: { type: string } }\nsteps: [{ let: { kept: \"\(handler)\" } }]\n",
      upstream: "steps: [{ let: { kept: 1 } }]\n",
    ])
    var nets = ""
    for word in [first, second, hidden] {
      nets += "  \(word)net: { plugin: http, baseURL: \"http://127.0.0.1:9/\(word)\" }\n"
    }
    let old = try bench.program.read("errand.yaml")
    let head = "connections:\n"
    try bench.program.write(
      "onFailure: recipes/\(handler).yaml\n\(head)\(nets)\(old.dropFirst(head.count))", to: "errand.yaml")
    bench.agent.signal(SIGHUP)
    _ = try #require(await bench.agent.line(with: "errand.yaml is read again: "))
    for word in [first, second, hidden] {
      for (name, text) in recipes(of: word) { try bench.program.write(text + "\n", to: "recipes/\(name).yaml") }
    }
    return bench
  }

  /// Waits until the recipes of a side are served.
  private static func ready(_ word: String, _ owner: Owner) async throws {
    for name in recipes(of: word).keys.sorted() {
      while true {
        let answer = try await owner.bench.send("GET", "/api/v1/recipes/\(name)", owner.token)
        let errors = answer.json["findings"]?.list?.filter { $0["severity"]?.string == "error" } ?? []
        #expect(errors.isEmpty, "\(name): \(errors)")
        if answer.status == 200 { break }
        try await pause()
      }
    }
    // Schedules are there a moment after their recipe.
    let why = "/api/v1/schedules/\(word)-waits%2Fnightly/why"
    while try await owner.bench.send("GET", why, owner.token).status != 200 { try await pause() }
  }

  /// Makes the runs, the slots and the plan of a side.
  private static func side(_ word: String, _ owner: Owner) async throws -> Side {
    let key = "\(word)key"
    let done = try await owner.run(word, until: "succeeded", key: key)
    let failed = try await owner.run("\(word)-fails", until: "failed")
    let retried = try await owner.send("POST", "/runs/\(failed)/retry", "{}")["run"]?.string ?? ""
    let asking = try await owner.start("\(word)-asks")
    let paused = try await owner.start("\(word)-asks")
    let cancelled = try await owner.start("\(word)-waits")
    let queued = try await owner.start("\(word)-queue")
    for run in [asking, paused, cancelled] { try await owner.wait(for: run, "waiting") }
    try await owner.wait(for: queued, "waiting", "queued")
    try await owner.send("POST", "/runs/\(paused)/pause", #"{"reason":"\#(word) pauses"}"#)
    try await owner.send("POST", "/runs/\(cancelled)/cancel", #"{"reason":"\#(word) ends"}"#)
    let held = try await slots(of: word, owner)
    let event = "\(word)event"
    try await owner.send("POST", "/events", #"{"name":"\#(word)posted","id":"\#(event)","data":"\#(word)"}"#)
    let delivered = try await owner.bench.send("POST", "/hooks/\(word)-hook", nil, #"{"a":"\#(word)"}"#)
    #expect(delivered.status == 202, "\(delivered)")
    let plan = try await owner.send("POST", "/recipes/\(word)/plans", "{}")["digest"]?.string ?? ""
    #expect(!plan.isEmpty)
    try await owner.wait(for: retried, "failed")
    try await owner.settle(word)
    return Side(
      word: word, runs: [held, failed, done, queued, retried, asking, paused, cancelled], digest: plan, event: event,
      key: key, token: "\(word)all")
  }

  /// Makes slots of several outcomes; gives the open run of the schedule.
  private static func slots(of word: String, _ owner: Owner) async throws -> String {
    let path = "/schedules/\(word)-waits%2Fnightly"
    try await owner.send("POST", "\(path)/trigger", "{}")
    try await owner.send("POST", "\(path)/trigger", #"{"overlap":"skip"}"#)
    try await owner.send("POST", "\(path)/trigger", #"{"overlap":"bufferOne"}"#)
    try await owner.send("POST", "\(path)/trigger", #"{"overlap":"bufferOne"}"#)
    try await owner.send("POST", "/schedules/\(word)-after%2Fnext/pause", #"{"note":"\#(word) pauses"}"#)
    try await owner.send("POST", "/schedules/\(word)-after%2Fnext/resume", "{}")
    try await owner.send(
      "POST", "/schedules/\(word)%2Fnightly/backfill",
      #"{"from":"2026-01-01T00:00:00Z","to":"2026-01-03T00:00:00Z"}"#)
    let slots = try await owner.send("GET", "/slots?schedule=\(word)-waits%2Fnightly")
    let outcomes = Set((slots["items"]?.list ?? []).compactMap { $0["outcome"]?.string })
    #expect(outcomes.isSuperset(of: ["started", "skippedOverlap", "buffered", "dropped"]), "\(outcomes)")
    let open = try await owner.runs(of: "\(word)-waits").map(\.id)
    for run in open where try await owner.send("GET", "/runs/\(run)")["cause"]?["kind"]?.string == "trigger" {
      return run
    }
    return ""
  }

  // MARK: Routes

  /// A route of the served document.
  private struct Served: Sendable {
    var method: String
    var path: String
    var query: [(name: String, schema: Value)]
    var members: [(name: String, schema: Value)]
    var required: Set<String>

    var isStream: Bool { path.hasSuffix("/events") && method == "GET" }
    /// The names in the path.
    var names: [String] {
      path.split(separator: "/").filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) }
    }

    /// The path with its names filled in.
    func filled(_ thing: String) -> String {
      path.split(separator: "/").map { $0.hasPrefix("{") ? "/" + thing : "/" + $0 }.joined()
    }
  }

  private static func routes(in document: Value) -> [Served] {
    var found: [Served] = []
    for item in document["paths"]?.map?.members ?? [] {
      guard let path = item.name, path.hasPrefix("/api/v1/") else { continue }
      for operation in item.value.map?.members ?? [] {
        guard let method = operation.name, ["get", "post", "delete"].contains(method) else { continue }
        let declared = operation.value
        var query: [(name: String, schema: Value)] = []
        for parameter in declared["parameters"]?.list ?? [] where parameter["in"]?.string == "query" {
          query.append((parameter["name"]?.string ?? "", parameter["schema"] ?? .null))
        }
        let schema: Value = declared["requestBody"]?["content"]?["application/json"]?["schema"] ?? .null
        var members: [(name: String, schema: Value)] = []
        for member in schema["properties"]?.map?.members ?? [] { members.append((member.name ?? "", member.value)) }
        let required = Set((schema["required"]?.list ?? []).compactMap(\.string))
        found.append(
          Served(method: method.uppercased(), path: path, query: query, members: members, required: required))
      }
    }
    return found
  }

  // MARK: Values

  /// How a request names a thing.
  private struct Form: Sendable {
    var text: String
    /// The text as a segment of a path.
    var segment: String
    var sent: [String]

    init(_ text: String, segment: String? = nil, _ more: String...) {
      self.text = text
      self.segment = segment ?? PercentEncoding.encode(text)
      sent = [text] + more
    }
  }

  /// Every byte percent-encoded.
  private static func encodedWhole(_ text: String) -> String {
    text.utf8.map { byte in "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true) }.joined()
  }

  /// The forms of the names of a run.
  private static func forms(ofRun id: String, of word: String) -> [Form] {
    [
      Form(id), Form(String(id.prefix(8))), Form(String(id.suffix(6))), Form(String(id.suffix(12))),
      Form("last:\(word)", word), Form("last:\(word)-waits", word), Form(word), Form("\(word)-waits", word),
      Form(id, segment: encodedWhole(id)), Form("\(id)/why", id), Form(id.uppercased()), Form(" \(id) ", id),
      Form("\(word)/nightly", word),
    ]
  }

  private static func forms(ofSchedule id: String, of word: String) -> [Form] {
    [
      Form(id, word), Form(id, segment: encodedWhole(id), word), Form(id.uppercased(), word.uppercased()),
      Form(" \(id) ", id, word), Form(String(id.dropLast()), word), Form(word),
    ]
  }

  /// The forms of a thing of a side that a parameter names; empty if it names none.
  private static func forms(_ name: String, _ side: Side, isShort: Bool = false) -> [Form] {
    switch name {
    case "run":
      if isShort { return side.runs.prefix(2).map { Form($0) } }
      return side.runs.prefix(3).flatMap { forms(ofRun: $0, of: side.word) }
    case "recipe", "recipes":
      return [
        Form(side.word), Form("\(side.word)-asks", side.word), Form(side.word.uppercased()), Form(" \(side.word)"),
      ]
    case "id", "schedule": return side.schedules.flatMap { forms(ofSchedule: $0, of: side.word) }
    case "digest", "plan":
      return [Form(side.digest), Form(String(side.digest.prefix(12))), Form(side.digest.uppercased())]
    case "name", "token", "version", "worker": return [Form(side.token, side.word)]
    case "cursor":
      let run = side.runs[0]
      return [
        Form("open:\(run)", run), Form(run), Form("2026-11-20T09:00:00Z_\(run)", run),
        Form("2026-11-20T09:00:00Z_\(side.word)/nightly", side.word),
      ]
    default: return []
    }
  }

  /// Whether the text of a schema is an instant.
  private static func isInstant(_ schema: Value) -> Bool { schema["format"]?.string == "date-time" }

  /// Values of a parameter that names no thing.
  private static func values(_ name: String, _ schema: Value) -> [String] {
    let schema: Value = schema["items"] ?? schema
    if let words = schema["enum"]?.list { return words.compactMap(\.string) }
    if isInstant(schema) { return ["2026-01-01T00:00:00Z", "2030-01-01T00:00:00Z"] }
    switch schema["type"]?.string {
    case "boolean": return ["true", "false"]
    case "integer": return name == "limit" ? ["1", "3", "200"] : ["0", "2", "100000"]
    default: return name == "step" ? ["said", "ask"] : ["x"]
    }
  }

  /// A member of a body, as JSON.
  private static func sample(_ name: String, _ schema: Value) -> Value {
    if let word = schema["enum"]?.list?.first { return word }
    if isInstant(schema) { return .string(name == "to" ? "2026-01-03T00:00:00Z" : "2026-01-01T00:00:00Z") }
    switch schema["type"]?.string {
    case "boolean": return .bool(true)
    case "integer": return .int(1)
    case "object": return .object([:])
    case "array": return .list([])
    default: return .string(name == "step" ? "ask" : "x")
    }
  }

  /// A body with some members replaced.
  private static func body(_ route: Served, _ given: [String: Value] = [:], isWhole: Bool = false) -> String {
    var map = ValueMap()
    for (name, schema) in route.members where isWhole || route.required.contains(name) || given[name] != nil {
      map[name] = given[name] ?? sample(name, schema)
    }
    return JSON.displayed(.map(map))
  }

  /// The bodies to send besides the least one, well formed and malformed.
  private static func bodies(_ route: Served) -> [String?] {
    guard route.method == "POST" else { return [nil] }
    return [body(route), body(route, isWhole: true), "", "{}", "{", "[1]", #"{"nothing":1}"#]
  }

  // MARK: Generating

  /// The requests of a route whose path names a thing, for a form of its name.
  private static func asks(_ route: Served, _ form: Form, isWhole: Bool) -> [Ask] {
    let path = route.filled(form.segment)
    func ask(_ query: String, _ body: String?) -> Ask {
      Ask(method: route.method, path: path + query, body: body, sent: form.sent, isStream: route.isStream)
    }
    guard isWhole else { return [ask("", route.method == "POST" ? body(route) : nil)] }
    var asks = bodies(route).map { ask("", $0) }
    for (name, schema) in route.query {
      for value in values(name, schema) { asks.append(ask("?\(name)=\(PercentEncoding.encode(value))", nil)) }
    }
    return asks
  }

  private static func pairs(_ theirs: [Ask], _ missing: [Ask]) -> [Pair] {
    zip(theirs, missing).map { Pair(theirs: $0, missing: $1) }
  }

  /// The pairs of the API about the things of a side, in paths, queries and bodies.
  private static func pairs(_ route: Served, _ side: Side, own: Side) -> [Pair] {
    let missing = side.missing
    var found: [Pair] = []
    if let name = route.names.first {
      let (known, unknown) = (forms(name, side), forms(name, missing))
      // A route with another kind of name would be left out.
      #expect(!known.isEmpty, "the things that '\(name)' of \(route.path) names are not known here")
      for (index, pair) in zip(known, unknown).enumerated() {
        found += pairs(asks(route, pair.0, isWhole: index == 0), asks(route, pair.1, isWhole: index == 0))
      }
    }
    let path = route.names.first.map { route.filled(PercentEncoding.encode(thing($0, own))) } ?? route.path
    for (name, _) in route.query {
      for (known, unknown) in zip(forms(name, side), forms(name, missing)) {
        func ask(_ form: Form) -> Ask {
          Ask(
            method: route.method, path: "\(path)?\(name)=\(PercentEncoding.encode(form.text))", sent: form.sent,
            isStream: route.isStream)
        }
        found.append(Pair(theirs: ask(known), missing: ask(unknown)))
      }
    }
    return found + pairsInBodies(route, path, side, missing)
  }

  private static func pairsInBodies(_ route: Served, _ path: String, _ side: Side, _ missing: Side) -> [Pair] {
    guard route.method == "POST" else { return [] }
    var found: [Pair] = []
    for (name, _) in route.members where !route.names.contains(name) {
      if name == "id" { continue }
      for (known, unknown) in zip(forms(name, side), forms(name, missing)) where name != "name" {
        func ask(_ form: Form) -> Ask {
          Ask(method: "POST", path: path, body: body(route, [name: .string(form.text)]), sent: form.sent)
        }
        found.append(Pair(theirs: ask(known), missing: ask(unknown)))
      }
    }
    return found
  }

  /// A caller's own thing.
  private static func thing(_ name: String, _ own: Side) -> String {
    switch name {
    case "run": own.runs[0]
    case "id", "schedule": own.schedules[0]
    case "digest", "plan": own.digest
    case "recipe": own.word
    default: own.token
    }
  }

  /// The requests of a route about the caller's own things.
  private static func ownAsks(_ route: Served, _ own: Side) -> [Ask] {
    guard let name = route.names.first else {
      var asks = bodies(route).map { Ask(method: route.method, path: route.path, body: $0, isStream: route.isStream) }
      if route.isStream { asks = Array(asks.prefix(1)) }
      for (name, schema) in route.query {
        let texts = forms(name, own).map(\.text)
        for value in texts.isEmpty ? values(name, schema) : texts {
          asks.append(Ask(method: route.method, path: "\(route.path)?\(name)=\(PercentEncoding.encode(value))"))
        }
      }
      return asks
    }
    if route.isStream { return asks(route, Form(own.runs[0]), isWhole: false) }
    var found = forms(name, own).flatMap { asks(route, $0, isWhole: false) }
    found += asks(route, Form(thing(name, own)), isWhole: true)
    if name == "run" {
      for run in ["last"] + own.runs { found += asks(route, Form(run), isWhole: false) }
    }
    return found
  }

  /// The pairs of keys and events that another used.
  private static func pairsOfKeys(_ side: Side, own: Side) -> [Pair] {
    func start(_ key: String) -> Ask {
      Ask(
        method: "POST", path: "/api/v1/recipes/\(own.word)/runs", body: "{}", headers: ["Idempotency-Key": key],
        sent: [key])
    }
    func event(_ id: String) -> Ask {
      Ask(
        method: "POST", path: "/api/v1/events",
        body: #"{"name":"unheard","id":"\#(id)","run":"\#(own.runs[0])"}"#, sent: [id])
    }
    func unnamed(_ id: String) -> Ask {
      Ask(method: "POST", path: "/api/v1/events", body: #"{"name":"unheard","id":"\#(id)"}"#, sent: [id])
    }
    // A text of the same length that this caller hasn't used for another side.
    func unused(_ text: String) -> String { String(text.dropLast() + side.word.prefix(1)) }
    let (key, id) = (unused(side.missing.key), unused(side.missing.event))
    return [
      Pair(theirs: start(side.key), missing: start(key)),
      Pair(theirs: event(side.event), missing: event(id)),
      Pair(theirs: unnamed(side.event), missing: unnamed(id)),
    ]
  }

  /// A request in the exact form, as `errand --remote` sends it.
  private static func operation(
    _ name: String, _ inputs: [(String, Value)], _ sent: [String], isStream: Bool = false
  ) -> Ask {
    Ask(
      method: "POST", path: "/api/v1/operations/\(name)", body: JSON.displayed(.map(ValueMap(inputs))),
      headers: [
        "Errand-Program": Program.identity, "Accept": "application/vnd.errand.exact+json\(isStream ? "l" : "")",
      ], sent: sent, isStream: isStream)
  }

  private static func operations(_ side: Side) -> [Ask] {
    var asks: [Ask] = []
    for form in forms("run", side) {
      for name in [
        "show", "find", "explain", "steps", "logs", "cancel", "pause", "retry", "delete", "follow", "resume",
      ] {
        asks.append(operation(name, [("run", .string(form.text))], form.sent))
      }
    }
    for form in forms("schedule", side) {
      for name in ["schedule", "explainSchedule", "pauseSchedule", "resumeSchedule", "trigger", "resetSchedule"] {
        asks.append(operation(name, [("id", .string(form.text))], form.sent))
      }
      for name in ["slots", "upcoming"] {
        asks.append(operation(name, [("schedule", .string(form.text))], form.sent))
      }
    }
    for form in forms("recipe", side) {
      for name in ["recipe", "start", "plan", "runs"] {
        asks.append(operation(name, [("recipe", .string(form.text))], form.sent))
      }
      // A caller may limit itself, and sees no more by that.
      for name in ["runs", "recipes"] {
        asks.append(operation(name, [(".recipes", .list([.string(form.text)]))], form.sent))
      }
    }
    for form in forms("digest", side) {
      asks.append(operation("showPlan", [("digest", .string(form.text))], form.sent))
    }
    return asks
  }

  /// Streams in the exact form about the things of a side.
  private static func exactStreams(_ side: Side) -> [Ask] {
    forms("run", side, isShort: true).flatMap { form in
      ["follow", "resume"].map { operation($0, [("run", .string(form.text))], form.sent, isStream: true) }
    }
  }

  /// The lists in the exact form.
  private static func ownOperations(_ own: Side) -> [Ask] {
    let lists = [
      "runs", "schedules", "slots", "upcoming", "approvals", "recipes", "tools", "status", "actions", "connections",
      "tokens", "workers", "watch", "submit", "value",
    ]
    var asks = lists.map { operation($0, [], []) }
    for run in own.runs + ["last", own.word] {
      for name in ["show", "find", "explain", "steps", "logs", "follow"] {
        asks.append(operation(name, [("run", .string(run))], []))
      }
      let about = Value.object([
        "run": .string(run), "cause": .object(["kind": .string("manual")]), "group": .string("shared"),
        "awaits": .list([.string("\(second)never"), .string("\(first)never")]),
      ])
      asks.append(operation("why", [("about", about)], ["\(second)never", "\(first)never"]))
    }
    return asks
  }

  private static func tool(_ name: String, _ arguments: String, _ sent: [String]) -> Ask {
    let params = #"{"name":"\#(name)","arguments":\#(arguments)}"#
    return Ask(
      method: "POST", path: "/mcp",
      body: #"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":\#(params)}"#, sent: sent)
  }

  private static func tools(_ side: Side) -> [Ask] {
    var asks: [Ask] = []
    for form in forms("run", side) {
      for name in ["errand_run", "errand_why"] {
        asks.append(tool(name, JSON.displayed(.object(["run": .string(form.text)])), form.sent))
      }
    }
    for form in forms("recipe", side) {
      asks.append(tool("errand_runs", JSON.displayed(.object(["recipe": .string(form.text)])), form.sent))
      asks.append(tool(form.text, "{}", form.sent))
    }
    for form in forms("cursor", side) {
      asks.append(tool("errand_runs", JSON.displayed(.object(["cursor": .string(form.text)])), form.sent))
    }
    return asks
  }

  private static func ownTools(_ own: Side) -> [Ask] {
    let list = #"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#
    var asks = [
      Ask(method: "POST", path: "/mcp", body: list), tool("errand_runs", "{}", []), tool("errand_actions", "{}", []),
      tool("errand_check", #"{"text":"steps: []"}"#, []), tool(own.word, "{}", []),
      tool("errand_runs", #"{"limit":1}"#, []), tool("errand_runs", #"{"status":["waiting"]}"#, []),
    ]
    for run in own.runs + ["last", own.word] {
      for name in ["errand_run", "errand_why"] {
        asks.append(tool(name, JSON.displayed(.object(["run": .string(run)])), []))
      }
    }
    return asks
  }

  private static func page(_ path: String, form: String? = nil, _ sent: [String]) -> Ask {
    var headers: HTTPHeaders = ["Accept": "text/html"]
    if form != nil { headers["Content-Type"] = "application/x-www-form-urlencoded" }
    return Ask(method: form == nil ? "GET" : "POST", path: path, body: form, headers: headers, sent: sent)
  }

  /// The pages and forms about the things of a side.
  private static func pages(_ side: Side) -> [Ask] {
    var asks: [Ask] = []
    for form in forms("run", side) {
      for rest in ["", "/logs", "/steps/said"] { asks.append(page("/runs/\(form.segment)\(rest)", form.sent)) }
      asks.append(page("/approvals/\(form.segment)/ask", form.sent))
    }
    for form in forms("run", side, isShort: true) {
      for verb in ["pause", "resume", "cancel", "retry", "delete"] {
        asks.append(page("/runs/\(form.segment)/\(verb)", form: "reason=x&key=k", form.sent))
      }
      asks.append(page("/runs/\(form.segment)/decide", form: "choice=approve&step=ask", form.sent))
      asks.append(page("/runs/\(form.segment)/resolve", form: "as=done&step=ask", form.sent))
    }
    for form in forms("recipe", side) {
      asks.append(page("/recipes/\(form.segment)", form.sent))
      asks.append(page("/runs?recipe=\(form.segment)", form.sent))
      for verb in ["start", "plan"] { asks.append(page("/recipes/\(form.segment)/\(verb)", form: "key=k", form.sent)) }
    }
    for form in forms("schedule", side) {
      asks.append(page("/schedules/\(form.segment)", form.sent))
      for verb in ["pause", "resume", "trigger"] {
        asks.append(page("/schedules/\(form.segment)/\(verb)", form: "note=x", form.sent))
      }
    }
    for form in forms("digest", side) {
      asks.append(page("/plans/\(form.segment)", form.sent))
      for verb in ["run", "again"] { asks.append(page("/plans/\(form.segment)/\(verb)", form: "key=k", form.sent)) }
    }
    return asks
  }

  private static func ownPages(_ own: Side) -> [Ask] {
    var paths = [
      "/", "/runs", "/approvals", "/recipes", "/schedules", "/schedules?week=2026-01-01", "/connections", "/state",
      "/help", "/plans/\(own.digest)", "/metrics", "/healthz", "/readyz", "/openapi.json", "/problems/notFound",
      "/runs?status=failed", "/runs?since=2026-01-01", "/login", "/runs/last", "/runs/last/logs",
    ]
    for name in recipes(of: own.word).keys.sorted() { paths.append("/recipes/\(name)") }
    for id in own.schedules { paths.append("/schedules/\(PercentEncoding.encode(id))") }
    for run in own.runs {
      paths += ["/runs/\(run)", "/runs/\(run)/logs", "/runs/\(run)/steps/said", "/approvals/\(run)/ask"]
    }
    return paths.map { page($0, []) }
  }

  // MARK: Comparing

  /// What no answer to a token may hold.
  private struct Marks: Sendable {
    var words: [String]
    /// The ends of the ids of runs, and the digests of plans.
    var digits: Set<String>

    /// A mark in a text; nil if it has none.
    func found(in text: String) -> String? {
      if let word = words.first(where: { text.contains($0) }) { return word }
      let pieces = text.utf8.split { byte in !(0x30...0x39).contains(byte) && !(0x61...0x66).contains(byte) }
      for piece in pieces where piece.count >= 12 {
        let piece = String(decoding: piece, as: UTF8.self)
        if digits.contains(piece) { return piece }
      }
      return nil
    }
  }

  /// The answers of one token, which are looked at when all runs are known.
  private struct Report: Sendable {
    var answers: [(ask: Ask, answer: Answer)] = []
    var differences: [String] = []

    mutating func add(_ asks: [Ask], _ answers: [Answer]) {
      self.answers += zip(asks, answers).map { (ask: $0, answer: $1) }
    }

    mutating func compare(_ pairs: [Pair], _ theirs: [Answer], _ missing: [Answer]) {
      #expect(theirs.count == pairs.count && missing.count == pairs.count)
      for (index, pair) in pairs.enumerated() {
        let known = theirs[index].without(pair.theirs.sent)
        let unknown = missing[index].without(pair.missing.sent)
        guard known != unknown, LimitTests.unnamed(known) != LimitTests.unnamed(unknown) else { continue }
        differences.append(
          "\(pair.theirs.words)\n  another's: \(known.prefix(700))\n  nobody's (\(pair.missing.path)): \(unknown.prefix(700))"
        )
      }
      add(pairs.map(\.theirs), theirs)
      add(pairs.map(\.missing), missing)
    }

    /// The answers with a mark of another recipe.
    func leaks(_ marks: Marks) -> [String] {
      answers.compactMap { ask, answer in
        guard let mark = marks.found(in: answer.without(ask.sent)) else { return nil }
        let text = "\(answer.headers)\n\(answer.text)"
        let place = text.range(of: mark).map { text.distance(from: text.startIndex, to: $0.lowerBound) } ?? 0
        return "\(ask.words)\n  \(answer.status), '\(mark)' in: …\(text.dropFirst(max(0, place - 200)).prefix(500))…"
      }
    }
  }

  /// A text without the ids of runs, which differ where both requests start one.
  private static func unnamed(_ text: String) -> String {
    text.replacing(#/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/#, with: "ID")
  }

  // MARK: Asking

  /// A token that is limited to the recipes of a side.
  private struct Limited: Sendable {
    /// Its number among the callers.
    var number: Int
    var own: Side
    var others: [Side]
    var token: String
    var seesData: Bool
    var report = Report()

    /// The sides that it asks about, each with the part of the requests.
    private var turns: [(side: Side, sample: Sample)] {
      others.enumerated().map { ($1, Sample(turn: number * others.count + $0)) }
    }

    /// Asks pairs, and compares their answers.
    mutating func ask(_ pairs: [Pair], _ sender: Sender) async throws {
      let asks = pairs.flatMap { [$0.theirs, $0.missing] }
      let answers = try await sender.send(asks, token)
      let theirs = stride(from: 0, to: answers.count, by: 2).map { answers[$0] }
      let missing = stride(from: 1, to: answers.count, by: 2).map { answers[$0] }
      report.compare(pairs, theirs, missing)
    }

    mutating func ask(_ asks: [Ask], _ sender: Sender) async throws {
      report.add(asks, try await sender.send(asks, token))
    }

    /// Everything about others, of which nothing may change anything; and what reads the caller's own.
    mutating func look(_ routes: [Served], _ sender: Sender) async throws {
      var pairs: [Pair] = []
      for (side, sample) in turns {
        var sample = sample
        // What starts runs of the caller's own changes its lists, so it comes last.
        for route in routes {
          pairs += sample.part(
            of: LimitTests.pairs(route, side, own: own).filter {
              $0.theirs.method != "POST" || route.path.contains("{")
            })
        }
        let missing = side.missing
        for (known, unknown) in [
          (LimitTests.operations(side), LimitTests.operations(missing)),
          (LimitTests.tools(side), LimitTests.tools(missing)), (LimitTests.pages(side), LimitTests.pages(missing)),
        ] { pairs += sample.part(of: LimitTests.pairs(known, unknown)) }
        pairs += LimitTests.pairs(LimitTests.exactStreams(side), LimitTests.exactStreams(missing))
      }
      let isReading = { (pair: Pair) in pair.theirs.method == "GET" }
      try await ask(pairs.filter(isReading), sender)
      try await ask(pairs.filter { !isReading($0) }, sender)
      var sample = Sample(turn: number)
      var asks: [Ask] = []
      for list in [LimitTests.ownPages(own), LimitTests.ownOperations(own), LimitTests.ownTools(own)] {
        asks += sample.part(of: list)
      }
      for route in routes where route.method == "GET" && !route.isStream {
        asks += sample.part(of: LimitTests.ownAsks(route, own))
      }
      try await ask(asks, sender)
    }

    /// What changes the caller's own things.
    mutating func change(_ routes: [Served], _ sender: Sender) async throws {
      try await ask(others.flatMap { LimitTests.pairsOfKeys($0, own: own) }, sender)
      var pairs: [Pair] = []
      for (side, sample) in turns {
        var sample = sample
        for route in routes where route.method == "POST" && !route.path.contains("{") {
          pairs += sample.part(of: LimitTests.pairs(route, side, own: own))
        }
      }
      try await ask(pairs, sender)
      var sample = Sample(turn: number)
      for method in ["POST", "DELETE"] {
        var asks: [Ask] = []
        for route in routes where route.method == method { asks += sample.part(of: LimitTests.ownAsks(route, own)) }
        try await ask(asks, sender)
      }
    }
  }

  @Test func `a limited token is told nothing of other recipes, and not whether they exist`() async throws {
    let bench = try await Self.serve()
    let names = RunState.TokenScope.allCases.map(\.rawValue)
    let owner = Owner(bench: bench, token: try await bench.token("owner", names.flatMap { ["--scope", $0] }))
    for word in [Self.first, Self.second, Self.hidden] { try await Self.ready(word, owner) }
    // The first has the place in the group for which the others wait.
    let nobodys = try await Self.side(Self.hidden, owner)
    let sides = [try await Self.side(Self.first, owner), try await Self.side(Self.second, owner)]
    _ = try await owner.run(Self.upstream, until: "succeeded")
    for side in sides {
      _ = try await owner.begun("\(side.word)-after")
      try await owner.settle("\(side.word)-after")
    }
    _ = try await owner.begun(Self.handler)

    let document = try await bench.send("GET", "/openapi.json", owner.token).json
    let routes = Self.routes(in: document)
    #expect(routes.count > 20)
    let sender = Sender(url: bench.url)
    var callers: [Limited] = []
    for (index, side) in sides.enumerated() {
      for (suffix, scopes) in [("all", names), ("blind", names.filter { $0 != "data" })] {
        let limits = Self.recipes(of: side.word).keys.sorted().flatMap { ["--recipe", $0] }
        let token = try await bench.token(side.word + suffix, scopes.flatMap { ["--scope", $0] } + limits)
        callers.append(
          Limited(
            number: callers.count, own: side, others: [sides[1 - index], nobodys], token: token,
            seesData: scopes.contains("data")))
      }
    }
    for index in callers.indices { try await callers[index].look(routes, sender) }
    try await Self.follow(&callers, routes, sender, owner)
    for index in callers.indices { try await callers[index].change(routes, sender) }
    try await Self.judge(callers, owner)
    await bench.end()
  }

  /// Reads the streams of all callers while runs of all recipes change.
  private static func follow(
    _ callers: inout [Limited], _ routes: [Served], _ sender: Sender, _ owner: Owner
  ) async throws {
    for index in callers.indices {
      let (own, token, seesData) = (callers[index].own, callers[index].token, callers[index].seesData)
      let documented = routes.filter(\.isStream).flatMap { ownAsks($0, own) }
      let exact = [
        operation("watch", [], [], isStream: true),
        operation("follow", [("run", .string(own.runs[0]))], [], isStream: true),
      ]
      async let streams = sender.send(documented + exact, token)
      for word in [first, second, hidden] {
        try await owner.start(word)
        try await owner.start("\(word)-fails")
        try await owner.start("\(word)-queue")
      }
      try await owner.start(upstream)
      let answers = try await streams
      #expect(
        answers.prefix(documented.count).allSatisfy { $0.status == 200 && $0.text.contains("event: ") }, "\(answers)")
      // Records hold what runs are about.
      #expect(
        answers.suffix(exact.count).allSatisfy { answer in
          seesData
            ? answer.status == 200 && (answer.text.contains("{\"notice\":") || answer.text.contains("{\"run\":"))
            : answer.status == 403
        }, "\(answers)")
      callers[index].report.add(documented + exact, answers)
    }
  }

  /// Looks at all answers, now that all runs are known.
  private static func judge(_ callers: [Limited], _ owner: Owner) async throws {
    let runs = try await owner.runs()
    var counts: [String: Int] = [:]
    for caller in callers {
      let own = caller.own
      let foreign = runs.filter { !$0.recipe.hasPrefix(own.word) }.map { String($0.id.suffix(12)) }
      #expect(foreign.count > 20)
      let marks = Marks(
        words: [first, second, hidden, handler].filter { $0 != own.word },
        digits: Set(foreign + caller.others.map(\.digest)))
      let leaks = caller.report.leaks(marks)
      for leak in leaks.prefix(25) { Issue.record("\(own.word) is told of another recipe: \(leak)") }
      for difference in caller.report.differences.prefix(25) {
        Issue.record("\(own.word) is answered otherwise about another's thing: \(difference)")
      }
      #expect(leaks.isEmpty && caller.report.differences.isEmpty)
      counts[own.word, default: 0] += caller.report.answers.count
    }
    let least = isWhole ? 1000 : 100
    for (word, count) in counts { #expect(count >= least, "\(count) requests were sent for \(word)") }
    #expect(
      counts.count == 2, "requests: \(counts.map { "\($0.key) \($0.value)" }.sorted().joined(separator: ", "))")
  }
}
