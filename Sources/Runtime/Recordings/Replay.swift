package import ActionKit
package import Basics
package import HTTPClient
import HTTPTypes
package import Runs
import Synchronization

/// Answers requests and calls from a recording, each exchange and call once, in any order.
///
/// A request is answered by the first unused exchange with the same meaning: the same method, scheme, host, port and
/// path, the same query items and form fields in any order, the same JSON. A request that matches no exchange is
/// refused, with its differences from the nearest one. So is a call, which matches a call of the same action with the
/// same input. The recording has a mark in place of each secret, which matches any text; so a request is compared both
/// as it is, and without the secrets that are known now.
package final class Replay: CallInterceptor {
  private let recording: Recording
  /// The secrets of the replay, then these together with all known secrets.
  private let secrets: [[String]]
  private let redactors: [Redactor]
  private let isPlayed: Mutex<[Bool]>
  private let isCallPlayed: Mutex<[Bool]>
  /// How often each file was read that isn't in the folder.
  private let reads = Mutex<[String: Int]>([:])
  /// The first request or call that isn't recorded.
  private let stray = Mutex<ActionError?>(nil)

  /// - Parameters:
  ///   - secrets: The values in place of secrets now, which the recording does not hold.
  ///   - known: The known secrets, which the recording holds no more than those.
  ///   - folder: Where the files are written that answers are saved to.
  package init(_ recording: Recording, secrets: [String], known: [String] = [], folder: String) {
    confinement = folder
    self.recording = recording
    self.secrets = known.isEmpty ? [secrets] : [secrets, secrets + known]
    redactors = self.secrets.map { Redactor($0) }
    isCallPlayed = Mutex((recording.calls ?? []).map { _ in false })
    isPlayed = Mutex(recording.exchanges.map { _ in false })
  }

  /// The recorded requests and calls that were not made.
  package var unplayed: [String] {
    let isPlayed = isPlayed.withLock { $0 }
    let isCallPlayed = isCallPlayed.withLock { $0 }
    return zip(recording.exchanges, isPlayed).filter { !$0.1 }.map(\.0.request.displayed)
      + zip(recording.calls ?? [], isCallPlayed).filter { !$0.1 && $0.0["part"] == nil }
      .compactMap { $0.0["action"]?.string }
  }

  /// The first request or call that the recording doesn't hold.
  ///
  /// After it nothing more is answered: however a plugin or a recipe handles the error, the run has diverged.
  package var mismatch: ActionError? { stray.withLock { $0 } }

  /// Refuses a mismatch, and keeps it as an error that no recipe catches.
  fileprivate func keep(_ message: String) -> ActionError {
    stray.withLock { $0 = $0 ?? ActionError(.internal, message, effect: ActionError.Effect.none) }
    return ActionError(.validation, message)
  }

  /// The folder for the files that answers are saved to.
  package let confinement: String?

  package func carry(
    _ call: ServiceCall, _ perform: () async -> Result<Value, ActionError>
  ) async -> Result<Value, ActionError> {
    guard let calls = recording.calls else {
      // The state of a replay is discarded with the run.
      if call.isLocal { return await perform() }
      return .failure(
        keep("The recording has an older format, which holds no calls of \(call.action); record the run again."))
    }
    let wanted = secrets.map { secrets in
      let input = Scrubbing.input(of: call, Redactor(secrets + Scrubbing.secrets(in: call)))
      // In the form that a file has.
      return (try? JSON.parse(JSON.write(input))) ?? input
    }
    let found = isCallPlayed.withLock { isPlayed -> Result<Value, ActionError> in
      var nearest: [String]?
      for (index, recorded) in calls.enumerated()
      where !isPlayed[index] && recorded["action"] == .string(call.action)
        && recorded["connection"] == .string(call.connection)
        && recorded["part"]?.string ?? "run" == call.part.rawValue
      {
        let differences = fewest(
          wanted.map { wanted in
            var differences: [String] = []
            RequestMeaning.compare(wanted, recorded["input"] ?? .null, at: "input", &differences)
            return differences
          })
        if differences.isEmpty {
          isPlayed[index] = true
          return .success(recorded)
        }
        if differences.count < nearest?.count ?? .max { nearest = differences }
      }
      let reason =
        nearest.map { "in the nearest one \($0.joined(separator: ", "))" }
        ?? "all that it holds of '\(call.connection)' has been replayed"
      return .failure(keep("The recording holds no such call of \(call.action); \(reason)."))
    }
    return found.flatMap {
      Recording.result(of: $0)
        ?? .failure(keep("The recording left the output of this call out, because of its size or a secret."))
    }
  }

  package func read(
    _ path: String, _ perform: () async throws(ActionError) -> [UInt8]
  ) async throws(ActionError) -> [UInt8] {
    let missing: ActionError
    do throws(ActionError) { return try await perform() } catch {
      guard error.kind == .notFound else { throw error }
      missing = error
    }
    let inside = confinement.map { path.hasPrefix($0) ? String(path.dropFirst($0.count)) : path } ?? path
    guard let body = recorded(Recording.place(of: inside))?.body else { throw missing }
    guard let bytes = body.bytes else {
      throw keep("The recording left the file '\(inside)' out, because of its size or a secret.")
    }
    return bytes
  }

  /// The recorded read that has the same number as the replay's next read of this file; the last one if the run read
  /// the file less often.
  private func recorded(_ path: String) -> Recording.ReadFile? {
    let files = recording.files.filter { $0.path.hasSameScalars(as: path) }
    var earlier = reads.withLock { reads in
      defer { reads[path, default: 0] += 1 }
      return reads[path, default: 0]
    }
    for file in files {
      if earlier < file.reads { return file }
      earlier -= file.reads
    }
    return files.last
  }

  private func fewest(_ differences: [[String]]) -> [String] { differences.min { $0.count < $1.count } ?? [] }

  /// Answers a connection's requests.
  package func transport(of connection: String) -> any HTTPTransport {
    ReplayTransport(replay: self, connection: connection)
  }

  fileprivate func exchange(
    for request: HTTPRequest, of connection: String
  ) -> Result<Recording.Exchange, HTTPError> {
    let wanted = redactors.map { RequestMeaning(Scrubbing.request(request, $0)) }
    return isPlayed.withLock { isPlayed in
      var nearest: (exchange: Recording.Exchange, differences: [String])?
      for (index, exchange) in recording.exchanges.enumerated()
      where !isPlayed[index] && exchange.connection.hasSameScalars(as: connection) {
        let recorded = RequestMeaning(exchange.request)
        let differences = fewest(wanted.map { $0.differences(from: recorded) })
        if differences.isEmpty {
          isPlayed[index] = true
          return .success(exchange)
        }
        if differences.count < nearest?.differences.count ?? .max { nearest = (exchange, differences) }
      }
      let reason =
        nearest.map {
          HTTPRequest.displayed(
            recorded: "the nearest is \($0.exchange.request.displayed): \($0.differences.joined(separator: ", "))")
        } ?? "all that it holds of '\(connection)' has been replayed"
      let displayed = redactors[redactors.count - 1].redact("\(request.method) \(request.redactedURL)")
      let error = keep("The recording holds no request \(displayed); \(reason).")
      return .failure(HTTPError(.invalidRequest, error.message, sent: .nothing))
    }
  }
}

private struct ReplayTransport: HTTPTransport {
  let replay: Replay
  let connection: String

  func send(_ request: HTTPRequest, into sink: (any HTTPBodySink)?) async throws(HTTPError) -> HTTPResponse {
    switch try replay.exchange(for: request, of: connection).get().outcome {
    case .failure(let kind, let message, let sent):
      throw HTTPError(HTTPError.Kind(named: kind), message, sent: sent)
    case .response(let status, let headers, let body):
      var response = HTTPResponse(status: status, headers: HTTPHeaders(headers), url: request.url)
      if let body {
        guard let bytes = body.bytes else {
          let error = replay.keep(
            "The recording left the body of this answer out, because of its size or a secret.")
          throw HTTPError(.invalidRequest, error.message, sent: .nothing)
        }
        response.body = bytes
        response.bodyBytes = bytes.count
      }
      if let sink, sink.accepts(response) {
        try sink.receive(response.body.span.bytes)
        response.body = []
      }
      return response
    }
  }
}

/// The meaning of a request, which is equal for requests that ask for the same.
struct RequestMeaning {
  private var method: String
  private var place: String
  private var query: [String]
  private var body: Value

  init(_ request: Recording.Request) {
    method = request.method
    // The marks in a recorded URL aren't ASCII.
    let url = HTTPURL(request.url.replacing(RequestMeaning.mark, with: RequestMeaning.mark.percentEncoded))
    place =
      url.map { "\($0.origin)\($0.path.replacing(RequestMeaning.mark.percentEncoded, with: RequestMeaning.mark))" }
      ?? request.url
    query = RequestMeaning.items(url?.query ?? "")
    switch request.body {
    case nil: body = .null
    case .json(let value): body = value
    case .text(let text):
      // JSON has the same meaning however it is laid out.
      if let value = try? JSON.parse(text), value.list != nil || value.map != nil {
        body = value
      } else if text.utf8.contains(ASCII.equals), !text.utf8.contains(where: { $0 <= 0x20 }) {
        body = .list(RequestMeaning.items(text).map { .string($0) })
      } else {
        // The boundary of a form follows from all that is in it, secrets included.
        let boundary = text.hasPrefix("--") ? String(text.prefix { $0 != "\r\n" }) : ""
        body = .string(boundary.utf8.count > 2 ? text.replacing(boundary, with: "--") : text)
      }
    case .base64(let text): body = .string(text)
    case .omitted: body = RequestMeaning.leftOut
    }
  }

  private static func items(_ text: String) -> [String] {
    HTTPQuery(decoding: text).items.map { "\($0.name)=\($0.value)" }.sorted { $0.precedesByScalars($1) }
  }

  /// A body that isn't in the recording, which any is like.
  private static let leftOut = Value.string("(left out)")

  /// The differences from a recorded request.
  func differences(from recorded: RequestMeaning) -> [String] {
    var found: [String] = []
    if !method.hasSameScalars(as: recorded.method) { found.append("\(method) instead of \(recorded.method)") }
    if !RequestMeaning.meansSame(place, recorded.place) { found.append("\(place) instead of \(recorded.place)") }
    found += RequestMeaning.differences(query, recorded.query)
    if recorded.body != RequestMeaning.leftOut { RequestMeaning.compare(body, recorded.body, at: "body", &found) }
    return found
  }

  private static func differences(_ items: [String], _ recorded: [String]) -> [String] {
    var left = recorded
    var more: [String] = []
    for item in items {
      if let index = left.firstIndex(where: { $0.hasSameScalars(as: item) }) {
        left.remove(at: index)
      } else {
        more.append(item)
      }
    }
    more.removeAll { item in
      guard let index = left.firstIndex(where: { meansSame(item, $0) }) else { return false }
      left.remove(at: index)
      return true
    }
    return more.map { "'\($0)' is not recorded" } + left.map { "'\($0)' is missing" }
  }

  /// More differences would not help.
  private static let most = 5

  static func compare(_ value: Value, _ recorded: Value, at path: String, _ found: inout [String]) {
    guard found.count < most, value != recorded else { return }
    switch (value.content, recorded.content) {
    case (.map(let left), .map(let right)):
      for member in left.members {
        compare(member.value, right[member.key] ?? .null, at: "\(path).\(member.key.string ?? "")", &found)
      }
      for member in right.members where left[member.key] == nil {
        compare(.null, member.value, at: "\(path).\(member.key.string ?? "")", &found)
      }
    case (.list(let left), .list(let right)) where left.count == right.count:
      for (index, pair) in zip(left, right).enumerated() {
        compare(pair.0, pair.1, at: "\(path)[\(index)]", &found)
      }
    case (.string(let left), .string(let right)) where meansSame(left, right): break
    default: found.append("\(path) is \(displayed(value)) instead of \(displayed(recorded))")
    }
  }

  private static let mark = "•••"

  private static func meansSame(_ text: String, _ other: String) -> Bool {
    text.hasSameScalars(as: other) || isSame(text, as: other) || isSame(other, as: text)
  }

  /// Whether a text equals another one, apart from the secrets that were removed from the other.
  ///
  /// Secrets are removed from values that a run reads before it uses them, and more of them from recorded values, so
  /// texts made from the two lack different parts.
  static func isSame(_ text: String, as other: String) -> Bool {
    let (bytes, pattern, mark) = (Array(text.utf8), Array(other.utf8), Array("•••".utf8))
    var parts: [[UInt8]] = [[]]
    var index = 0
    while index < pattern.count {
      if pattern[index...].starts(with: mark) {
        parts.append([])
        index += mark.count
      } else {
        parts[parts.count - 1].append(pattern[index])
        index += 1
      }
    }
    guard parts.count > 1, let first = parts.first, let last = parts.last, bytes.starts(with: first),
      bytes.count >= first.count + last.count, bytes.suffix(last.count).elementsEqual(last)
    else { return false }
    var start = first.count
    let end = bytes.count - last.count
    for part in parts.dropFirst().dropLast() {
      while start + part.count <= end, !bytes[start...].starts(with: part) { start += 1 }
      start += part.count
      if start > end { return false }
    }
    return true
  }

  private static func displayed(_ value: Value) -> String {
    JSON.displayed(value).excerpt(60)
  }
}
