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

    package init(_ connections: [ConnectionRecord], secrets: [SecretRecord]) {
      self.connections = connections
      self.secrets = secrets
    }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      connections = try member("connections", record?.connections)
      secrets = try member("secrets", record?.secrets)
    }
  }

  package func run(
    on everything: Everything, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    let (connections, secrets) = await agent.survey?() ?? ([], [])
    return Answer(connections, secrets: secrets)
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> ConnectionListAnswer {
    filled(ConnectionListAnswer()) {
      $0.connections = answer.connections.map { ConnectionAnswer($0, withData: caller.seesData) }
      $0.secrets = answer.secrets.map { SecretAnswer($0, withData: caller.seesData) }
    }
  }
}
