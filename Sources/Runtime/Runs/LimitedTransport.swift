import Basics
import HTTPClient
import RunState

/// Lets the requests of a connection out as its limits allow.
struct LimitedTransport: HTTPTransport {
  let network: any HTTPTransport
  let limiter: ConnectionLimiter

  /// A service that asks to wait longer is asked again after a day.
  static let longestHold = TimeSpan.seconds(86_400)

  func send(_ request: HTTPRequest, into sink: (any HTTPBodySink)?) async throws(HTTPError) -> HTTPResponse {
    let log = AttemptLog.current
    let admitted: ConnectionLimiter.Sent?
    do throws(StateError) {
      admitted = try await limiter.admitRequest(of: log?.permit ?? CallPermit.current, isCounted: log != nil) {
        log?.tellQueued($0)
      }
    } catch {
      throw HTTPError(.file, "\(request.method) \(request.redactedURL): \(error.message)", sent: .nothing)
    }
    guard let admitted else {
      throw HTTPError(.cancelled, "\(request.method) \(request.redactedURL): cancelled.", sent: .nothing)
    }
    defer { limiter.arrived(admitted) }
    let response = try await network.send(request, into: sink)
    if response.status == 429 || response.status == 503,
      let span = response.retryAfter(now: limiter.time.now()), span > .zero
    {
      await limiter.hold(for: min(span, LimitedTransport.longestHold))
    }
    return response
  }
}
