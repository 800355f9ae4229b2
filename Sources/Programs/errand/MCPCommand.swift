import Agent
import Operations
import AgentRuntime
import AssistantTools
import Basics
import CommandLineParser
import Glibc
import Recipes
import RunState
import SecretSources
import Synchronization
import Threads

/// `errand mcp`: the recipes as tools of an assistant, which has started this process and speaks to it on standard
/// streams.
///
/// It asks the folder's agent or, if there is none, is the agent itself: then runs are walked here, but no schedule is
/// fired, and `errand serve` may take the folder over at any time. It ends with its input.
struct MCPCommand: DispatchedCommand {
  let dispatch: Dispatch
  let time = SystemTime()

  func run() async throws(RuntimeError) -> ExitCode {
    guard parsed["sandbox"].isGiven else {
      let workspace = try dispatch.workspace()
      return await serve(workspace, ToolAgent(access(workspace)))
    }
    if parsed["state"].isGiven {
      throw RuntimeError(.usage, "--sandbox has a state that is thrown away; leave out --state")
    }
    let sandboxes = try ServedSandboxes(time: time)
    let result: Result<ExitCode, RuntimeError>
    do throws(RuntimeError) {
      let workspace = try dispatch.workspace(inState: sandboxes.state).inSandbox
      let access = access(workspace)
      var factory = access.factory()
      factory.sandboxes = sandboxes
      factory.copy = try sandboxes.copy(of: workspace)
      let made = factory
      let connection = try await access.serve { made }
      await connection.agent?.schedules?.nameRecipes()
      result = .success(await serve(workspace, ToolAgent(access, holding: connection)))
    } catch {
      result = .failure(error)
    }
    await sandboxes.stop()
    return try result.get()
  }

  private func access(_ workspace: Workspace) -> AgentAccess {
    RunSession(workspace, workspace.secretSources(), console, time: time).access
  }

  private func serve(_ workspace: Workspace, _ agent: ToolAgent) async -> ExitCode {
    let (input, feed) = AsyncStream.makeStream(of: [UInt8].self)
    let output = PatientOutput(STDOUT_FILENO)
    let sent = WorkQueue<[UInt8]>()
    // Ends at the end of the input, or with the process.
    let isReading = startThread {
      var bytes = [UInt8](repeating: 0, count: 64 << 10)
      while true {
        let count = bytes.withUnsafeMutableBytes { read(STDIN_FILENO, $0.baseAddress, $0.count) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { break }
        feed.yield(Array(bytes[..<count]))
      }
      output.inputEnded()
      feed.finish()
    }
    guard isReading else { return .unavailable }
    async let written: Void = onThread {
      while let messages = sent.takeAll() {
        for message in messages { output.write(message) }
        if output.isLost { feed.finish() }
      }
    }
    // Ends with the signal; a signal that never comes is awaited for as long as the process lives.
    let end = Task {
      _ = await Signals.shared.next()
      feed.finish()
    }
    defer { end.cancel() }
    let service = ToolService(workspace.configuration.server.tools, version: version, time: time)
    let caller = await agent.caller { [console] in console.error($0.safe) }
    let session = ToolSession(service, for: caller) { _ = sent.put($0) }
    // Ends on its own, usually before the first request.
    let remark = Task { await service.remark(to: caller) }
    await session.serve(input)
    await remark.value
    sent.close()
    await written
    await agent.close()
    return Signals.shared.received ?? .done
  }
}

/// The agent of the folder for many requests at a time, and through its changes.
///
/// As this process's own agent it is kept, so that its recipes are read and checked once; of another process's agent each
/// request has a connection of its own.
private actor ToolAgent {
  private let access: AgentAccess
  private var own: AgentConnection?
  /// The opening under way, so that this process doesn't become a client of itself.
  private var opening: Task<Result<AgentConnection, RuntimeError>, Never>?
  /// How many requests the own agent is answering.
  private var users = 0
  private var isGivenAway = false
  private var isLeaving = false
  /// The requests that wait until the own agent is left.
  private var leaving: [CheckedContinuation<Void, Never>] = []

  init(_ access: AgentAccess, holding connection: AgentConnection? = nil) {
    self.access = access
    own = connection
    hiding.withLock { $0 = connection?.agent?.store.secrets }
  }

  /// The caller of the tools: the account of this process.
  func caller(note: @escaping @Sendable (String) -> Void) -> ToolCaller {
    ToolCaller(
      principal: "account",
      answer: { [self] operation, recipes throws(RequestRefusedError) in try await ask(operation, among: recipes) },
      follow: { [self] run throws(RequestRefusedError) in try await follow(run) },
      outlivesAgent: true, hide: { [self] in hide($0) }, note: note)
  }

  /// The secrets of the own agent, which answers with secrets in it; another process's agent has taken them out.
  private nonisolated func hide(_ value: Value) -> Value { hiding.withLock { $0?.displayed(value) } ?? value }
  private nonisolated let hiding = Mutex<SecretRegistry?>(nil)

  // MARK: Connections

  private func connection() async throws(RequestRefusedError) -> AgentConnection {
    while true {
      if let own, !isGivenAway {
        users += 1
        return own
      }
      if own != nil {
        await withCheckedContinuation { leaving.append($0) }
        continue
      }
      if let opening {
        settle(opening, await opening.value)
        continue
      }
      let task = Task { [access] () -> Result<AgentConnection, RuntimeError> in
        do throws(RuntimeError) {
          let connection = try await access.connection()
          await connection.agent?.schedules?.nameRecipes()
          return .success(connection)
        } catch {
          return .failure(error)
        }
      }
      opening = task
      let opened = await task.value
      settle(task, opened)
      switch opened {
      case .failure(let error):
        throw ToolAgent.refusal(error)
      case .success(let connection): if !connection.isAgent { return connection }
      }
    }
  }

  /// Stores the opened connection.
  ///
  /// The first waiter does this, so that no waiter finds the opening still under way.
  private func settle(
    _ task: Task<Result<AgentConnection, RuntimeError>, Never>, _ opened: Result<AgentConnection, RuntimeError>
  ) {
    guard opening == task else { return }
    opening = nil
    if case .success(let connection) = opened, let agent = connection.agent { hold(connection, agent) }
  }

  private func hold(_ connection: AgentConnection, _ agent: LocalAgent) {
    own = connection
    isGivenAway = false
    hiding.withLock { $0 = agent.store.secrets }
    // Ends when the folder is asked for, or with the agent.
    Task {
      await agent.host.awaitHandOver()
      isGivenAway = true
      await leaveIfUnused()
    }
  }

  private func leave(_ connection: AgentConnection) async {
    guard connection.isAgent else { return await connection.leave() }
    users -= 1
    await leaveIfUnused()
  }

  /// Leaves the own agent that was asked for the folder.
  private func leaveIfUnused() async {
    guard isGivenAway, users == 0, !isLeaving, let connection = own else { return }
    isLeaving = true
    await connection.leave()
    await access.awaitSuccessor()
    (own, isGivenAway, isLeaving) = (nil, false, false)
    for waiter in leaving { waiter.resume() }
    leaving = []
  }

  func close() async {
    guard !isLeaving, let connection = own else { return }
    isLeaving = true
    await connection.leave()
    own = nil
  }

  // MARK: Requests

  private func ask(
    _ operation: any Operation, among recipes: [String]
  ) async throws(RequestRefusedError) -> any OperationAnswer {
    // An agent that ended may or may not have executed the request; the requests made here may be repeated.
    for _ in 0..<3 {
      let connection = try await connection()
      let answer = await answer(to: operation, among: recipes, over: connection)
      await leave(connection)
      if let answer { return try answer.get() }
    }
    throw RequestRefusedError(.state, "the agent ended; try again")
  }

  private static func refusal(_ error: RuntimeError) -> RequestRefusedError {
    RequestRefusedError(error.kind == .locked ? .conflict : .state, error.message)
  }

  /// The answer or the refusal; nil if the agent ended.
  private func answer<Asked: Operation>(
    to operation: Asked, among recipes: [String], over connection: AgentConnection
  ) async -> Result<any OperationAnswer, RequestRefusedError>? {
    do {
      return try await connection.answer(to: operation, among: recipes).map { .success($0) }
    } catch let refusal as RequestRefusedError {
      return .failure(refusal)
    } catch let error as RuntimeError {
      return .failure(ToolAgent.refusal(error))
    } catch {
      return nil
    }
  }

  private func follow(_ run: String) async throws(RequestRefusedError) -> AsyncThrowingStream<RunEvent, any Error> {
    let connection = try await connection()
    let (stream, sink) = AsyncThrowingStream<RunEvent, any Error>.makeStream()
    // Ends with the answers; cancelled when they are no longer read.
    let task = Task {
      // A run that no agent is running continues once it is resumed.
      let isServed: Bool
      if let agent = connection.agent {
        isServed = await agent.service.isContinued(run)
      } else if let report = try? await AgentRequests(connection: connection).ask(ShowStatus()) {
        isServed = report.isServing
      } else {
        isServed = false
      }
      let request: any StreamingOperation =
        isServed ? FollowRun.with { $0.run = run } : ResumeRun.with { $0.run = run }
      var refusal: RequestRefusedError?
      if let events = try? connection.events(of: request) {
        do { for try await event in events { sink.yield(event) } } catch {
          // If it is another error, the agent is gone; the end of the stream says so.
          refusal = error as? RequestRefusedError
        }
      }
      await leave(connection)
      sink.finish(throwing: refusal)
    }
    sink.onTermination = { _ in task.cancel() }
    return stream
  }
}
