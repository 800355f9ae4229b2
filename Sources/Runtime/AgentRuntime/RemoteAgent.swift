/// An agent elsewhere, reached over HTTP with a token (`errand --remote URL`).
///
/// It is asked in the exact form (`AgentWire`). A token goes only over TLS or to this machine, and redirects aren't
/// followed, so that it reaches no other host.
import Agent
package import AgentClient
import Operations
import Basics
import Glibc
import HTTPClient
import RunState
package import SecretSources

package final class RemoteAgent: AgentWire {
  /// The agent's address, without a slash at its end.
  package let url: String
  private let token: String
  /// This program with its version.
  private let program: String
  package let patience: WirePatience
  private let http = HTTPClient()

  /// - Parameters:
  ///   - address: The agent's address, as the user gave it.
  ///   - program: This program with its version.
  package init(
    _ address: String, token: String, program: String, patience: WirePatience
  ) throws(RuntimeError) {
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
    self.patience = patience
  }

  package func send(_ asked: ExactRequest, to reader: ExactReader) async throws {
    var request = HTTPRequest(
      "POST", url + asked.path,
      headers: [
        "Authorization": "Bearer \(token)", "Content-Type": "application/json", "Accept": asked.accepted,
        ExactForm.program: program,
      ], body: asked.body, redirects: .none, secrets: [token])
    // A stream says something every 15 seconds; an answer may be long in the making.
    request.limits = HTTPLimits(attempt: nil, stall: .seconds(asked.isStream ? 60 : 600), maxBodyBytes: .max)
    do throws(HTTPError) {
      _ = try await http.send(request, into: AnswerSink(reader: reader))
      reader.end()
    } catch {
      // What came until then has been passed on.
      guard !reader.isBegun else { return }
      throw RuntimeError(.unavailable, "the agent can't be reached: \(error.message)")
    }
  }

  package func unreadable(_ fault: String) -> any Error {
    RuntimeError(.unavailable, "the answer of the agent at \(url) can't be read: \(fault.safeText())")
  }

  package func error(for problem: ExactReader.Problem) -> any Error {
    guard let kind = problem.kind else {
      let leads = (300...399).contains(problem.status) ? ", which leads elsewhere" : ""
      return RuntimeError(
        .unavailable,
        "what answers at \(url) isn't an agent: it answered with HTTP status \(problem.status)\(leads); check the address"
      )
    }
    if let kind = RequestRefusedError.Kind(rawValue: kind), kind != .forbidden {
      if problem.changes.isEmpty { return RequestRefusedError(kind, problem.detail) }
      return RequestRefusedError(planChanged: problem.detail, problem.changes)
    }
    switch kind {
    case "unauthorized": return RuntimeError(.configuration, "the agent at \(url) refuses the token: \(problem.detail)")
    case "forbidden", "foreignHost", "foreignOrigin":
      return RuntimeError(.configuration, "the agent at \(url) refuses: \(problem.detail)")
    case "noSuchPath", "method":
      return RuntimeError(
        .unavailable, "the agent at \(url) is of a version that --remote can't reach; use \(program) there too")
    default: return RuntimeError(.unavailable, "the agent at \(url) refuses: \(problem.detail)")
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

/// Passes the answer on as it arrives.
private struct AnswerSink: HTTPBodySink {
  let reader: ExactReader

  /// Takes every answer: one without an end must not be collected.
  func accepts(_ head: HTTPResponse) -> Bool {
    reader.begin(head.status, head.headers)
    return true
  }

  func receive(_ bytes: RawSpan) throws(HTTPError) {
    // Nothing after a fault can be understood.
    if let fault = bytes.withUnsafeBytes({ reader.receive($0) }) {
      throw HTTPError(.malformedResponse, fault, sent: .maybe)
    }
  }
}
