import Synchronization

/// Whether steps may begin, for a run, a loop or a set of branches; ending one ends all inside it.
///
/// Steps look before they begin, and what is in flight finishes. The end of the program (`stopped`) ends everything;
/// a cancellation leaves the run's `finally` alone.
final class CancelScope: Sendable {
  enum Ending: UInt8, AtomicRepresentable, Sendable {
    case none, cancelled, stopped
  }

  private let parent: CancelScope?
  private let own = Atomic<Ending>(.none)

  init(inside parent: CancelScope? = nil) { self.parent = parent }

  func end(_ ending: Ending) { own.store(ending, ordering: .releasing) }

  var ending: Ending {
    let ending = own.load(ordering: .acquiring)
    return ending == .none ? parent?.ending ?? .none : ending
  }

  /// Throws if nothing more may begin.
  func check() throws(StepExit) {
    switch ending {
    case .none: return
    case .cancelled: throw .cancelled
    case .stopped: throw .stopped
    }
  }

  /// The scope of handlers, which a cancellation does not end: that of the program, around the run's own.
  var root: CancelScope { parent?.root ?? self }
}
