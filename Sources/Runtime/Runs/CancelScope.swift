import Basics
import Synchronization

/// Says whether steps may begin in a run, a set of branches or a time limit; ending a scope ends all scopes inside it.
///
/// Steps check it before they begin; what is in flight finishes. The end of the program (`stopped`) ends every scope; a
/// cancellation doesn't end the run's `finally`.
final class CancelScope: Sendable {
  /// How a scope ended.
  ///
  /// A scope that is both cancelled and stopped counts as stopped: a stopped run is resumed later, a cancelled one
  /// never.
  enum Ending: Int, Sendable {
    case none, cancelled, stopped
  }

  private struct State {
    var ending = Ending.none
    /// Called when the scope ends.
    var watchers: [Int: @Sendable () -> Void] = [:]
  }

  private let parent: CancelScope?
  /// When everything inside has to be over: the earliest of the limits around it.
  let deadline: Timestamp?
  private let state = Mutex(State())

  init(inside parent: CancelScope? = nil, until deadline: Timestamp? = nil) {
    self.parent = parent
    self.deadline = [deadline, parent?.deadline].compactMap { $0 }.min()
  }

  func end(_ ending: Ending) {
    let watchers = state.withLock { state in
      if ending.rawValue > state.ending.rawValue { state.ending = ending }
      // In the order they were added.
      return state.ending == .none ? [] : state.watchers.sorted { $0.key < $1.key }.map(\.value)
    }
    for watcher in watchers { watcher() }
  }

  var ending: Ending {
    let ending = state.withLock { $0.ending }
    return ending == .none ? parent?.ending ?? .none : ending
  }

  /// Whether steps may still begin.
  var isOpen: Bool { ending == .none && !Task.isCancelled }

  /// Whether one of the limits around it is over.
  func isLate(at now: Timestamp) -> Bool { deadline.map { $0 <= now } ?? false }

  /// Throws if no more steps may begin, here or in this task.
  func check() throws(StepInterruption) {
    switch ending {
    case .none: if Task.isCancelled { throw .cancelled }
    case .cancelled: throw .cancelled
    case .stopped: throw .stopped
    }
  }

  /// Calls a watcher when this scope or one around it ends, at once if one already has.
  ///
  /// A number is used once at a time.
  func watch(as number: Int, _ watcher: @escaping @Sendable () -> Void) {
    for scope in sequence(first: self, next: { $0.parent }) {
      let hasEnded = scope.state.withLock { state in
        state.watchers[number] = watcher
        return state.ending != .none
      }
      if hasEnded { watcher() }
    }
  }

  func unwatch(_ number: Int) {
    for scope in sequence(first: self, next: { $0.parent }) {
      scope.state.withLock { _ = $0.watchers.removeValue(forKey: number) }
    }
  }

  /// The scope of `finally`, which a cancellation doesn't end: the program's scope, around the run's own.
  var root: CancelScope { parent?.root ?? self }
}
