import Basics
package import HTTPClient
import HTTPTypes
import Synchronization

/// Freezes services as they were when they were first asked: each request is sent only once.
///
/// It is for a plan, which changes nothing: thirty previews that look at the same markbook need one reading of it, and
/// all see the same. A failure isn't kept, and drops all kept answers, because their session may have ended.
package final class Snapshot: Sendable {
  private struct Key: Hashable {
    var connection: String
    var method: String
    var url: String
    var headers: [String]
    var body: [UInt8]?
  }

  private struct Content {
    var answers: [Key: HTTPResponse] = [:]
    var bytes = 0
  }

  private let content = Mutex(Content())
  /// Beyond this, nothing more is kept.
  private static let mostBytes = 256 << 20

  package init() {}

  /// Carries a connection's requests.
  package func transport(of connection: String, over network: any HTTPTransport) -> any HTTPTransport {
    SnapshotTransport(snapshot: self, connection: connection, network: network)
  }

  fileprivate func answer(
    to request: HTTPRequest, of connection: String, over network: any HTTPTransport
  ) async throws(HTTPError) -> HTTPResponse {
    let key = Key(
      connection: connection, method: request.method, url: request.url,
      headers: request.headers.fields.map { "\($0.name): \($0.value)" }, body: request.body)
    if let answer = content.withLock({ $0.answers[key] }) { return answer }
    do throws(HTTPError) {
      let answer = try await network.send(request, into: nil)
      content.withLock { content in
        if !answer.isSuccess {
          content = Content()
        } else if content.bytes + answer.body.count <= Snapshot.mostBytes {
          content.answers[key] = answer
          content.bytes += answer.body.count
        }
      }
      return answer
    } catch {
      content.withLock { $0 = Content() }
      throw error
    }
  }
}

private struct SnapshotTransport: HTTPTransport {
  let snapshot: Snapshot
  let connection: String
  let network: any HTTPTransport

  func send(_ request: HTTPRequest, into sink: (any HTTPBodySink)?) async throws(HTTPError) -> HTTPResponse {
    // The body was written to the sink, so it can't be returned again.
    if sink != nil { return try await network.send(request, into: sink) }
    return try await snapshot.answer(to: request, of: connection, over: network)
  }
}
