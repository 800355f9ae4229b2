import Basics
import Synchronization

/// Whether steps may begin, for a run or a set of branches; ending one ends all inside it.
///
/// Steps look before they begin, and what is in flight finishes. The end of the program (`stopped`) ends everything;
/// a cancellation leaves the run's `finally` alone.
final class CancelScope: Sendable {
  /// How a scope ended.
  ///
  /// One that is both cancelled and stopped counts as stopped, because what is stopped goes on later, and what is
  /// cancelled never does.
  enum Ending: Int, Sendable {
    case none, cancelled, stopped
  }

  private struct State {
    var ending = Ending.none
    var sleepers: [ObjectIdentifier: Sleeper] = [:]
  }

  private final class Sleeper: Sendable {
    let task: Task<Void, Never>
    init(_ task: Task<Void, Never>) { self.task = task }
  }

  private let parent: CancelScope?
  private let state = Mutex(State())

  init(inside parent: CancelScope? = nil) { self.parent = parent }

  func end(_ ending: Ending) {
    let sleepers = state.withLock { state in
      if ending.rawValue > state.ending.rawValue { state.ending = ending }
      return state.sleepers.values.map { $0 }
    }
    for sleeper in sleepers { sleeper.task.cancel() }
  }

  var ending: Ending {
    let ending = state.withLock { $0.ending }
    return ending == .none ? parent?.ending ?? .none : ending
  }

  /// Whether something more may begin.
  var isOpen: Bool { ending == .none && !Task.isCancelled }

  /// Throws if nothing more may begin, here or in this task.
  func check() throws(StepExit) {
    switch ending {
    case .none: if Task.isCancelled { throw .cancelled }
    case .cancelled: throw .cancelled
    case .stopped: throw .stopped
    }
  }

  /// Sleeps until the time is over, the scope ends, or the task is cancelled.
  func sleep(for span: TimeSpan, on time: any TimeSource) async {
    // Cancelled by the end of a scope or of the task around it.
    let sleeper = Sleeper(Task { try? await time.sleep(for: span) })
    let scopes = Array(sequence(first: self) { $0.parent })
    for scope in scopes { scope.add(sleeper) }
    await withTaskCancellationHandler {
      await sleeper.task.value
    } onCancel: {
      sleeper.task.cancel()
    }
    for scope in scopes { scope.state.withLock { _ = $0.sleepers.removeValue(forKey: ObjectIdentifier(sleeper)) } }
  }

  private func add(_ sleeper: Sleeper) {
    let isOpen = state.withLock { state in
      if state.ending == .none { state.sleepers[ObjectIdentifier(sleeper)] = sleeper }
      return state.ending == .none
    }
    if !isOpen { sleeper.task.cancel() }
  }

  /// The scope of `finally`, which a cancellation does not end: that of the program, around the run's own.
  var root: CancelScope { parent?.root ?? self }
}
