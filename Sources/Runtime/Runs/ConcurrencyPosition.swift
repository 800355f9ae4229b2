import RunState

/// The position of a step among parallel branches, outermost first.
///
/// Two steps may run in either order if some fork has them in different branches.
struct ConcurrencyPosition: Hashable {
  /// One branch of a fork.
  private struct Part: Hashable {
    var fork: StepPath
    /// Its number; nil for any of the branches that there may be.
    var branch: Int?
  }

  private var parts: [Part] = []

  var isEmpty: Bool { parts.isEmpty }

  func inside(_ branch: Int?, of fork: StepPath) -> ConcurrencyPosition {
    var inner = self
    inner.parts.append(Part(fork: fork, branch: branch))
    return inner
  }

  /// The steps that access something, as far as needed to tell whether one of them runs beside a step.
  struct Access {
    /// The branches of one fork.
    private struct Branches {
      var branch: Int?
      var first: PlannedChanges.Writer
      /// The first step in another branch than that.
      var other: PlannedChanges.Writer?

      func beside(_ branch: Int?) -> PlannedChanges.Writer? {
        self.branch == nil || self.branch != branch ? first : other
      }
    }

    let first: PlannedChanges.Writer
    private var forks: [StepPath: Branches] = [:]

    init(_ writer: PlannedChanges.Writer) { first = writer }

    mutating func note(_ writer: PlannedChanges.Writer, in position: ConcurrencyPosition) {
      for part in position.parts {
        if let known = forks[part.fork] {
          if known.other == nil, known.branch != part.branch { forks[part.fork]?.other = writer }
        } else {
          forks[part.fork] = Branches(branch: part.branch, first: writer)
        }
      }
    }

    /// The first step that is in another branch than the given one.
    func beside(_ position: ConcurrencyPosition) -> PlannedChanges.Writer? {
      position.parts.compactMap { forks[$0.fork]?.beside($0.branch) }.min()
    }
  }
}
