public import ActionKit
public import HTTPClient

/// Why the service did not do what a call asked.
///
/// Programs switch on the kind; people read the message, which names the action and, where there is one, the way
/// out, and holds neither a secret nor anything of the answer but its status.
public struct MarkbookError: Error, Sendable, CustomStringConvertible {
  /// The kinds of errors.
  public enum Kind: Sendable {
    /// No whole answer came.
    case network(HTTPError)
    /// The server answered outside 200 to 299.
    case httpError(statusCode: Int)
    /// The service answered, and its status is not `OKAY`.
    case apiError(APIStatus)
    /// No session could be opened.
    ///
    /// Trying again with the same password does not help.
    indirect case authenticationFailed(underlying: MarkbookError)
    /// The base address isn't a valid URL.
    case invalidURL
    /// The text for `scheduleBackup` has fewer than two characters.
    ///
    /// Nothing was sent.
    case invalidBackupMatchingParameter
    /// The answer isn't JSON, or a required field is missing or of another type.
    case unreadable
    /// The zip that was downloaded is damaged.
    case backupDamaged
    /// The file of the zip cannot be written.
    case backupNotStored
    /// The calling task was cancelled.
    case cancelled
  }

  /// The kind of the error, for programs to switch on.
  public var kind: Kind
  /// The action that was asked for, as the wire calls it.
  public var action: String
  /// The failure and its remedy, in sentences.
  public var message: String
  /// Whether the call can have changed anything although it failed.
  public var effect: ActionError.Effect
  /// Whether the service may have refused the session rather than the call.
  ///
  /// The call wasn't repeated, because a repetition would change something again. The session is forgotten by then, so
  /// the next call opens a new one.
  public var sessionMayHaveEnded = false

  /// The service's own explanation in the answer's body, if the body is a text and not a page.
  public var detail: String?

  /// How long the server asks to wait before the next request.
  public var retryAfter: TimeSpan?

  /// Creates an error.
  public init(_ kind: Kind, action: String, message: String, effect: ActionError.Effect = .none) {
    self.kind = kind
    self.action = action
    self.message = message
    self.effect = effect
  }

  /// The message.
  public var description: String { message }
}

extension MarkbookError {
  static func refused(_ action: String, _ status: APIStatus) -> MarkbookError {
    MarkbookError(
      .apiError(status), action: action, message: "Markbook Online answered '\(action)' with '\(status)'.")
  }

  static func unreadable(_ action: String, _ field: String, _ wanted: String, found: Value?) -> MarkbookError {
    let finding = found.map { "is \($0.kindName)" } ?? "is missing"
    return MarkbookError(
      .unreadable, action: action,
      message: "The answer to '\(action)' cannot be read: \(field) should be \(wanted) and \(finding).",
      effect: .unknown)
  }

  /// Nothing of the call itself was sent; only the login was tried.
  static func authenticationFailed(_ underlying: MarkbookError) -> MarkbookError {
    var error = MarkbookError(
      .authenticationFailed(underlying: underlying), action: underlying.action,
      message: "Logging in to Markbook Online failed. \(underlying.message)")
    error.detail = underlying.detail
    error.retryAfter = underlying.retryAfter
    return error
  }
}

extension MarkbookError {
  /// No whole answer came.
  init(network error: HTTPError, action: String) {
    let kind: Kind =
      switch error.kind {
      case .cancelled: .cancelled
      case .invalidRequest: .invalidURL
      default: .network(error)
      }
    self.init(
      kind, action: action, message: "Asking Markbook Online for '\(action)' failed. \(error.message)",
      effect: error.sent == .maybe ? .unknown : .none)
  }

  /// Parses the body of an answer, tolerating a byte order mark and the trailing commas that the service writes.
  static func reading(_ response: HTTPResponse, action: String) throws(MarkbookError) -> Value {
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let body = response.body.starts(with: mark) ? Array(response.body.dropFirst(mark.count)) : response.body
    do throws(JSONError) {
      return try JSON.parse(body, allowing: .trailingCommas)
    } catch {
      // The JSON reader's own words may quote the answer, so only the place is taken over.
      let place = error.spot.map { " at line \($0.position.line), column \($0.position.column)" } ?? ""
      throw MarkbookError(
        .unreadable, action: action,
        message: response.isPage
          ? "The answer to '\(action)' is a web page and not JSON: check that 'baseURL' is the API's address, and "
            + "that the service is not down for maintenance."
          : "The answer to '\(action)' isn't valid JSON\(place), after \(body.count) bytes; it may have been cut off.",
        effect: .unknown)
    }
  }
}

// MARK: - For runs

extension MarkbookError: ActionErrorConvertible {
  public var actionError: ActionError {
    switch kind {
    case .network(let error): failure(error.errorKind)
    case .httpError(let status): failure(ErrorKind(httpStatus: status), status: status)
    case .apiError: failure(.validation)
    case .authenticationFailed(let underlying):
      switch underlying.kind {
      case .network, .httpError, .cancelled: failure(underlying.actionError.kind)
      default: failure(.authentication)
      }
    case .invalidURL: failure(.configuration)
    case .invalidBackupMatchingParameter: failure(.validation)
    // A file that was damaged on the way may arrive intact the next time.
    case .backupDamaged: failure(.network)
    case .unreadable, .backupNotStored: failure(.plugin)
    case .cancelled: failure(.cancelled)
    }
  }

  private func failure(_ kind: ErrorKind, status: Int? = nil) -> ActionError {
    ActionError(
      kind, message, detail: detail, status: status, retryAfter: retryAfter, effect: effect, cause: self)
  }
}
