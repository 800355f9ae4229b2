import RunState

/// Where a step is in what goes on side by side, from the outside in.
///
/// Two steps may come in either order if there is a fork of which they are in different branches.
struct Strand: Hashable {
  /// One branch of what forks.
  private struct Part: Hashable {
    var fork: StepPath
    /// Which of them; nil for any of those that there may be.
    var branch: Int?
  }

  private var parts: [Part] = []

  var isEmpty: Bool { parts.isEmpty }

  func inside(_ branch: Int?, of fork: StepPath) -> Strand {
    var inner = self
    inner.parts.append(Part(fork: fork, branch: branch))
    return inner
  }

  /// Those that touch something, as far as it takes to tell whether one of them is beside a step.
  struct Touch {
    /// The branches of one fork.
    private struct Branches {
      var branch: Int?
      var first: PlannedChanges.Writer
      /// The first in another branch than that.
      var other: PlannedChanges.Writer?

      func beside(_ branch: Int?) -> PlannedChanges.Writer? {
        self.branch == nil || self.branch != branch ? first : other
      }
    }

    let first: PlannedChanges.Writer
    private var forks: [StepPath: Branches] = [:]

    init(_ writer: PlannedChanges.Writer) { first = writer }

    mutating func note(_ writer: PlannedChanges.Writer, in strand: Strand) {
      for part in strand.parts {
        if let known = forks[part.fork] {
          if known.other == nil, known.branch != part.branch { forks[part.fork]?.other = writer }
        } else {
          forks[part.fork] = Branches(branch: part.branch, first: writer)
        }
      }
    }

    /// The first that is in another branch than a step.
    func beside(_ strand: Strand) -> PlannedChanges.Writer? {
      strand.parts.compactMap { forks[$0.fork]?.beside($0.branch) }.min()
    }
  }
}
