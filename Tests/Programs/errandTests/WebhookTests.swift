import Basics
import Foundation
import HTTPClient
import Synchronization
import Testing

/// Webhooks of `errand serve` over real HTTP: which deliveries count, how often, and their results.
@Suite(.timeLimit(.minutes(ProcessInfo.processInfo.environment["ERRAND_DELIVERIES"] == nil ? 20 : 240)))
struct WebhookTests {
  static let secret = "It's a Secret to Everybody"
  static let standardKey = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

  static let push = """
    inputs: { branch: { type: string } }
    on:
      - webhook:
          verify: { github: ["${{ secrets.HUB }}", "${{ secrets.HUB_OLD }}"] }
          type: { ref: string }
          headers: X-GitHub-Event
          match: event.headers['X-GitHub-Event'] == 'push'
        inputs: { branch: "${{ event.data.ref }}" }
    steps: [{ let: { x: "${{ inputs.branch }}" } }]
    outputs: { got: "${{ x }}" }
    """

  /// An agent that serves some recipes on a port of its own.
  final class Bench: Sendable {
    let program: Program
    let environment: [String: String]
    private let running = Mutex<(agent: Serving, url: String)?>(nil)

    init(_ recipes: [String: String], secrets: [String: String]) async throws {
      program = try await ServeTests.program(Dictionary(uniqueKeysWithValues: recipes.map { ("\($0).yaml", $1) }))
      try program.write(try program.read("errand.yaml") + "server: { listen: 127.0.0.1:0 }\n", to: "errand.yaml")
      environment = secrets
      try await begin()
    }

    func begin() async throws {
      let agent = try program.serve("serve", environment: environment)
      let line = try #require(await agent.line(with: "listens on http://"), "\(agent.before)")
      let url = "http://" + (line.components(separatedBy: "http://").last ?? "")
      _ = await agent.line(with: " serves ")
      running.withLock { $0 = (agent, url) }
    }

    var url: String { running.withLock { $0?.url ?? "" } }
    var agent: Serving? { running.withLock { $0?.agent } }

    func post(
      _ path: String, _ body: String, _ headers: HTTPHeaders
    ) async throws -> (status: Int, id: String, isNew: Bool?, text: String) {
      var headers = headers
      if headers["Content-Type"] == nil { headers["Content-Type"] = "application/json" }
      let answer = try await HTTPClient().send(
        HTTPRequest("POST", "\(url)/hooks/\(path)", headers: headers, body: Array(body.utf8)))
      let json = (try? JSON.parse(answer.body)) ?? .null
      return (
        answer.status, json["id"]?.string ?? "", json["isNew"]?.bool, String(decoding: answer.body, as: UTF8.self)
      )
    }

    /// The rows of the ledger, by the event that each decided.
    func rows(_ schedule: String) async throws -> [String: [Value]] {
      let log = try await program.call("schedule", "log", schedule, "-n", "10000", "--json", environment: environment)
      try #require(log.code == 0, "\(log.error)")
      return Dictionary(grouping: log.json.list ?? []) { $0["cause"]?["event"]?.string ?? "" }
    }

    /// Waits until as many rows are there.
    func rows(_ schedule: String, reaching count: Int) async throws -> [String: [Value]] {
      var found = try await rows(schedule)
      while found.count < count, agent?.isRunning == true, !Task.isCancelled { found = try await rows(schedule) }
      return found
    }

    func end() async {
      agent?.signal(SIGTERM)
      #expect(await agent?.end() == 0)
      await program.remove()
    }
  }

  static func github(_ body: String, _ id: String, _ event: String = "push", _ key: String = secret) -> HTTPHeaders {
    let code = MessageAuthentication.code(of: Array(body.utf8), key: Array(key.utf8)) ?? []
    return [
      "X-Hub-Signature-256": "sha256=\(code.hexadecimal)", "X-GitHub-Delivery": id, "X-GitHub-Event": event,
    ]
  }

  static func standard(_ body: String, _ id: String, at seconds: Int, _ key: String = standardKey) -> HTTPHeaders {
    let octets = [UInt8](base64: String(key.dropFirst(6))) ?? []
    let code = MessageAuthentication.code(of: Array("\(id).\(seconds).\(body)".utf8), key: octets) ?? []
    return ["webhook-id": id, "webhook-timestamp": "\(seconds)", "webhook-signature": "v1,\(code.base64)"]
  }

  @Test func `a delivery counts once, and has a row whatever comes of it`() async throws {
    let bench = try await Bench(
      ["push": WebhookTests.push], secrets: ["HUB": WebhookTests.secret, "HUB_OLD": "the-one-before"])
    let main = #"{"ref":"main"}"#
    let first = try await bench.post("push", main, WebhookTests.github(main, "d1"))
    #expect(first.status == 202 && first.isNew == true && first.id == "push:d1", "\(first)")
    let again = try await bench.post("push", main, WebhookTests.github(main, "d1"))
    #expect(again.status == 200 && again.isNew == false && again.id == "push:d1", "\(again)")
    // The id isn't signed, so the signature counts as well.
    let replayed = try await bench.post("push", main, WebhookTests.github(main, "d2"))
    #expect(replayed.status == 200 && replayed.isNew == false)
    let other = #"{"ref":"other"}"#
    let old = try await bench.post("push", other, WebhookTests.github(other, "d3", "push", "the-one-before"))
    #expect(old.status == 202)
    let ping = #"{"ref":"ping"}"#
    #expect(try await bench.post("push", ping, WebhookTests.github(ping, "d4", "ping")).status == 202)
    #expect(try await bench.post("push", #"{"ref":5}"#, WebhookTests.github(#"{"ref":5}"#, "d5")).status == 202)
    #expect(try await bench.post("push", "{\"ref\"", WebhookTests.github("{\"ref\"", "d6")).status == 202)
    // An unsigned delivery is only counted.
    let wrong = try await bench.post("push", main, WebhookTests.github(main, "d7", "push", "guess"))
    #expect(
      wrong.status == 401
        && wrong.text.contains("the signature isn't valid for this webhook, or its time is too far from now"))
    #expect(try await bench.post("push", "{}", WebhookTests.github(main, "d8")).status == 401)
    #expect(try await bench.post("push", main, [:]).status == 401)

    let all = try await bench.rows("push", reaching: 7)
    // Each that came again has a row of its own.
    let repeats = all.values.joined().filter { $0["outcome"]?.string == "duplicate" }
    #expect(repeats.map { $0["reason"]?.string } == Array(repeating: "it repeats the delivery push:d1", count: 2))
    let rows = all.filter { $1.first?["outcome"]?.string != "duplicate" }
    let outcomes = rows.mapValues { $0.map { "\($0["outcome"]?.string ?? "") \($0["reason"]?.string ?? "")" } }
    #expect(
      outcomes == [
        "push:d1": ["started "], "push:d3": ["started "],
        "push:d4": ["unmatched 'match' doesn't hold for the delivery push:d4"],
        "push:d5": [
          "refused what came with the delivery push:d5 doesn't fit: 'event.data.ref' must be a string, but found an int; write it in quotes if it is meant as text"
        ],
        "push:d6": [
          "refused the delivery push:d6 can't be read: the body isn't valid JSON in line 1, column 7: ':' is expected after a key, but the text ends"
        ],
      ], "\(outcomes)")
    let list = try await bench.program.call("schedule", "list")
    #expect(list.out.contains("on POST \(bench.url)/hooks/push") || list.out.contains("/hooks/push"), "\(list.out)")
    let why = try await bench.program.call("why", "last:push")
    #expect(why.out.contains("push:d"), "\(why.out)")
    await bench.end()
  }

  @Test func `what may not be delivered is refused in the order of the checks`() async throws {
    let bench = try await Bench(
      ["push": WebhookTests.push], secrets: ["HUB": WebhookTests.secret, "HUB_OLD": "the-one-before"])
    let large = String(repeating: "x", count: 1 << 20 + 1)
    #expect(try await bench.post("push", large, WebhookTests.github(large, "d1")).status == 413)
    let unknown = try await bench.post("pull", "{}", [:])
    #expect(unknown.status == 404)
    // The name of a recipe without a webhook is as unknown.
    #expect(try await bench.post("push/x", "{}", [:]).text == unknown.text)
    for method in ["GET", "PUT", "DELETE"] {
      let answer = try await HTTPClient().send(HTTPRequest(method, "\(bench.url)/hooks/push"))
      #expect(answer.status == 405 && answer.headers["Allow"] == "POST")
    }
    let host = try await HTTPClient().send(
      HTTPRequest("POST", "\(bench.url)/hooks/push", headers: ["Host": "evil.example"], body: []))
    #expect(host.status == 421)
    #expect(try await bench.rows("push").isEmpty)
    await bench.end()
  }

  @Test func `a delivery wakes the run that waits for its signal`() async throws {
    let bench = try await Bench(
      [
        "hook": """
        on:
          - webhook: { verify: { standard: "${{ secrets.BANK }}" }, signal: paid, type: { order: int } }
        steps: [{ let: { x: 1 } }]
        """,
        "order": """
        steps:
          - id: paid
            wait: { event: paid, type: { order: int }, match: event.data.order == 7 }
        outputs: { order: "${{ steps.paid.event.data.order }}" }
        """,
      ], secrets: ["BANK": WebhookTests.standardKey])
    let run = try await bench.program.call("run", "recipes/order.yaml", "--detach")
    let id = run.out.trimmingCharacters(in: .newlines)
    await bench.agent?.line(with: "order \(id) waits")
    let now = Int(Date().timeIntervalSince1970)
    let body = #"{"order":7}"#
    let answer = try await bench.post("hook", body, WebhookTests.standard(body, "msg_1", at: now))
    #expect(answer.status == 202 && answer.id == "hook:msg_1", "\(answer)")
    #expect(await bench.agent?.line(with: "order \(id) succeeded") != nil)
    #expect(try await bench.program.call("runs", "show", id, "--json").json["outputs"]?["order"] == .int(7))
    let row = try #require(try await bench.rows("hook", reaching: 1)["hook:msg_1"]?.first)
    #expect(row["outcome"]?.string == "signalled")
    #expect(row["reason"]?.string?.hasPrefix("it was sent as the event 'paid'") == true)
    await bench.end()
  }

  @Test func `without its secret a webhook takes nothing, and the status says why`() async throws {
    let bench = try await Bench(["push": WebhookTests.push], secrets: [:])
    let answer = try await bench.post("push", "{}", WebhookTests.github("{}", "d1"))
    #expect(answer.status == 503, "\(answer)")
    let status = try JSON.parse(try await bench.program.ask("status"))
    let faults = JSON.displayed(status)
    #expect(
      faults.contains("the webhook of 'push' can't verify deliveries: the secret 'HUB' can't be read"), "\(faults)")
    let check = try await bench.program.call("check", "recipes")
    #expect(
      check.error.contains("the secret 'HUB' is not set here; deliveries would be answered with 503"), "\(check.error)")
    await bench.end()
  }

  @Test func `bodies are read by their types, and secrets in them are in no file`() async throws {
    let text = """
      inputs: { said: { type: string } }
      on:
        - id: note
          webhook:
            verify: { token: { header: X-Token, secret: "${{ secrets.TOKEN_OF_HOOK }}" } }
            headers: [X-Token, X-Absent]
          inputs: { said: "${{ string(event.data) }}" }
        - id: form
          webhook:
            verify: { token: { header: X-Token, secret: "${{ secrets.TOKEN_OF_HOOK }}" } }
            type: { name: string, tags: list(string) }
            id: event.data.name
          inputs: { said: "${{ event.data.name + event.data.tags.join('') }}" }
      steps: [{ let: { x: "${{ inputs.said }}" } }]
      outputs: { got: "${{ x }}" }
      """
    let secret = "planted-hook-secret-4711"
    let bench = try await Bench(["say": text], secrets: ["TOKEN_OF_HOOK": secret])
    let answered = try await bench.post(
      "say/note", "Hello \(secret)!", ["X-Token": secret, "Content-Type": "text/plain"])
    #expect(answered.status == 202 && answered.id.hasPrefix("say/note:"), "\(answered)")
    let form = try await bench.post(
      "say/form", "name=a+b%21&tags=1&tags=2",
      ["X-Token": secret, "Content-Type": "application/x-www-form-urlencoded"])
    #expect(form.status == 202 && form.id == "say/form:a b!", "\(form)")
    let again = try await bench.post(
      "say/form", "name=a+b%21&tags=3&tags=4",
      ["X-Token": secret, "Content-Type": "application/x-www-form-urlencoded"])
    #expect(again.status == 200)
    let planted = try await bench.post(
      "say/form", "name=\(secret)&tags=3&tags=4",
      ["X-Token": secret, "Content-Type": "application/x-www-form-urlencoded"])
    #expect(planted.status == 202 && !planted.text.contains(secret), "\(planted)")
    let rows = try await bench.rows("say/form", reaching: 3)
    let run = try #require(rows["say/form:a b!"]?.first?["run"]?.string)
    var displayed = try await bench.program.call("runs", "show", run, "--json")
    while displayed.json["status"]?.string != "succeeded" {
      displayed = try await bench.program.call("runs", "show", run, "--json")
    }
    #expect(displayed.json["outputs"]?["got"]?.string == "a b!12", "\(displayed.out)")
    _ = try await bench.rows("say/note", reaching: 1)
    let found = try await bench.program.shell("grep -rl \(secret) .errand .; true")
    #expect(found.out.isEmpty, "\(found.out)")
    #expect(bench.agent?.before.contains(secret) == false)
    await bench.end()
  }

  enum Kind: Sendable { case good, forged, stale }

  /// How often each delivery was acknowledged as new, by its id.
  final class Acknowledged: Sendable {
    private let counts = Mutex<[String: Int]>([:])
    var all: [String: Int] { counts.withLock { $0 } }
    func note(_ id: String, isNew: Bool) { counts.withLock { $0[id, default: 0] += isNew ? 1 : 0 } }
  }

  @Test func `deliveries count once through kills, duplicates and forgeries`() async throws {
    let count = ProcessInfo.processInfo.environment["ERRAND_DELIVERIES"].flatMap { Int($0) } ?? 500
    let recipe = """
      inputs: { n: { type: int } }
      on:
        - webhook:
            verify: { standard: "${{ secrets.BANK }}" }
            type: { n: int }
          overlap: allowAll
          inputs: { n: "${{ event.data.n }}" }
      steps: [{ let: { x: "${{ inputs.n }}" } }]
      """
    let bench = try await Bench(["many": recipe], secrets: ["BANK": WebhookTests.standardKey])
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededNumbers(seed)
    let deliveries = (0..<count).map { number in
      // Three of ten come again, some are forged or late.
      (
        number: Int.random(in: 0..<(count * 7 / 10), using: &random),
        kind: number % 20 == 7 ? Kind.forged : number % 20 == 13 ? .stale : .good
      )
    }
    let acknowledged = Acknowledged()
    let kills = max(3, count / 400)
    for round in 0..<kills {
      let part = deliveries[(count * round / kills)..<(count * (round + 1) / kills)]
      let killsAt = Int.random(in: part.indices, using: &random)
      await withTaskGroup(of: Void.self) { group in
        for (place, delivery) in zip(part.indices, part) {
          if place >= part.startIndex + 16 { await group.next() }
          if place == killsAt { bench.agent?.signal(SIGKILL) }
          group.addTask {
            let now = Int(Date().timeIntervalSince1970)
            let body = #"{"n":\#(delivery.number)}"#
            var headers = WebhookTests.standard(
              body, "msg_\(delivery.number)", at: delivery.kind == .stale ? now - 301 : now)
            if delivery.kind == .forged { headers["webhook-id"] = "msg_f\(delivery.number)" }
            guard let answer = try? await bench.post("many", body, headers) else { return }
            switch answer.status {
            case 200, 202:
              #expect(delivery.kind == .good && answer.id == "many:msg_\(delivery.number)")
              acknowledged.note(answer.id, isNew: answer.status == 202)
            case 401: #expect(delivery.kind != .good)
            default: #expect(answer.status == 503, "\(answer)")
            }
          }
        }
      }
      #expect(await bench.agent?.end() == -SIGKILL)
      try await bench.begin()
    }
    let known = acknowledged.all
    // Acknowledged as new at most once each; what was kept before a kill cut off its answer is known when it comes again.
    #expect(known.values.allSatisfy { $0 <= 1 }, "seed \(seed)")
    var rows = try await bench.rows("many")
    while !Set(known.keys).isSubset(of: rows.keys) { rows = try await bench.rows("many") }
    rows = rows.filter { $1.first?["outcome"]?.string != "duplicate" }
    for id in known.keys { #expect(rows[id]?.count == 1, "seed \(seed): \(id)") }
    #expect(rows.values.allSatisfy { $0.count == 1 && $0[0]["outcome"]?.string == "started" }, "seed \(seed)")
    let runs = rows.values.compactMap { $0[0]["run"]?.string }
    #expect(Set(runs).count == rows.count, "seed \(seed)")
    #expect(rows.keys.allSatisfy { !$0.contains("msg_f") })
    await bench.end()
  }

  @Test(.enabled(if: Clients.python != nil, Clients.reason))
  func `senders of others sign deliveries that count`() async throws {
    func hook(_ verify: String) -> String {
      """
      on: [{ webhook: { verify: { \(verify) } }, overlap: allowAll }]
      steps: [{ let: { x: 1 } }]
      """
    }
    let bench = try await Bench(
      [
        "standard": hook(#"standard: ["${{ secrets.NEW }}", "${{ secrets.OLD }}"]"#),
        "stripe": hook(#"stripe: ["${{ secrets.STRIPE_NEW }}", "${{ secrets.STRIPE_OLD }}"]"#),
      ],
      secrets: [
        "NEW": WebhookTests.standardKey, "OLD": "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", "STRIPE_NEW": "whsec_new-one",
        "STRIPE_OLD": "whsec_old-one",
      ])
    let (code, output) = try await Clients.run(
      "webhooks.py", [bench.url], with: try #require(Clients.python),
      environment: bench.environment)
    #expect(code == 0, "\(output)")
    await bench.end()
  }
}
