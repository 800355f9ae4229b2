public import HTTPTypes
import Synchronization

/// Answers requests from a script instead of a network, for tests.
///
/// Each step answers one request: the first unused step with the request's method and URL, so that requests made at the
/// same time find their answers. A request that no step expects is an error, and recorded.
public final class ScriptedTransport: HTTPTransport {
  /// One expected request and its answer.
  public struct Step: Sendable {
    var method: String
    var url: String
    var isPrefix: Bool
    var answer: @Sendable (HTTPRequest) async throws(HTTPError) -> HTTPResponse

    /// Answers a request with a status and a text.
    ///
    /// - Parameter url: the whole URL, or with `…` at its end the start of one.
    public static func on(
      _ method: String, _ url: String, status: Int = 200, headers: HTTPHeaders = [:], _ body: String = ""
    ) -> Step {
      .on(method, url) { request throws(HTTPError) in
        HTTPResponse(status: status, headers: headers, body: Array(body.utf8), url: request.url)
      }
    }

    /// Fails a request.
    public static func on(_ method: String, _ url: String, fail error: HTTPError) -> Step {
      .on(method, url) { _ throws(HTTPError) in throw error }
    }

    /// Answers a request with a closure.
    public static func on(
      _ method: String, _ url: String,
      _ answer: @escaping @Sendable (HTTPRequest) async throws(HTTPError) -> HTTPResponse
    ) -> Step {
      let isPrefix = url.hasSuffix("…")
      return Step(method: method, url: isPrefix ? String(url.dropLast()) : url, isPrefix: isPrefix, answer: answer)
    }

    func expects(_ request: HTTPRequest) -> Bool {
      method.utf8.elementsEqual(request.method.utf8)
        && (isPrefix ? request.url.utf8.starts(with: url.utf8) : request.url.utf8.elementsEqual(url.utf8))
    }
  }

  private struct State {
    var steps: [Step]
    var requests: [HTTPRequest] = []
  }

  private let state: Mutex<State>

  /// Creates a transport that answers what the steps expect, each once.
  public init(_ steps: [Step]) { state = Mutex(State(steps: steps)) }

  /// Every request that came, in order.
  public var requests: [HTTPRequest] { state.withLock(\.requests) }

  /// The expected requests that didn't come, as `GET https://…`.
  public var missing: [String] { state.withLock { $0.steps.map { "\($0.method) \($0.url)" } } }

  public func send(
    _ request: HTTPRequest, into sink: (any HTTPBodySink)?
  ) async throws(HTTPError) -> HTTPResponse {
    let step = state.withLock { state -> Step? in
      state.requests.append(request)
      return state.steps.firstIndex { $0.expects(request) }.map { state.steps.remove(at: $0) }
    }
    guard let step else {
      throw HTTPError(
        .invalidRequest, "The script expects no \(request.method) \(request.redactedURL); add a step for it.",
        sent: .nothing)
    }
    var response = try await step.answer(request)
    guard response.body.count <= request.limits.maxBodyBytes else {
      throw Failure(of: request).tooLarge(elapsed: response.elapsed)
    }
    if let sink, sink.accepts(response) {
      try sink.receive(response.body.span.bytes)
      response.body = []
    }
    return response
  }
}
