import AgentPages
import Basics
import Foundation
import HTTPClient
import Testing

@testable import errand

/// The API of `errand serve` over real HTTP: permissions and answers.
@Suite(.timeLimit(.minutes(20))) struct APITests {
  static let ask = """
    inputs: { name: { type: string } }
    steps:
      - id: ask
        approve: { prompt: "Greet ${{ inputs.name }}?" }
      - let: { words: "Hello ${{ inputs.name }}" }
    outputs: { words: "${{ words }}" }
    """
  static let sum = """
    inputs: { n: { type: int, default: 1 } }
    on: [{ cron: "0 5 * * *" }]
    steps: [{ let: { m: "${{ inputs.n + 1 }}" } }]
    outputs: { m: "${{ m }}" }
    """

  /// An agent that listens on a port of its own.
  final class Bench: Sendable {
    let program: Program
    let agent: Serving
    let url: String

    private init(_ program: Program, isSandbox: Bool = false) async throws {
      self.program = program
      agent = isSandbox ? try program.serve("serve", "--sandbox") : try program.serve("serve")
      let line = try #require(await agent.line(with: "listens on http://"))
      url = "http://" + (line.components(separatedBy: "http://").last ?? "")
      _ = await agent.line(with: " serves ")
    }

    /// The same folder, served by another agent.
    func restarted() async throws -> Bench {
      agent.signal(SIGTERM)
      #expect(await agent.end() == 0)
      return try await Bench(program)
    }

    /// - Parameters:
    ///   - settings: More settings of `server`, after a comma.
    ///   - more: More of errand.yaml.
    convenience init(
      isSandbox: Bool = false, settings: String = "", more: String = "", _ recipes: [String: String] = [:]
    ) async throws {
      let program = try await Program()
      let old = try program.read("errand.yaml")
      try program.write(
        old + "zone: Europe/Berlin\nserver: { listen: 127.0.0.1:0\(settings) }\n\(more)", to: "errand.yaml")
      try FileManager.default.createDirectory(
        at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
      try program.write(APITests.ask, to: "recipes/ask.yaml")
      try program.write(APITests.sum, to: "recipes/sum.yaml")
      for (name, text) in recipes { try program.write(text, to: "recipes/\(name).yaml") }
      try await self.init(program, isSandbox: isSandbox)
    }

    func token(_ name: String, _ arguments: String...) async throws -> String { try await token(name, arguments) }

    func token(_ name: String, _ arguments: [String]) async throws -> String {
      let made = try await program.call(["token", "new", name] + arguments)
      #expect(made.code == 0, "\(made.error)")
      return made.out.trimmingCharacters(in: .newlines)
    }

    func send(
      _ method: String, _ path: String, _ token: String?, _ body: String? = nil,
      headers more: HTTPHeaders = [:]
    ) async throws -> (status: Int, json: Value, headers: HTTPHeaders) {
      var headers = more
      if let token { headers["Authorization"] = "Bearer \(token)" }
      if body != nil, headers["Content-Type"] == nil {
        headers["Content-Type"] = "application/json"
      }
      let request = HTTPRequest(
        method, url + path, headers: headers, body: body.map { Array($0.utf8) })
      let answer = try await HTTPClient().send(request)
      return (answer.status, (try? JSON.parse(answer.body)) ?? .null, answer.headers)
    }

    func end() async {
      agent.signal(SIGTERM)
      #expect(await agent.end() == 0)
      await program.remove()
    }
  }

  /// A request outside the document's limits is refused, and one within them isn't: the code that reads requests has
  /// the same limits.
  @Test func `the document's limits are those of the readers`() async throws {
    let bench = try await Bench()
    let all = try await bench.token("all", "--scope", "read", "--scope", "start", "--scope", "steer", "--scope", "data")
    let document = try await bench.send("GET", "/openapi.json", all).json
    let run = try await bench.send("POST", "/api/v1/recipes/sum/runs", all, "{}").json["run"]?.string ?? ""
    func member(_ path: String, _ method: String) -> Value? { document["paths"]?["/api/v1\(path)"]?[method] }
    for path in ["/runs", "/slots", "/approvals", "/upcoming", "/runs/{run}/logs"] {
      for parameter in member(path, "get")?["parameters"]?.list ?? [] where parameter["in"]?.string == "query" {
        let (name, schema) = (parameter["name"]?.string ?? "", parameter["schema"] ?? .null)
        func status(_ text: String) async throws -> Int {
          let path = path.replacingOccurrences(of: "{run}", with: run)
          return try await bench.send("GET", "/api/v1\(path)?\(name)=\(text)", all).status
        }
        switch schema["type"]?.string {
        case "integer":
          let (least, most) = (try #require(schema["minimum"]?.int), try #require(schema["maximum"]?.int))
          #expect(try await status("\(least)") == 200, "\(path) \(name)")
          #expect(try await status("\(most)") == 200, "\(path) \(name)")
          #expect(try await status("\(least - 1)") == 400, "\(path) \(name)")
          #expect(try await status(most == .max ? "9223372036854775808" : "\(most + 1)") == 400, "\(path) \(name)")
        case "string" where schema["format"] == nil && schema["enum"] == nil:
          let isAllowed = schema["minLength"] == nil
          #expect((try await status("") == 400) != isAllowed, "\(path) \(name)")
        default: break
        }
      }
    }
    let retry = member("/runs/{run}/retry", "post")?["requestBody"]?["content"]?["application/json"]?["schema"]
    #expect(retry?["dependentRequired"] == .object(["step": .list([.string("output")])]))
    #expect(try await bench.send("POST", "/api/v1/runs/\(run)/retry", all, #"{"step":"a"}"#).status == 400)
    let event = member("/events", "post")?["requestBody"]?["content"]?["application/json"]?["schema"]?["properties"]
    #expect(event?["name"]?["minLength"]?.int == 1 && event?["id"]?["maxLength"]?.int == 256, "\(event ?? .null)")
    #expect(try await bench.send("POST", "/api/v1/events", all, #"{"name":""}"#).status == 400)
    let ids = [(1, 202), (256, 202), (0, 400), (257, 400)]
    for (length, status) in ids {
      let id = String(repeating: "i", count: length)
      #expect(try await bench.send("POST", "/api/v1/events", all, #"{"name":"a","id":"\#(id)"}"#).status == status)
    }
    await bench.end()
  }

  @Test func `a run is started, followed, approved and displayed`() async throws {
    let bench = try await Bench()
    let token = try await bench.token(
      "ada", "--scope", "read", "--scope", "data", "--scope", "start", "--scope", "approve")
    let started = try await bench.send(
      "POST", "/api/v1/recipes/ask/runs", token, #"{"inputs":{"name":"Ada"}}"#)
    #expect(started.status == 202)
    let id = try #require(started.json["run"]?.string)
    #expect(started.headers["Location"] == "/api/v1/runs/\(id)")
    var displayed = try await bench.send("GET", "/api/v1/runs/\(id)", token)
    while displayed.json["status"]?.string != "waiting" {
      displayed = try await bench.send("GET", "/api/v1/runs/\(id)", token)
    }
    #expect(displayed.json["openSteps"]?.list?.first?["prompt"]?.string == "Greet Ada?")
    let why = try await bench.send("GET", "/api/v1/runs/\(id)/why", token)
    #expect(why.json["text"]?.string?.contains("Greet Ada?") == true)
    // The stream begins with the run as it is, and ends with its end.
    async let stream = HTTPClient().send(
      HTTPRequest(
        "GET", "\(bench.url)/api/v1/runs/\(id)/events",
        headers: ["Authorization": "Bearer \(token)"]))
    let decided = try await bench.send(
      "POST", "/api/v1/runs/\(id)/decisions", token, #"{"approved":true}"#)
    #expect(decided.status == 200 && decided.json["step"]?.string == "ask")
    let text = String(decoding: try await stream.body, as: UTF8.self)
    #expect(text.hasPrefix("event: snapshot\ndata: {\"id\":\"\(id)\""))
    #expect(text.contains("event: ended\ndata: ") && text.contains("\"words\":\"Hello Ada\""))
    let steps = try await bench.send("GET", "/api/v1/runs/\(id)/steps?limit=1", token)
    #expect(steps.json["items"]?.list?.first?["path"]?.string == "ask")
    // The decision is recorded under the token's name.
    let record = try await bench.program.call("runs", "show", id, "--json")
    #expect(record.out.contains("\"by\": \"ada\""), "\(record.out)")
    await bench.end()
  }

  @Test func `a key starts one run, and a caller may wait for the end`() async throws {
    let bench = try await Bench()
    let token = try await bench.token(
      "shop", "--scope", "start", "--scope", "read", "--scope", "data")
    let other = try await bench.token("other", "--scope", "start")
    let path = "/api/v1/recipes/sum/runs"
    let key: HTTPHeaders = ["Idempotency-Key": "2026-11"]
    let first = try await bench.send("POST", path, token, #"{"inputs":{"n":4}}"#, headers: key)
    #expect(first.status == 202 && first.json["isNew"] == .bool(true))
    let again = try await bench.send("POST", path, token, #"{"inputs":{"n":4}}"#, headers: key)
    #expect(
      again.status == 202 && again.json["isNew"] == .bool(false)
        && again.json["run"] == first.json["run"])
    let changed = try await bench.send("POST", path, token, #"{"inputs":{"n":5}}"#, headers: key)
    #expect(changed.status == 422 && changed.json["kind"]?.string == "usedKey")
    // Another caller's key is another key.
    let foreign = try await bench.send("POST", path, other, #"{"inputs":{"n":5}}"#, headers: key)
    #expect(foreign.status == 202 && foreign.json["run"] != first.json["run"])
    let waited = try await bench.send(
      "POST", path, token, #"{"inputs":{"n":6}}"#, headers: ["Prefer": "wait=30"])
    #expect(waited.status == 200 && waited.json["outputs"]?["m"] == .int(7))
    #expect(waited.headers["Preference-Applied"] == "wait=30")
    // Who may not read waits for nothing.
    let blind = try await bench.send("POST", path, other, #"{"inputs":{"n":7}}"#, headers: ["Prefer": "wait=30"])
    #expect(blind.status == 202 && blind.json["outputs"] == nil && blind.headers["Preference-Applied"] == nil)
    let useless = try await bench.send("POST", "/api/v1/runs/last/pause", token, headers: key)
    #expect(useless.status == 403)
    await bench.end()
  }

  @Test func `a key makes one of a retry, a start out of turn, a backfill and an event`()
    async throws
  {
    let bench = try await Bench()
    try bench.program.write("steps: [{ fail: no paper }]", to: "recipes/broken.yaml")
    _ = await bench.agent.line(with: "broken")
    let token = try await bench.token(
      "shop", "--scope", "read", "--scope", "start", "--scope", "steer")
    let key: HTTPHeaders = ["Idempotency-Key": "2026-11"]
    let failed = try await bench.send(
      "POST", "/api/v1/recipes/broken/runs", token, "{}", headers: ["Prefer": "wait=30"])
    let run = try #require(failed.json["id"]?.string)
    let first = try await bench.send("POST", "/api/v1/runs/\(run)/retry", token, headers: key)
    #expect(
      first.status == 202 && first.json["isNew"] == .bool(true)
        && first.json["retries"]?.string == run)
    let again = try await bench.send("POST", "/api/v1/runs/\(run)/retry", token, headers: key)
    #expect(
      again.status == 202 && again.json["isNew"] == .bool(false)
        && again.json["run"] == first.json["run"])
    let other = try await bench.send(
      "POST", "/api/v1/runs/\(run)/retry", token, #"{"output":1}"#, headers: key)
    #expect(other.status == 422 && other.json["kind"]?.string == "usedKey")
    let trigger = "/api/v1/schedules/sum/trigger"
    let started = try await bench.send("POST", trigger, token, headers: key)
    let startedAgain = try await bench.send("POST", trigger, token, headers: key)
    let slot = try #require(started.json["items"]?.list?.first?["run"])
    #expect(startedAgain.json["items"]?.list?.first?["run"] == slot)
    #expect(
      try await bench.send("POST", trigger, token, #"{"inputs":{"n":2}}"#, headers: key).status
        == 422)
    let backfill = "/api/v1/schedules/sum/backfill"
    let span = #"{"from":"2026-11-01T00:00:00Z","to":"2026-11-03T00:00:00Z","overlap":"allowAll"}"#
    let filled = try await bench.send("POST", backfill, token, span, headers: key)
    #expect(filled.json["items"]?.list?.count == 2, "\(filled.json)")
    let filledAgain = try await bench.send("POST", backfill, token, span, headers: key)
    #expect(filledAgain.status == 200 && filledAgain.json["items"] == .list([]))
    let event = try await bench.send(
      "POST", "/api/v1/events", token, #"{"name":"paid"}"#, headers: key)
    #expect(event.status == 202 && event.json["event"]?.string == "2026-11")
    let eventAgain = try await bench.send(
      "POST", "/api/v1/events", token, #"{"name":"paid"}"#, headers: key)
    #expect(eventAgain.status == 200 && eventAgain.json["isNew"] == .bool(false))
    let cloud =
      #"{"specversion":"1.0","id":"e-7","source":"/shop","type":"paid","subject":"x","data":{"n":1}}"#
    let type: HTTPHeaders = ["Content-Type": "application/cloudevents+json; charset=utf-8"]
    let sent = try await bench.send("POST", "/api/v1/events", token, cloud, headers: type)
    #expect(sent.status == 202 && sent.json["event"]?.string == "/shop e-7", "\(sent.json)")
    #expect(try await bench.send("POST", "/api/v1/events", token, cloud, headers: type).status == 200)
    // Its source and its id together say which event it is.
    let elsewhere = cloud.replacingOccurrences(of: "/shop", with: "/stall")
    for (body, key, id) in [
      (elsewhere, "e-7", "/stall e-7"),
      (#"{"id":"e-7","name":"paid"}"#, "e-7", "e-7"),
      (elsewhere.replacingOccurrences(of: "e-7", with: String(repeating: "e", count: 300)), nil, nil),
    ] {
      var head = body.contains("specversion") ? type : [:]
      if let key { head["Idempotency-Key"] = key }
      let first = try await bench.send("POST", "/api/v1/events", token, body, headers: head)
      #expect(first.status == 202 && (id == nil || first.json["event"]?.string == id), "\(first.json)")
      #expect(first.json["event"]?.string?.utf8.count ?? 0 <= 256)
      let again = try await bench.send("POST", "/api/v1/events", token, body, headers: head)
      #expect(again.status == 200 && again.json["event"] == first.json["event"], "\(again.json)")
    }
    let blank = try await bench.send(
      "POST", "/api/v1/events", token, cloud.replacingOccurrences(of: "/shop", with: "a shop"), headers: type)
    #expect(
      blank.status == 400
        && blank.json["detail"]?.string
          == "the request 'signal' isn't valid: 'source' must be a URI without blanks, but is 'a shop'"
    )
    let unfit = try await bench.send(
      "POST", "/api/v1/events", token, #"{"id":"e","type":"t"}"#, headers: type)
    #expect(
      unfit.status == 400 && unfit.json["faults"]?.list?.first?["pointer"]?.string == "/specversion"
    )
    await bench.end()
  }

  @Test
  func `an event for a run is answered as before after the run has ended, and one that only looks the same is refused`()
    async throws
  {
    let bench = try await Bench()
    try bench.program.write("steps: [{ wait: { event: paid } }]", to: "recipes/hear.yaml")
    _ = await bench.agent.line(with: "hear")
    let token = try await bench.token("shop", "--scope", "start", "--scope", "read", "--scope", "data")
    let started = try await bench.send("POST", "/api/v1/recipes/hear/runs", token, "{}")
    let run = try #require(started.json["run"]?.string)
    let body = #"{"name":"paid","run":"\#(run)","data":1,"id":"caf\u00e9"}"#
    #expect(try await bench.send("POST", "/api/v1/events", token, body).status == 202)
    while try await bench.send("GET", "/api/v1/runs/\(run)", token).json["status"]?.string != "succeeded" {}
    let again = try await bench.send("POST", "/api/v1/events", token, body)
    #expect(again.status == 200 && again.json["isNew"] == .bool(false), "\(again.json)")
    let other = try await bench.send(
      "POST", "/api/v1/events", token, body.replacingOccurrences(of: "\\u00e9", with: "e\\u0301"))
    #expect(other.status == 400, "\(other.json)")
    let late = try await bench.send(
      "POST", "/api/v1/events", token, body.replacingOccurrences(of: "caf", with: "tea"))
    #expect(late.status == 409, "\(late.json)")
    // A CloudEvent names its run by an extension attribute.
    let cloud = try await bench.send(
      "POST", "/api/v1/events", token,
      #"{"specversion":"1.0","id":"1","source":"/shop","type":"paid","run":"\#(run)"}"#,
      headers: ["Content-Type": "application/cloudevents+json"])
    #expect(cloud.status == 409, "\(cloud.json)")
    await bench.end()
  }

  @Test func `a start out of turn that was skipped answers its key as before, whatever happened since`() async throws {
    var bench = try await Bench()
    try bench.program.write(
      "on: [{ cron: '0 \(Program.farHour) * * *', overlap: skip }]\nsteps: [{ id: ask, approve: { prompt: Go? } }]",
      to: "recipes/slow.yaml")
    _ = await bench.agent.line(with: "slow")
    let token = try await bench.token(
      "shop", "--scope", "read", "--scope", "data", "--scope", "start", "--scope", "steer", "--scope", "approve")
    let trigger = "/api/v1/schedules/slow/trigger"
    let key: HTTPHeaders = ["Idempotency-Key": "2026-11"]
    let open = try await bench.send("POST", trigger, token)
    let run = try #require(open.json["items"]?.list?.first?["run"]?.string)
    let skipped = try await bench.send("POST", trigger, token, headers: key)
    #expect(skipped.json["items"]?.list?.first?["outcome"]?.string == "skippedOverlap", "\(skipped.json)")
    while try await bench.send("POST", "/api/v1/runs/\(run)/decisions", token, #"{"approved":true}"#).status != 200 {}
    while try await bench.send("GET", "/api/v1/runs/\(run)", token).json["endedAt"] == nil {}
    #expect(try await bench.send("POST", trigger, token, headers: key).json == skipped.json)
    bench = try await bench.restarted()
    #expect(try await bench.send("POST", trigger, token, headers: key).json == skipped.json)
    let other = try await bench.send("POST", trigger, token, #"{"overlap":"allowAll"}"#, headers: key)
    #expect(other.status == 422 && other.json["kind"]?.string == "usedKey", "\(other.json)")
    let start = try await bench.send("POST", "/api/v1/recipes/slow/runs", token, "{}", headers: key)
    #expect(start.status == 422 && start.json["kind"]?.string == "usedKey", "\(start.json)")
    let runs = try await bench.send("GET", "/api/v1/runs?recipe=slow", token)
    #expect(runs.json["items"]?.list?.map { $0["id"]?.string } == [run])
    await bench.end()
  }

  @Test func `a secret that becomes known later is masked in every answer`() async throws {
    let bench = try await Bench()
    let secret = "planted-s3cret"
    let old = try bench.program.read("errand.yaml")
    // A command isn't run before a run needs its secret.
    try bench.program.write("secrets: { commands: { LATER: [echo, \(secret)] } }\n" + old, to: "errand.yaml")
    try bench.program.write(
      """
      steps:
        - uses: shell.run
          with: { effect: read, script: "true", secretEnvironment: { T: "${{ secrets.LATER }}" } }
      """, to: "recipes/late.yaml")
    bench.agent.signal(SIGHUP)
    _ = try #require(await bench.agent.line(with: "errand.yaml is read again: "))
    let token = try await bench.token(
      "ada", "--scope", "read", "--scope", "data", "--scope", "start", "--scope", "approve", "--scope", "steer")
    let started = try await bench.send(
      "POST", "/api/v1/recipes/ask/runs", token, "{\"inputs\":{\"name\":\"of \(secret)\"}}")
    let run = try #require(started.json["run"]?.string)
    func text(_ path: String) async throws -> String {
      let request = HTTPRequest("GET", bench.url + path, headers: ["Authorization": "Bearer \(token)"])
      return String(decoding: try await HTTPClient().send(request).body, as: UTF8.self)
    }
    while try await !text("/api/v1/runs/\(run)").contains("waiting") {}
    let paths = ["/api/v1/runs/\(run)", "/api/v1/runs", "/api/v1/approvals", "/api/v1/runs/\(run)/why", "/runs/\(run)"]
    for path in paths { #expect(try await text(path).contains("of \(secret)"), "\(path)") }
    let other = try await bench.send("POST", "/api/v1/recipes/late/runs", token, headers: ["Prefer": "wait=30"])
    #expect(other.json["status"]?.string == "succeeded", "\(other.json)")
    for path in paths {
      let displayed = try await text(path)
      #expect(displayed.contains("of •••") && !displayed.contains(secret), "\(path): \(displayed)")
    }
    async let stream = text("/api/v1/runs/\(run)/events")
    let displayed = try await bench.program.call("runs", "show", run, "--json")
    #expect(
      displayed.code == 0 && displayed.out.contains("of •••") && !displayed.out.contains(secret), "\(displayed.out)")
    #expect(try await bench.send("POST", "/api/v1/runs/\(run)/decisions", token, #"{"approved":true}"#).status == 200)
    let events = try await stream
    #expect(events.contains("Hello of •••") && !events.contains(secret), "\(events)")

    // A secret as a name or a key in a request is refused, and the answer doesn't say which secret it is.
    let rest = "holds a secret, and names are kept as they are; use another"
    func refusal(_ path: String, _ body: String, headers: HTTPHeaders = [:]) async throws -> String {
      let answer = try await bench.send("POST", path, token, body, headers: headers)
      #expect(!JSON.displayed(answer.json).contains(secret))
      return "\(answer.status) \(answer.json["kind"]?.string ?? ""): \(answer.json["detail"]?.string ?? "")"
    }
    let key: HTTPHeaders = ["Idempotency-Key": "x-\(secret)"]
    for (path, body) in [
      ("recipes/sum/runs", "{}"), ("schedules/sum/trigger", "{}"), ("runs/\(run)/retry", "{}"),
    ] {
      #expect(
        try await refusal("/api/v1/\(path)", body, headers: key) == "400 request: the key of the request \(rest)",
        "\(path)")
    }
    #expect(
      try await refusal("/api/v1/events", #"{"name":"go"}"#, headers: key) == "400 request: the id of an event \(rest)")
    #expect(
      try await refusal("/api/v1/events", "{\"name\":\"\(secret)\"}") == "400 request: the name of an event \(rest)")
    #expect(
      try await refusal("/api/v1/recipes/sum/runs", "{\"\(secret)\":1}")
        == "400 request: there is no member '•••'; there are inputs, texts, plan, like, assistant")
    // Nothing is masked without a token: masking would tell a guesser which texts are secrets.
    let unknown = try await bench.send("GET", "/api/v1/\(secret)", nil)
    #expect(unknown.json["detail"]?.string?.contains(secret) == true, "\(unknown.json)")
    let named = try await bench.program.call("token", "new", "a-\(secret)")
    #expect(named.code != 0 && named.error.contains("the name of the token \(rest)"), "\(named.error)")
    await bench.end()
  }

  @Test func `a list goes on after a run that was deleted, and its cursor says nothing of other recipes`() async throws
  {
    let bench = try await Bench()
    let token = try await bench.token("ada", "--scope", "read", "--scope", "start", "--scope", "steer")
    let narrow = try await bench.token("narrow", "--scope", "read", "--recipe", "ask")
    var runs: [String] = []
    for _ in 0..<3 {
      let run = try await bench.send(
        "POST", "/api/v1/recipes/sum/runs", token, "{}", headers: ["Prefer": "wait=30"])
      runs.append(try #require(run.json["id"]?.string))
    }
    let first = try await bench.send("GET", "/api/v1/runs?limit=1", token)
    #expect(first.json["items"]?.list?.map { $0["id"]?.string } == [runs[2]])
    let cursor = try #require(first.json["next"]?.string)
    #expect(try await bench.send("GET", "/api/v1/runs?cursor=\(cursor)", narrow).json["items"] == .list([]))
    #expect(try await bench.send("DELETE", "/api/v1/runs/\(runs[2])", token).status == 204)
    #expect(try await bench.send("GET", "/api/v1/runs?cursor=\(cursor)", narrow).json["items"] == .list([]))
    let next = try await bench.send("GET", "/api/v1/runs?limit=1&cursor=\(cursor)", token)
    #expect(next.json["items"]?.list?.map { $0["id"]?.string } == [runs[1]], "\(next.json)")
    let unknown = "the cursor isn't one that a page of runs named"
    let empty = "the request 'runs' isn't valid: 'cursor' must not be empty"
    for (query, detail) in [
      ("cursor=\(runs[0])", unknown), ("cursor=", empty), ("cursor=&needsPerson=true", empty),
      ("cursor=x&status=running", unknown),
    ] {
      let wrong = try await bench.send("GET", "/api/v1/runs?\(query)", token)
      #expect(wrong.status == 400 && wrong.json["detail"]?.string == detail, "\(query)")
    }
    await bench.end()
  }

  @Test func `a token that is limited to two recipes sees the runs of both, and no other`() async throws {
    let bench = try await Bench()
    try bench.program.write("steps: [{ let: { x: 1 } }]", to: "recipes/other.yaml")
    _ = await bench.agent.line(with: "other")
    let token = try await bench.token("ada", "--scope", "read", "--scope", "start")
    let narrow = try await bench.token(
      "narrow", "--scope", "read", "--scope", "data", "--scope", "approve", "--recipe", "ask", "--recipe", "sum")
    var runs: [String] = []
    for recipe in ["sum", "other", "sum"] {
      let run = try await bench.send(
        "POST", "/api/v1/recipes/\(recipe)/runs", token, "{}", headers: ["Prefer": "wait=30"])
      runs.append(try #require(run.json["id"]?.string))
    }
    _ = try await bench.send("POST", "/api/v1/recipes/ask/runs", token, #"{"inputs":{"name":"Ada"}}"#)
    var all = try await bench.send("GET", "/api/v1/runs", narrow)
    #expect(all.json["items"]?.list?.compactMap { $0["recipe"]?.string } == ["ask", "sum", "sum"], "\(all.json)")
    #expect(try await bench.send("GET", "/api/v1/runs?recipes=sum", narrow).status == 200)
    #expect(try await bench.send("GET", "/api/v1/runs?recipes=sum&recipes=other", narrow).status == 404)
    all = try await bench.send("GET", "/api/v1/runs?limit=1&status=succeeded", narrow)
    #expect(all.json["items"]?.list?.map { $0["id"]?.string } == [runs[2]])
    let cursor = try #require(all.json["next"]?.string)
    all = try await bench.send("GET", "/api/v1/runs?limit=1&status=succeeded&cursor=\(cursor)", narrow)
    #expect(all.json["items"]?.list?.map { $0["id"]?.string } == [runs[0]], "\(all.json)")
    #expect(all.json["next"] == nil)
    await bench.end()
  }

  @Test func `a token sees of the agent's work and of events only what it may`() async throws {
    let bench = try await Bench()
    try bench.program.write(
      "on: [{ event: paid }]\nsteps: [{ id: ask, approve: { prompt: Go? } }]", to: "recipes/pay.yaml")
    _ = await bench.agent.line(with: "pay")
    let token = try await bench.token("ada", "--scope", "read", "--scope", "data", "--scope", "start")
    let reader = try await bench.token("reader", "--scope", "read")
    let narrow = try await bench.token("narrow", "--scope", "read", "--recipe", "ask")
    _ = try await bench.send("POST", "/api/v1/events", token, #"{"name":"paid","id":"by-anna"}"#)
    _ = try await bench.send("POST", "/api/v1/recipes/ask/runs", token, #"{"inputs":{"name":"Ada"}}"#)
    var all = try await bench.send("GET", "/api/v1/status", token)
    while all.json["runs"]?["waiting"] != .int(2) { all = try await bench.send("GET", "/api/v1/status", token) }
    #expect(all.json["recipes"] == .int(3) && all.json["schedules"] == .int(2))
    let part = try await bench.send("GET", "/api/v1/status", narrow)
    #expect(part.json["runs"] == .object(["waiting": .int(1)]), "\(part.json)")
    #expect(part.json["recipes"] == nil && part.json["schedules"] == nil && part.json["nextSlot"] == nil)
    for path in ["/api/v1/runs?recipe=pay", "/api/v1/slots?schedule=pay"] {
      let seen = try await bench.send("GET", path, token).json["items"]?.list?.first
      #expect(seen?["cause"]?["event"]?.string == "by-anna")
      let cause = try await bench.send("GET", path, reader).json["items"]?.list?.first?["cause"]
      #expect(cause?["kind"]?.string == "event" && cause?["event"] == nil, "\(path)")
    }
    await bench.end()
  }

  @Test func `a schedule's slots are explained, without reasons for a token that doesn't see data`() async throws {
    let bench = try await Bench()
    try bench.program.write(
      "on: [{ event: paid, inputs: { n: '${{ event.data.n }}' } }]\ninputs: { n: { type: int } }\nsteps: [{ let: { x: 1 } }]",
      to: "recipes/pay.yaml")
    _ = await bench.agent.line(with: "pay")
    let all = try await bench.token("ada", "--scope", "read", "--scope", "data", "--scope", "start", "--scope", "steer")
    let reader = try await bench.token("reader", "--scope", "read")
    let narrow = try await bench.token("narrow", "--scope", "read", "--scope", "data", "--recipe", "sum")
    func sentences(_ path: String, _ token: String) async throws -> [String] {
      let answer = try await bench.send("GET", "/api/v1/schedules/\(path)", token)
      #expect(answer.status == 200 && answer.json["schedule"]?.string != nil && answer.json["run"] == nil)
      return answer.json["sentences"]?.list?.compactMap { $0["text"]?.string } ?? []
    }
    // The sentences of the command line.
    let local = try await bench.program.call("why", "sum", "--at", "2020-01-01 05:00", "--json")
    let first = try #require(local.json.list?.first?["sentences"]?.list?.first?["text"]?.string)
    #expect(
      first.hasPrefix("sum did not run on Wed 2020-01-01 05:00 CET: the agent has known the schedule only since "))
    for token in [all, reader, narrow] {
      #expect(try await sentences("sum/why?at=2020-01-01T04:00:00Z", token).first == first)
    }
    #expect(
      try await sentences("sum/why?at=2020-01-01T05:00:00Z", reader).first
        == "sum had no slot on Wed 2020-01-01 06:00 CET: it is due every day at 05:00; the nearest are Wed 2020-01-01 05:00 CET and Thu 2020-01-02 05:00 CET."
    )
    #expect(
      try await sentences("sum/why?at=2099-01-01T12:00:00Z", reader).first
        == "sum has no slot on Thu 2099-01-01 13:00 CET: it is due every day at 05:00; the nearest are Thu 2099-01-01 05:00 CET and Fri 2099-01-02 05:00 CET."
    )
    #expect(
      try await sentences("sum/why?at=2099-01-01T04:00:00Z", reader).first
        == "sum is due on Thu 2099-01-01 05:00 CET, if nothing changes until then.")
    let started = try await bench.send("POST", "/api/v1/schedules/sum/trigger", all)
    let run = try #require(started.json["items"]?.list?.first?["run"]?.string)
    let told = try await sentences("sum/why", narrow)
    #expect(told.first?.hasPrefix("sum was started out of turn on ") == true && told.first?.contains(run) == true)
    #expect(told.last?.hasPrefix("It is due next on ") == true, "\(told)")

    _ = try await bench.send("POST", "/api/v1/events", all, #"{"name":"paid","data":{"n":"many"}}"#)
    while try await bench.send("GET", "/api/v1/slots?schedule=pay", all).json["items"] == .list([]) {}
    _ = try await bench.send("POST", "/api/v1/schedules/pay/pause", all, #"{"note":"Ada is ill."}"#)
    let whole = try await sentences("pay/why", all)
    let part = try await sentences("pay/why", reader)
    #expect(
      whole[0].contains("'inputs.n' must be an int") && whole[1].hasSuffix("because a person paused it: Ada is ill."),
      "\(whole)")
    #expect(part[0].hasSuffix(": its run was refused.") && part[1].hasSuffix("because a person paused it."), "\(part)")
    #expect(try await bench.send("GET", "/api/v1/schedules/pay/why", narrow).status == 404)
    let unknown = try await bench.send("GET", "/api/v1/schedules/sun/why", all)
    #expect(
      unknown.status == 404
        && unknown.json["detail"]?.string == "there is no schedule 'sun'; did you mean 'sum'?")
    await bench.end()
  }

  @Test func `wrong inputs are named with their places, and how to send what is missing`() async throws {
    let bench = try await Bench()
    try bench.program.write(
      """
      inputs:
        who: { type: string, summary: Whom to greet. }
        times: { type: int }
        pin: { type: string, secret: true }
      on: [{ event: paid, inputs: { who: "${{ event.data.who }}", times: 1, pin: "@secret:PIN" } }]
      steps: [{ let: { a: 1 } }]
      """, to: "recipes/greet.yaml")
    _ = await bench.agent.line(with: "greet")
    let token = try await bench.token(
      "ada", "--scope", "read", "--scope", "start", "--scope", "steer", "--scope", "approve")
    let wrong = try await bench.send(
      "POST", "/api/v1/recipes/greet/runs", token, #"{"inputs":{"times":"two","a/b":1},"texts":{"times":"2"}}"#)
    #expect(wrong.status == 422 && wrong.json["kind"]?.string == "inputs", "\(wrong.json)")
    let messages = [
      ("/texts/times", "'inputs.times' must be an int, but found a string"),
      ("/inputs/a~1b", "recipe 'greet' has no input 'a/b'; it takes who, times, pin"),
      (
        "/inputs/who",
        "input 'who' (string) is missing: Whom to greet"
      ),
      ("/inputs/pin", "input 'pin' (secret) is missing; give the name of a secret, as @secret:NAME"),
    ]
    #expect(
      wrong.json["faults"]
        == .list(messages.map { .object(["message": .string($0.1), "pointer": .string($0.0)]) }))
    #expect(wrong.json["detail"]?.string == messages.map(\.1).joined(separator: "\n"))
    // The command line is told in its own words.
    let local = try await bench.program.call("runs", "start", "greet", "-i", "times=2", "-i", "pin=@secret:PIN")
    #expect(local.error.contains("Whom to greet; give it with -i who=…\n"), "\(local.error)")
    let triggered = try await bench.send("POST", "/api/v1/schedules/greet/trigger", token)
    #expect(
      triggered.json["detail"]?.string
        == #"the inputs of 'greet' are computed from an event, and a start out of turn has none; send "inputs": {"who": …}"#
    )
    #expect(triggered.json["faults"]?.list?.map { $0["pointer"]?.string } == ["/inputs/who"])
    let unfit = try await bench.send("POST", "/api/v1/schedules/greet/trigger", token, #"{"texts":{"times":"x"}}"#)
    #expect(unfit.json["faults"]?.list?.map { $0["pointer"]?.string } == ["/texts/times"], "\(unfit.json)")

    let started = try await bench.send("POST", "/api/v1/recipes/ask/runs", token, #"{"inputs":{"name":"Ada"}}"#)
    let run = try #require(started.json["run"]?.string)
    func detail(_ method: String, _ path: String) async throws -> String {
      try await bench.send(method, path, token).json["detail"]?.string ?? ""
    }
    while try await bench.send("GET", "/api/v1/runs/\(run)", token).json["status"]?.string != "waiting" {}
    #expect(
      try await detail("DELETE", "/api/v1/runs/\(run)")
        == "the run \(run) is open (waiting); cancel it first: errand runs cancel \(run)")
    #expect(
      try await detail("POST", "/api/v1/runs/\(run)/retry")
        == "the run \(run) is not over (waiting); resume it: errand runs resume \(run)")
    let sum = try await bench.send("POST", "/api/v1/recipes/sum/runs", token, "{}", headers: ["Prefer": "wait=30"])
    let id = try #require(sum.json["id"]?.string)
    #expect(
      try await detail("POST", "/api/v1/runs/\(id)/retry")
        == "the run \(id) has succeeded, so there is nothing to retry; start a new one"
    )
    // Answers end their line.
    for path in ["/api/v1/runs/\(id)", "/api/v1/runs/nothing", "/openapi.json"] {
      let answer = try await HTTPClient().send(
        HTTPRequest("GET", bench.url + path, headers: ["Authorization": "Bearer \(token)"]))
      #expect(answer.body.suffix(2) == Array("}\n".utf8), "\(path)")
    }
    await bench.end()
  }

  @Test func `a limited token lists the slots of all its recipes, and of no other`() async throws {
    let bench = try await Bench(["sum": APITests.sum.replacing("0 5", with: "0 \(Program.farHour)")])
    try bench.program.write(
      "on: [{ id: early, cron: '0 \(Program.farHour) * * *' }]\nsteps: [{ let: { a: 1 } }]", to: "recipes/more.yaml")
    try bench.program.write(
      "on: [{ cron: '0 \(Program.farHour) * * *' }]\nsteps: [{ let: { a: 1 } }]", to: "recipes/other.yaml")
    _ = await bench.agent.line(with: "other")
    let all = try await bench.token("ada", "--scope", "read", "--scope", "steer")
    let narrow = try await bench.token("narrow", "--scope", "read", "--recipe", "sum", "--recipe", "more")
    for schedule in ["sum", "more%2Fearly", "other", "sum"] {
      let path = "/api/v1/schedules/\(schedule)/trigger"
      while try await bench.send("POST", path, all, #"{"overlap":"allowAll"}"#).status != 200 {}
    }
    var next: String? = "/api/v1/slots?limit=2"
    var found: [String?] = []
    while let page = next {
      let answer = try await bench.send("GET", page, narrow)
      found += answer.json["items"]?.list?.map { $0["schedule"]?.string } ?? []
      next = answer.headers["Link"].map { String($0.dropFirst().prefix { $0 != ">" }) }
    }
    #expect(found == ["sum", "more/early", "sum"], "\(found)")
    let coming = try await bench.send("GET", "/api/v1/upcoming?first=true", narrow)
    #expect(
      Set(coming.json["items"]?.list?.compactMap { $0["schedule"]?.string } ?? []) == ["sum", "more/early"],
      "\(coming.json)")
    #expect(try await bench.send("GET", "/api/v1/slots?schedule=other", narrow).status == 404)
    let unknown = try await bench.program.call("token", "new", "typo", "--recipe", "smu", "--recipe", "more")
    #expect(
      unknown.code == 0
        && unknown.error.hasPrefix(
          "warning: no recipe is called 'smu' (did you mean 'sum'?); to name another, revoke the token first: errand token revoke typo\nSave this"
        ), "\(unknown.error)")
    await bench.end()
    let program = try await Program()
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
    try program.write(APITests.sum, to: "recipes/sum.yaml")
    // Without an agent, its files say which recipes there are.
    let known = try await program.call("token", "new", "one", "--recipe", "sum")
    #expect(known.error.hasPrefix("Save this"), "\(known.error)")
    #expect(
      try await program.call("token", "new", "two", "--recipe", "x").error.hasPrefix(
        "warning: no recipe is called 'x'; "))
    await program.remove()
  }

  @Test func `a limited token learns nothing of other recipes' runs, and takes no event's id from others`() async throws
  {
    let bench = try await Bench()
    try bench.program.write(
      "on: [{ afterRecipe: sum }]\nsteps: [{ wait: { event: go } }]", to: "recipes/next.yaml"
    )
    _ = await bench.agent.line(with: "next")
    let token = try await bench.token("ada", "--scope", "read", "--scope", "data", "--scope", "start")
    let narrow = try await bench.token(
      "narrow", "--scope", "read", "--scope", "data", "--scope", "start", "--recipe", "next")
    let first = try await bench.send(
      "POST", "/api/v1/recipes/sum/runs", token, "{}", headers: ["Prefer": "wait=30"])
    let other = try #require(first.json["id"]?.string)
    var list = try await bench.send("GET", "/api/v1/runs", narrow)
    while list.json["items"]?.list?.first?["status"]?.string != "waiting" {
      list = try await bench.send("GET", "/api/v1/runs", narrow)
    }
    let run = try #require(list.json["items"]?.list?.first?["id"]?.string)
    for path in ["runs", "runs/\(run)", "runs/\(run)/why", "slots?schedule=next", "runs/\(run.prefix(3))", "runs/last"]
    {
      let displayed = try await bench.send("GET", "/api/v1/\(path)", narrow).json
      #expect(!JSON.displayed(displayed).contains(other), "\(path): \(JSON.displayed(displayed))")
    }
    #expect(try await bench.send("GET", "/api/v1/runs/\(run)", token).json["cause"]?["run"]?.string == other)
    #expect(try await bench.send("GET", "/api/v1/runs/last:next", narrow).json["id"]?.string == run)

    let mine = "{\"name\":\"paid\",\"id\":\"order-1\",\"run\":\"\(run)\"}"
    let own = try await bench.send("POST", "/api/v1/events", narrow, mine)
    #expect(own.status == 202 && own.json["event"]?.string == "token:narrow/order-1", "\(own.json)")
    let unnamed = try await bench.send("POST", "/api/v1/events", narrow, #"{"name":"paid"}"#)
    #expect(unnamed.status == 403 && unnamed.json["kind"]?.string == "forbidden", "\(unnamed.json)")
    let theirs = #"{"name":"ordered","id":"order-1","data":{"x":1}}"#
    #expect(try await bench.send("POST", "/api/v1/events", token, theirs).status == 202)
    #expect(try await bench.send("POST", "/api/v1/events", token, theirs).status == 200)
    let changed = try await bench.send("POST", "/api/v1/events", token, #"{"name":"ordered","id":"order-1"}"#)
    #expect(
      changed.status == 400
        && changed.json["detail"]?.string
          == "another event has the id 'order-1', with another name, other data or for another run; give each event an id of its own",
      "\(changed.json)")
    let both = try await bench.send(
      "POST", "/api/v1/events", token, theirs, headers: ["Idempotency-Key": "order-2"])
    #expect(both.status == 400, "\(both.json)")
    await bench.end()
  }

  @Test func `a decision that comes again with its key is answered as before, and another says who decided`()
    async throws
  {
    let bench = try await Bench()
    let token = try await bench.token(
      "ada", "--scope", "read", "--scope", "start", "--scope", "approve", "--scope", "steer")
    let other = try await bench.token("ben", "--scope", "read", "--scope", "approve", "--scope", "steer")
    let key: HTTPHeaders = ["Idempotency-Key": "2026-11"]
    func waiting(_ name: String) async throws -> String {
      let started = try await bench.send(
        "POST", "/api/v1/recipes/ask/runs", token, "{\"inputs\":{\"name\":\"\(name)\"}}")
      let run = try #require(started.json["run"]?.string)
      while try await bench.send("GET", "/api/v1/runs/\(run)", token).json["status"]?.string != "waiting" {}
      return run
    }
    let run = try await waiting("Ada")
    let path = "/api/v1/runs/\(run)/decisions"
    let first = try await bench.send("POST", path, token, #"{"approved":true}"#, headers: key)
    #expect(first.status == 200 && first.json["step"]?.string == "ask")
    while try await bench.send("GET", "/api/v1/runs/\(run)", token).json["endedAt"] == nil {}
    let again = try await bench.send("POST", path, token, #"{"approved":true}"#, headers: key)
    #expect(again.status == 200 && again.json == first.json, "\(again.json)")
    let changed = try await bench.send("POST", path, token, #"{"approved":false}"#, headers: key)
    #expect(changed.status == 422 && changed.json["kind"]?.string == "usedKey")
    let late = try await bench.send("POST", path, other, #"{"approved":false}"#, headers: key)
    #expect(late.status == 409 && late.json["kind"]?.string == "ended")
    #expect(
      late.json["detail"]?.string?.hasPrefix("the run \(run) is over: succeeded; 'ask' was approved by ada at 20")
        == true,
      "\(late.json)")

    let cancelled = try await waiting("Ben")
    let cancel = "/api/v1/runs/\(cancelled)/cancel"
    #expect(try await bench.send("POST", cancel, token, headers: key).status == 202)
    while try await bench.send("GET", "/api/v1/runs/\(cancelled)", token).json["endedAt"] == nil {}
    #expect(try await bench.send("POST", cancel, token, headers: key).status == 202)
    let over = try await bench.send("POST", cancel, other)
    #expect(
      over.status == 409
        && over.json["detail"]?.string?.hasPrefix("the run \(cancelled) is over: cancelled; ada cancelled it at 20")
          == true,
      "\(over.json)")
    await bench.end()
  }

  @Test func `a stream reports what happens to all runs that its token sees`() async throws {
    let (code, output) = try await Clients.run("watch.py", [Program.binary.path], with: Clients.systemPython)
    #expect(code == 0, "\(output)")
  }

  @Test func `lists come in pages, each with a link to the next`() async throws {
    let bench = try await Bench()
    let token = try await bench.token(
      "ada", "--scope", "read", "--scope", "start", "--scope", "steer")
    for name in ["Ada", "Ben", "Cem"] {
      _ = try await bench.send(
        "POST", "/api/v1/recipes/ask/runs", token, "{\"inputs\":{\"name\":\"\(name)\"}}")
      _ = try await bench.send(
        "POST", "/api/v1/schedules/sum/trigger", token, #"{"overlap":"allowAll"}"#)
    }
    // One that ended between two pages would be on both.
    let ended = "/api/v1/runs?recipe=sum&status=succeeded"
    while try await bench.send("GET", ended, token).json["items"]?.list?.count != 3 {}
    for (path, item, count) in [
      ("runs?limit=2", "id", 6), ("slots?schedule=sum&limit=2", "run", 3),
    ] {
      var next: String? = "/api/v1/\(path)"
      var found: [String] = []
      var pages = 0
      while let page = next {
        let answer = try await bench.send("GET", page, token)
        let items = answer.json["items"]?.list ?? []
        #expect(answer.status == 200 && items.count <= 2, "\(answer.json)")
        found += items.compactMap { $0[item]?.string }
        let link = answer.headers["Link"]
        #expect((link == nil) == (answer.json["next"] == nil))
        next = link.map { String($0.dropFirst().prefix { $0 != ">" }) }
        #expect(link?.hasSuffix("; rel=\"next\"") ?? true)
        pages += 1
        try #require(pages < 10)
      }
      #expect(Set(found).count == count && found.count == count, "\(path): \(found)")
    }
    await bench.end()
  }

  @Test func `what is asked, what can be used and what is wrong in a recipe is read over HTTP`()
    async throws
  {
    let bench = try await Bench()
    let token = try await bench.token("ada", "--scope", "read", "--scope", "start")
    let whole = try await bench.token("eve", "--scope", "read", "--scope", "data")
    let narrow = try await bench.token("narrow", "--scope", "read", "--recipe", "sum")
    let started = try await bench.send(
      "POST", "/api/v1/recipes/ask/runs", token, #"{"inputs":{"name":"Ada"}}"#)
    let run = started.json["run"]
    var asked = try await bench.send("GET", "/api/v1/approvals", token)
    while asked.json["items"] == .list([]) {
      asked = try await bench.send("GET", "/api/v1/approvals", token)
    }
    let question = try #require(asked.json["items"]?.list?.first)
    #expect(
      question["run"] == run && question["step"]?.string == "ask" && question["prompt"] == nil,
      "\(question)")
    let displayed = try await bench.send("GET", "/api/v1/approvals", whole)
    #expect(displayed.json["items"]?.list?.first?["prompt"]?.string == "Greet Ada?")
    #expect(try await bench.send("GET", "/api/v1/approvals", narrow).json["items"] == .list([]))
    let actions = try await bench.send("GET", "/api/v1/actions", narrow)
    let ids = actions.json["items"]?.list?.compactMap { $0["id"]?.string } ?? []
    #expect(ids.contains("http.get") && ids.contains("shell.run"))
    let good = try await bench.send(
      "POST", "/api/v1/check", token, #"{"text":"steps: [{ let: { x: 1 } }]"}"#)
    #expect(good.status == 200 && good.json["items"] == .list([]), "\(good.json)")
    let text =
      #"{"text":"steps:\n  - uses: shell.rum\n  - call: ../errand.yaml\n","file":"new.yaml"}"#
    let bad = try await bench.send("POST", "/api/v1/check", token, text)
    let first = bad.json["items"]?.list?.first
    #expect(first?["message"]?.string?.contains("'shell.rum'") == true, "\(bad.json)")
    #expect(
      first?["file"]?.string == "new.yaml" && first?["line"] == .int(2)
        && first?["endColumn"] == .int(20))
    // No file is read except the recipes that are served.
    #expect(!JSON.displayed(bad.json).contains("listen"), "\(bad.json)")
    // The findings of a recipe that is served have the same form.
    try bench.program.write("steps:\n  - uses: shell.rum\n", to: "recipes/wrong.yaml")
    _ = await bench.agent.line(with: "shell.rum")
    let served = try await bench.send("GET", "/api/v1/recipes/wrong", token)
    let finding = served.json["findings"]?.list?.first
    #expect(
      finding?["message"] == first?["message"] && finding?["line"] == .int(2)
        && finding?["endColumn"] == .int(20) && finding?["file"]?.string?.hasSuffix("wrong.yaml") == true,
      "\(served.json)")
    #expect(try await bench.send("POST", "/api/v1/check", narrow, text).status == 403)
    let large = "{\"text\":\"\(String(repeating: "#", count: 300_000))\"}"
    let refused = try await bench.send("POST", "/api/v1/check", token, large)
    #expect(
      refused.json["detail"]?.string
        == "a recipe of 300000 bytes isn't checked; it may have 256 KiB")
    // The type of a problem links to instructions.
    #expect(refused.json["type"]?.string == "/problems/request")
    for kind in Problem.Kind.all {
      let page = try await HTTPClient().send(
        HTTPRequest("GET", "\(bench.url)/problems/\(kind.name)"))
      let text = String(decoding: page.body, as: UTF8.self)
      #expect(
        page.status == 200 && text.contains("<code>\(kind.name)</code>")
          && text.contains("What to do"))
    }
    await bench.end()
  }

  /// Reads and changes a stored value.
  static let keep = """
    inputs: { words: { type: string } }
    steps:
      - { id: old, uses: store.get, with: { name: words } }
      - { uses: store.put, with: { name: words, value: "${{ inputs.words }}" } }
    """

  @Test func `a run is planned, and started if it would still do what the plan says`() async throws {
    let bench = try await Bench()
    try bench.program.write(APITests.keep, to: "recipes/keep.yaml")
    let token = try await bench.token("ada", "--scope", "read", "--scope", "data", "--scope", "start")
    let starter = try await bench.token("starter", "--scope", "start")
    let narrow = try await bench.token(
      "narrow", "--scope", "read", "--scope", "data", "--scope", "start", "--recipe", "sum")
    while try await bench.send("GET", "/api/v1/recipes/keep", token).status != 200 {}
    let path = "/api/v1/recipes/keep/plans"
    let made = try await bench.send("POST", path, token, #"{"inputs":{"words":"first"}}"#)
    #expect(made.status == 201 && made.json["wouldFail"] == .bool(false))
    let digest = try #require(made.json["digest"]?.string)
    #expect(digest.count == 64 && made.headers["Location"] == "/api/v1/plans/\(digest)")
    #expect(made.json["tally"]?["added"] == .int(1))
    #expect(made.json["document"]?["writes"]?.list?.first?["changes"]?.list?.count == 1)
    #expect(made.json["document"]?["inputs"]?["words"]?.string == "first")
    // Nothing was started and nothing was written.
    #expect(try await bench.program.call("runs", "list", "--json").json["finished"]?.list == [])
    // The command says the same.
    let command = try await bench.program.call("plan", "recipes/keep.yaml", "-i", "words=first", "--json")
    for member in ["reads", "writes", "notes", "tally", "inputs"] {
      #expect(command.json[member] == made.json["document"]?[member], "\(member)")
    }
    // Without the scope `data`, counts and names are all there is.
    let counted = try await bench.send("POST", path, starter, #"{"inputs":{"words":"hidden"}}"#)
    #expect(
      counted.status == 201 && counted.json["document"] == nil && !JSON.displayed(counted.json).contains("hidden"))
    #expect(counted.json["writes"]?.list?.first?["action"]?.string == "store.put")
    // A recipe outside a token's scope is reported as missing.
    #expect(try await bench.send("GET", "/api/v1/plans/\(digest)", token).json == made.json)
    #expect(try await bench.send("GET", "/api/v1/plans/\(digest)", narrow).status == 404)
    #expect(try await bench.send("POST", path, narrow, #"{"inputs":{"words":"x"}}"#).status == 404)
    #expect(try await bench.send("GET", "/api/v1/plans/\(digest)", starter).status == 403)

    let runs = "/api/v1/recipes/keep/runs"
    let plan = #"{"plan":"\#(digest)"}"#
    let other = try await bench.send("POST", runs, token, #"{"plan":"\#(digest)","inputs":{"words":"second"}}"#)
    #expect(other.status == 422)
    #expect(
      other.json["detail"]?.string
        == "the plan has other values of 'words'; leave the inputs out, or plan with these")
    let elsewhere = try await bench.send("POST", "/api/v1/recipes/sum/runs", token, plan)
    #expect(elsewhere.status == 404)
    let key: HTTPHeaders = ["Idempotency-Key": "once", "Prefer": "wait=30"]
    let run = try await bench.send("POST", runs, token, plan, headers: key)
    #expect(run.status == 200 && run.json["status"]?.string == "succeeded", "\(run.json)")
    #expect(run.json["inputs"]?["words"]?.string == "first")
    // The same request again is the same run, though the plan no longer holds.
    let again = try await bench.send("POST", runs, token, plan, headers: key)
    #expect(again.status == 200 && again.json["id"] == run.json["id"])
    let moved = try await bench.send("POST", runs, token, plan)
    #expect(moved.status == 409 && moved.json["kind"]?.string == "planChanged", "\(moved.json)")
    #expect(
      moved.json["detail"]?.string
        == "the plan no longer holds; nothing was started. Plan again and review the changes")
    #expect(
      moved.json["changes"]?.list?.first?.string?.hasPrefix("'old' (store.get) reads other values in ") == true,
      "\(moved.json)")
    let hidden = try await bench.send("POST", runs, starter, plan)
    #expect(hidden.status == 409 && hidden.json["changes"] == nil, "\(hidden.json)")
    // Planned again with the same inputs, it changes nothing.
    let replanned = try await bench.send("POST", path, token, plan)
    #expect(replanned.status == 201 && replanned.json["tally"]?["added"] == .int(0), "\(replanned.json)")
    let unknown = try await bench.send("POST", runs, token, #"{"plan":"00"}"#)
    #expect(unknown.status == 404)
    #expect(
      unknown.json["detail"]?.string
        == "there is no plan '00' of 'keep'; plans are kept for an hour, and until the agent starts again; plan again")
    await bench.end()
  }

  @Test func `a plan of a run that would fail starts none, and shows no secret`() async throws {
    let bench = try await Bench()
    try bench.program.write("TOKEN: planted-s3cret\n", to: "secrets.yaml")
    #expect(try await bench.program.shell("chmod 600 secrets.yaml").code == 0)
    try bench.program.write(
      try bench.program.read("errand.yaml") + "secrets: { files: [secrets.yaml] }\n", to: "errand.yaml")
    try bench.program.write(
      "inputs: { note: { type: string } }\nsteps: [{ fail: \"It was ${{ inputs.note }}.\" }]\n",
      to: "recipes/fails.yaml")
    bench.agent.signal(SIGHUP)
    _ = try #require(await bench.agent.line(with: "errand.yaml is read again: "))
    let token = try await bench.token("ada", "--scope", "read", "--scope", "data", "--scope", "start")
    let made = try await bench.send(
      "POST", "/api/v1/recipes/fails/plans", token, #"{"inputs":{"note":"planted-s3cret"}}"#)
    #expect(made.status == 201 && made.json["wouldFail"] == .bool(true), "\(made.json)")
    #expect(!JSON.displayed(made.json).contains("planted-s3cret"))
    #expect(made.json["document"]?["error"]?["message"]?.string?.hasPrefix("It was •••") == true, "\(made.json)")
    let digest = made.json["digest"]?.string ?? ""
    let refused = try await bench.send("POST", "/api/v1/recipes/fails/runs", token, #"{"plan":"\#(digest)"}"#)
    #expect(refused.status == 409)
    #expect(refused.json["detail"]?.string == "the run would fail; nothing was started")
    await bench.end()
  }

  @Test func `connections and secrets are listed by name, and only to those who steer`() async throws {
    let bench = try await Bench()
    try bench.program.write("SHOP: planted-s3cret\n", to: "secrets.yaml")
    #expect(try await bench.program.shell("chmod 600 secrets.yaml").code == 0)
    let shop = """
      connections:
        shop:
          plugin: http
          baseURL: https://shop.example/api
          token: ${{ secrets.SHOP }}
          limits: { maxParallel: 4, requests: 60, per: 1m }

      """
    let old = try bench.program.read("errand.yaml")
    try bench.program.write(
      "secrets: { files: [secrets.yaml] }\n" + shop + old.dropFirst("connections:\n".count), to: "errand.yaml")
    try bench.program.write(
      "steps: [{ uses: http.get, connection: shop, with: { url: /a, query: { key: \"${{ secrets.LOST }}\" } } }]\n",
      to: "recipes/buy.yaml")
    bench.agent.signal(SIGHUP)
    _ = try #require(await bench.agent.line(with: "errand.yaml is read again: "))
    let token = try await bench.token("ada", "--scope", "steer", "--scope", "data", "--scope", "read")
    let steerer = try await bench.token("steerer", "--scope", "steer")
    let reader = try await bench.token("reader")
    let narrow = try await bench.token("narrow", "--scope", "steer", "--recipe", "sum")
    func displayed(_ answer: Value, _ list: String, _ name: String) -> String {
      answer[list]?.list?.first { $0["name"]?.string == name }.map { JSON.displayed($0) } ?? "none"
    }
    let seen = try await bench.send("GET", "/api/v1/connections", token)
    #expect(!JSON.displayed(seen.json).contains("planted-s3cret"))
    #expect(
      displayed(seen.json, "connections", "shop")
        == #"{"name":"shop","plugin":"http","address":"https://shop.example/api","maxParallel":4,"requests":60,"per":60.0,"recipes":["buy"]}"#
    )
    #expect(
      displayed(seen.json, "secrets", "LOST")
        == #"{"name":"LOST","status":"missing","connections":[],"recipes":["buy"]}"#)
    #expect(
      displayed(seen.json, "secrets", "SHOP")
        == #"{"name":"SHOP","status":"found","source":"'secrets.yaml'","connections":["shop"],"recipes":["buy"]}"#)
    let names = try await bench.send("GET", "/api/v1/connections", steerer)
    #expect(names.status == 200 && !JSON.displayed(names.json).contains("shop.example"))
    #expect(
      displayed(names.json, "secrets", "SHOP")
        == #"{"name":"SHOP","status":"found","connections":["shop"],"recipes":["buy"]}"#)
    #expect(try await bench.send("GET", "/api/v1/connections", reader).status == 403)
    #expect(try await bench.send("GET", "/api/v1/connections", narrow).status == 403)
    await bench.end()
  }

  @Test func `a caller without the right token, scope, host or origin is refused`() async throws {
    let bench = try await Bench()
    let reader = try await bench.token("reader")
    let narrow = try await bench.token(
      "narrow", "--scope", "read", "--scope", "start", "--recipe", "sum")
    let starter = try await bench.token("starter", "--scope", "start")
    let started = try await bench.send(
      "POST", "/api/v1/recipes/ask/runs", starter, #"{"inputs":{"name":"Ada"}}"#)
    let id = try #require(started.json["run"]?.string)
    func kind(
      _ method: String, _ path: String, _ token: String?, headers: HTTPHeaders = [:]
    ) async throws -> String {
      let answer = try await bench.send(method, path, token, headers: headers)
      return "\(answer.status) \(answer.json["kind"]?.string ?? "")"
    }
    #expect(try await kind("GET", "/api/v1/runs", nil) == "401 unauthorized")
    #expect(try await kind("GET", "/api/v1/runs", "errand_0") == "401 unauthorized")
    #expect(try await kind("POST", "/api/v1/runs/\(id)/cancel", reader) == "403 forbidden")
    #expect(
      try await kind("GET", "/api/v1/runs", reader, headers: ["Host": "evil.example"])
        == "421 foreignHost")
    #expect(
      try await kind("GET", "/api/v1/runs", reader, headers: ["Origin": "http://evil.example"])
        == "403 foreignOrigin")
    #expect(try await kind("GET", "/api/v1/runs", reader, headers: ["Origin": bench.url]) == "200 ")
    // A run or recipe outside a token's scope is reported as missing.
    #expect(try await kind("GET", "/api/v1/runs/\(id)", narrow) == "404 notFound")
    #expect(try await kind("GET", "/api/v1/runs/last:ask", narrow) == "404 notFound")
    #expect(try await kind("GET", "/api/v1/recipes/ask", narrow) == "404 notFound")
    #expect(try await kind("POST", "/api/v1/recipes/ask/runs", narrow) == "404 notFound")
    let list = try await bench.send("GET", "/api/v1/runs", narrow)
    #expect(list.status == 200 && list.json["items"] == .list([]))
    // Without the scope `data`, names and statuses are all there is.
    let seen = try await bench.send("GET", "/api/v1/runs/\(id)", reader)
    #expect(seen.status == 200)
    #expect(!JSON.displayed(seen.json).contains("Ada"))
    #expect(try await kind("GET", "/api/v1/runs/\(id)/logs", reader) == "403 forbidden")
    #expect(try await kind("GET", "/api/v1/nothing", reader) == "404 noSuchPath")
    let wrong = try await bench.send("PUT", "/api/v1/runs/\(id)", reader)
    #expect(wrong.status == 405 && wrong.headers["Allow"] == "DELETE, GET, HEAD")
    // A revoked token is of no use at once, and the streams that it opened end with the next sign of life.
    async let stream = HTTPClient().send(
      HTTPRequest(
        "GET", "\(bench.url)/api/v1/runs/\(id)/events", headers: ["Authorization": "Bearer \(reader)"]))
    let meter = try await bench.token("meter", "--scope", "metrics")
    let figures = HTTPRequest("GET", "\(bench.url)/metrics", headers: ["Authorization": "Bearer \(meter)"])
    while !String(decoding: try await HTTPClient().send(figures).body, as: UTF8.self).contains("streams_open 1\n") {}
    #expect(try await bench.program.call("token", "revoke", "reader").code == 0)
    #expect(try await kind("GET", "/api/v1/runs", reader) == "401 unauthorized")
    #expect(String(decoding: try await stream.body, as: UTF8.self).hasPrefix("event: snapshot"))
    // The state has no token's text.
    let journal = try await bench.program.shell("cat .errand/*.jsonl")
    #expect(!journal.out.contains(narrow) && journal.out.contains("tokenIssued"))
    await bench.end()
  }

  @Test(arguments: [
    (
      #"{"inputs":{"n":"#, "application/json", "400 request",
      "the body isn't valid JSON in line 1, column 16"
    ),
    ("[1]", "application/json", "400 request", "the body has to be a JSON object, not a list"),
    (
      #"{"input":{}}"#, "application/json", "400 request",
      "there is no member 'input'; did you mean 'inputs'?"
    ),
    (
      #"{"inputs":{"n":"x"}}"#, "application/json", "422 inputs",
      "'inputs.n' must be an int, but found a string"
    ),
    (
      #"{"inputs":{"m":1}}"#, "application/json", "422 inputs",
      "recipe 'sum' has no input 'm'; it takes n"
    ),
    (
      "n=1", "application/x-www-form-urlencoded", "415 mediaType",
      "the body is 'application/x-www-form-urlencoded'"
    ),
  ])
  func `a body that doesn't fit is answered with what is wrong`(
    _ body: String, _ type: String, _ kind: String, _ detail: String
  ) async throws {
    let bench = try await Bench()
    let token = try await bench.token("ada", "--scope", "start")
    let answer = try await bench.send(
      "POST", "/api/v1/recipes/sum/runs", token, body, headers: ["Content-Type": type])
    #expect("\(answer.status) \(answer.json["kind"]?.string ?? "")" == kind, "\(answer.json)")
    #expect(answer.json["detail"]?.string?.hasPrefix(detail) == true, "\(answer.json)")
    #expect(answer.headers["Content-Type"] == "application/problem+json")
    await bench.end()
  }

  @Test func `an instant whose plus sign became a blank, and a word that isn't known, are answered with the fix`()
    async throws
  {
    let bench = try await Bench()
    let token = try await bench.token("ada", "--scope", "read", "--scope", "steer")
    func detail(_ method: String, _ path: String, _ body: String? = nil) async throws -> String? {
      let answer = try await bench.send(method, "/api/v1/" + path, token, body)
      #expect(answer.status == 400)
      return answer.json["detail"]?.string
    }
    #expect(
      try await detail("GET", "runs?since=2026-11-20T09:00:00+01:00")
        == "the parameter 'since' takes an instant such as 2026-11-20T09:00:00Z, not '2026-11-20T09:00:00 01:00'; write its '+' as %2B"
    )
    #expect(try await detail("GET", "runs?limit=1&limit=2") == "the parameter 'limit' is given twice")
    #expect(try await detail("GET", "runs?cursor=a&cursor=b") == "the parameter 'cursor' is given twice")
    #expect(
      try await detail("POST", "runs/last/resolutions", #"{"step":"a","as":"skip"}"#)
        == "the request 'resolve' isn't valid: 'as' must be 'done' or 'retry' or 'fail', but found 'skip'")
    await bench.end()
  }

  @Test func `tokens are made, listed and revoked by a token, which gives no more than it has`() async throws {
    let bench = try await Bench()
    let path = "/api/v1/tokens"
    let admin = try await bench.token("admin", "--scope", "read", "--scope", "tokens", "--expires", "90d")
    let others = try await bench.token(
      "others", ["read", "data", "start", "steer", "approve", "metrics"].flatMap { ["--scope", $0] })
    let narrow = try await bench.token("narrow", "--scope", "read", "--scope", "tokens", "--recipe", "sum")
    for (method, path, body) in [
      ("GET", path, nil), ("POST", path, #"{"name":"phone","scopes":["read"],"recipes":["sum"]}"#),
      ("POST", path, "{}"),
      ("DELETE", "\(path)/admin", nil), ("DELETE", "\(path)/none", nil),
    ] as [(String, String, String?)] {
      let other = try await bench.send(method, path, others, body)
      #expect(other.status == 403, "\(method): \(other)")
      #expect(other.json["detail"]?.string == "the token lacks the scope 'tokens', which this needs", "\(other)")
    }
    for (method, path, body) in [
      ("GET", path, nil), ("POST", path, #"{"name":"phone","scopes":["read"],"recipes":["sum"]}"#),
      ("DELETE", "\(path)/admin", nil), ("DELETE", "\(path)/none", nil),
    ] as [(String, String, String?)] {
      let limited = try await bench.send(method, path, narrow, body)
      #expect(limited.status == 403 && limited.json["kind"]?.string == "forbidden", "\(method): \(limited)")
    }

    var listed = try await bench.send("GET", path, admin)
    let names = { (list: Value) in list["items"]?.list?.compactMap { $0["name"]?.string } }
    #expect(listed.status == 200 && names(listed.json) == ["admin", "narrow", "others"], "\(listed)")
    let end = try #require(listed.json["items"]?.list?.first?["expiresAt"]?.string)
    #expect(listed.json["items"]?.list?[1]["recipes"] == .list([.string("sum")]))
    #expect(listed.json["items"]?.list?[1]["scopes"] == .list([.string("read"), .string("tokens")]))
    #expect(!JSON.displayed(listed.json).contains("sha256"))

    let body = #"{"name":"phone","scopes":["read"],"recipes":["sum"]}"#
    let key: HTTPHeaders = ["Idempotency-Key": "phone-1"]
    let made = try await bench.send("POST", path, admin, body, headers: key)
    #expect(made.status == 201 && made.headers["Cache-Control"] == "no-store", "\(made)")
    let phone = try #require(made.json["token"]?.string)
    #expect(phone.hasPrefix("errand_") && phone.utf8.count == 71)
    #expect(made.json["expiresAt"]?.string == end && made.json["recipes"] == .list([.string("sum")]), "\(made)")
    #expect(made.json["name"]?.string == "phone" && made.json["scopes"] == .list([.string("read")]), "\(made)")
    #expect(try await bench.send("GET", "/api/v1/recipes/sum", phone).status == 200)
    #expect(try await bench.send("GET", "/api/v1/recipes/ask", phone).status == 404)
    // The text isn't kept, so a repeated request can't have it.
    let again = try await bench.send("POST", path, admin, body, headers: key)
    #expect(again.status == 409 && again.json["kind"]?.string == "conflict" && again.json["token"] == nil, "\(again)")
    #expect(
      again.json["detail"]?.string?.hasPrefix("there is a token 'phone' already, and its text isn't kept") == true)
    listed = try await bench.send("GET", path, admin)
    #expect(names(listed.json) == ["admin", "narrow", "others", "phone"])
    #expect(!JSON.displayed(listed.json).contains(phone))

    for (body, detail) in [
      (
        #"{"name":"more","scopes":["read","start","steer"]}"#,
        "the token can't give more than it has: it lacks the scopes 'start' and 'steer'"
      ),
      (
        #"{"name":"more","scopes":["read"],"expiresAt":"2199-01-01T00:00:00Z"}"#,
        "the token can't give more than it has: it expires on \(end) itself"
      ),
    ] {
      let refused = try await bench.send("POST", path, admin, body)
      #expect(refused.status == 403 && refused.json["detail"]?.string == detail, "\(refused)")
    }
    for body in [
      #"{"scopes":["read"]}"#, #"{"name":"more"}"#, #"{"name":"more","scopes":[]}"#,
      #"{"name":"more","scopes":["fly"]}"#, #"{"name":"a phone","scopes":["read"]}"#,
      #"{"name":"more","scopes":["read"],"expiresAt":"2020-01-01T00:00:00Z"}"#,
      #"{"name":"more","scopes":["read"],"sha256":"00"}"#,
    ] {
      let refused = try await bench.send("POST", path, admin, body)
      #expect(refused.status == 400, "\(body): \(refused)")
    }
    // It gives its own scope, and that token gives as little.
    let second = try await bench.send("POST", path, admin, #"{"name":"second","scopes":["tokens"]}"#)
    let deputy = try #require(second.json["token"]?.string)
    #expect(try await bench.send("POST", path, deputy, #"{"name":"third","scopes":["read"]}"#).status == 403)
    let revoked = try await bench.send("DELETE", "\(path)/phone", deputy)
    #expect(revoked.status == 204 && revoked.json == .null, "\(revoked)")
    #expect(try await bench.send("GET", "/api/v1/recipes/sum", phone).status == 401)
    #expect(try await bench.send("DELETE", "\(path)/phone", deputy).status == 404)

    // The agent's own account needs no token and gives everything.
    let local = try await bench.program.shell(
      "curl -sS --unix-socket .errand/api.sock -H 'Content-Type: application/json' -d '{\"name\":\"all\",\"scopes\":[\"approve\",\"tokens\"]}' http://errand/api/v1/tokens || true"
    )
    if local.out.isEmpty {
      print("skipped: curl isn't installed, so that the socket is not asked")
    } else {
      #expect(try JSON.parse(local.out)["token"]?.string?.hasPrefix("errand_") == true, "\(local)")
    }
    // Neither the state nor the log has a text.
    let files = try await bench.program.shell("cat .errand/*.json*")
    #expect(files.out.contains("tokenIssued") && files.out.contains("\"second\""))
    bench.agent.signal(SIGTERM)
    #expect(await bench.agent.end() == 0)
    for text in [admin, phone, deputy] {
      #expect(!files.out.contains(text.dropFirst("errand_".count)))
      #expect(!bench.agent.before.contains(text.dropFirst("errand_".count)))
    }
    await bench.program.remove()
  }

  @Test func `a state in a folder has no workers for the API either`() async throws {
    let bench = try await Bench()
    let steerer = try await bench.token("steerer", "--scope", "read", "--scope", "steer")
    let reader = try await bench.token("reader")
    let narrow = try await bench.token("narrow", "--scope", "read", "--scope", "steer", "--recipe", "sum")
    for (method, path) in [
      ("GET", "/api/v1/workers"), ("POST", "/api/v1/workers/lab/drain"), ("POST", "/api/v1/workers/lab/evict"),
    ] {
      let refused = try await bench.send(method, path, steerer)
      #expect(refused.status == 422 && refused.json["kind"]?.string == "configuration", "\(refused)")
      let detail = refused.json["detail"]?.string ?? ""
      #expect(detail.hasPrefix("the state is in a folder, which one agent has for itself; "), "\(detail)")
      #expect(try await bench.send(method, path, narrow).status == 403)
      #expect(try await bench.send(method, path, reader).status == (method == "GET" ? 422 : 403))
    }
    await bench.end()
  }

  @Test func `the socket needs no token, and other machines need more than an address`()
    async throws
  {
    let bench = try await Bench()
    let local = try await bench.program.shell(
      "curl -sS --unix-socket .errand/api.sock http://errand/api/v1/recipes || true")
    if local.out.isEmpty {
      print("skipped: curl isn't installed, so that the socket is not asked")
    } else {
      #expect(
        try JSON.parse(local.out)["items"]?.list?.compactMap { $0["name"]?.string } == [
          "ask", "sum",
        ])
    }
    let mode =
      try FileManager.default.attributesOfItem(
        atPath: bench.program.folder.appending(path: ".errand/api.sock").path)[.posixPermissions]
      as? Int
    #expect(mode == 0o600)
    await bench.end()
    let program = try await Program()
    try program.write("server: { listen: 0.0.0.0:0 }\n", to: "errand.yaml")
    let refused = try await program.call("serve")
    #expect(refused.code == 78)
    #expect(
      refused.error
        == "error: other machines can reach 0.0.0.0:0, on which the agent would listen; 'server' in errand.yaml needs 'allowRemote: true', 'publicURL', the address under which people reach it and a token, which 'errand token new NAME' makes\n"
    )
    await program.remove()
  }
}
