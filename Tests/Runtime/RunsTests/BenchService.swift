import ActionKit
import Synchronization

/// Opens once; waiting tasks continue then.
final class Latch: Sendable {
  private struct State {
    var isOpen = false
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  func open() {
    let waiting = state.withLock { state in
      state.isOpen = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  func wait() async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        if !state.isOpen { state.waiting.append(continuation) }
        return state.isOpen
      }
      if isOpen { continuation.resume() }
    }
  }
}

/// A service in memory that follows a script, and counts its calls and its writes.
final class BenchService: Sendable {
  /// The effect of a call.
  enum Act: Sendable {
    case succeed
    /// Nothing is done.
    case fail(ActionError)
    /// It is done, and then this is thrown.
    case doneThenFail(ActionError)
    /// Nothing is done, and no answer comes until the call is cancelled.
    case hang
    /// It is done, and no answer comes until the call is cancelled.
    case doneThenHang
    /// It says that it is there, and is done when the test lets it.
    case gated(arrived: Latch, release: Latch)
    /// It waits until so many calls are under way.
    case meet(Int, Latch)
    /// The program dies in it, before or after it is done.
    case crash(afterDoing: Bool)
    /// It is done and answers, and the program dies before anything more is kept.
    case succeedAtLast
    /// It makes a request whose URL holds a secret, and succeeds.
    case request(ServiceRequest)
  }

  enum Look: Sendable {
    case honest, doubt
    case fail(ActionError)
  }

  struct Call: Equatable, Sendable {
    var name: String
    var attempt: Int
    var key: String
    var isKeyNamed: Bool
    var now: Timestamp
  }

  private struct State {
    var acts: [String: [Act]] = [:]
    var looks: [String: [Look]] = [:]
    var calls: [Call] = []
    var done: [String: Int] = [:]
    var keys: Set<String> = []
    var underWay = 0
    var peak = 0
  }

  private let state = Mutex(State())
  let record = Mutex<@Sendable (ServiceRequest) -> Void>({ _ in })
  /// The effect of a crash, now or before the next append.
  let crash = Mutex<@Sendable (_ isSoon: Bool) -> Void>({ _ in })

  func script(_ name: String, _ acts: Act...) { script(name, acts) }
  func script(_ name: String, _ acts: [Act]) { state.withLock { $0.acts[name] = acts } }
  func scriptLooks(_ name: String, _ looks: Look...) { state.withLock { $0.looks[name] = looks } }

  var calls: [Call] { state.withLock { $0.calls } }
  var names: [String] { calls.map(\.name) }
  var peak: Int { state.withLock { $0.peak } }
  /// How often each write was done; a repetition with an honoured key isn't done again.
  var done: [String: Int] { state.withLock { $0.done } }
  func count(of name: String) -> Int { done[name] ?? 0 }

  /// Whether a call that is to hang has yet to come, so that no time limit may strike before it.
  var awaitsHang: Bool {
    state.withLock { state in
      state.acts.values.contains { acts in
        acts.contains { act in
          switch act {
          case .hang, .doneThenHang: true
          default: false
          }
        }
      }
    }
  }

  func nextLook(_ name: String) -> Look {
    state.withLock { state in
      guard var looks = state.looks[name], !looks.isEmpty else { return .honest }
      defer { state.looks[name] = looks }
      return looks.removeFirst()
    }
  }

  /// Counts anew.
  func forget() {
    state.withLock { state in
      state.calls = []
      state.done = [:]
    }
  }

  func perform(_ name: String, key: String?, _ context: ActionContext) async throws {
    let act = state.withLock { state -> Act in
      state.calls.append(
        Call(
          name: name, attempt: context.attempt, key: context.idempotencyKey, isKeyNamed: context.isKeyNamed,
          now: context.now))
      state.underWay += 1
      state.peak = max(state.peak, state.underWay)
      guard var acts = state.acts[name], !acts.isEmpty else { return .succeed }
      defer { state.acts[name] = acts }
      return acts.removeFirst()
    }
    defer { state.withLock { $0.underWay -= 1 } }
    switch act {
    case .succeed: doIt(name, key)
    case .fail(let error): throw error
    case .doneThenFail(let error):
      doIt(name, key)
      throw error
    case .hang: try await hang()
    case .doneThenHang:
      doIt(name, key)
      try await hang()
    case .gated(let arrived, let release):
      arrived.open()
      await release.wait()
      doIt(name, key)
    case .meet(let count, let latch):
      if state.withLock({ $0.underWay >= count }) { latch.open() }
      await latch.wait()
      doIt(name, key)
    case .crash(let isDone):
      if isDone { doIt(name, key) }
      crash.withLock { $0 }(false)
      throw ActionError(.network, "the program is gone")
    case .succeedAtLast:
      doIt(name, key)
      crash.withLock { $0 }(true)
    case .request(let request):
      record.withLock { $0 }(request)
      context.report("asked \(request.redactedURL)")
      doIt(name, key)
    }
  }

  private func doIt(_ name: String, _ key: String?) {
    state.withLock { state in
      if let key, !state.keys.insert(key).inserted { return }
      state.done[name, default: 0] += 1
    }
  }

  /// Until the task is cancelled.
  private func hang() async throws {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
    for await _ in stream {}
    withExtendedLifetime(continuation) {}
    throw CancellationError()
  }
}
