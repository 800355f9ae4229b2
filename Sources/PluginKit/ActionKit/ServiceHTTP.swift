public import HTTPClient

extension PluginContext {
  /// The HTTP client of a connection.
  ///
  /// Its requests are noted in the run and recorded, and a replay answers them from its recording.
  ///
  /// - Parameters:
  ///   - authorities: The file of certificates that the connection trusts beside the system's, if it names one.
  ///   - configuration: Its observer is called after the run's own record was made.
  public func httpClient(
    trusting authorities: String? = nil, _ configuration: HTTPClientConfiguration = HTTPClientConfiguration()
  ) -> HTTPClient {
    var configuration = configuration
    if let authorities { configuration.certificateAuthorities = path(authorities) }
    let observer = configuration.observer
    configuration.observer = { [record] exchange in
      record(
        ServiceRequest(
          method: exchange.method, redactedURL: exchange.redactedURL, status: exchange.status, bytes: exchange.bytes,
          duration: exchange.elapsed))
      observer?(exchange)
    }
    guard let interceptor else { return HTTPClient(configuration: configuration) }
    return HTTPClient(configuration: configuration) { interceptor(connection, $0) }
  }
}
