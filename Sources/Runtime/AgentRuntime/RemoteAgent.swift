/// An agent elsewhere, reached over HTTP with a token (`errand --remote URL`).
///
/// Each request is a `POST` to `/api/v1/requests`, whose answer holds the lines that the socket would have
/// (`RequestDoor`). A token goes only over TLS or to this machine, and redirects aren't followed, so that it reaches no
/// other host.
import Agent
import Operations
package import Basics
import Glibc
import HTTPClient
package import RunState
package import SecretSources
import Synchronization

package final class RemoteAgent: AgentWire {
  /// The agent's address, without a slash at its end.
  package let url: String
  private let token: String
  /// This program with its version.
  private let program: String
  private let http = HTTPClient()
  /// The agent's program, as its latest answer names it.
  private let lastProgram = Mutex<String?>(nil)

  /// - Parameters:
  ///   - address: The agent's address, as the user gave it.
  ///   - program: This program with its version.
  package init(_ address: String, token: String, program: String) throws(RuntimeError) {
    guard let url = HTTPURL(address), url.userInfo == nil, url.path == "/", url.query == nil, !address.contains("#")
    else {
      throw RuntimeError(
        .usage,
        "the address of an agent is a scheme and a host, such as https://errand.example.org, and not '\(address.safe)'")
    }
    guard url.scheme == "https" || url.isLoopback else {
      throw RuntimeError(
        .usage,
        "'\(address)' has no TLS, so everyone on the way could read the token; give the agent's https address, or lead a port of this machine there: ssh -L 7373:127.0.0.1:7373 \(url.host), then http://127.0.0.1:7373"
      )
    }
    self.url = url.origin
    self.token = token
    self.program = program
  }

  /// Sends a request; the stream of answers ends after the last one, or where the connection ended.
  ///
  /// An agent that can't be reached, or refuses the token, ends it with a `RuntimeError`.
  package func ask(_ request: Value) -> AsyncThrowingStream<Value, any Error> {
    let (answers, continuation) = AsyncThrowingStream<Value, any Error>.makeStream()
    // Cancelled when the answers are no longer wanted; ends with the exchange.
    let task = Task {
      do {
        try await exchange(
          request, AnswerSink(continuation) { [self] program in lastProgram.withLock { $0 = program } })
        continuation.finish()
      } catch {
        continuation.finish(throwing: error)
      }
    }
    continuation.onTermination = { _ in task.cancel() }
    return answers
  }

  private func exchange(_ line: Value, _ sink: AnswerSink) async throws {
    var request = HTTPRequest(
      "POST", "\(url)/api/v1/requests",
      headers: [
        "Authorization": "Bearer \(token)", "Content-Type": "application/json", "Accept": "application/jsonl",
        "Errand-Protocol": "\(AgentProtocol.version)",
      ], body: try JSON.write(line), redirects: .none, secrets: [token])
    // The agent sends something every 15 seconds.
    request.limits = HTTPLimits(attempt: nil, stall: .seconds(60), maxBodyBytes: .max)
    let response: HTTPResponse
    do throws(HTTPError) { response = try await http.send(request, into: sink) } catch {
      try throwFault(of: sink)
      // What came until then has been passed on.
      if sink.hasBegun { return }
      throw RuntimeError(.unavailable, "the agent can't be reached: \(error.message)")
    }
    try throwFault(of: sink)
    if !sink.hasBegun { throw refusal(of: response, saying: sink.refusal) }
  }

  /// Throws if a line couldn't be read.
  private func throwFault(of sink: AnswerSink) throws(RuntimeError) {
    if let fault = sink.fault { throw unreadable(fault) }
  }

  package func unreadable(_ error: RecordError) -> any Error { unreadable(error.message) }

  private func unreadable(_ fault: String) -> RuntimeError {
    guard let other = lastProgram.withLock({ $0 }), other != program else {
      return RuntimeError(.unavailable, "the answer of the agent at \(url) can't be read: \(fault.safeText())")
    }
    return RuntimeError(
      .unavailable,
      "the agent at \(url) is \(other.safe), and this is \(program), which reads its answer otherwise (\(fault.safeText())); use one version on both sides"
    )
  }

  /// What an answer that isn't lines means.
  private func refusal(of response: HTTPResponse, saying body: [UInt8]) -> any Error {
    let problem = (try? JSON.parse(body)) ?? .null
    guard response.headers["Content-Type"] == "application/problem+json", let kind = problem["kind"]?.string,
      let detail = problem["detail"]?.string?.safeText()
    else {
      let leads = (300...399).contains(response.status) ? ", which leads elsewhere" : ""
      return RuntimeError(
        .unavailable,
        "what answers at \(url) isn't an agent: it answered with HTTP status \(response.status)\(leads); check the address"
      )
    }
    if let kind = RequestRefusedError.Kind(word: kind), kind != .forbidden {
      let changes = (problem["changes"] ?? problem["moves"])?.list ?? []
      if changes.isEmpty { return RequestRefusedError(kind, detail) }
      return RequestRefusedError(planChanged: detail, changes.compactMap { $0.string?.safeText() })
    }
    switch kind {
    case "unauthorized": return RuntimeError(.configuration, "the agent at \(url) refuses the token: \(detail)")
    case "forbidden", "foreignHost", "foreignOrigin":
      return RuntimeError(.configuration, "the agent at \(url) refuses: \(detail)")
    case "noSuchPath":
      return RuntimeError(
        .unavailable, "the agent at \(url) is of a version that --remote can't reach; use \(program) there too")
    default: return RuntimeError(.unavailable, "the agent at \(url) refuses: \(detail)")
    }
  }

  // MARK: Tokens

  /// Reads a token from a file, which only this account may read.
  package static func token(inFile path: String) throws(RuntimeError) -> String {
    var status = stat()
    if stat(path, &status) == 0 {
      guard status.st_uid == geteuid() else {
        throw RuntimeError(
          .configuration,
          "'\(path)' belongs to another account, which can read the token; copy it into a file of your own: install -m 600 \(path) errand-token"
        )
      }
      guard status.st_mode & 0o077 == 0 else {
        throw RuntimeError(
          .configuration, "'\(path)' can be read by others; make it private with: chmod 600 \(path)")
      }
    }
    let bytes: [UInt8]
    do throws(FileError) { bytes = try Files.read(path, limit: 64 << 10) } catch {
      throw RuntimeError(error.isNotFound ? .noInput : .configuration, error.description)
    }
    return try sound(String(decoding: bytes, as: UTF8.self), of: "'\(path)'")
  }

  /// Reads a token from a source of secrets.
  package static func token(named name: String, from sources: SecretSources) async throws(RuntimeError) -> String {
    let found: String?
    do throws(SecretError) { found = try await sources.find(name)?.value } catch {
      throw RuntimeError(.configuration, error.message)
    }
    guard let found else {
      throw RuntimeError(
        .configuration,
        "missing secret: \(name), which --token-secret names; set the environment variable of that name, or name another source under 'secrets' in errand.yaml"
      )
    }
    return try sound(found, of: "the secret \(name)")
  }

  /// The token in a text.
  package static func sound(_ text: String, of what: String) throws(RuntimeError) -> String {
    let token = text.trimmed
    guard !token.isEmpty, token.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw RuntimeError(.configuration, "\(what) holds no token; 'errand token new' on the agent's machine makes one")
    }
    return token
  }
}

/// Reads the lines of an answer as they arrive; what isn't lines is kept as a refusal, as far as one is read.
private final class AnswerSink: HTTPBodySink {
  private struct Content {
    var hasBegun = false
    var lines = LineReader()
    var answers = AnswerAssembler()
    /// The bytes of the answer whose parts are coming.
    var held = 0
    var refusal: [UInt8] = []
    var fault: String?
  }

  /// The longest refusal that is read.
  private static let longestRefusal = 1 << 20

  private let content = Mutex(Content())
  private let answers: AsyncThrowingStream<Value, any Error>.Continuation

  private let note: @Sendable (_ program: String?) -> Void

  /// - Parameter note: Told the agent's program, as it names itself, before the first answer.
  init(
    _ answers: AsyncThrowingStream<Value, any Error>.Continuation,
    note: @escaping @Sendable (_ program: String?) -> Void
  ) {
    self.answers = answers
    self.note = note
  }

  /// Whether the agent answers with lines.
  var hasBegun: Bool { content.withLock { $0.hasBegun } }
  /// The body of an answer without lines.
  var refusal: [UInt8] { content.withLock { $0.refusal } }
  /// Why a line can't be read.
  var fault: String? { content.withLock { $0.fault } }

  /// Takes every answer: one without an end must not be collected.
  func accepts(_ head: HTTPResponse) -> Bool {
    let areLines = head.status == 200 && head.headers["Content-Type"] == "application/jsonl"
    if areLines {
      content.withLock { content in
        content.hasBegun = true
      }
      note(head.headers["Errand-Program"])
    }
    return true
  }

  func receive(_ bytes: RawSpan) throws(HTTPError) {
    let fault = content.withLock { content -> String? in
      bytes.withUnsafeBytes { bytes in
        guard content.hasBegun else {
          content.refusal += bytes
          if content.refusal.count > AnswerSink.longestRefusal {
            content.fault = "it isn't of an agent, and is longer than \(AnswerSink.longestRefusal >> 20) MiB"
          }
          return
        }
        for line in content.lines.take(bytes) {
          switch line {
          case .line(let line): take(line, &content)
          case .tooLong:
            content.fault =
              content.fault ?? "a line of it is longer than \(LineReader.longest >> 20) MiB, the most that is read"
          }
        }
      }
      return content.fault
    }
    // Nothing after it can be understood.
    if let fault { throw HTTPError(.malformedResponse, fault, sent: .maybe) }
  }

  private func take(_ line: [UInt8], _ content: inout Content) {
    guard content.fault == nil, !line.isBlankLine else { return }
    do throws(JSONError) {
      let value = try JSON.parse(line, limits: AgentProtocol.limits)
      guard let answer = content.answers.receive(value) else {
        content.held += line.count
        if content.held > AgentProtocol.limits.bytes {
          content.fault = "its parts are longer than \(AgentProtocol.limits.bytes >> 20) MiB, the most that is read"
        }
        return
      }
      content.held = 0
      answers.yield(answer)
    } catch {
      content.fault = error.message
    }
  }
}
