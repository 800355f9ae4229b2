package import Agent
import Basics
import RunState

/// A command's place at a state folder: its agent, or a client of the agent there is.
///
/// Both are asked for the same things in the same way, so that a command does not care which it is.
package enum AgentConnection: Sendable {
  /// This process is the folder's agent. The lock and the server are nil where the state is nobody else's.
  case agent(LocalAgent, caller: AgentCaller, lock: FolderLock? = nil, server: AgentServer? = nil)
  case client(AgentClient)

  /// Asks for something; the answers come until there are no more.
  package func ask(_ request: AgentRequest) throws(AgentError) -> AsyncThrowingStream<AgentReply, any Error> {
    switch self {
    case .agent(let agent, let caller, _, _):
      let (stream, continuation) = AsyncThrowingStream<AgentReply, any Error>.makeStream()
      // Ends with the answers; a run that it began goes on in the host.
      let task = Task {
        await agent.service.handle(request, from: caller, to: LocalReplies { continuation.yield($0) })
        continuation.finish()
      }
      continuation.onTermination = { _ in task.cancel() }
      return stream
    case .client(let client): return try client.ask(request)
    }
  }

  /// Leaves: an agent begins nothing more, lets what is in flight finish, and gives the folder back.
  package func leave() async {
    switch self {
    case .agent(let agent, _, let lock, let server):
      await agent.stop()
      await server?.stop()
      try? await agent.store.close()
      lock?.release()
    case .client(let client): await client.close()
    }
  }

  /// The agent, if it is this process.
  package var agent: LocalAgent? { if case .agent(let agent, _, _, _) = self { agent } else { nil } }

  package var isAgent: Bool { agent != nil }

  /// Whether this process was the agent, and left in favour of another.
  package var isHandedOver: Bool { get async { await agent?.host.isHandedOver ?? false } }
}
