/// `POST /api/v1/requests`: the requests of the command line from elsewhere (`errand --remote`).
///
/// The body is one line of the socket's protocol (`SocketAnswers`), `{"ask":"show","run":"last"}`, and the answer is what
/// the socket answers (`AnswerParts`): JSON objects, each on a line, as `application/jsonl`. A line of
/// spaces comes every 15 seconds. What is refused before it is asked is a `Problem`, as on every other path. The answer
/// names its program in `Errand-Program`; a request may name the version of its lines in `Errand-Protocol`.
///
/// Records hold what runs are about, so that the scope `data` is needed besides that of the verb. It is the protocol of
/// one program with itself, whose lines change with the program; other programs have the other paths, so that the
/// document of the API doesn't list it.
import Agent
import Operations
import Basics
import HTTPServer
import Synchronization

struct RequestDoor: Sendable {
  let service: AgentParts
  let authenticator: Authenticator
  let program: String

  static let path = "\(apiRoot)/requests"
  /// A line that says only that the connection lives: long enough to count as traffic.
  private static let heartbeat = [UInt8](repeating: ASCII.space, count: 63) + [ASCII.newline]

  /// The request in the body, and whether its answers come for as long as its run lasts.
  func asked(
    _ request: HTTPServerRequest, by caller: AgentCaller
  ) throws(Problem) -> (line: Value, isStream: Bool) {
    if let version = request.headers["Errand-Protocol"], version != "\(AgentProtocol.version)" {
      throw Problem(
        .refusal(.request),
        "this agent is \(program), whose lines have version \(AgentProtocol.version), and the request's \(version.brief); use errand of the same version"
      )
    }
    let line: Value
    do throws(JSONError) { line = try JSON.parse(request.body, limits: AgentProtocol.limits) } catch {
      throw Problem(.refusal(.request), "the body isn't valid JSON: \(error.message)")
    }
    do throws(RequestRefusedError) {
      guard let operation = OperationList.named(line["ask"]?.string ?? "") else {
        _ = try OperationList.read(line)
        return (line, false)
      }
      try operation.admit(caller)
      if operation is WatchRuns.Type {
        throw RequestRefusedError(
          .forbidden, "what happens to all runs is a stream of its own; see GET \(apiRoot)/events")
      }
      // Malformed requests are refused here, too.
      let isDetached = (try OperationList.read(line) as? ResumeRun)?.detach == true
      return (line, operation is any StreamingOperation.Type && !isDetached)
    } catch { throw Problem(error) }
  }

  func response(to asked: Value, from caller: AgentCaller, lease: StreamLease?) -> HTTPServerResponse {
    var response = HTTPServerResponse(headers: [
      "Content-Type": "application/jsonl", "Cache-Control": "no-store", "X-Accel-Buffering": "no",
      "Errand-Program": program,
    ])
    response.body = .stream { [service, authenticator] writer in
      defer { withExtendedLifetime(lease) {} }
      let queue = LineQueue()
      let line = RequestLine(
        .null, from: caller, send: { queue.send($0) }, room: { await queue.room() },
        behind: { queue.isBehind })
      try await withThrowingTaskGroup(of: Void.self) { group in
        defer { group.cancelAll() }
        group.addTask {
          await service.handle(asked, to: line, for: caller, isElsewhere: true)
          queue.finish()
        }
        group.addTask {
          await authenticator.repeatSign(to: caller) { queue.send(RequestDoor.heartbeat) }
          queue.close()
        }
        try await queue.write(to: writer)
      }
    }
    return response
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

  /// Queues an answer as a line; false if the client is gone.
  func send(_ value: Value) -> Bool {
    var text = Array(JSON.shown(value).utf8)
    text.append(ASCII.newline)
    return send(text)
  }

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

  /// Waits until the client has read most of what is queued; false if it is gone.
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
