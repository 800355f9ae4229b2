import ActionKit
package import Agent
import Basics
package import RunState

package struct ListConnections: Operation {
  package static let name = "connections"
  package static let summary = "Lists the connections and the secrets that recipes need, without values."
  package static let scopes = Scopes.token(.steer)
  package static let route: Route? = .get("/connections")
  package static let command: String? = "connections"
  package static let page: String? = "/connections"

  package init() {}

  package var target: Void { () }

  package struct Answer: Record, UnlimitedAnswer {
    package var connections: [ConnectionRecord]
    package var secrets: [SecretRecord]
    /// The names of the secrets that are needed, and of all that are known without running a program.
    package var names: [String]

    package init(_ survey: ConnectionsAndSecrets) {
      connections = survey.connections
      secrets = survey.secrets
      names = survey.names
    }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      connections = try member("connections", record?.connections)
      secrets = try member("secrets", record?.secrets)
      names = try member("names", record?.names, default: [])
    }
  }

  package func run(
    on everything: Everything, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    var answer = Answer(await agent.survey?() ?? ConnectionsAndSecrets())
    for index in answer.secrets.indices {
      answer.secrets[index].source = answer.secrets[index].source.map { agent.displayed($0, to: caller) }
      answer.secrets[index].fault = answer.secrets[index].fault.map { agent.displayed($0, to: caller) }
    }
    return answer
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> ConnectionListAnswer {
    filled(ConnectionListAnswer()) {
      $0.connections = answer.connections.map { ConnectionAnswer($0, withData: caller.seesData) }
      $0.secrets = answer.secrets.map { SecretAnswer($0, withData: caller.seesData) }
      $0.secretNames = answer.names
    }
  }
}
