/// A part of the state, for a reader that wants to know whether it has changed since it was read.
package enum StatePart: Sendable, Equatable {
  /// The open and the finished runs with their printed lines, the schedules with their slots, the values, the events and
  /// the tokens.
  case everything
  /// The record of an open run, and the lines that its programs printed.
  case run(String)
  /// Only the lines that the programs of an open run printed.
  case log(String)
  /// The programs that share the state.
  case workers

  /// Whether it is about one run.
  package var isOfRun: Bool {
    switch self {
    case .run, .log: true
    case .everything, .workers: false
    }
  }
}

/// Counts the changes of a state in memory since it was opened.
///
/// A change is counted after it can be read. So a reader that takes a version first and reads then may have read more
/// than the version says, and reads once too often; it never misses a change.
struct StateVersions: Sendable {
  private struct Run: Sendable {
    /// The count of all changes at the last one of the run.
    var changed = 0
    var printed = 0
  }

  private var count = 0
  /// The open runs that have changed.
  private var runs: [String: Run] = [:]

  mutating func note(_ event: StateEvent) {
    count &+= 1
    guard let run = event.changedRun else { return }
    runs[run, default: Run()].changed = count
    if event.endsRun { runs[run] = nil }
  }

  /// Notes a change of something other than open runs, such as the files of finished ones.
  mutating func note() { count &+= 1 }

  /// Notes lines of a run, which have begun an attempt if it is open.
  mutating func notePrinted(by run: String) {
    count &+= 1
    runs[run]?.printed &+= 1
  }

  /// A text that changes with a part; nil if the part isn't counted.
  ///
  /// - Parameter isOpen: Whether a run is open.
  func version(of part: StatePart, isOpen: (String) -> Bool) -> String? {
    switch part {
    case .everything: "\(count)"
    case .run(let run): isOpen(run) ? "\(runs[run]?.changed ?? 0) \(runs[run]?.printed ?? 0)" : nil
    case .log(let run): isOpen(run) ? "\(runs[run]?.printed ?? 0)" : nil
    case .workers: nil
    }
  }
}
