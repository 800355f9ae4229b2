public import ActionKit
public import HTTPClient

/// Sends messages to people.
public protocol Notifying: Sendable {
  /// Posts a value as JSON to the webhook.
  func post(_ body: Value) async throws(NotifyError) -> WebhookAnswer
  /// Publishes a message on a topic.
  @discardableResult func publish(_ message: NtfyMessage) async throws(NotifyError) -> NtfyReceipt
}

/// Sends messages to a webhook and to an ntfy server.
///
/// It never sends a message twice, because neither service honours an idempotency key.
public final class NotifyClient: Notifying {
  private let settings: NotifySettings
  private let http: HTTPClient
  private let time: any TimeSource

  private static let mostAnswerBytes = 64 << 10

  /// Creates a client; sends nothing.
  public init(_ settings: NotifySettings, http: HTTPClient = HTTPClient(), time: any TimeSource = SystemTime()) {
    self.settings = settings
    self.http = http
    self.time = time
  }

  /// The webhook's host; the rest of its address is secret.
  var webhookHost: String? { settings.webhookURL.flatMap { HTTPURL($0)?.host } }
  /// The host of the ntfy server.
  var ntfyHost: String { HTTPURL(settings.ntfyURL)?.host ?? settings.ntfyURL }

  /// Posts a value as JSON to the webhook.
  public func post(_ body: Value) async throws(NotifyError) -> WebhookAnswer { try await post(body, signedAs: nil) }

  /// Posts a value as JSON to the webhook, signed as Standard Webhooks do if it has an id.
  ///
  /// - Parameter id: The message's id, which is the same when it is sent again, so that the receiver recognises
  ///   duplicates.
  public func post(_ body: Value, signedAs id: String?) async throws(NotifyError) -> WebhookAnswer {
    guard let address = settings.webhookURL else {
      throw NotifyError(.invalid, "The connection has no webhook; give it a 'webhookURL' in errand.yaml.")
    }
    guard let url = HTTPURL(address), url.userInfo == nil else {
      throw NotifyError(.invalid, "The connection's 'webhookURL' isn't an http or https address without a user.")
    }
    var headers = HTTPHeaders()
    for (name, value) in settings.webhookHeaders { headers[name] = value }
    if let id {
      guard let secret = settings.signingSecret else {
        throw NotifyError(.invalid, "The connection has no 'signingSecret'; give it one in errand.yaml.")
      }
      let bytes: [UInt8]
      do throws(JSONError) { bytes = try JSON.write(body) } catch {
        throw NotifyError(.invalid, "The message cannot be written as JSON: \(error).")
      }
      guard let fields = StandardSignature.fields(of: bytes, id: id, at: time.now().seconds, secret: secret) else {
        throw NotifyError(
          .invalid, "The connection's 'signingSecret' isn't 'whsec_' and a key in Base64, as Standard Webhooks have it."
        )
      }
      headers.fields += fields.fields
    }
    let response = try await send(body, to: address, headers, hidesPath: true, as: "the webhook at \(url.host)")
    let text = String(validating: response.body, as: UTF8.self) ?? ""
    return WebhookAnswer(status: response.status, text: text.trimmed)
  }

  /// Publishes a message on a topic.
  @discardableResult public func publish(_ message: NtfyMessage) async throws(NotifyError) -> NtfyReceipt {
    guard let topic = message.topic ?? settings.topic else {
      throw NotifyError(.invalid, "The message has no topic; give the connection one in errand.yaml, or the step.")
    }
    guard message.text.utf8.count <= NtfyMessage.mostBytes else {
      throw NotifyError(
        .invalid,
        "The message has \(message.text.utf8.count) bytes, and ntfy takes \(NtfyMessage.mostBytes); shorten it, and "
          + "link to the rest with 'click'.")
    }
    var body = ValueMap()
    body["topic"] = .string(topic)
    body["message"] = .string(message.text)
    body["title"] = message.title.map { .string($0) }
    if message.priority != .normal { body["priority"] = .int(message.priority.rawValue) }
    if !message.tags.isEmpty { body["tags"] = .list(message.tags.map { .string($0) }) }
    body["click"] = message.click.map { .string($0) }
    if message.isMarkdown { body["markdown"] = .bool(true) }
    var headers = HTTPHeaders()
    if let token = settings.token { headers["Authorization"] = "Bearer \(token)" }
    let server = "the ntfy server at \(ntfyHost)"
    let response = try await send(.map(body), to: settings.ntfyURL, headers, as: server)
    let receipt = try? JSON.parse(response.body)
    guard let id = NotifyClient.text(receipt, "id") else {
      throw NotifyError(
        .unreadable,
        "What answered as \(server) isn't an ntfy server: it sent \(response.isPage ? "a web page" : "no JSON with an 'id'"). Check "
          + "'ntfyURL' in errand.yaml.", effect: .unknown)
    }
    return NtfyReceipt(id: id, takenAt: NotifyClient.instant(receipt, "time"))
  }

  // Separate functions, because the optimizer of Swift 6.3 fails if they are inlined here.
  private static func text(_ value: Value?, _ name: String) -> String? { value?[name]?.string }
  private static func instant(_ value: Value?, _ name: String) -> Timestamp? {
    guard let seconds = value?[name]?.int else { return nil }
    return Timestamp(seconds: seconds)
  }

  /// Posts a value, and returns the response if the server accepted it.
  private func send(
    _ body: Value, to url: String, _ headers: HTTPHeaders, hidesPath: Bool = false, as server: String
  ) async throws(NotifyError) -> HTTPResponse {
    let bytes: [UInt8]
    do throws(JSONError) { bytes = try JSON.write(body) } catch {
      throw NotifyError(.invalid, "The message cannot be written as JSON: \(error).")
    }
    var headers = headers
    headers["Content-Type"] = "application/json"
    let request = HTTPRequest(
      "POST", url, headers: headers, body: bytes,
      limits: HTTPLimits(
        connect: settings.connectTimeout, attempt: settings.requestTimeout,
        maxBodyBytes: NotifyClient.mostAnswerBytes),
      redirects: .none, hidesPath: hidesPath,
      credentialHeaders: HTTPRequest.standardCredentialHeaders.union(settings.webhookHeaders.keys))
    let response: HTTPResponse
    do throws(HTTPError) { response = try await http.send(request) } catch {
      throw NotifyError(
        .network(error), "Sending to \(server) failed. \(error.message)",
        effect: error.sent == .maybe ? .unknown : .none)
    }
    if response.isSuccess { return response }
    let advice =
      switch response.status {
      case 300...399: ", which leads elsewhere; give the address that it leads to"
      case 401, 403: "; check the secrets of the connection"
      case 404, 410: "; check the address of the connection"
      case 413: "; the message is too large for it"
      case 429: "; too many messages were sent"
      default: ""
      }
    throw NotifyError(
      .httpStatus(response.status),
      "What was sent to \(server) was refused with HTTP status \(response.status)\(advice).", detail: response.reason,
      retryAfter: response.retryAfter(now: time.now()),
      // A server that failed may have forwarded the message first.
      effect: response.status >= 500 ? .unknown : .none)
  }
}
