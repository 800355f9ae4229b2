/// The exact form of operations over HTTP: `POST /api/v1/operations/NAME`.
///
/// It is the form of errand itself, for local commands and `--remote`; programs of others use the documented form. The
/// body holds the inputs in the coding of records, `{"run":"last"}`. The answer is one JSON text with types and stored
/// values kept. A caller that accepts
/// `application/vnd.errand.exact+jsonl` gets the events of an operation that follows runs instead, one a line, and a line
/// of blanks every 15 seconds.
///
/// A refusal is `{"failed":{"kind":…,"message":…}}` under the status of its kind. Where an answer breaks off because
/// the state can't be read any further, the refusal is its last line. What is refused before an operation is known (the
/// version, the token, the path) is a problem, as on every other path.
package import Agent
package import Basics

/// Where every path of the API begins.
package let apiRoot = "/api/v1"

package enum ExactForm {
  /// Where the paths of operations begin.
  package static let path = apiRoot + "/operations/"
  /// The type of an answer.
  package static let answer = "application/vnd.errand.exact+json"
  /// The type of events.
  package static let events = "application/vnd.errand.exact+jsonl"

  /// The type of a problem (RFC 9457).
  package static let problem = "application/problem+json"

  /// The program with its version, in each request and each answer: both sides must be the same.
  package static let program = "Errand-Program"
  /// The agent's process, in each answer.
  package static let process = "Errand-Process"
  /// The configuration that the client uses, in requests over a Unix socket.
  package static let configuration = "Errand-Configuration"
  /// The person that the client speaks for, likewise.
  package static let person = "Errand-Person"

  /// A member beside the inputs: the recipes that the caller is to see, as a list of names; all that it may see without it.
  package static let recipes = ".recipes"

  /// A member of an event whose run comes without its steps, because they are too long for an event.
  package static let isHead = "isHead"

  /// The most bytes of one event that a client reads.
  package static let mostOfEvent = 16 << 20
  /// The most bytes of one answer that a client reads.
  package static let mostOfAnswer = 512 << 20
  /// The most bytes of a problem that a client reads.
  package static let mostOfProblem = 64 << 10
  /// The most bytes of the head of an answer that a client reads.
  package static let mostOfHead = 16 << 10

  /// How deep and long a text may be.
  package static func limits(_ bytes: Int) -> JSON.Limits { JSON.Limits(bytes: bytes, depth: JSON.deepest) }

  /// The object of a refusal.
  package static func refused(_ refusal: RequestRefusedError) -> Value { .object(["failed": refusal.encoded()]) }
}

extension ExactForm {
  /// Why a request isn't for this agent; nil if it is.
  ///
  /// - Parameters:
  ///   - other: The program and the configuration that the request names; the configuration is compared only if it names
  ///     one.
  ///   - own: Those of the agent.
  ///   - folder: The agent's state folder, for a client on its machine.
  package static func objection(
    to other: (program: String?, configuration: String?), of own: AgentIdentity, process: Int, folder: String?
  ) -> String? {
    guard let program = other.program else {
      return
        "this form is for errand itself, which names its version in \(ExactForm.program); other programs use the paths in /openapi.json"
    }
    guard let folder else {
      if program.hasSameScalars(as: own.program) { return nil }
      return "this agent is \(own.program), and asked by \(program.safe); use one version on both sides"
    }
    let holder = "the state in '\(folder)' is held by process \(process)"
    if !program.hasSameScalars(as: own.program) {
      return
        "\(holder), which is \(own.program) and this is \(program.safe); start that agent again with this version (kill \(process), then errand serve; or systemctl restart), or use its version"
    }
    if let configuration = other.configuration, !configuration.hasSameScalars(as: own.configuration) {
      return
        "\(holder), which uses \(own.configuration) and this uses \(configuration.safe); stop it, or give one of them its own state folder"
    }
    return nil
  }
}
