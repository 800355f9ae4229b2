import Basics
import HTTPClient
import HTTPTypes
import Synchronization

/// The requests that a case's services made, in the order of their answers.
final class RequestLedger: Sendable {
  struct Entry: Sendable {
    var connection: String
    var method: String
    /// Without secrets, in the form that recordings have, so that it can be parsed.
    var url: String
    var status: Int?
  }

  private let content = Mutex<[Entry]>([])

  var entries: [Entry] { content.withLock { $0 } }

  /// Carries a connection's requests and records them.
  func transport(of connection: String, over network: any HTTPTransport) -> any HTTPTransport {
    LedgerTransport(ledger: self, connection: connection, network: network)
  }

  fileprivate func add(_ entry: Entry) { content.withLock { $0.append(entry) } }
}

private struct LedgerTransport: HTTPTransport {
  let ledger: RequestLedger
  let connection: String
  let network: any HTTPTransport

  func send(_ request: HTTPRequest, into sink: (any HTTPBodySink)?) async throws(HTTPError) -> HTTPResponse {
    var entry = RequestLedger.Entry(connection: connection, method: request.method, url: request.recordedURL)
    do throws(HTTPError) {
      let response = try await network.send(request, into: sink)
      entry.status = response.status
      ledger.add(entry)
      return response
    } catch {
      ledger.add(entry)
      throw error
    }
  }
}

extension RequestLedger.Entry {
  /// The request as tests write it: `GET /catalog.json?year=1 200`.
  var text: String { "\(method) \(target) \(status.map { "\($0)" } ?? "no answer")" }

  private var target: String {
    guard let url = HTTPURL(url) else { return url }
    return url.path + (url.query.map { "?\($0)" } ?? "")
  }

  /// The request as conditions see it.
  var value: Value {
    var map = ValueMap()
    let url = HTTPURL(url)
    map["connection"] = .string(connection)
    map["method"] = .string(method)
    map["path"] = .string(url?.path ?? self.url)
    var query = ValueMap()
    for item in HTTPQuery(decoding: url?.query ?? "").items { query[item.name] = .string(item.value) }
    map["query"] = .map(query)
    map["status"] = status.map { .int($0) }
    return .map(map)
  }
}
