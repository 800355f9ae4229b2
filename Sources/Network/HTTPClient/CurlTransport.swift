import Basics
import CCurl
import Glibc
import HTTPTypes

/// The network: hands requests to the thread that runs libcurl, and waits for it without holding a thread.
final class CurlTransport: HTTPTransport {
  private let loop: CurlLoop

  init(_ configuration: HTTPClientConfiguration) { loop = CurlLoop(configuration) }

  deinit { loop.stop() }

  func send(
    _ request: HTTPRequest, into sink: (any HTTPBodySink)?
  ) async throws(HTTPError) -> HTTPResponse {
    if let fault = ccurl_load() { throw Failure(of: request).missingLibrary(String(cString: fault)) }
    let transfer = CurlTransfer(request, sink)
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { loop.start(transfer, $0) }
    } onCancel: {
      loop.cancel(transfer)
    }
    return try result.get()
  }
}
