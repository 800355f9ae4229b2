package import ActionKit
package import Basics
package import RunState

/// The effects that a run of a recipe would have, as far as they are known without doing them.
package struct Plan: Sendable {
  /// The events that happen, or may happen, in the order of the steps.
  package var entries: [Entry] = []
  /// The reads that were done for the plan.
  package var reads: [Read] = []
  /// The outputs, with unknowns in them; null if the run wouldn't get there.
  package var outputs = Value.null
  /// How the run would fail.
  package var error: RunError?

  /// One thing that the run would do.
  package struct Entry: Sendable {
    /// The path of its step in the records of the run; `[*]` for the items of a list that isn't known yet.
    package var path: StepPath
    /// The open conditions of the event, outermost first: it happens only if they hold.
    package var conditions: [String]
    package var event: Event
  }

  package enum Event: Sendable {
    /// A write with its changes, or the reason that these are unknown.
    case write(Call, Preview)
    /// A write that its condition skips.
    case leftOut(Call)
    /// A call that uses something up, and so isn't made for a plan.
    case notCalled(Call)
    /// A read that can't be done before the run.
    case notRead(Call, Reason)
    /// Waiting, asking or repeating, in words: "would wait until …".
    case pause(String)
    /// The run may fail here, with this error.
    case mayFail(String)
    /// A step that may run or not, and changes nothing.
    case undecided
  }

  /// The changes that a write would make.
  package enum Preview: Sendable {
    case changes([Change])
    /// It does something that has no earlier state, such as a command.
    case deeds([Change])
    /// It is unknown before the run.
    case opaque(Reason)

    /// The known changes; nil if they are unknown.
    var changes: [Change]? {
      switch self {
      case .changes(let changes): changes
      case .deeds: []
      case .opaque: nil
      }
    }
  }

  /// Why something is unknown.
  package struct Reason: Hashable, Sendable {
    package var text: String

    package init(_ text: String) { self.text = text }
  }

  /// An action with its input: secrets are masked, unknown values are `Unknown`.
  package struct Call: Sendable {
    package var action: String
    package var connection: String
    package var input: Value
  }

  package struct Read: Sendable {
    package var path: StepPath
    package var call: Call
    /// SHA-256 of each output field as JSON, except volatile fields.
    package var output: Value
  }
}

extension Plan {
  /// Whether the plan has a write after its first entries.
  func hasWrites(after count: Int) -> Bool {
    entries.dropFirst(count).contains { if case .write = $0.event { true } else { false } }
  }

  /// The numbers of changes, by kind.
  package struct Tally: Equatable, Sendable {
    package var added = 0
    package var changed = 0
    package var removed = 0
    package var unchanged = 0
    /// Writes whose changes are unknown.
    package var opaque = 0
    /// How many of all these may not happen.
    package var undecided = 0

    package init() {}

    /// How many changes there are, or may be.
    package var changes: Int { added + changed + removed + opaque }
  }

  package var tally: Tally {
    var tally = Tally()
    for entry in entries {
      guard case .write(_, let preview) = entry.event else { continue }
      let before = tally.changes
      switch preview {
      case .opaque: tally.opaque += 1
      case .changes(let changes), .deeds(let changes):
        for change in changes { tally[keyPath: change.kind.count] += 1 }
      }
      if !entry.conditions.isEmpty { tally.undecided += tally.changes - before }
    }
    return tally
  }
}

extension Change {
  package enum Kind: String, Sendable {
    case added, changed, removed, unchanged

    fileprivate var count: WritableKeyPath<Plan.Tally, Int> {
      switch self {
      case .added: \.added
      case .changed: \.changed
      case .removed: \.removed
      case .unchanged: \.unchanged
      }
    }
  }

  package var kind: Kind {
    guard let before else { return after == nil ? .unchanged : .added }
    guard let after else { return .removed }
    return before.hasSameScalars(as: after) ? .unchanged : .changed
  }
}
