public import ActionKit
import HTTPClient

/// An error of a call to the backend.
///
/// Programs switch on the kind; people read `displayMessage`, or the longer `message`, which adds the explanation.
public struct InterviewPrepError: Error, Sendable, CustomStringConvertible {
  /// The kinds of errors.
  public enum Kind: Hashable, Sendable {
    /// This machine is offline, or the connection was lost.
    case networkUnavailable
    /// No answer came within the time limit.
    case timeout
    /// The backend answered with a status outside 200 to 299, or a health check with any status but 200. The message is
    /// the backend's own, if it could be read.
    case server(status: Int, message: String?)
    /// The answer doesn't match the contract.
    case decoding
    /// The base address isn't a valid URL.
    case invalidURL
    /// The calling task was cancelled.
    case cancelled
    /// Any other failure, such as a backend that isn't running.
    case unknown
    /// The backend would refuse the profile or the plan; nothing was sent.
    case invalidInput
    /// The backend couldn't generate anything and gave a canned answer.
    case canned
  }

  /// The kind of the error, for programs to switch on.
  public var kind: Kind
  /// An explanation of the error in a sentence or two.
  public var explanation: String
  /// More of the backend's answer than its message: the faults with their places, and the trace id.
  public var detail: String?
  /// How long the backend asks to wait before the next request.
  public var retryAfter: TimeSpan?
  /// Whether the call may have been paid for although it failed.
  public var mayBePaid = false
  /// Whether a retry is useless until a setting is changed, such as a certificate.
  private var isSetUpWrongly = false

  /// Creates an error.
  public init(_ kind: Kind, _ explanation: String) {
    self.kind = kind
    self.explanation = explanation
  }

  /// A short text for users: the failure, and in some cases a remedy.
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
    // The caller has to correct a refused request, so the details belong to the message.
    let isRefused = (400..<500).contains(response.status)
    let parts = [answer?.error.map { $0.hasSuffix(".") ? $0 : "\($0)." }, isRefused ? answer?.details : nil]
    let words = parts.compactMap(\.self).joined(separator: " ")
    self.init(
      .server(status: response.status, message: answer?.error),
      "\(request.method) \(request.redactedURL) was answered with HTTP status \(response.status)"
        + (words.isEmpty ? "." : ": \(words)"))
    var details = (answer?.details).map { [$0] } ?? []
    if let id = answer?.traceId { details.append("Trace \(id).") }
    detail = details.isEmpty ? nil : details.joined(separator: " ")
    // After a server error the contract sets the waits, not a gateway's header.
    retryAfter = response.status == 429 ? response.retryAfter(now: now) : nil
    // The backend doesn't pass a request that it refuses on to its language model.
    mayBePaid = isPaid && response.status >= 500
  }
}

/// The backend's answer to a request that it refused, or that failed.
///
/// Each member is read separately, so that a malformed one doesn't hide the others.
private struct ErrorAnswer {
  /// A sentence for people.
  let error: String?
  /// The identifier of the failure in the backend's log.
  let traceId: String?
  /// The faults and their places as a sentence, made from a text, a validator's list of entries, or an object.
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
