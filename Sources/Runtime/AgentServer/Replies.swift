// The events of runs, as server-sent events.
import ActionKit
import Agent
import Operations
import Basics
import HTTPServer
import RunState
import Runs
import Synchronization

/// Writes what happens to a run as server-sent events (the HTML standard's "Server-sent events"), at the client's pace.
///
/// A client that reads slowly holds up only itself: what it has not read waits in the run's bounded queue, which says
/// how much was missed. One that reads nothing for as long as the server allows silence is cut off.
final class EventStream: RunEvents {
  private let writer: HTTPBodyWriter
  private let caller: AgentCaller
  private var seesData: Bool { caller.seesData }
  private let hasSnapshot = Mutex(false)

  private let secrets: SecretRegistry

  /// - Parameter secrets: The secrets to mask in the events.
  init(_ writer: HTTPBodyWriter, for caller: AgentCaller, hiding secrets: SecretRegistry) {
    self.secrets = secrets
    self.writer = writer
    self.caller = caller
  }

  var isBehind: Bool { false }

  // Nothing of a followed run comes this way, because none waits: the client is gone or reads on.
  func tell(_ event: RunEvent) {}

  func tellInTurn(_ event: RunEvent) async { await send(message(of: event)) }

  /// The bytes to send for an event, maybe none.
  ///
  /// This is separate from the sending, because each of many streams holds the variables of its async function.
  private func message(of event: RunEvent) -> [UInt8] {
    switch event {
    case .progress(let progress): progress.displayed(withData: seesData).map { message("progress", $0) } ?? []
    case .waits(let wait): message("waits", wait.displayed(withData: seesData))
    case .notice(let notice):
      notice.run.map { message(notice.kind.rawValue, of: $0, isListed: true) }
        ?? message(notice.kind.rawValue, .object([:]))
    case .run(let run): messages(of: run, isEnd: false)
    case .ended(let run): messages(of: run, isEnd: true)
    case .accepted: []
    }
  }

  /// The messages about the whole of a run.
  private func messages(of run: RunRecord, isEnd: Bool) -> [UInt8] {
    let isFirst = hasSnapshot.withLock { known in
      defer { known = true }
      return !known
    }
    // A run that is over has nothing else to tell, and the stream still begins as every other does.
    let first = isFirst ? message("snapshot", of: run, isListed: false) : []
    return first + (isEnd ? message("ended", of: run, isListed: false) : [])
  }

  private func message(_ event: String, of run: RunRecord, isListed: Bool) -> [UInt8] {
    let answer = isListed ? RunAnswer(listed: run, withData: seesData) : RunAnswer(run, withData: seesData)
    return (try? answer.encoded()).map { message(event, $0) } ?? []
  }

  private func message(_ event: String, _ value: Value) -> [UInt8] {
    let data = secrets.displayed(Array(JSON.displayed(value).utf8), isJSON: true)
    return Array("event: \(event)\ndata: ".utf8) + data + [ASCII.newline, ASCII.newline]
  }

  func tell(_ run: StoredRun, isEnd: Bool) async throws(RequestRefusedError) {
    // In a task of its own, because a task holds the most that it ever held.
    let made = await Task { () -> Result<[UInt8], RequestRefusedError> in
      do throws(RequestRefusedError) { return .success(messages(of: try await run.record(), isEnd: isEnd)) } catch {
        return .failure(error)
      }
    }.value
    await send(try made.get())
  }

  func send(_ event: String, _ value: Value) async { await send(message(event, value)) }

  private func send(_ messages: [UInt8]) async {
    if messages.isEmpty { return }
    do { try await writer.write(messages) } catch {
      // The client is gone; the task that follows is cancelled with it.
      withUnsafeCurrentTask { $0?.cancel() }
    }
  }
}

extension RunWait {
  fileprivate func displayed(withData: Bool) -> Value {
    var displayed = ValueMap([("status", .string(status.rawValue))])
    displayed["until"] = until.map { .string("\($0)") }
    if withData { displayed["reason"] = reason.map { .string($0) } }
    displayed["url"] = url.map { .string($0) }
    return .map(displayed)
  }
}

extension Progress {
  /// The progress for a caller; nil if all of it is what only callers with the scope `data` see.
  fileprivate func displayed(withData: Bool) -> Value? {
    if withData { return value }
    switch self {
    case .printed, .reported: return nil
    case .attemptFailed(let path, let attempt, let error, _):
      return .object([
        "progress": .string("attemptFailed"), "step": .string(path), "attempt": .int(attempt),
        "error": .object(["kind": .string(error.kind.rawValue)]),
      ])
    case .stepEnded(let path, _, let depth, let status, let took, let error, let isReplayed):
      var map = ValueMap([
        ("progress", .string("stepEnded")), ("step", .string(path)), ("depth", .int(depth)),
        ("status", .string(status.rawValue)), ("took", .string("\(took)")), ("isReplayed", .bool(isReplayed)),
      ])
      if let error { map["error"] = .object(["kind": .string(error.kind.rawValue)]) }
      return .map(map)
    case .stepBegan(let path, _, let depth):
      return .object(["progress": .string("stepBegan"), "step": .string(path), "depth": .int(depth)])
    case .stepWaits(let path, _, let depth, let wait):
      return .object([
        "progress": .string("stepWaits"), "step": .string(path), "depth": .int(depth),
        "wait": .object(["kind": .string(wait.kind.rawValue)]),
      ])
    // The end comes with the run itself.
    case .runEnded: return nil
    case .runBegan, .loopAdvanced: return value
    }
  }
}
