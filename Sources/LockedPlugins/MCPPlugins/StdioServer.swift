// A server that speaks on its standard streams: a child process that serves many calls at once.
//
// Each request has a number, which its answer repeats. A line on the standard output that isn't a message ends the
// server, because other messages may be lost too. The calls that are under way show what the server writes to its
// standard error, and the error of a lost call includes the end of it.
//
// Cancelling a call cancels it at the server, which then gets no further calls. A read ends at once. A write ends when
// the server answers or has exited: before that it may still be done, and would be looked up too soon. A server that
// doesn't answer in time is ended as soon as nothing else is under way, because other runs' writes would become
// uncertain with it. Those writes have time limits of their own.

import ActionKit
import Basics
import ChildProcesses
import ModelContext
import Synchronization

/// A server as a child process.
final class StdioServer: ServerLink {
  /// The program to start.
  struct Command: Sendable {
    /// The program's file.
    var path: String
    /// The first is the program's own name.
    var words: [String]
    var environment: [String: String]
    var folder: String
  }

  private struct Call {
    var request: ServerRequest
    var answer: CheckedContinuation<Result<ValueMap, ServerFailure>, Never>
    var isCancelled = false
    /// Whether the time to answer a cancelled call is over.
    var isOverdue = false
  }

  private struct State {
    var calls: [Int: Call] = [:]
    var lastID = 0
    var lines: LineReader
    /// The end of the server's standard error.
    var printed: [UInt8] = []
    /// Why it takes nothing more.
    var fault: ServerFailure?
    var isRetired = false
    var running: Task<Void, Never>?

    /// Whether every call that it has is overdue.
    var isHung: Bool { !calls.isEmpty && calls.values.allSatisfy(\.isOverdue) }
  }

  let name: String
  private let time: any TimeSource
  private let process: ChildProcess
  private let state: Mutex<State>
  private let limit: Int

  /// The time that the server has to exit when asked to, and to answer a cancelled call.
  private static let grace = TimeSpan.seconds(2)
  private static let mostPrinted = 8192
  /// How long after the end of its standard output it may exit.
  private static let farewell = TimeSpan.seconds(5)

  /// Starts the server; the first request reports a failed start.
  static func start(
    _ command: Command, named name: String, longestMessage: Int, time: any TimeSource
  ) -> StdioServer {
    let receiver = Receiver()
    let server = StdioServer(command, name, longestMessage, time, receiver)
    receiver.server.withLock { $0 = server }
    // Ends with the process, which `close`, `retire` and a fault end.
    let running = Task { [process = server.process] in
      let end = await process.run()
      server.ended(end)
      receiver.server.withLock { $0 = nil }
    }
    server.state.withLock { $0.running = running }
    return server
  }

  /// Breaks the reference cycle between the process and its callbacks.
  private final class Receiver: Sendable {
    let server = Mutex<StdioServer?>(nil)
  }

  private init(
    _ command: Command, _ name: String, _ longestMessage: Int, _ time: any TimeSource, _ receiver: Receiver
  ) {
    self.name = name
    self.time = time
    limit = longestMessage
    state = Mutex(State(lines: LineReader(limit: longestMessage)))
    process = ChildProcess(
      path: command.path, arguments: command.words, environment: command.environment, folder: command.folder,
      isConversing: true, grace: Self.grace
    ) { bytes, isErrors in
      receiver.server.withLock { $0 }?.receive(bytes, isErrors: isErrors)
    }
  }

  var isUsable: Bool { state.withLock { $0.fault == nil && !$0.isRetired } }

  // MARK: Asking

  func ask(_ request: ServerRequest) async throws(ServerFailure) -> ValueMap {
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    let bytes = request.message(id).bytes + [ASCII.newline]
    return try await withTaskCancellationHandler {
      await withCheckedContinuation { answer in
        let refusal = state.withLock { state -> ServerFailure? in
          // Cancelled before it was sent; a later cancellation finds the call.
          if Task.isCancelled {
            return ServerFailure(reason: .cancelled(mayHaveHappened: false), message: "'\(name)' was not asked")
          }
          if let fault = state.fault { return fault.beforeSending }
          state.calls[id] = Call(request: request, answer: answer)
          return nil
        }
        if let refusal { answer.resume(returning: .failure(refusal)) } else { process.say(bytes) }
      }
    } onCancel: {
      cancel(id)
    }.get()
  }

  func tell(_ method: String, as version: ProtocolVersion?) async {
    say(.notification(method: method, params: ValueMap()))
  }

  func close() {
    state.withLock { $0.isRetired = true }
    process.finish()
  }

  private func say(_ message: ModelContextMessage) { process.say(message.bytes + [ASCII.newline]) }

  /// Accepts no further calls, and ends the process after the calls that are under way.
  private func retire(_ state: inout State) {
    state.isRetired = true
    if state.calls.isEmpty { process.finish() }
  }

  /// The call for an answer; nil if nothing waits for it any more.
  private func take(_ id: MessageID) -> Call? {
    let (call, isHung, isStray) = state.withLock { state in
      let call = id.number.flatMap { state.calls.removeValue(forKey: $0) }
      if call != nil, state.isRetired { retire(&state) }
      let isOurs = id.number.map { $0 > 0 && $0 <= state.lastID } ?? false
      return (call, state.isHung, !isOurs)
    }
    if isStray { expectAnother(than: id) }
    if isHung { end() }
    return call
  }

  /// Waits briefly for the answers to our own questions, if one came with an unknown id.
  ///
  /// A tool's call isn't given up for this: its step has a time limit, and the tool may be at work.
  private func expectAnother(than id: MessageID) {
    let waiting = state.withLock { $0.calls.filter { $0.value.request.context == nil }.keys }
    guard !waiting.isEmpty else { return }
    // Ends after the grace period; callers wait for pending answers.
    Task { [time, self] in
      try? await time.sleep(for: Self.grace)
      let left = state.withLock { state in waiting.compactMap { state.calls.removeValue(forKey: $0) } }
      for call in left {
        call.answer.resume(
          returning: .failure(
            ServerFailure(
              reason: .refused(.plugin, status: nil, retryAfter: nil),
              message:
                "'\(name)' answered \(call.request.what) with the id \(JSON.displayed(id.value).excerpt(60).safe), "
                + "which no request has")))
      }
    }
  }

  private func cancel(_ id: Int) {
    let (call, isHung) = state.withLock { state -> (Call?, Bool) in
      guard let call = state.calls[id] else { return (nil, false) }
      if call.request.isWrite { state.calls[id]?.isCancelled = true } else { state.calls[id] = nil }
      if !call.request.isTrial { retire(&state) }
      return (call, state.isHung)
    }
    guard let call else { return }
    defer { if isHung { end() } }
    // A server that may not know the question needn't hear that it is taken back.
    if !call.request.isTrial {
      say(
        .notification(
          method: "notifications/cancelled",
          params: ValueMap([("requestId", .int(id)), ("reason", .string("the run doesn't wait for it any more"))])))
    }
    guard call.request.isWrite else {
      return call.answer.resume(
        returning: .failure(
          ServerFailure(reason: .cancelled(mayHaveHappened: false), message: "\(call.request.what) was cancelled")))
    }
    // Ends after the grace period; callers wait for pending answers.
    Task { [time, self] in
      try? await time.sleep(for: Self.grace)
      let isHung = state.withLock { state in
        state.calls[id]?.isOverdue = true
        return state.isHung
      }
      if isHung { end() }
    }
  }

  /// Ends the process now.
  private func end() { state.withLock { $0.running }?.cancel() }

  // MARK: Hearing

  private func receive(_ bytes: [UInt8], isErrors: Bool) {
    if bytes.isEmpty, !isErrors { return outputEnded() }
    if isErrors {
      let contexts = state.withLock { state in
        state.printed = Array((state.printed + bytes).suffix(Self.mostPrinted))
        return state.calls.values.compactMap(\.request.context)
      }
      for context in contexts { context.printed(bytes, on: .errors) }
      return
    }
    for line in state.withLock({ $0.lines.take(bytes) }) {
      switch line {
      case .tooLong: fail("'\(name)' wrote a message longer than \(limit) bytes, and was ended")
      case .line(let bytes): if !bytes.isBlankLine { receive(bytes) }
      }
    }
  }

  private func receive(_ bytes: [UInt8]) {
    let message: ModelContextMessage
    do throws(ModelContextMessage.Fault) {
      message = try ModelContextMessage(reading: bytes, limits: JSON.Limits(bytes: limit))
    } catch {
      if bytes.first(where: { $0 != ASCII.space && $0 != ASCII.tab }) == ASCII.openBrace {
        return receiveUnreadable(bytes, error.error.message)
      }
      return fail(
        "'\(name)' wrote to its standard output what isn't a message of MCP, and was ended; such a server may print "
          + "to its standard error only: ", quoting: bytes)
    }
    switch message {
    case .result(let id, let result): take(id)?.answer.resume(returning: .success(result))
    case .failure(let id?, let error):
      guard let call = take(id) else { return }
      call.answer.resume(returning: .failure(call.request.failure(error, of: name)))
    // A request that it couldn't read is lost, and nothing says which one it was.
    case .failure(nil, let error): fail("'\(name)' couldn't read a request: \(error.message.safe)")
    case .notification("notifications/progress", let params):
      guard let token = params[RequestEnvelope.Key.progressToken]?.int,
        let request = state.withLock({ $0.calls[token]?.request })
      else { return }
      request.context?.report(params, of: request.params["name"]?.string ?? name)
    case .notification: return
    case .request(let id, "ping", _): say(.result(id, ValueMap()))
    case .request(let id, let method, _): say(.failure(id, .refused(method)))
    }
  }

  /// A message that can't be read, such as one with a number that is too large: only the call fails whose result it is.
  private func receiveUnreadable(_ bytes: [UInt8], _ reason: String) {
    if let id = ModelContextMessage.idOfResult(bytes) {
      guard let call = take(.int(id)) else { return }
      return call.answer.resume(
        returning: .failure(
          ServerFailure(
            reason: .unreadable, message: "'\(name)' answered \(call.request.what) with what can't be read: \(reason)"))
      )
    }
    fail("'\(name)' wrote what can't be read, and was ended: \(reason)")
  }

  // MARK: Ending

  /// Handles the end of the standard output, mostly by an exit, which has a more useful message.
  private func outputEnded() {
    // Ends after the time that an exiting process needs.
    Task { [time, self] in
      try? await time.sleep(for: Self.farewell)
      let isUsed = state.withLock { $0.fault == nil && !($0.isRetired && $0.calls.isEmpty) }
      if isUsed { fail("'\(name)' closed its standard output, and was ended") }
    }
  }

  /// Gives up on it because of something it wrote.
  private func fail(_ message: String, quoting bytes: [UInt8]? = nil) {
    fail(ServerFailure(reason: .lost(.plugin), message: message, quoted: bytes))
    end()
  }

  private func fail(_ failure: ServerFailure) {
    let calls = state.withLock { state in
      var failure = failure
      failure.printed = state.printed
      if state.fault == nil { state.fault = failure }
      defer { state.calls = [:] }
      return state.calls.values.map { ($0, failure) }
    }
    for (call, failure) in calls {
      var failure = failure
      if call.isCancelled {
        failure = ServerFailure(
          reason: .cancelled(mayHaveHappened: true), message: "\(call.request.what) was cancelled, and '\(name)' ended",
          printed: failure.printed)
      }
      call.answer.resume(returning: .failure(failure))
    }
  }

  private func ended(_ end: ChildProcess.End) {
    let what =
      switch end.reason {
      case .notStarted(let code): "can't be started: \(systemErrorText(code))"
      case .exit(let code): "exited with code \(code)"
      case .signal(let number): "was ended by signal \(number)"
      case .lost: "was killed with what watched over it"
      case .tooMuchOutput, .cancelled, .late: "was ended"
      }
    let isStarted = if case .notStarted = end.reason { false } else { true }
    let left = end.left.isEmpty ? "" : "; it left processes that can't be ended: \(end.left.joined(separator: ", "))"
    fail(
      ServerFailure(
        reason: isStarted ? .lost(.plugin) : .unreachable(.configuration), message: "'\(name)' \(what)\(left)"))
  }
}

extension ServerRequest {
  /// The request's name in messages.
  var what: String { params["name"]?.string.map { "the tool '\($0)'" } ?? "'\(method)'" }

  /// Why it failed by the server's own word.
  func failure(_ error: ModelContextError, of server: String) -> ServerFailure {
    ServerFailure(
      reason: .answered(error), message: "'\(server)' refused \(what): \(error.message.safe) (code \(error.code))")
  }
}

extension ServerFailure {
  /// The same, for a request that wasn't sent because of it.
  fileprivate var beforeSending: ServerFailure {
    guard case .lost(let kind, let status) = reason else { return self }
    return ServerFailure(
      reason: .refused(kind, status: status, retryAfter: nil), message: message, printed: printed)
  }
}

extension ModelContextError {
  /// Refuses a request from the server to its client that a run doesn't serve.
  static func refused(_ method: String) -> ModelContextError {
    ModelContextError(.methodNotFound, "'\(method.excerpt(60))' isn't answered here: a run has no model and no person")
  }
}
