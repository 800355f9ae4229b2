import Basics

/// Builds the errors of one request, so that each names the request, the host and the fix, and no secret.
struct Failure {
  private let request: HTTPRequest

  init(of request: HTTPRequest) { self.request = request }

  private var host: String { HTTPURL(request.url)?.origin ?? "the server" }

  private func error(
    _ kind: HTTPError.Kind, _ text: String, sent: HTTPError.Sent, elapsed: TimeSpan = .zero
  ) -> HTTPError {
    HTTPError(kind, "\(request.method) \(request.redactedURL): \(text)", sent: sent, elapsed: elapsed)
  }

  func invalid(_ text: String) -> HTTPError { error(.invalidRequest, text, sent: .nothing) }

  func missingLibrary(_ text: String) -> HTTPError { error(.missingLibrary, text, sent: .nothing) }

  func unresolved(elapsed: TimeSpan) -> HTTPError {
    error(
      .resolve, "the name of \(host) cannot be resolved; check the URL and the network.", sent: .nothing,
      elapsed: elapsed)
  }

  func unresolvedProxy(elapsed: TimeSpan) -> HTTPError {
    error(
      .resolve, "the name of the proxy cannot be resolved; check the proxy settings.", sent: .nothing,
      elapsed: elapsed)
  }

  func unreachable(elapsed: TimeSpan) -> HTTPError {
    error(
      .connect, "\(host) refused the connection; check that the service runs and that the address is right.",
      sent: .nothing, elapsed: elapsed)
  }

  /// - Parameter proxy: The proxy and who names it, without credentials.
  func unreachableProxy(_ proxy: String, elapsed: TimeSpan) -> HTTPError {
    error(
      .connect, "the proxy \(proxy) refused the connection; check that it runs and that its address is right.",
      sent: .nothing, elapsed: elapsed)
  }

  /// - Parameter detail: libcurl's words; the message has the proxy's status from them.
  func refusedByProxy(_ proxy: String, _ detail: String, elapsed: TimeSpan) -> HTTPError {
    let status = detail.split(separator: " ").last.flatMap { Int($0) }.map { " (HTTP status \($0))" } ?? ""
    let fix = status.contains("407") ? "give it a user and password in its address" : "check the proxy settings"
    return error(
      .connect, "the proxy\(proxy.isEmpty ? "" : " \(proxy)") refused to connect to \(host)\(status); \(fix).",
      sent: .nothing, elapsed: elapsed)
  }

  func untrusted(_ reason: String, elapsed: TimeSpan) -> HTTPError {
    let detail = reason.isEmpty ? "" : " (\(reason))"
    // OpenSSL says this if the answer isn't TLS.
    let fix =
      reason.contains("wrong version number")
      ? "the port answers without TLS; check the scheme and port of the URL."
      : "if its certificate comes from a private authority, name the file of that authority as "
        + "'certificateAuthorities' of the connection, or in the variable SSL_CERT_FILE."
    return error(.tls, "no secure connection to \(host)\(detail); \(fix)", sent: .nothing, elapsed: elapsed)
  }

  func unreadableAuthorities(elapsed: TimeSpan) -> HTTPError {
    error(
      .tls, "the file of certificate authorities cannot be read; check its path and that it holds PEM certificates.",
      sent: .nothing, elapsed: elapsed)
  }

  func timedOut(_ which: HTTPError.Timeout, sent: HTTPError.Sent, elapsed: TimeSpan) -> HTTPError {
    let limits = request.limits
    let text =
      switch which {
      case .connect: "no connection to \(host) within \(limits.connect)"
      case .attempt: "\(host) did not send a complete answer within \(limits.attempt ?? elapsed)"
      case .total: "\(host) did not send a complete answer before the total time limit"
      case .stall: "\(host) sent nothing for \(limits.stall ?? elapsed)"
      }
    return error(
      .timeout(which), "\(text); try later or raise the time limit.", sent: sent, elapsed: elapsed)
  }

  func cancelled(sent: HTTPError.Sent, elapsed: TimeSpan) -> HTTPError {
    error(.cancelled, "cancelled.", sent: sent, elapsed: elapsed)
  }

  func tooLarge(elapsed: TimeSpan) -> HTTPError {
    error(
      .tooLarge, "the answer is larger than \(request.limits.maxBodyBytes) bytes; raise the limit if it should be.",
      sent: .maybe, elapsed: elapsed)
  }

  func headTooLarge(_ limit: Int, elapsed: TimeSpan) -> HTTPError {
    error(
      .tooLarge, "the headers of the answer are larger than \(limit) bytes, the most that is read.",
      sent: .maybe, elapsed: elapsed)
  }

  func headerTooLarge(_ limit: Int, elapsed: TimeSpan) -> HTTPError {
    error(
      .tooLarge, "a header of the answer is larger than \(limit) bytes, the most that is read.", sent: .maybe,
      elapsed: elapsed)
  }

  func malformed(elapsed: TimeSpan) -> HTTPError {
    error(
      .malformedResponse, "\(host) did not answer with HTTP; check the scheme and port of the URL.",
      sent: .maybe, elapsed: elapsed)
  }

  func damaged(_ reason: String, elapsed: TimeSpan) -> HTTPError {
    error(
      .malformedResponse, "the compressed answer of \(host) is damaged: \(reason).", sent: .maybe, elapsed: elapsed)
  }

  func cutWithin(elapsed: TimeSpan) -> HTTPError {
    error(
      .interrupted, "the compressed answer of \(host) is incomplete.", sent: .maybe, elapsed: elapsed)
  }

  func unknownEncoding(_ name: String, elapsed: TimeSpan) -> HTTPError {
    error(
      .malformedResponse,
      "\(host) compresses its answer as '\(name)', which isn't supported; gzip and deflate are.", sent: .maybe,
      elapsed: elapsed)
  }

  func unequalLengths(elapsed: TimeSpan) -> HTTPError {
    error(
      .malformedResponse, "\(host) gives its answer two lengths, so where it ends can't be known.", sent: .maybe,
      elapsed: elapsed)
  }

  func unreadableLength(_ length: String, elapsed: TimeSpan) -> HTTPError {
    error(
      .malformedResponse,
      "\(host) gives its answer the length '\(length.excerpt(40))', which isn't a number, so where it ends can't be known.",
      sent: .maybe, elapsed: elapsed)
  }

  func interrupted(sent: HTTPError.Sent, elapsed: TimeSpan) -> HTTPError {
    error(.interrupted, "\(host) closed the connection before its answer was complete.", sent: sent, elapsed: elapsed)
  }

  func other(_ text: String, sent: HTTPError.Sent, elapsed: TimeSpan) -> HTTPError {
    error(.interrupted, "the exchange with \(host) failed: \(text).", sent: sent, elapsed: elapsed)
  }

  func tooManyRedirects(elapsed: TimeSpan) -> HTTPError {
    error(
      .redirect, "\(host) redirects more than \(request.redirects.limit) times in a row; check the URL.", sent: .maybe,
      elapsed: elapsed)
  }

  func unusableRedirect(elapsed: TimeSpan) -> HTTPError {
    error(
      .redirect, "\(host) redirects without a valid address; check the URL.",
      sent: .maybe, elapsed: elapsed)
  }

  /// Names the target as far as it may be shown, because the request has to be sent there.
  func redirectedWrite(to target: HTTPRequest, _ status: Int, elapsed: TimeSpan) -> HTTPError {
    error(
      .redirect,
      "\(host) answered with HTTP status \(status), which redirects to \(target.redactedURL). The \(target.method) isn't "
        + "sent there as well: that may be only the page to look at after it. If the service has moved, change the URL.",
      sent: .maybe, elapsed: elapsed)
  }

  func unexpectedPart() -> HTTPError {
    error(.malformedResponse, "\(host) sent a part of the file that was not requested.", sent: .maybe)
  }

  /// Names only the origin of the target: the rest of it may repeat what the request kept secret.
  func refusedRedirect(to target: HTTPURL, elapsed: TimeSpan) -> HTTPError {
    error(
      .redirect,
      "\(host) redirects to \(target.origin); only redirects to \(request.redirects.requirement) are followed. "
        + "If the service has moved, change the URL.", sent: .maybe, elapsed: elapsed)
  }

  func redirectedInside(elapsed: TimeSpan) -> HTTPError {
    error(
      .redirect,
      "a service redirects from a public address to a private one, which isn't followed: \(host) is in this machine's own "
        + "network. If that is meant, set the URL to it.", sent: .maybe, elapsed: elapsed)
  }

  func notAllowed(elapsed: TimeSpan) -> HTTPError {
    error(
      .cancelled, "nothing was sent to \(host), because another program may carry the run on by now", sent: .nothing,
      elapsed: elapsed)
  }

  func file(_ text: String, sent: HTTPError.Sent, elapsed: TimeSpan = .zero) -> HTTPError {
    error(.file, text, sent: sent, elapsed: elapsed)
  }
}
