public import ActionKit
import SandboxKit
import Synchronization

// The sandbox: a webhook at /hook and an ntfy server beside it, which keep the messages they receive. Beside the paths
// that every sandbox has (`SandboxServer`), it serves for tests from outside:
//
//   /sandbox/messages             the received messages, oldest first, as JSON: [{"to": "webhook", "body": …}, …]

extension NotifyPlugin: SandboxedPlugin {
  public static func startSandbox(_ options: SandboxOptions) throws -> any RunningSandbox {
    try NotifySandbox(options)
  }
}

/// Keeps messages on a loopback port.
final class NotifySandbox: ServedSandbox {
  let server: SandboxServer
  private let inbox = Inbox()

  private final class Inbox: Sendable {
    let messages = Mutex<[(to: String, body: Value)]>([])
  }

  init(_ options: SandboxOptions) throws {
    server = try SandboxServer(port: options.port, time: options.time) { [inbox] request, now in
      NotifySandbox.answer(request, at: now, inbox)
    }
  }

  /// The received messages, oldest first.
  var messages: [(to: String, body: Value)] { inbox.messages.withLock { $0 } }

  var configuration: Value {
    .object([
      "webhookURL": .string("\(baseURL)/hook"), "ntfyURL": .string(baseURL), "topic": .string("sandbox-topic"),
      "signingSecret": .string("whsec_bWFkZSB1cCBmb3IgdGhlIHNhbmRib3g="),
    ])
  }

  func summaryLines() -> [String] {
    messages.map { message in
      let text = message.body["message"]?.string ?? JSON.displayed(message.body)
      return
        "\(message.to): \([message.body["title"]?.string, text].compactMap(\.self).joined(separator: ": ").excerpt(300))"
    }
  }

  private static func answer(_ request: HTTPServerRequest, at now: Timestamp, _ inbox: Inbox) -> HTTPServerResponse {
    switch (request.method, request.path) {
    case ("GET", "/sandbox/messages"):
      let messages = inbox.messages.withLock { $0 }
      return .json(.list(messages.map { .object(["to": .string($0.to), "body": $0.body]) }))
    case ("POST", "/hook"):
      guard let body = try? JSON.parse(request.body) else { return .text("invalid_payload", status: 400) }
      inbox.messages.withLock { $0.append(("webhook", body)) }
      return .text("ok")
    case ("POST", "/"):
      let body = (try? JSON.parse(request.body)) ?? .null
      guard let topic = body["topic"]?.string else {
        return .json(
          .object(["code": .int(40_024), "http": .int(400), "error": .string("invalid request")]), status: 400)
      }
      let count = inbox.messages.withLock { messages in
        messages.append(("ntfy", body))
        return messages.count
      }
      return .json(
        .object([
          "id": .string("sandbox\(count)"), "time": .int(now.seconds), "event": .string("message"),
          "topic": .string(topic), "message": body["message"] ?? .string(""),
        ]))
    default: return .text("There is /hook, and ntfy at /.\n", status: 404)
    }
  }
}
