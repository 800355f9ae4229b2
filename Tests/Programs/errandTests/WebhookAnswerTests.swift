import Basics
import Foundation
import HTTPClient
import Testing

/// Answers of webhooks over real HTTP: challenges as services document them, and answers from runs.
@Suite(.timeLimit(.minutes(20))) struct WebhookAnswerTests {
  private static let secret = "planted-answer-secret-4711"

  private static func serving(_ recipes: [String: String]) async throws -> WebhookTests.Bench {
    try await WebhookTests.Bench(
      recipes,
      secrets: [
        "SLACK_SIGNING_SECRET": secret, "META_APP_SECRET": secret, "GRAPH_TOKEN": secret,
        "SHOP": WebhookTests.standardKey,
      ])
  }

  private static func send(
    _ bench: WebhookTests.Bench, _ method: String, _ path: String, _ body: String? = nil, _ headers: HTTPHeaders = [:]
  ) async throws -> (status: Int, text: String, headers: HTTPHeaders) {
    let answer = try await HTTPClient().send(
      HTTPRequest(method, "\(bench.url)/hooks/\(path)", headers: headers, body: body.map { Array($0.utf8) }))
    return (answer.status, String(decoding: answer.body, as: UTF8.self), answer.headers)
  }

  /// The recipe of that name in the page about webhooks.
  private static func recipe(_ name: String) throws -> String {
    let page = try String(contentsOf: Program.root.appending(path: "docs/webhooks.md"), encoding: .utf8)
    let blocks = page.components(separatedBy: "```yaml\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
    return try #require(blocks.first { $0.hasPrefix("recipe: \(name)\n") })
  }

  private static func slack(_ body: String, at seconds: Int, _ key: String = secret) -> HTTPHeaders {
    let code = MessageAuthentication.code(of: Array("v0:\(seconds):\(body)".utf8), key: Array(key.utf8)) ?? []
    return [
      "Content-Type": "application/json", "X-Slack-Request-Timestamp": "\(seconds)",
      "X-Slack-Signature": "v0=\(code.hexadecimal)",
    ]
  }

  @Test func `the setting of the documentation passes Slack's challenge, and starts runs for its events`() async throws
  {
    let bench = try await Self.serving(["chat": try Self.recipe("chat")])
    let now = Int(Date().timeIntervalSince1970)
    // As https://api.slack.com/events/url_verification has it.
    let challenge =
      #"{"token":"Jhj5dZrVaK7ZwHHjRyZWjbDl","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P","type":"url_verification"}"#
    let asked = try await Self.send(bench, "POST", "chat", challenge, Self.slack(challenge, at: now))
    #expect(asked.status == 200 && asked.text == "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P", "\(asked)")
    #expect(asked.headers["Content-Type"] == "text/plain; charset=utf-8")
    // It is signed as everything else.
    #expect(
      try await Self.send(bench, "POST", "chat", challenge, Self.slack(challenge, at: now, "guess")).status == 401)
    let event = #"{"type":"event_callback","event_id":"Ev08MFMKH6","event":{"type":"message"}}"#
    let told = try await Self.send(bench, "POST", "chat", event, Self.slack(event, at: now))
    #expect(told.status == 202 && told.text.contains("chat:Ev08MFMKH6"), "\(told)")
    let rows = try await bench.rows("chat", reaching: 2)
    #expect(rows["chat:Ev08MFMKH6"]?.first?["outcome"]?.string == "started", "\(rows)")
    #expect(Set(rows.values.joined().compactMap { $0["outcome"]?.string }) == ["started", "unmatched"])
    await bench.end()
  }

  @Test func `the setting of the documentation passes Meta's challenge, a GET with a query`() async throws {
    let bench = try await Self.serving(["messages": try Self.recipe("messages")])
    let query = "hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=spring-2026"
    let asked = try await Self.send(bench, "GET", "messages?\(query)")
    #expect(asked.status == 200 && asked.text == "1158201444", "\(asked)")
    for query in ["", "hub.mode=subscribe&hub.challenge=1", query.replacingOccurrences(of: "spring", with: "autumn")] {
      let refused = try await Self.send(bench, "GET", "messages?\(query)")
      #expect(refused.status == 401 && !refused.text.contains("1158201444"), "\(refused)")
    }
    #expect(try await Self.send(bench, "PUT", "messages?\(query)").status == 405)
    #expect(try await bench.rows("messages").isEmpty)
    await bench.end()
  }

  @Test func `the setting of the documentation passes Microsoft Graph's challenge, a POST with a query`() async throws {
    let bench = try await Self.serving(["calendar": try Self.recipe("calendar")])
    let token = "Validation: Testing client application reachability for subscription Request-Id: 4a7a3ee2"
    let query = "validationToken=\(PercentEncoding.encode(token))"
    let asked = try await Self.send(
      bench, "POST", "calendar?\(query)", "", ["Content-Type": "text/plain; charset=utf-8"])
    #expect(asked.status == 200 && asked.text == token, "\(asked)")
    #expect(asked.headers["Content-Type"]?.hasPrefix("text/plain") == true)
    let event = #"{"value":[{"subscriptionId":"7f105c7d","changeType":"created"}]}"#
    let told = try await Self.send(
      bench, "POST", "calendar?from=graph", event,
      ["Content-Type": "application/json", "X-Graph-Token": Self.secret])
    #expect(told.status == 202 && told.text.isEmpty, "\(told)")
    #expect(try await Self.send(bench, "POST", "calendar", event, ["X-Graph-Token": "guess"]).status == 401)
    #expect(try await bench.rows("calendar", reaching: 1).count == 1)
    await bench.end()
  }

  @Test func `a script in a challenge is a text to a browser`() async throws {
    let bench = try await Self.serving(["calendar": try Self.recipe("calendar")])
    let script = "<script>alert(document.cookie)</script>"
    let asked = try await Self.send(
      bench, "POST", "calendar?validationToken=\(PercentEncoding.encode(script))", "", ["Accept": "text/html"])
    #expect(asked.status == 200 && asked.text == script)
    #expect(asked.headers["Content-Type"] == "text/plain; charset=utf-8")
    #expect(asked.headers["X-Content-Type-Options"] == "nosniff")
    #expect(asked.headers["Content-Security-Policy"]?.contains("sandbox") == true)
    let long = String(repeating: "x", count: 257)
    #expect(try await Self.send(bench, "POST", "calendar?validationToken=\(long)", "").status == 401)
    await bench.end()
  }

  @Test func `a caller gets the outputs of its run, and the same again after a restart`() async throws {
    let bench = try await Self.serving(["price": try Self.recipe("price")])
    let now = Int(Date().timeIntervalSince1970)
    let body = #"{"article":"book"}"#
    let headers = WebhookTests.standard(body, "msg_1", at: now)
    func ask(_ body: String, _ headers: HTTPHeaders) async throws -> (status: Int, text: String, headers: HTTPHeaders) {
      var headers = headers
      headers["Content-Type"] = "application/json"
      return try await Self.send(bench, "POST", "price", body, headers)
    }
    let first = try await ask(body, headers)
    #expect(first.status == 200 && first.headers["Content-Type"] == "application/json", "\(first)")
    #expect(try JSON.parse(first.text) == .object(["article": .string("book"), "price": .double(12.5)]))
    #expect(try await ask(body, headers).text == first.text)
    bench.agent?.signal(SIGTERM)
    #expect(await bench.agent?.end() == 0)
    try await bench.begin()
    #expect(try await ask(body, headers).text == first.text)
    // The run fails, because there is no such article.
    let other = #"{"article":"sword"}"#
    let failed = try await ask(other, WebhookTests.standard(other, "msg_2", at: now))
    let receipt = try JSON.parse(failed.text)
    #expect(
      failed.status == 202 && receipt["id"]?.string == "price:msg_2" && receipt["run"]?.string != nil, "\(failed)")
    let rows = try await bench.rows("price", reaching: 4)
    #expect(rows.values.joined().filter { $0["outcome"]?.string == "started" }.count == 2)
    await bench.end()
  }

  @Test func `secrets are masked in answers`() async throws {
    let recipe = """
      on:
        - webhook:
            verify: { token: { header: X-Token, secret: "${{ secrets.GRAPH_TOKEN }}" } }
            answer: [{ within: 10s, body: "${{ outputs.said }}" }]
          inputs: { said: "${{ string(event.data) }}" }
      inputs: { said: { type: string } }
      steps: [{ let: { x: "${{ inputs.said }}" } }]
      outputs: { said: "${{ x }}" }
      """
    let bench = try await Self.serving(["echo": recipe])
    let answer = try await Self.send(
      bench, "POST", "echo", "It is \(Self.secret).", ["X-Token": Self.secret, "Content-Type": "text/plain"])
    #expect(answer.status == 200 && answer.text.hasPrefix("It is ") && !answer.text.contains(Self.secret), "\(answer)")
    await bench.end()
  }
}
