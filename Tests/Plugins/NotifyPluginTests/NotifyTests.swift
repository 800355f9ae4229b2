import ActionKit
import ActionTestKit
import HTTPClient
import SandboxKit
import Recipes
import RunState
import RunTestKit
import Synchronization
import Testing

@testable import NotifyPlugin

/// The error of something that must fail.
private func failure(_ body: () async throws -> some Sendable) async throws -> NotifyError {
  do { _ = try await body() } catch let error as NotifyError { return error }
  throw Unexpected(description: "it went well")
}

private struct Unexpected: Error, CustomStringConvertible { var description: String }

private func client(
  of sandbox: NotifySandbox, _ change: (inout NotifySettings) -> Void = { _ in }
) -> NotifyClient {
  var settings = NotifySettings()
  settings.webhookURL = "\(sandbox.baseURL)/hook"
  settings.ntfyURL = sandbox.baseURL
  settings.topic = "topic"
  change(&settings)
  return NotifyClient(settings, time: TestTime())
}

private func withSandbox(_ body: (NotifySandbox) async throws -> Void) async throws {
  let sandbox = try NotifySandbox(SandboxOptions(time: TestTime()))
  do { try await body(sandbox) } catch {
    await sandbox.stop()
    throw error
  }
  await sandbox.stop()
}

@Suite(.timeLimit(.minutes(20))) struct NotifyTests {
  @Test func `is well formed`() { expectWellFormed(NotifyPlugin.self) }

  @Test func `does in the sandbox what its examples say`() async { await expectExamplesRun(of: NotifyPlugin.self) }

  @Test func `what is sent is as the documents of ntfy and of webhooks say`() async throws {
    let ok = #"{"id":"sPs71M8A2T","time":1795167000,"event":"message","topic":"t"}"#
    let transport = ScriptedTransport([
      .on("POST", "https://ntfy.example", ok), .on("POST", "https://ntfy.example", ok),
      .on("POST", "https://chat.example/services/T0/B0/x", " ok\n"),
    ])
    var settings = NotifySettings()
    settings.ntfyURL = "https://ntfy.example"
    settings.topic = "t"
    settings.token = "tk_secret"
    settings.webhookURL = "https://chat.example/services/T0/B0/x"
    settings.webhookHeaders = ["Authorization": "Bearer other"]
    let client = NotifyClient(settings, http: HTTPClient(transport: transport), time: TestTime())
    let receipt = try await client.publish(NtfyMessage("Ünï \"q\""))
    #expect(receipt.id == "sPs71M8A2T")
    #expect(receipt.takenAt == TestTime.start)
    try await client.publish(
      NtfyMessage(
        "m", title: "t", priority: .max, tags: ["train", "warning"], click: "https://example.org", isMarkdown: true,
        topic: "other"))
    let answer = try await client.post(.object(["text": .string("hi")]))
    #expect((answer.status, answer.text) == (200, "ok"))
    let bodies = transport.requests.map { String(decoding: $0.body ?? [], as: UTF8.self) }
    #expect(
      bodies == [
        #"{"topic":"t","message":"Ünï \"q\""}"#,
        #"{"topic":"other","message":"m","title":"t","priority":5,"tags":["train","warning"],"#
          + #""click":"https://example.org","markdown":true}"#,
        #"{"text":"hi"}"#,
      ])
    #expect(
      transport.requests.map { $0.headers["Authorization"] } == [
        "Bearer tk_secret", "Bearer tk_secret", "Bearer other",
      ])
    #expect(transport.requests.allSatisfy { $0.headers["Content-Type"] == "application/json" })
  }

  @Test func `a signature is that of Standard Webhooks`() throws {
    // The vector of the specification's own libraries.
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    let fields = try #require(
      StandardSignature.fields(
        of: Array(#"{"test": 2432232314}"#.utf8), id: "msg_p5jXN8AQM9LWM0D4loKWxJek", at: 1_614_265_330, secret: secret)
    )
    #expect(fields["webhook-id"] == "msg_p5jXN8AQM9LWM0D4loKWxJek")
    #expect(fields["webhook-timestamp"] == "1614265330")
    #expect(fields["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
    #expect(StandardSignature.fields(of: [], id: "a", at: 0, secret: "whsec_*") == nil)
  }

  @Test func `a step signs with its key, so that a second attempt has the same id`() async throws {
    let transport = ScriptedTransport([
      .on("POST", "https://chat.example/hook", "ok"), .on("POST", "https://chat.example/hook", "ok"),
    ])
    var settings = NotifySettings()
    settings.webhookURL = "https://chat.example/hook"
    let action = try #require(ActionCatalog([NotifyPlugin.self]).action("notify.webhook"))
    let input = Value.object(["text": .string("hi"), "sign": .string("standard")])
    let unsigned = NotifyClient(settings, http: HTTPClient(transport: transport), time: TestTime())
    await #expect(throws: ActionError.self) { try await action.run(input, on: unsigned, in: .testing()) }
    #expect(transport.requests.isEmpty)
    settings.signingSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    let client = NotifyClient(settings, http: HTTPClient(transport: transport), time: TestTime())
    for _ in 1...2 { _ = try await action.run(input, on: client, in: .testing()) }
    let ids = transport.requests.map { $0.headers["webhook-id"] }
    #expect(ids.count == 2 && ids[0] == ids[1] && ids[0]?.contains(".") == false)
    for request in transport.requests {
      let expected = StandardSignature.fields(
        of: request.body ?? [], id: ids[0] ?? "", at: TestTime.start.seconds, secret: settings.signingSecret ?? "")
      #expect(request.headers["webhook-signature"] == expected?["webhook-signature"])
      #expect(request.headers["webhook-timestamp"] == "\(TestTime.start.seconds)")
    }
  }

  @Test func `the priorities are the numbers of ntfy`() {
    #expect(NtfyPriority.allCases.map(\.priority.rawValue) == [1, 2, 3, 4, 5])
  }

  struct Refusal: Sendable, CustomTestStringConvertible {
    var settings: NotifySettings
    var message: NtfyMessage?
    var words: String
    var testDescription: String { words }

    init(_ words: String, message: NtfyMessage? = nil, _ change: (inout NotifySettings) -> Void = { _ in }) {
      settings = NotifySettings()
      settings.ntfyURL = "http://127.0.0.1:9"
      change(&settings)
      self.message = message
      self.words = words
    }
  }

  @Test(arguments: [
    Refusal("The connection has no webhook; give it a 'webhookURL' in errand.yaml."),
    Refusal("The connection's 'webhookURL' isn't an http or https address without a user.") {
      $0.webhookURL = "https://user:pass@chat.example/hook"
    },
    Refusal("The connection's 'webhookURL' isn't an http or https address without a user.") {
      $0.webhookURL = "ftp://chat.example/s3cret"
    },
    Refusal(
      "The message has no topic; give the connection one in errand.yaml, or the step.", message: NtfyMessage("a")),
    Refusal(
      "The message has 4098 bytes, and ntfy takes 4096; shorten it, and link to the rest with 'click'.",
      message: NtfyMessage(String(repeating: "ä", count: 2049), topic: "t")),
  ])
  func `what makes no sense is not sent`(_ refusal: Refusal) async throws {
    let client = NotifyClient(refusal.settings, time: TestTime())
    let error = try await failure {
      if let message = refusal.message {
        try await client.publish(message).id
      } else {
        try await client.post(.null).text
      }
    }
    #expect(error.message == refusal.words)
    #expect(error.actionError.kind == .configuration)
    #expect(error.actionError.effect == ActionError.Effect.none)
  }

  @Test func `a plan names neither topic nor address`() async throws {
    var settings = NotifySettings()
    settings.webhookURL = "https://chat.example/services/s3cret"
    settings.topic = "s3cret"
    let client = NotifyClient(settings)
    let catalog = ActionCatalog([NotifyPlugin.self])
    let webhook = try await #require(catalog.action("notify.webhook"))
      .preview(.object(["text": .string("hi")]), on: client, in: .testing())
    #expect(webhook == [Change("The webhook at chat.example", from: nil, to: #"{"text":"hi"}"#)])
    let ntfy = try await #require(catalog.action("notify.ntfy"))
      .preview(.object(["title": .string("Train"), "message": .string("late")]), on: client, in: .testing())
    #expect(ntfy == [Change("A topic of ntfy.sh", from: nil, to: "Train: late")])
  }

  @Test func `a webhook takes either a body or a text`() throws {
    let webhook = try #require(ActionCatalog([NotifyPlugin.self]).action("notify.webhook"))
    for input in [Value.object([:]), .object(["text": .string("a"), "body": .int(1)])] {
      #expect(webhook.input.check(input, as: "with").map(\.message) == ["'with' needs either 'body' or 'text'"])
    }
  }

  @Test func `requests are recorded without the secret part of their address`() async throws {
    try await withSandbox { sandbox in
      let requests = Mutex<[String]>([])
      let context = PluginContext(connection: "notify", time: TestTime()) { request in
        requests.withLock { $0.append("\(request.method) \(request.redactedURL) \(request.status ?? 0)") }
      }
      let configuration = try NotifyPlugin.Configuration(checking: sandbox.configuration)
      _ = try await NotifyPlugin.connect(configuration, in: context).post(.int(1))
      #expect(requests.withLock { $0 } == ["POST \(sandbox.baseURL)/… 200"])
    }
  }

  @Test func `a recipe tells, and the sandbox keeps what it was told`() async throws {
    let catalog = ActionCatalog([NotifyPlugin.self])
    let environment = RecipeEnvironment(catalog: catalog) { path throws(FileError) in
      throw FileError(.read, path, .system(2))
    }
    let text = """
      recipe: tell
      steps:
        - { id: chat, uses: notify.webhook, with: { text: "1 < 2" } }
        - { id: phone, uses: notify.ntfy, with: { title: Done, message: All of it., priority: high } }
      outputs: { answer: "${{ steps.chat.answer }}", id: "${{ steps.phone.id }}" }
      """
    let checked = Recipe.check(Source(name: "test.yaml", text: text), in: environment)
    let recipe = try #require(checked.recipe, "\(Diagnostics(checked.diagnostics).rendered())")
    try await withRun(of: recipe, plugins: [NotifyPlugin.self]) { run in
      let end = try await run.drive()
      #expect(end.status == .succeeded)
      let outputs = try JSON.text(try await run.outputs())
      #expect(outputs == #"{"answer":"ok","id":"sandbox2"}"#)
    }
    try await withSandbox { sandbox in
      let client = client(of: sandbox)
      _ = try await client.post(.object(["text": .string("1 < 2")]))
      try await client.publish(NtfyMessage("All of it.", title: "Done", priority: .high))
      #expect(sandbox.summaryLines() == [#"webhook: {"text":"1 < 2"}"#, "ntfy: Done: All of it."])
      let answer = try await HTTPClient().send(HTTPRequest("GET", "\(sandbox.baseURL)/sandbox/messages"))
      #expect(
        String(decoding: answer.body, as: UTF8.self)
          == #"[{"to":"webhook","body":{"text":"1 < 2"}},"#
          + #"{"to":"ntfy","body":{"topic":"topic","message":"All of it.","title":"Done","priority":4}}]"#)
    }
  }
}

/// Faults between client and server, over real HTTP.
@Suite(.timeLimit(.minutes(20))) struct NotifyFaultTests {
  struct Row: Sendable, CustomTestStringConvertible {
    var fault: ServiceFault
    var kind: ErrorKind
    var effect: ActionError.Effect
    var words: String
    /// For how many messages the sandbox has after it.
    var kept: Int
    /// Whether the webhook, which takes any answer of success, takes this one.
    var webhookIsContent = false
    var testDescription: String { "\(fault.kind) \(fault.status)" }

    init(
      _ kind: ServiceFault.Kind, status: Int = 503, _ error: ErrorKind, _ effect: ActionError.Effect, _ words: String,
      kept: Int = 0, webhookIsContent: Bool = false
    ) {
      fault = ServiceFault(kind)
      fault.status = status
      if kind == .status, status == 429 { fault.retryAfter = "7" }
      self.kind = error
      self.effect = effect
      self.words = words
      self.kept = kept
      self.webhookIsContent = webhookIsContent
    }
  }

  static let rows = [
    Row(.refuse, .network, .unknown, "closed the connection"),
    Row(.lostAnswer, .network, .unknown, "closed the connection", kept: 1),
    Row(.truncated, .network, .unknown, "before its answer was complete", kept: 1),
    Row(.slow, .timeout, .unknown, "did not send a complete answer within 0.3s", kept: 1),
    Row(.oversized, .plugin, .unknown, "larger than 65536 bytes", kept: 1),
    Row(
      .wrongType, .plugin, .unknown, "isn't an ntfy server: it sent no JSON with an 'id'", kept: 1,
      webhookIsContent: true),
    Row(
      .badUTF8, .plugin, .unknown, "isn't an ntfy server: it sent no JSON with an 'id'", kept: 1, webhookIsContent: true
    ),
    Row(.html, .plugin, .unknown, "isn't an ntfy server: it sent a web page", webhookIsContent: true),
    Row(.redirect, .plugin, .none, "HTTP status 302, which leads elsewhere; give the address that it leads to."),
    Row(.redirectLoop, .plugin, .none, "HTTP status 302, which leads elsewhere; give the address that it leads to."),
    Row(.status, status: 400, .plugin, .none, "HTTP status 400."),
    Row(.status, status: 401, .authentication, .none, "HTTP status 401; check the secrets of the connection."),
    Row(.status, status: 403, .authorization, .none, "HTTP status 403; check the secrets of the connection."),
    Row(.status, status: 404, .notFound, .none, "HTTP status 404; check the address of the connection."),
    Row(.status, status: 413, .plugin, .none, "HTTP status 413; the message is too large for it."),
    Row(.status, status: 429, .rateLimited, .none, "HTTP status 429; too many messages were sent."),
    Row(.status, status: 500, .server, .unknown, "HTTP status 500."),
    Row(.status, status: 503, .server, .unknown, "HTTP status 503."),
  ]

  @Test(arguments: rows, ["notify.ntfy", "notify.webhook"])
  func `a fault is told by what it is, and never hides that the message may have arrived`(
    _ row: Row, _ name: String
  ) async throws {
    try await withSandbox { sandbox in
      sandbox.server.add(row.fault)
      let client = client(of: sandbox) { if row.fault.kind == .slow { $0.requestTimeout = .milliseconds(300) } }
      let action = try #require(ActionCatalog([NotifyPlugin.self]).action(name))
      let input = Value.object([name == "notify.ntfy" ? "message" : "text": .string("hi")])
      do throws(ActionError) {
        _ = try await action.run(input, on: client, in: .testing())
        #expect(row.webhookIsContent && name == "notify.webhook")
      } catch {
        #expect(error.kind == row.kind)
        #expect(error.effect == row.effect)
        #expect(error.message.contains(row.words), "\(error.message)")
        #expect(error.message.contains("127.0.0.1"), "\(error.message)")
        #expect(!error.message.contains("/hook"), "\(error.message)")
        if row.fault.status == 429 { #expect(error.retryAfter == .seconds(7)) }
      }
      #expect(sandbox.messages.count == row.kept)
    }
  }

  @Test(arguments: ["http://127.0.0.1:9", "http://nobody.invalid"])
  func `nobody there is an error before anything was sent`(_ url: String) async throws {
    var settings = NotifySettings()
    settings.webhookURL = "\(url)/hook"
    let client = NotifyClient(settings, time: TestTime())
    let error = try await failure { try await client.post(.int(1)).text }
    #expect(error.actionError.kind == .network)
    #expect(error.actionError.effect == ActionError.Effect.none)
    #expect(error.message.hasPrefix("Sending to the webhook at "), "\(error.message)")
    #expect(!error.message.contains("/hook"))
  }

  @Test(arguments: [
    (
      #"{"code":40014,"http":400,"error":"invalid request: topic invalid","link":"https://ntfy.sh/docs"}"#,
      "invalid request: topic invalid"
    ),
    ("invalid_payload", "invalid_payload"), (#"{"message": "Unknown Webhook", "code": 10015}"#, "Unknown Webhook"),
  ])
  func `a refusal comes with the words of ntfy, Slack and Discord`(_ body: String, _ words: String) async throws {
    let transport = ScriptedTransport([.on("POST", "https://chat.example/hook", status: 400, body)])
    var settings = NotifySettings()
    settings.webhookURL = "https://chat.example/hook"
    let client = NotifyClient(settings, http: HTTPClient(transport: transport), time: TestTime())
    let error = try await failure { try await client.post(.null).text }
    #expect(error.actionError.detail == words)
  }

  @Test func `a message of too many bytes is told when the recipe is checked`() throws {
    let ntfy = try #require(ActionCatalog([NotifyPlugin.self]).action("notify.ntfy"))
    let long = String(repeating: "ä", count: 2049)
    #expect(
      ntfy.input.check(.object(["message": .string(long)]), as: "with").map(\.message)
        == ["'with.message' has 4098 bytes, and ntfy takes 4096"])
    #expect(ntfy.input.check(.object(["message": .string(String(long.dropLast()))]), as: "with").isEmpty)
  }
}
