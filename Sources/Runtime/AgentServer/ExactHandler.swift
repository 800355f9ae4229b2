/// `POST /api/v1/operations/NAME`: operations in the exact form (`ExactForm`).
///
/// It is the protocol of one program with itself, so that a client of another version is refused and the document of the
/// API doesn't list it. Records hold what runs are about: the scope `data` is needed besides those of the operation. What
/// is reserved for programs of the agent's own account is answered over its Unix socket only.
import Agent
import AgentPages
import Operations
import Basics
import Glibc
import HTTPServer
import RunState
import Synchronization

struct ExactHandler: Sendable {
  let service: AgentParts
  let authenticator: Authenticator
  let identity: AgentIdentity

  /// A line that says only that the connection lives: long enough to count as traffic.
  private static let heartbeat = [UInt8](repeating: ASCII.space, count: 63) + [ASCII.newline]

  /// The caller at the other end of a Unix socket, who may speak for a person if the account is the agent's or root.
  static func caller(of request: HTTPServerRequest) -> AgentCaller? {
    request.account.map { account in
      AgentCaller(
        account: account,
        person: request.headers[ExactForm.person].map { PercentEncoding.decode($0, plusIsSpace: false) },
        isOwn: account == geteuid() || account == 0)
    }
  }

  /// Refuses a client of another version or configuration.
  func checkIdentity(_ request: HTTPServerRequest) throws(Problem) {
    let isLocal = request.account != nil
    let objection = ExactForm.objection(
      to: (
        request.headers[ExactForm.program],
        isLocal
          ? request.headers[ExactForm.configuration].map { PercentEncoding.decode($0, plusIsSpace: false) } : nil
      ),
      of: identity, process: Int(getpid()), folder: isLocal ? service.agent.folder : nil)
    if let objection { throw Problem(.held, objection) }
  }

  /// The operation that a request names, with its inputs, if the caller may ask for it; and the caller, who may want to
  /// see only some recipes.
  func operation(
    of request: HTTPServerRequest, for caller: AgentCaller
  ) throws(Problem) -> (any Operation, AgentCaller) {
    let name = String(Substring(request.rawPath.utf8.dropFirst(ExactForm.path.utf8.count)))
    guard let type = OperationList.named(name) else {
      throw Problem(.noSuchPath, "there is no operation '\(name.shortened)'")
    }
    do throws(RequestRefusedError) {
      try type.admit(caller)
      try caller.check([.data], "'errand --remote' needs for every command")
    } catch {
      throw Problem(error)
    }
    let inputs: Value
    do throws(JSONError) {
      inputs = try JSON.parse(request.body, limits: JSON.Limits(depth: JSON.deepest))
    } catch {
      throw Problem(.refusal(.request), "the body isn't valid JSON: \(error.message)")
    }
    guard var inputs = inputs.map else {
      throw Problem(.refusal(.request), "the body has to be a JSON object, not \(inputs.kindName)")
    }
    var recipes: [String] = []
    if let names = inputs[ExactForm.recipes] {
      recipes = (names.list ?? []).compactMap(\.string)
      guard let count = names.list?.count, count == recipes.count else {
        throw Problem(.refusal(.request), "'\(ExactForm.recipes)' has to be a list of names")
      }
      inputs[ExactForm.recipes] = nil
    }
    do throws(RequestRefusedError) {
      return (try type.init(inputs: inputs, isExact: true), caller.limited(to: recipes))
    } catch {
      throw Problem(error)
    }
  }

  /// Whether the caller wants the events of an operation.
  static func wantsEvents(_ request: HTTPServerRequest) -> Bool {
    request.headers["Accept"]?.contains(ExactForm.events) == true
  }

  // MARK: Answers

  /// The response with the answer of an operation.
  ///
  /// A small answer is sent whole; a long one is written as fast as the client reads it.
  func response(to operation: any Operation, from caller: AgentCaller, isLocal: Bool) async -> HTTPServerResponse {
    let answer: any OperationAnswer
    let small: Value?
    do throws(RequestRefusedError) {
      answer = try await service.performed(operation, for: caller)
      small = try await answer.small()
    } catch {
      return refused(error)
    }
    // The caller on this machine makes its plans from recipes as their files are.
    let secrets: SecretRegistry? =
      (answer is ListSchedules.Answer || answer is LinkStep.Answer) && isLocal ? nil : service.store.secrets
    if let small {
      return HTTPServerResponse(
        headers: ["Content-Type": ExactForm.answer],
        body: .bytes(ExactHandler.text(of: secrets?.displayed(small) ?? small)))
    }
    var response = HTTPServerResponse(headers: ["Content-Type": ExactForm.answer])
    response.block = ExactWriter.piece
    response.body = .stream { [self] writer in
      var exact = ExactWriter(hiding: secrets) { try await writer.write($0) }
      do {
        try await answer.write(to: &exact)
        try await exact.flush()
      } catch {
        let unwritable = (error as? JSONError).map {
          RequestRefusedError(.state, "the answer can't be written as JSON: \($0.message)")
        }
        guard let refusal = error as? RequestRefusedError ?? unwritable else { throw error }
        try await exact.flush()
        try await writer.write([ASCII.newline] + refusalText(refusal))
      }
    }
    return response
  }

  private func refused(_ refusal: RequestRefusedError) -> HTTPServerResponse {
    HTTPServerResponse(
      status: Problem.Kind.refusal(refusal.kind).status, headers: ["Content-Type": ExactForm.answer],
      body: .bytes(refusalText(refusal)))
  }

  private func refusalText(_ refusal: RequestRefusedError) -> [UInt8] {
    ExactHandler.text(of: service.store.secrets.displayed(ExactForm.refused(refusal)))
  }

  private static func text(of value: Value) -> [UInt8] { Array(JSON.displayed(value).utf8) + [ASCII.newline] }

  /// The response with the events of an operation.
  func events(
    of operation: any StreamingOperation, for caller: AgentCaller, lease: StreamLease
  ) -> HTTPServerResponse {
    var response = HTTPServerResponse(headers: ["Content-Type": ExactForm.events, "X-Accel-Buffering": "no"])
    response.body = .stream { [self] writer in
      defer { withExtendedLifetime(lease) {} }
      let queue = LineQueue()
      try await withThrowingTaskGroup(of: Void.self) { group in
        defer { group.cancelAll() }
        group.addTask {
          let events = ExactEvents(queue: queue, secrets: service.store.secrets)
          do throws(RequestRefusedError) {
            try await service.perform(operation, for: caller, to: events)
          } catch {
            events.send(ExactForm.refused(error))
          }
          queue.finish()
        }
        group.addTask {
          await authenticator.repeatSign(to: caller) { queue.send(ExactHandler.heartbeat) }
          queue.close()
        }
        try await queue.write(to: writer)
      }
    }
    return response
  }
}

/// Writes events as lines.
private struct ExactEvents: RunEvents {
  let queue: LineQueue
  let secrets: SecretRegistry

  var isBehind: Bool { queue.isBehind }

  func tell(_ event: RunEvent) { send(ExactEvents.value(of: event)) }

  func tellInTurn(_ event: RunEvent) async { if await queue.room() { send(ExactEvents.value(of: event)) } }

  func tell(_ run: StoredRun, isEnd: Bool) async throws(RequestRefusedError) {
    // In a task of its own, because a task holds the most that it ever held.
    let made = await Task { () -> Result<Value, RequestRefusedError> in
      do throws(RequestRefusedError) {
        let record = try await run.record()
        return .success(ExactEvents.value(of: isEnd ? .ended(record) : .run(record)))
      } catch {
        return .failure(error)
      }
    }.value
    let value = try made.get()
    if await queue.room() { send(value) }
  }

  /// The event; a long run comes without its steps, which are an answer of their own.
  private static func value(of event: RunEvent) -> Value {
    let (run, head): (RunRecord, RunEvent)
    switch event {
    case .run(let record): (run, head) = (record, .run(record.withoutSteps))
    case .ended(let record): (run, head) = (record, .ended(record.withoutSteps))
    default: return event.encoded()
    }
    if run.steps.count <= mostSteps {
      let value = event.encoded()
      if let extent = ValueExtent(of: value), extent.bytes <= longest { return value }
    }
    var map = head.encoded().map ?? ValueMap()
    map[ExactForm.isHead] = .bool(true)
    return .map(map)
  }

  /// The most bytes of a run in an event.
  private static let longest = 256 << 10
  /// The most steps of a run in an event; more aren't encoded to find out that they are too long.
  private static let mostSteps = 1000

  @discardableResult
  func send(_ value: Value) -> Bool {
    queue.send(Array(JSON.displayed(secrets.displayed(value)).utf8) + [ASCII.newline])
  }
}

/// The lines that a client hasn't read yet.
private final class LineQueue: Sendable {
  private struct Content {
    var bytes = 0
    var isOver = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  /// Beyond this, large answers wait.
  private static let enough = 512 << 10
  /// Beyond this, the client is cut off: only what doesn't wait comes so far.
  private static let most = 8 << 20

  private let content = Mutex(Content())
  private let lines: AsyncStream<[UInt8]>
  private let sink: AsyncStream<[UInt8]>.Continuation

  init() { (lines, sink) = AsyncStream.makeStream() }

  var isBehind: Bool { content.withLock { $0.bytes > LineQueue.enough } }

  /// Queues a line; false if the client is gone.
  @discardableResult
  func send(_ line: [UInt8]) -> Bool {
    let isTaken = content.withLock { content in
      guard !content.isOver else { return false }
      content.bytes += line.count
      content.isOver = content.bytes > LineQueue.most
      return !content.isOver
    }
    if isTaken { sink.yield(line) } else { close() }
    return isTaken
  }

  /// Waits until the client has read most of the queue; false if it is gone.
  func room() async -> Bool {
    await withCheckedContinuation { continuation in
      let isFree = content.withLock { content in
        if content.isOver || content.bytes <= LineQueue.enough { return true }
        content.waiting.append(continuation)
        return false
      }
      if isFree { continuation.resume() }
    }
    return content.withLock { !$0.isOver }
  }

  /// Says that nothing more comes.
  func finish() { sink.finish() }

  /// Writes the lines until the last; throws if the client is gone or was cut off, so that it doesn't take what came
  /// for the whole answer.
  func write(to writer: HTTPBodyWriter) async throws {
    defer { close() }
    for await line in lines {
      try await writer.write(line)
      let waiting = content.withLock { content -> [CheckedContinuation<Void, Never>] in
        content.bytes -= line.count
        guard content.bytes <= LineQueue.enough else { return [] }
        defer { content.waiting = [] }
        return content.waiting
      }
      for continuation in waiting { continuation.resume() }
    }
    if content.withLock({ $0.isOver }) { throw CancellationError() }
  }

  /// Ends with what came so far, which isn't the whole answer.
  func close() {
    let waiting = content.withLock { content in
      content.isOver = true
      defer { content.waiting = [] }
      return content.waiting
    }
    sink.finish()
    for continuation in waiting { continuation.resume() }
  }
}
