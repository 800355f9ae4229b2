package import Basics

/// Days, such as holidays, kept as runs of days that follow each other.
package struct DaySet: Hashable, Sendable {
  /// In days after 1970-01-01, in order, with at least one day between two of them.
  package let runs: [ClosedRange<Int>]

  /// No day.
  package static let none = DaySet(runs: [])

  /// The days of all the runs, which may overlap and be in any order.
  package init(runs: [ClosedRange<Int>]) {
    var merged: [ClosedRange<Int>] = []
    for run in runs.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = merged.last, run.lowerBound <= last.upperBound + 1 {
        merged[merged.count - 1] = last.lowerBound...max(last.upperBound, run.upperBound)
      } else {
        merged.append(run)
      }
    }
    self.runs = merged
  }

  /// The days of a list.
  package init(_ days: [CivilDate]) {
    self.init(runs: days.map { $0.daysSinceEpoch...$0.daysSinceEpoch })
  }

  /// The run that holds a day given in days after 1970-01-01.
  package func run(containing day: Int) -> ClosedRange<Int>? {
    let count = countOfRuns(through: day)
    guard count > 0, runs[count - 1].upperBound >= day else { return nil }
    return runs[count - 1]
  }

  /// The first run that begins after a day.
  func run(after day: Int) -> ClosedRange<Int>? {
    let count = countOfRuns(through: day)
    return count < runs.count ? runs[count] : nil
  }

  /// The number of runs that begin at or before a day.
  private func countOfRuns(through day: Int) -> Int {
    var low = 0
    var high = runs.count
    while low < high {
      let middle = (low + high) / 2
      if runs[middle].lowerBound <= day { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
