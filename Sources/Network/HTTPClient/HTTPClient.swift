import Basics

/// Settings that hold for every request of a client.
public struct HTTPClientConfiguration: Sendable {
  /// How the network is reached.
  public enum Proxy: Sendable {
    /// As `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` say; loopback addresses always directly.
    case environment
    /// Never through a proxy.
    case none
    /// Through this one, except for loopback addresses; the URL may hold credentials.
    case url(String)
  }

  /// How the network is reached.
  public var proxy: Proxy
  /// A file of PEM certificates that are trusted besides the system's.
  public var certificateAuthorities: String?
  /// The `User-Agent`.
  public var userAgent: String
  /// How many connections to one host there may be; more requests wait, and their time runs.
  public var maxConnectionsPerHost: Int
  /// Called with each exchange when it ends, on an arbitrary thread.
  public var observer: (@Sendable (HTTPExchange) -> Void)?

  /// Creates settings.
  public init(
    proxy: Proxy = .environment, certificateAuthorities: String? = nil, userAgent: String = "errand",
    maxConnectionsPerHost: Int = 64, observer: (@Sendable (HTTPExchange) -> Void)? = nil
  ) {
    self.proxy = proxy
    self.certificateAuthorities = certificateAuthorities
    self.userAgent = userAgent
    self.maxConnectionsPerHost = maxConnectionsPerHost
    self.observer = observer
  }
}

/// Sends requests and receives answers; one for the whole process shares its connections and its one thread.
///
/// A request is sent at most once: neither the client nor libcurl repeats it. Cancelling the task ends the exchange and
/// closes its connection at once. The thread starts with the first request and ends with the client.
public final class HTTPClient: Sendable {
  private let observer: (@Sendable (HTTPExchange) -> Void)?
  private let transport: any HTTPTransport

  /// Creates a client; without a transport it uses the network.
  public init(
    configuration: HTTPClientConfiguration = HTTPClientConfiguration(), transport: (any HTTPTransport)? = nil
  ) {
    observer = configuration.observer
    self.transport = transport ?? CurlTransport(configuration)
  }

  /// Creates a client with an interceptor, which sits between it and the network and may use the network.
  public convenience init(
    configuration: HTTPClientConfiguration,
    interceptedBy interceptor: (_ network: any HTTPTransport) -> any HTTPTransport
  ) {
    self.init(configuration: configuration, transport: interceptor(CurlTransport(configuration)))
  }

  /// Sends a request, follows the redirects it allows, and gives the answer whatever its status.
  public func send(_ request: HTTPRequest) async throws(HTTPError) -> HTTPResponse {
    try await send(request, into: nil)
  }

  /// Sends a request, and passes the body on as it arrives, if the sink accepts it.
  package func send(
    _ original: HTTPRequest, into sink: (any HTTPBodySink)?
  ) async throws(HTTPError) -> HTTPResponse {
    try original.validate()
    var request = original
    var elapsed = TimeSpan.zero
    var redirects = 0
    while true {
      if let total = original.limits.total {
        request.limits.total = total - elapsed
        guard total > elapsed else { throw Failure(of: request).timedOut(.total, sent: .maybe, elapsed: elapsed) }
      }
      var response: HTTPResponse
      do throws(HTTPError) {
        response = try await exchange(request, into: sink)
      } catch {
        var error = error
        error.elapsed = elapsed + error.elapsed
        // The server that redirected here has seen the request.
        if redirects > 0 { error.sent = .maybe }
        throw error
      }
      elapsed = elapsed + response.elapsed
      response.elapsed = elapsed
      guard request.redirects.limit > 0, let next = try request.redirected(by: response) else {
        response.url = request.url
        response.hidesQuery = request.hidesQuery
        if request.method != original.method { response.followedURL = request.redactedURL }
        return response
      }
      guard redirects < request.redirects.limit else { throw Failure(of: request).tooManyRedirects(elapsed: elapsed) }
      redirects += 1
      request = next
      // Otherwise a service could make this machine query its own network. A name's address is checked on connecting.
      if let address = response.remoteAddress, !NetworkAddress.isPrivate(address) { request.staysOutside = true }
      if request.staysOutside, let url = HTTPURL(request.url), url.isLoopback || NetworkAddress.isPrivate(url.host) {
        throw Failure(of: request).redirectedInside(elapsed: elapsed)
      }
    }
  }

  /// Sends one exchange and reports it to the observer.
  private func exchange(
    _ request: HTTPRequest, into sink: (any HTTPBodySink)?
  ) async throws(HTTPError) -> HTTPResponse {
    do throws(HTTPError) {
      let response = try await transport.send(request, into: sink)
      observer?(HTTPExchange(request, response))
      return response
    } catch {
      observer?(HTTPExchange(request, failedBy: error))
      throw error
    }
  }
}
