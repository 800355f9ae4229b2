// The agent's answers to a request for a stream.
import ActionKit
import Agent
import Basics
import HTTPServer
import RunState
import Runs
import Synchronization

/// Writes what happens to a run as server-sent events (the HTML standard's "Server-sent events"), at the client's pace.
///
/// A client that reads slowly holds up only itself: what it has not read waits in the run's bounded queue, which says
/// how much was missed. One that reads nothing for as long as the server allows silence is cut off.
final class EventStreamReplies: AgentReplies {
  private let writer: HTTPBodyWriter
  private let caller: APICaller
  private var seesData: Bool { caller.seesData }
  private let hasSnapshot = Mutex(false)

  private let secrets: SecretBook

  /// - Parameter secrets: What is masked in the events.
  init(_ writer: HTTPBodyWriter, for caller: APICaller, hiding secrets: SecretBook) {
    self.secrets = secrets
    self.writer = writer
    self.caller = caller
  }

  // Only what is small and final comes this way, and waits for nothing: the client is gone or reads on.
  func give(_ reply: AgentReply) {
    guard case .refused(let refusal) = reply else { return }
    pending.withLock { $0 = refusal }
  }

  private let pending = Mutex<RequestRefusedError?>(nil)
  /// Why the stream ended early, if the agent refused.
  var refusal: RequestRefusedError? { pending.withLock { $0 } }

  var isBehind: Bool { false }

  func giveInTurn(_ reply: AgentReply) async {
    switch reply {
    case .progress(let progress):
      guard let value = progress.shown(withData: seesData) else { return }
      await send("progress", value)
    case .waits(let wait):
      var shown = ValueMap([("status", .string(wait.status.rawValue))])
      shown["until"] = wait.until.map { .string("\($0)") }
      if seesData { shown["reason"] = wait.reason.map { .string($0) } }
      shown["url"] = wait.url.map { .string($0) }
      await send("waits", .map(shown))
    case .notice(let notice):
      guard let run = notice.run else { return await send(notice.kind.rawValue, .object([:])) }
      guard caller.sees(recipe: run.recipe),
        let value = try? RunAnswer(listed: run, withData: seesData).encoded()
      else { return }
      await send(notice.kind.rawValue, value)
    default: give(reply)
    }
  }

  func give(_ run: StoredRun, isEnd: Bool) async throws(RequestRefusedError) {
    let record = try await run.record()
    let isFirst = hasSnapshot.withLock { known in
      defer { known = true }
      return !known
    }
    guard let value = try? RunAnswer(record, withData: seesData).encoded() else { return }
    // A run that is over has nothing else to tell, and the stream still begins as every other does.
    if isFirst { await send("snapshot", value) }
    if isEnd { await send("ended", value) }
  }

  func give(_ blob: BlobReference, from store: any StateStore) async throws(RequestRefusedError) {}

  func send(_ event: String, _ value: Value) async {
    do {
      let data = secrets.shown(Array(JSON.shown(value).utf8), isJSON: true)
      try await writer.write(Array("event: \(event)\ndata: ".utf8) + data + [ASCII.newline, ASCII.newline])
    } catch {
      // The client is gone; the task that follows is cancelled with it.
      withUnsafeCurrentTask { $0?.cancel() }
    }
  }
}

extension Progress {
  /// The progress for a caller; nil if all of it is what only callers with the scope `data` see.
  fileprivate func shown(withData: Bool) -> Value? {
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
