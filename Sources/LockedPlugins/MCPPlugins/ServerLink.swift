import ActionKit
import Basics
import ModelContext

/// A way to a server, over which requests go and results come back; many may be under way.
protocol ServerLink: Sendable {
  /// The server's name in messages, which is the name of its connection.
  var name: String { get }
  /// Whether it takes requests: it hasn't ended, and isn't about to.
  var isUsable: Bool { get }
  /// Sends a request, and returns its result.
  ///
  /// If the task is cancelled, the server is notified; the request ends when it can't change anything any more.
  func ask(_ request: ServerRequest) async throws(ServerFailure) -> ValueMap
  /// Sends a notification.
  func tell(_ method: String, as version: ProtocolVersion?) async
  /// Ends the link; pending requests are lost.
  func close()
}

/// A request to a server.
struct ServerRequest: Sendable {
  var method: String
  var params: ValueMap
  /// Nil before a version is agreed on.
  var version: ProtocolVersion?
  /// The action's call that this request is for; it gets the progress and the server's printed lines.
  var context: ActionContext?
  /// Whether it may change something outside.
  var isWrite = false
  /// Whether the server may ignore it; then another request is tried.
  var isTrial = false

  /// The message, with the members of `_meta` that its version requires in every request.
  func message(_ id: Int) -> ModelContextMessage {
    var params = params
    var meta = ValueMap()
    if let version, version.isStateless {
      meta = RequestEnvelope(version: version, capabilities: ClientCapabilities(elicitsForms: false))
        .meta(client: ServerSession.clientName, version: ServerSession.clientVersion)
    }
    if context != nil { meta[RequestEnvelope.Key.progressToken] = .int(id) }
    if !meta.isEmpty { params["_meta"] = .map(meta) }
    return .request(.int(id), method: method, params: params)
  }
}

/// Why a request has no result.
struct ServerFailure: Error {
  enum Reason {
    /// The server answered with an error.
    case answered(ModelContextError)
    /// It can't be started or reached as it is described.
    case unreachable(ErrorKind)
    /// It refused the request before it did anything.
    case refused(ErrorKind, status: Int?, retryAfter: TimeSpan?)
    /// The server has forgotten the request's session, and did nothing.
    case expired
    /// The request was or may have been sent, but has no answer.
    case lost(ErrorKind, status: Int? = nil)
    /// The server answered with a result that can't be read.
    case unreadable
    /// The task was cancelled; whether anything was sent before is in `mayHaveHappened`.
    case cancelled(mayHaveHappened: Bool)
  }

  var reason: Reason
  /// The problem and its fix, without a full stop.
  var message: String
  /// The server's text that isn't a message; the error's message ends with it.
  var quoted: [UInt8]?
  /// The last lines that the server printed.
  var printed: [UInt8] = []

  /// The longest part of such a text that a message quotes from, in bytes.
  static let mostQuoted = 4096

  /// The error as runs see it, made in the task of the call, which knows the secrets.
  ///
  /// - Parameter isWrite: Whether the request may have changed something outside.
  func actionError(isWrite: Bool) -> ActionError {
    let text = String(decoding: printed, as: UTF8.self).trimmed.excerpt(1900, .end, isCut: true)
    let detail = text.isEmpty ? nil : text
    // Only here are the secrets known, and taken out before anything is cut.
    let quote = quoted.map { bytes in
      let text = String(decoding: bytes.prefix(Self.mostQuoted), as: UTF8.self)
        .excerpt(120, isCut: bytes.count > Self.mostQuoted).safe.trimmed
      return text.isEmpty ? "nothing" : text
    }
    let message = (message + (quote ?? "")).excerpt(1000)
    let lost: ActionError.Effect = isWrite ? .unknown : .none
    switch reason {
    case .answered(let error):
      // A request that the protocol itself refuses was never started.
      let refusals: [ModelContextError.Code] = [
        .parseError, .invalidRequest, .methodNotFound, .invalidParams, .headerMismatch, .missingClientCapability,
        .unsupportedVersion,
      ]
      let isRefusal = ModelContextError.Code(rawValue: error.code).map(refusals.contains) ?? false
      return ActionError(
        isRefusal ? .validation : .plugin, message, detail: detail, retryable: false, effect: isRefusal ? .none : lost)
    case .expired: return ActionError(.network, message, detail: detail, effect: ActionError.Effect.none)
    case .unreachable(let kind): return ActionError(kind, message, detail: detail, effect: ActionError.Effect.none)
    case .refused(let kind, let status, let retryAfter):
      return ActionError(
        kind, message, detail: detail, status: status, retryAfter: retryAfter, effect: ActionError.Effect.none)
    case .lost(let kind, let status):
      // A lost read may be tried again, on a restarted server; the kind of error is a failed service's.
      return ActionError(
        kind == .plugin ? .server : kind, message, detail: detail, status: status, retryable: true, effect: lost)
    case .unreadable: return .unusable(message, isWrite: isWrite)
    case .cancelled(let mayHaveHappened):
      return ActionError(
        .cancelled, message, detail: detail, effect: mayHaveHappened ? lost : ActionError.Effect.none)
    }
  }
}

extension ActionContext {
  /// Passes on the progress that a server reports (`notifications/progress`).
  func report(_ params: ValueMap, of tool: String) {
    func number(_ name: String) -> Double? {
      switch params[name]?.content {
      case .int(let number): Double(number)
      case .double(let number): number
      default: nil
      }
    }
    // Cut text could hold a part of a secret, which isn't recognised any more.
    let message = params["message"]?.string.flatMap { $0.utf8.count <= 500 ? $0.safe : nil } ?? tool
    guard let done = number("progress"), done >= 0 else { return report(message) }
    var (completed, total) = (done, number("total").flatMap { $0 > 0 ? $0 : nil })
    if let whole = total, whole <= 1 || completed != completed.rounded() {
      // A share, which is shown in hundredths.
      (completed, total) = (completed / whole * 100, 100)
    }
    report(
      message, completed: Int(exactly: completed.rounded()),
      of: total.flatMap { Int(exactly: $0.rounded()) })
  }
}
