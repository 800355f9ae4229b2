public import HTTPClient

extension PluginContext {
  /// The HTTP client of a connection: its requests are taken down with the run, recorded, and answered from a recording
  /// where one stands in for the service.
  ///
  /// - Parameter configuration: Its observer is told after the run's own record was made.
  public func httpClient(_ configuration: HTTPClientConfiguration = HTTPClientConfiguration()) -> HTTPClient {
    var configuration = configuration
    let observer = configuration.observer
    configuration.observer = { [record] exchange in
      record(
        ServiceRequest(
          method: exchange.method, redactedURL: exchange.redactedURL, status: exchange.status, bytes: exchange.bytes,
          duration: exchange.elapsed))
      observer?(exchange)
    }
    guard let carrier else { return HTTPClient(configuration: configuration) }
    return HTTPClient(configuration: configuration) { carrier(connection, $0) }
  }
}
