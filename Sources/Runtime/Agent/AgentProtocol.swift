/// The protocol between an agent and its clients: one JSON object a line, in both directions.
///
/// The client introduces itself, and the agent answers in kind:
///
///     → {"errand":1,"program":"errand 0.1","configuration":"/home/ann/school/errand.yaml","person":"ann"}
///     ← {"errand":1,"program":"errand 0.1","configuration":"/home/ann/school/errand.yaml","pid":4711}
///
/// `person` may be left out (`AgentCaller`). An agent serves only clients of its own version and configuration, because
/// it would otherwise run a recipe with other actions or other connections than the client checked it with; any other
/// client gets `{"error":{…}}` with `"kind":"held"`.
///
/// After that each line is a request, which the agent answers with any number of lines (`SocketAnswers`). Requests of one
/// connection are served concurrently. A line that isn't a JSON object is
/// answered with an error, and the next line is read; a line that is too long is answered with an error and ends the
/// connection.
///
/// A line of more than a mebibyte is sent in pieces, each a line of its own: all but the last begin with `+`, the last
/// with `=`, and the text follows these signs. Lines of other answers never come between the pieces.
package import Basics

/// The identity of an agent or a client.
package struct AgentIdentity: Sendable, Equatable {
  /// The program with its version.
  package var program: String
  /// What distinguishes configurations, such as the path of `errand.yaml`.
  package var configuration: String

  package init(program: String, configuration: String) {
    self.program = program
    self.configuration = configuration
  }
}

package enum AgentProtocol {
  /// The version of the lines.
  package static let version = 1
  /// How deep and how long a line may be.
  package static let limits = JSON.Limits(depth: JSON.deepest)

  /// The maximum length of a line that isn't sent in pieces.
  static let piece = 1 << 20

  /// A request as a line.
  static func line(_ value: Value) throws(JSONError) -> [UInt8] { lines(try JSON.write(value)) }

  /// An answer as a line; an answer that can't be written becomes an error for the client.
  static func answer(_ value: Value) -> [UInt8] {
    do throws(JSONError) { return try line(value) } catch {
      let message = "the answer can't be written as JSON: \(error.message)"
      return lines(Array(JSON.shown(AgentProtocol.error("internal", message)).utf8))
    }
  }

  private static func lines(_ bytes: [UInt8]) -> [UInt8] {
    if bytes.count <= piece { return bytes + [ASCII.newline] }
    var lines: [UInt8] = []
    lines.reserveCapacity(bytes.count + 2 * (bytes.count / piece + 1))
    for start in stride(from: 0, to: bytes.count, by: piece) {
      let end = min(start + piece, bytes.count)
      lines.append(UInt8(ascii: end < bytes.count ? "+" : "="))
      lines += bytes[start..<end]
      lines.append(ASCII.newline)
    }
    return lines
  }

  /// Joins the pieces of long lines.
  struct Assembler {
    private var pieces: [UInt8] = []

    /// The whole text that a line completes; nil if more of it follows, which is refused beyond the limit.
    mutating func receive(_ line: [UInt8]) -> [UInt8]? {
      switch line.first {
      case ASCII.plus:
        if pieces.count <= limits.bytes { pieces += line.dropFirst() }
        return nil
      case ASCII.equals:
        defer { pieces = [] }
        return pieces + line.dropFirst()
      default: return line
      }
    }
  }

  static func hello(_ identity: AgentIdentity, pid: Int? = nil, person: String? = nil) -> Value {
    var hello = ValueMap([
      ("errand", .int(version)), ("program", .string(identity.program)),
      ("configuration", .string(identity.configuration)),
    ])
    if let pid { hello["pid"] = .int(pid) }
    if let person { hello["person"] = .string(person) }
    return .map(hello)
  }

  static func error(_ kind: String, _ message: String) -> Value {
    .object(["error": .object(["kind": .string(kind), "message": .string(message)])])
  }

  /// Why a client with this greeting is refused; nil if it isn't.
  static func refusal(of hello: Value, by identity: AgentIdentity, pid: Int, folder: String) -> Value? {
    guard let version = hello["errand"]?.int, let program = hello["program"]?.string,
      let configuration = hello["configuration"]?.string
    else { return error("broken", "the first line has to say who the client is") }
    let holder = "the state in '\(folder)' is held by process \(pid)"
    if version != AgentProtocol.version || !program.hasSameScalars(as: identity.program) {
      return error(
        "held",
        "\(holder), which is \(identity.program) and this is \(program); start that agent again with this version (kill \(pid), then errand serve; or systemctl restart), or use its version"
      )
    }
    if !configuration.hasSameScalars(as: identity.configuration) {
      return error(
        "held",
        "\(holder), which uses \(identity.configuration) and this uses \(configuration); stop it, or give one of them its own state folder"
      )
    }
    return nil
  }
}
