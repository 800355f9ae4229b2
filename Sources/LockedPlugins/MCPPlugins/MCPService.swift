import ActionKit
import Basics
import ModelContext
import PluginLocks
import Synchronization

/// The server of one connection: opened at its first use, opened again after it ended, and closed when idle.
final class MCPService: Sendable {
  private typealias Opening = Task<Result<ServerSession, ActionError>, Never>

  private struct State {
    var opening: Opening?
    var users = 0
    var rest: Task<Void, Never>?
  }

  let lock: PluginLock
  private let settings: ServerSettings
  private let context: PluginContext
  private let state = Mutex(State())

  init(_ lock: PluginLock, _ settings: ServerSettings, in context: PluginContext) {
    self.lock = lock
    self.settings = settings
    self.context = context
  }

  deinit {
    let (opening, rest) = state.withLock { ($0.opening, $0.rest) }
    rest?.cancel()
    // Ends when the server was met, which has a time limit.
    if let opening { Task { if case .success(let session) = await opening.value { session.link.close() } } }
  }

  /// The result of a call of a tool.
  ///
  /// - Parameter isWrite: Whether it may change something outside.
  func call(
    _ tool: String, _ arguments: ValueMap, isWrite: Bool, in context: ActionContext
  ) async throws(ActionError) -> ToolResult {
    hold()
    defer { release() }
    let session = try await session()
    let began = self.context.time.elapsed()
    var count: Int?
    defer {
      self.context.record(
        ServiceRequest(
          method: "CALL", redactedURL: "\(lock.name): \(tool)", status: nil, bytes: count ?? 0,
          duration: self.context.time.elapsed() - began))
    }
    var request = ServerRequest(
      method: "tools/call", params: ValueMap([("name", .string(tool)), ("arguments", .map(arguments))]),
      version: session.version)
    (request.context, request.isWrite) = (context, isWrite)
    let result: ValueMap
    do throws(ServerFailure) { result = try await session.link.ask(request) } catch {
      guard case .expired = error.reason else { throw error.actionError(isWrite: isWrite) }
      let next = try await self.session()
      request.version = next.version
      do throws(ServerFailure) { result = try await next.link.ask(request) } catch {
        throw error.actionError(isWrite: isWrite)
      }
    }
    let answer = ToolResult(reading: result)
    count = answer.texts.reduce(0) { $0 + $1.utf8.count }
    if result["resultType"]?.string == InputRequired.type {
      throw ActionError(
        .plugin, "the tool '\(tool)' asks a person for an answer, which a run can't give", retryable: false,
        effect: ActionError.Effect.none)
    }
    if let fault = ToolResult.fault(in: result) {
      throw .unusable("the answer of the tool '\(tool)' isn't a result of MCP: \(fault)", isWrite: isWrite)
    }
    return answer
  }

  /// Connects to the server ahead of the call.
  func meet() async throws(ActionError) {
    hold()
    defer { release() }
    _ = try await session()
  }

  private func hold() {
    state.withLock { state in
      state.users += 1
      state.rest?.cancel()
      state.rest = nil
    }
  }

  private func release() {
    state.withLock { state in
      state.users -= 1
      guard state.users == 0 else { return }
      // Cancelled by the next call, or with the service.
      state.rest = Task { [weak self, time = context.time, idle = settings.idle] in
        do { try await time.sleep(for: idle) } catch { return }
        await self?.leave()
      }
    }
  }

  private func leave() async {
    let opening = state.withLock { state -> Opening? in
      guard state.users == 0 else { return nil }
      defer { state.opening = nil }
      return state.opening
    }
    if case .success(let session) = await opening?.value { session.link.close() }
  }

  private func session() async throws(ActionError) -> ServerSession {
    while true {
      let opening = state.withLock { state in
        if let opening = state.opening { return opening }
        // Not cancelled with the caller: other calls wait for it. It has a time limit.
        let opening = Task { [lock, settings, context] in await Self.opened(lock, settings, context) }
        state.opening = opening
        return opening
      }
      // A cancelled caller stops waiting; the task ends with the opening.
      let (results, teller) = AsyncStream.makeStream(of: Result<ServerSession, ActionError>.self)
      Task {
        teller.yield(await opening.value)
        teller.finish()
      }
      var found: Result<ServerSession, ActionError>?
      for await result in results { found = result }
      guard let result = found else {
        throw ActionError(.cancelled, "the server was not asked", effect: ActionError.Effect.none)
      }
      if case .success(let session) = result, session.link.isUsable { return session }
      state.withLock { if $0.opening == opening { $0.opening = nil } }
      if case .failure(let error) = result { throw error }
      if Task.isCancelled {
        throw ActionError(.cancelled, "the server was not asked", effect: ActionError.Effect.none)
      }
    }
  }

  /// Meets the server, and refuses it if it offers something else than its lock.
  private static func opened(
    _ lock: PluginLock, _ settings: ServerSettings, _ context: PluginContext
  ) async -> Result<ServerSession, ActionError> {
    let source: MCPSource
    do throws(PluginLockError) { source = try MCPSource(of: lock) } catch {
      return .failure(ActionError(.configuration, error.message, effect: ActionError.Effect.none))
    }
    let session: ServerSession
    do throws(ServerFailure) { session = try await settings.open(in: context, speaking: source.spoken) } catch {
      return .failure(error.actionError(isWrite: false))
    }
    do throws(PluginLockError) {
      let offered = try ToolLocks(name: lock.name, source: source, session: session).lock()
      let lines = try LockDrift.lines(lock, offered)
      guard let first = lines.first else { return .success(session) }
      session.link.close()
      let more = lines.count > 1 ? ", and more" : ""
      return .failure(
        ActionError(
          .configuration,
          "the server of '\(lock.name)' offers something else than \(lock.file) says (\(first)\(more)); "
            + "'errand plugin update \(lock.name)' shows it and takes it",
          detail: lines.count > 1 ? lines.joined(separator: "\n") : nil, effect: ActionError.Effect.none))
    } catch {
      session.link.close()
      return .failure(ActionError(.configuration, error.message, effect: ActionError.Effect.none))
    }
  }
}
