package import ActionKit
package import Basics
package import HTTPClient
import HTTPTypes
package import RunState
package import Runs
import Synchronization

/// Records every exchange of services, and every call that doesn't use HTTP, in the order they end.
package final class Recorder: CallInterceptor {
  private struct Entry: Sendable {
    var connection: String
    var request: HTTPRequest
    var result: Result<(response: HTTPResponse, body: [UInt8]?), HTTPError>
  }

  private struct Content {
    var entries: [Entry] = []
    /// The files that were read: their bytes, nil if the file didn't exist, and the number of equal reads in a row.
    var files: [(path: String, bytes: [UInt8]?, reads: Int)] = []
    var calls: [(call: ServiceCall, result: Result<Value, ActionError>)] = []
    var connections: [String: Value] = [:]
    var secrets: Set<String> = []
    var registry: SecretRegistry?
    var at: Timestamp?
    var folder: String?
    var zone: String?
    var base: String?
    var steps: [(path: String, now: Timestamp)] = []
    /// The value of `now` for each step of the run, by its path.
    var instants: [String: Timestamp] = [:]
    var run: String?
    var acts: [RecordedAct] = []
  }

  private let content = Mutex(Content())

  package init() {}

  /// Carries a connection's requests, and records them.
  package func transport(of connection: String, over network: any HTTPTransport) -> any HTTPTransport {
    RecordingTransport(recorder: self, connection: connection, network: network)
  }

  package let confinement: String? = nil
  package let mismatch: ActionError? = nil

  package func carry(
    _ call: ServiceCall, _ perform: () async -> Result<Value, ActionError>
  ) async -> Result<Value, ActionError> {
    let result = await perform()
    content.withLock { $0.calls.append((call, result)) }
    return result
  }

  package func read(
    _ path: String, _ perform: () async throws(ActionError) -> [UInt8]
  ) async throws(ActionError) -> [UInt8] {
    do throws(ActionError) {
      let bytes = try await perform()
      note(bytes, at: path)
      return bytes
    } catch {
      if error.kind == .notFound { note(nil, at: path) }
      throw error
    }
  }

  private func note(_ bytes: [UInt8]?, at path: String) {
    let path = Recording.place(of: path)
    content.withLock { content in
      if let index = content.files.lastIndex(where: { $0.path.hasSameScalars(as: path) }),
        content.files[index].bytes == bytes
      {
        content.files[index].reads += 1
      } else {
        content.files.append((path, bytes, 1))
      }
    }
  }

  /// Records the settings of a connection, and which of them are secret.
  package func note(_ connection: String, settings: Value, secrets: [String]) {
    content.withLock { content in
      content.connections[connection] = settings
      content.secrets.formUnion(secrets)
    }
  }

  /// Leaves out the secrets that the state keeps out, even if they become known only during the run.
  package func hide(_ registry: SecretRegistry) { content.withLock { $0.registry = registry } }

  /// Whether nothing was recorded.
  package var isEmpty: Bool {
    content.withLock { $0.entries.isEmpty && $0.calls.isEmpty && $0.steps.isEmpty && $0.acts.isEmpty }
  }

  /// Records the run's id, when it began, the zone of its recipe if that names none, and the URL of the agent's pages.
  package func begin(_ run: String? = nil, at instant: Timestamp, zone: String? = nil, base: String? = nil) {
    content.withLock { content in
      content.run = run
      content.at = instant
      content.zone = zone
      content.base = base
    }
  }

  /// Records the acts of people and other programs that let the run continue.
  package func note(acts: [RecordedAct]) { content.withLock { $0.acts = acts.sorted { $0.at < $1.at } } }

  /// Records where the run's paths start.
  package func note(folder: String) { content.withLock { $0.folder = folder } }

  /// Records the value of `now` for one step.
  package func note(now: Timestamp, of path: String) { content.withLock { $0.instants[path] = now } }

  /// Records the value of `now` for each step, in the order the steps began.
  package func note(steps: [(path: String, now: Timestamp)]) {
    content.withLock { content in
      let known = Set(steps.map(\.path))
      content.steps =
        steps
        + content.instants.filter { !known.contains($0.key) }.map { ($0.key, $0.value) }
        .sorted { ($0.1, $1.0) < ($1.1, $0.0) }
    }
  }

  fileprivate func add(
    _ connection: String, _ request: HTTPRequest,
    _ result: Result<(response: HTTPResponse, body: [UInt8]?), HTTPError>
  ) {
    content.withLock { $0.entries.append(Entry(connection: connection, request: request, result: result)) }
  }

  /// The recording so far, without secrets.
  package func recording(of recipe: String) -> Recording {
    let content = content.withLock { $0 }
    let found =
      content.entries.flatMap { Scrubbing.secrets(in: $0.request) }
      + content.calls.flatMap { Scrubbing.secrets(in: $0.call) }
    let known = content.secrets.union(found).union(content.registry?.all.map(\.text) ?? [])
    let redactor = Redactor(known.sorted { $0.precedesByScalars($1) })
    // An address from an answer must remain an address, so that the run can be replayed.
    let queries = Set(content.entries.compactMap { $0.request.hidesQuery ? HTTPURL($0.request.url)?.query : nil })
    let redactBody = { (text: String) in
      redactor.redact(queries.reduce(text) { $0.replacing("?\($1)", with: "?***") })
    }
    // Written and read again, so that the acts hold no secrets from here on.
    let acts = content.acts.compactMap { RecordedAct(reading: $0.value(redactor.redact)) }
    return Recording(
      recipe: recipe, run: content.run, at: content.at ?? .earliest, folder: content.folder, zone: content.zone,
      base: content.base, steps: content.steps, acts: acts,
      connections: content.connections.mapValues { $0.scrubbed(redactor.redact) },
      exchanges: content.entries.map { entry in
        let outcome: Recording.Outcome =
          switch entry.result {
          case .success((let response, let body)):
            .response(
              status: response.status, headers: Scrubbing.fields(response.headers, of: entry.request, redactor),
              body: body.map { Recording.Body($0, redact: redactBody) } ?? .omitted)
          case .failure(let error):
            .failure(kind: error.kind.name, message: redactor.redact(error.message), sent: error.sent)
          }
        return Recording.Exchange(
          connection: entry.connection, request: Scrubbing.request(entry.request, redactor), outcome: outcome)
      },
      files: content.files.map { file in
        Recording.ReadFile(
          path: file.path,
          body: file.bytes.map { Recording.Body($0, redact: redactor.redact) ?? .text("") }, reads: file.reads)
      }, calls: content.calls.map { Recording.call($0.call, $0.result, redactor) })
  }
}

private struct RecordingTransport: HTTPTransport {
  let recorder: Recorder
  let connection: String
  let network: any HTTPTransport

  func send(_ request: HTTPRequest, into sink: (any HTTPBodySink)?) async throws(HTTPError) -> HTTPResponse {
    let copy = sink.map { CopyingSink($0) }
    do throws(HTTPError) {
      let response = try await network.send(request, into: copy)
      let body = copy?.isUsed == true ? copy?.bytes : response.body
      recorder.add(connection, request, .success((response, body)))
      return response
    } catch {
      recorder.add(connection, request, .failure(error))
      throw error
    }
  }
}

/// Passes a body on, and keeps a copy of it.
private final class CopyingSink: HTTPBodySink {
  private let sink: any HTTPBodySink
  /// Nil once the body is too large to keep.
  private let copy = Mutex<(isUsed: Bool, bytes: [UInt8]?)>((false, []))

  init(_ sink: any HTTPBodySink) { self.sink = sink }

  var bytesBefore: Int { sink.bytesBefore }

  var isUsed: Bool { copy.withLock { $0.isUsed } }
  var bytes: [UInt8]? { copy.withLock { $0.bytes } }

  func accepts(_ head: HTTPResponse) -> Bool {
    let accepts = sink.accepts(head)
    copy.withLock { $0.isUsed = accepts }
    return accepts
  }

  func receive(_ bytes: RawSpan) throws(HTTPError) {
    try sink.receive(bytes)
    let more = bytes.withUnsafeBytes { Array($0) }
    copy.withLock { copy in
      guard let count = copy.bytes?.count else { return }
      if count + more.count > Recording.Body.largest { copy.bytes = nil } else { copy.bytes?.append(contentsOf: more) }
    }
  }
}
