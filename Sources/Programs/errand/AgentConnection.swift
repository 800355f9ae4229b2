import Agent
import Basics
import RunState

/// A command's place at a state folder: its agent, or a client of the agent there is.
///
/// Both ask for the same things in the same way (`RunService`), so that a command does not care which it is.
enum AgentConnection {
  case agent(Agent)
  case client(AgentClient)

  /// This process as the folder's agent.
  struct Agent {
    let host: RunHost
    let service: RunService
    /// Nil in a sandbox.
    let schedules: ScheduleHost?
    /// Held as long as the connection is; nil where the state is nobody else's.
    let lock: FolderLock?
    let server: AgentServer?
    let store: any StateStore
  }

  /// Asks for something; the answers come until there are no more.
  func ask(_ request: Value) throws(AgentError) -> AsyncThrowingStream<Value, any Error> {
    switch self {
    case .agent(let agent):
      let (stream, continuation) = AsyncThrowingStream<Value, any Error>.makeStream()
      // Ends with the answers; a run that it began goes on in the host.
      let task = Task {
        await agent.service.handle(request) { continuation.yield($0) }
        continuation.finish()
      }
      continuation.onTermination = { _ in task.cancel() }
      return stream
    case .client(let client):
      try client.send(request)
      return client.replies
    }
  }

  /// Leaves: an agent begins nothing more, lets what is in flight finish, and gives the folder back.
  func leave() async {
    switch self {
    case .agent(let agent):
      await agent.schedules?.stop()
      await agent.host.stop()
      await agent.server?.stop()
      try? await agent.store.close()
      agent.lock?.release()
    case .client(let client): await client.close()
    }
  }

  var isAgent: Bool { if case .agent = self { true } else { false } }

  /// Whether this process was the agent, and left in favour of another.
  var isHandedOver: Bool {
    get async { if case .agent(let agent) = self { await agent.host.isHandedOver } else { false } }
  }
}
