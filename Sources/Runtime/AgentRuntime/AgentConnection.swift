package import Agent
package import AgentClient
package import AgentServer
package import Operations
import Basics
import RunState
package import Runs

/// A command's connection to a state folder: its own agent, or a client of another process's agent, here or elsewhere.
///
/// All three take the same requests, so that a command doesn't depend on the kind of connection.
package enum AgentConnection: Sendable {
  /// This process is the folder's agent. The lock and the socket are nil if no other process can use the state.
  case agent(LocalAgent, caller: AgentCaller, lock: FolderLock? = nil, socket: AgentSocket? = nil)
  case client(FolderAgent, isShared: Bool)
  case remote(RemoteAgent)

  /// The answer to an operation; nil if the agent ended, which may have done it.
  ///
  /// Throws `RequestRefusedError` where the agent refuses.
  ///
  /// - Parameter recipes: The recipes that the caller is to see; all if empty.
  package func answer<Asked: Operation>(
    to operation: Asked, among recipes: [String] = []
  ) async throws -> Asked.Answer? {
    switch self {
    case .agent(let agent, let caller, _, _):
      return try await agent.service.perform(operation, for: caller.limited(to: recipes))
    case .client(let client, _):
      do { return try await client.answer(to: operation, among: recipes) } catch let error as AgentError {
        throw RuntimeError(error)
      }
    case .remote(let remote): return try await remote.answer(to: operation, among: recipes)
    }
  }

  /// The events of an operation that follows runs; the stream ends after the last, and throws where the agent refuses.
  ///
  /// - Parameter ignored: Progress that the agent of this process need not tell.
  package func events(
    of operation: some StreamingOperation, leavingOut ignored: @escaping @Sendable (Progress) -> Bool = { _ in false }
  ) throws(AgentError) -> AsyncThrowingStream<RunEvent, any Error> {
    switch self {
    case .agent(let agent, let caller, _, _):
      let (stream, continuation) = AsyncThrowingStream<RunEvent, any Error>.makeStream()
      // Ends with the events; a run that it began continues in the host.
      let task = Task {
        let events = LocalEvents { event in
          if case .progress(let progress) = event, ignored(progress) { return }
          continuation.yield(event)
        }
        do throws(RequestRefusedError) {
          try await agent.service.perform(operation, for: caller, to: events)
          continuation.finish()
        } catch {
          continuation.finish(throwing: error)
        }
      }
      continuation.onTermination = { _ in task.cancel() }
      return stream
    case .client(let client, _):
      let events = try client.events(of: operation)
      return AsyncThrowingStream(unfolding: {
        var events = events.makeAsyncIterator()
        do { return try await events.next() } catch let error as AgentError { throw RuntimeError(error) }
      })
    case .remote(let remote): return try remote.events(of: operation)
    }
  }

  /// Disconnects: an agent begins nothing more, lets what is in flight finish, and releases the folder.
  package func leave() async {
    switch self {
    case .agent(let agent, _, let lock, let socket):
      await agent.stop()
      await socket?.stop()
      try? await agent.store.close()
      lock?.release()
    case .client, .remote: break
    }
  }

  /// Where other processes ask this agent, if they can.
  package var socket: AgentSocket? { if case .agent(_, _, _, let socket) = self { socket } else { nil } }

  /// The agent, if it is this process.
  package var agent: LocalAgent? { if case .agent(let agent, _, _, _) = self { agent } else { nil } }

  package var isAgent: Bool { agent != nil }

  /// Whether a state that can't be read or written is mended elsewhere: it is in a database, or at a remote agent.
  package var isStateElsewhere: Bool {
    switch self {
    case .agent(let agent, _, _, _): agent.store.sharing != nil
    case .client(_, let isShared): isShared
    case .remote: true
    }
  }

  /// Whether no program works on a run once this process has left.
  package func leavesAlone(_ run: String) async -> Bool {
    guard let agent else { return false }
    return await !agent.service.isContinued(run)
  }

  /// Whether this process was the agent, and handed the folder over.
  package var isHandedOver: Bool { get async { await agent?.host.isHandedOver ?? false } }
}
