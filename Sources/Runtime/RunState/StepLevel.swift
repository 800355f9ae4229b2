import Basics

/// One level of a run's steps, a page of it: the steps outside loops, the items of a loop, or the steps of an item.
///
/// It is found in place: of hundreds of thousands of steps, only the page's are copied.
package struct StepLevel: Sendable {
  /// The steps of the page; of a loop, failed and uncertain items come first.
  package var steps: [StepRecord] = []
  /// How many steps all pages have.
  package var count = 0
  /// How many items with each status the loops among all steps of the level have, by the loops' paths.
  package var tallies: [StepPath: [StepStatus: Int]] = [:]
  /// The items among the steps of the page that have steps.
  package var filled: Set<StepPath> = []

  package init() {}
}

extension StepRecords {
  /// - Parameters:
  ///   - place: The path of a loop or of an item; empty for the steps outside loops.
  ///   - statuses: Only steps with one of these statuses, if there are any.
  ///   - first: How many steps the pages before have.
  package func level(
    in place: StepPath, statuses: Set<StepStatus> = [], from first: Int = 0, limit: Int
  ) -> StepLevel {
    let isLoop = !place.isEmpty && place.utf8.last != ASCII.closeBracket
    var level = StepLevel()
    var (urgent, others): ([Int], [Int]) = ([], [])
    // Most items come one after another, so a loop's tally is entered in the table once.
    var (loop, tally): (StepPath, [StepStatus: Int]) = ("", [:])
    func enterTally() { if !tally.isEmpty { level.tallies[loop, default: [:]].merge(tally) { $0 + $1 } } }
    var position = -1
    forEachInPlace { step in
      position += 1
      let path = step.pointee.path.utf8
      guard path.starts(with: place.utf8), !step.pointee.path.isRound else { return }
      let rest = path.dropFirst(place.utf8.count)
      // After an item comes a step, the number of a try, or the mark of its handler.
      guard isLoop || place.isEmpty || rest.first.map({ "/~!".utf8.contains($0) }) == true else { return }
      if let start = rest.firstIndex(of: ASCII.openBracket) {
        guard let end = rest[start...].firstIndex(of: ASCII.closeBracket), path.index(after: end) == path.endIndex
        else {
          return
        }
        guard isLoop else {
          if !loop.utf8.elementsEqual(path[..<start]) {
            enterTally()
            (loop, tally) = (StepPath(Substring(path[..<start])), [:])
          }
          tally[step.pointee.status, default: 0] += 1
          return
        }
        // An item of a loop inside the loop isn't one of the loop.
        guard start == rest.startIndex else { return }
      } else if isLoop {
        return
      }
      let status = step.pointee.status
      guard statuses.isEmpty || statuses.contains(status) else { return }
      if isLoop, status.needsLook { urgent.append(position) } else { others.append(position) }
    }
    enterTally()
    level.count = urgent.count + others.count
    level.steps = (urgent + others).dropFirst(Swift.max(0, first)).prefix(Swift.max(0, limit)).map { self[$0] }
    if isLoop { level.filled = filled(among: level.steps, after: place.utf8.count) }
    return level
  }

  /// The items among some of a loop that have steps.
  private func filled(among items: [StepRecord], after length: Int) -> Set<StepPath> {
    let names = Set(items.map(\.path))
    var filled: Set<StepPath> = []
    forEachInPlace { step in
      let path = step.pointee.path.utf8
      guard filled.count < names.count, path.count > length,
        let end = path.dropFirst(length).firstIndex(of: ASCII.closeBracket), path.index(after: end) != path.endIndex
      else { return }
      let item = StepPath(Substring(path[...end]))
      if names.contains(item) { filled.insert(item) }
    }
    return filled
  }

  /// The records that match, in the order the steps began; the others aren't copied.
  package func select(_ isWanted: (UnsafePointer<StepRecord>) -> Bool) -> [StepRecord] {
    var found: [StepRecord] = []
    forEachInPlace { if isWanted($0) { found.append($0.pointee) } }
    return found
  }

  /// How many have ended.
  package var endedCount: Int {
    var count = 0
    forEachInPlace { if $0.pointee.status.isEnded { count += 1 } }
    return count
  }
}

extension StepStatus {
  /// Whether a person who looks at a loop wants to see an item with the status first.
  fileprivate var needsLook: Bool { [.failed, .timedOut, .uncertain].contains(self) }
}
