public import ActionKit
import HTTPClient

/// Why the backend gave nothing.
///
/// Programs switch on the kind; people read `displayMessage`, or the whole `message`, which also says what happened.
public struct InterviewPrepError: Error, Sendable, CustomStringConvertible {
  /// What went wrong.
  public enum Kind: Hashable, Sendable {
    /// This machine is offline, or the connection was lost.
    case networkUnavailable
    /// No answer came within the time limit.
    case timeout
    /// The backend answered outside 200 to 299, or about its health with anything but 200, with these words of its own if
    /// they could be read.
    case server(status: Int, message: String?)
    /// The answer is not what the contract says.
    case decoding
    /// The base address is none.
    case invalidURL
    /// The calling task was cancelled.
    case cancelled
    /// Anything else, such as a backend that does not run.
    case unknown
    /// The profile or the plan is not one that the backend takes; nothing was sent.
    case invalidInput
    /// The backend could not make anything and gave a ready-made answer.
    case canned
  }

  /// What went wrong.
  public var kind: Kind
  /// What happened, in a sentence or two.
  public var explanation: String
  /// What the backend said beyond its message: what is wrong where, and its trace id.
  public var detail: String?
  /// How long the backend asks to wait before the next request.
  public var retryAfter: TimeSpan?
  /// Whether the call may have been paid for although it gave nothing.
  public var mayBePaid = false
  /// Whether another try needs another setting first, such as a certificate.
  private var isSetUpWrongly = false

  /// Creates an error.
  public init(_ kind: Kind, _ explanation: String) {
    self.kind = kind
    self.explanation = explanation
  }

  /// What to show to a user: what happened and what to do, in short.
  public var displayMessage: String {
    switch kind {
    case .networkUnavailable: "The network is not available. Please check the connection and try again."
    case .timeout: "The request took too long. Please try again."
    case .server(500..., _): "Server issue. Please try again shortly."
    case .server(429, _): "Too many requests. Please wait a little."
    case .server(401, _), .server(403, _): "The server gives no access."
    case .server(404, _): "The server has nothing at this address."
    case .server(301...303, _), .server(307...308, _):
      "The server redirects to another address, which has to be set as its own."
    case .server(..<400, _): "The server gave another answer than it should."
    case .server: "The server refused the request."
    case .decoding: "Data error: the answer cannot be read."
    case .invalidURL: "The address of the server is none."
    case .cancelled: "The request was cancelled."
    case .unknown: "Something went wrong."
    case .invalidInput: "The request was not sent."
    case .canned: "The backend could not make anything."
    }
  }

  /// All that there is to say, in sentences.
  public var message: String {
    "\(displayMessage) \(explanation)\(mayBePaid ? " The call may have been paid." : "")"
  }

  /// The message.
  public var description: String { message }

  /// Whether the same call is worth another try: the backend failed, the connection was lost, or it took too long.
  public var isRetryable: Bool {
    switch kind {
    case .networkUnavailable, .timeout: true
    case .server(let status, _): status >= 500
    default: false
    }
  }
}

extension InterviewPrepError {
  static func unreadable(_ what: String) -> InterviewPrepError {
    var error = InterviewPrepError(.decoding, "It does not match the contract: \(what).")
    error.mayBePaid = true
    return error
  }

  /// No whole answer came.
  init(_ error: HTTPError, isPaid: Bool, isOffline: Bool) {
    let kind: Kind =
      switch error.kind {
      case .timeout: .timeout
      case .interrupted: .networkUnavailable
      case .resolve, .connect: isOffline ? .networkUnavailable : .unknown
      case .tooLarge, .malformedResponse: .decoding
      case .invalidRequest: .invalidURL
      case .cancelled: .cancelled
      case .tls, .redirect, .file, .missingLibrary: .unknown
      }
    self.init(kind, error.message)
    if isOffline, kind == .networkUnavailable { explanation += " This machine is offline." }
    mayBePaid = isPaid && error.sent == .maybe
    isSetUpWrongly = error.errorKind == .configuration
  }

  /// An answer outside 200 to 299; its body is JSON for people, or anything that a gateway says.
  init(_ response: HTTPResponse, to request: HTTPRequest, isPaid: Bool, now: Timestamp) {
    let answer = (try? response.json()).map { ErrorAnswer($0) }
    // What is refused is the caller's to mend, so what is wrong where belongs to the message.
    let isRefused = (400..<500).contains(response.status)
    let said = [answer?.error.map { $0.hasSuffix(".") ? $0 : "\($0)." }, isRefused ? answer?.details : nil]
    let words = said.compactMap(\.self).joined(separator: " ")
    self.init(
      .server(status: response.status, message: answer?.error),
      "\(request.method) \(request.redactedURL) was answered with HTTP status \(response.status)"
        + (words.isEmpty ? "." : ": \(words)"))
    var details = (answer?.details).map { [$0] } ?? []
    if let id = answer?.traceId { details.append("Trace \(id).") }
    detail = details.isEmpty ? nil : details.joined(separator: " ")
    // After a failure of its own the waits are the contract's, not the gateway's.
    retryAfter = response.status == 429 ? response.retryAfter(now: now) : nil
    // What the backend refuses it does not pass on to its language model.
    mayBePaid = isPaid && response.status >= 500
  }
}

/// What the backend says when it refuses or fails.
///
/// Each member is read by itself, so that an odd one does not take the words of the others with it.
private struct ErrorAnswer {
  /// A sentence for people.
  let error: String?
  /// What tells the failure in the backend's log.
  let traceId: String?
  /// What is wrong where: a text, a list of a validator's entries, or an object, as a sentence.
  let details: String?

  init(_ answer: Value) {
    error = answer["error"]?.string
    traceId = answer["traceId"]?.string
    details = answer["details"].flatMap { $0.isNull ? nil : Self.text(of: $0) }
  }

  private static func text(of value: Value) -> String {
    if let text = value.string { return text.hasSuffix(".") ? text : "\(text)." }
    guard let list = value.list else { return (try? JSON.text(value)) ?? "" }
    let entries = list.map { entry -> String in
      guard let message = entry["message"]?.string else { return (try? JSON.text(entry)) ?? "" }
      guard let path = entry["instancePath"]?.string, !path.isEmpty else { return message }
      return "\(path): \(message)"
    }
    return entries.joined(separator: "; ") + "."
  }
}

extension InterviewPrepError: ActionErrorConvertible {
  public var actionError: ActionError {
    switch kind {
    case .networkUnavailable: failure(.network)
    case .timeout: failure(.timeout)
    case .server(let status, _): failure(ErrorKind(httpStatus: status), status: status)
    case .decoding: failure(.plugin)
    case .invalidURL: failure(.configuration)
    case .cancelled: failure(.cancelled)
    case .unknown: failure(isSetUpWrongly ? .configuration : .network)
    case .invalidInput: failure(.validation)
    case .canned: failure(.server)
    }
  }

  private func failure(_ kind: ErrorKind, status: Int? = nil) -> ActionError {
    ActionError(
      kind, message, detail: detail, status: status, retryable: isRetryable, retryAfter: retryAfter,
      effect: mayBePaid ? .unknown : ActionError.Effect.none, cause: self)
  }
}
