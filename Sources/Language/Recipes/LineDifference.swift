import Basics

/// The lines of two texts, and which of them the other doesn't have.
package struct LineDifference {
  /// The lines with their breaks; the last may have none.
  package let old: [ArraySlice<UInt8>]
  package let new: [ArraySlice<UInt8>]
  /// Which lines of the old text are gone, and which of the new one are added, by their numbers from 0.
  package private(set) var removed: Set<Int> = []
  package private(set) var added: Set<Int> = []

  /// - Parameter mostCompared: How many lines are compared one by one, which takes a time that grows with the square of
  ///   how many differ; of more, all between the first and the last that differ count as replaced.
  package init(from oldText: [UInt8], to newText: [UInt8], mostCompared: Int = .max) {
    (old, new) = (LineDifference.lines(of: oldText), LineDifference.lines(of: newText))
    let start = zip(old, new).prefix { $0 == $1 }.count
    let rest = min(old.count, new.count) - start
    let end = zip(old.reversed(), new.reversed()).prefix(rest).prefix { $0 == $1 }.count
    let (oldMiddle, newMiddle) = (old[start..<old.count - end], new[start..<new.count - end])
    guard oldMiddle.count + newMiddle.count <= mostCompared else {
      (removed, added) = (Set(oldMiddle.indices), Set(newMiddle.indices))
      return
    }
    for change in Array(newMiddle).difference(from: Array(oldMiddle)) {
      switch change {
      case .remove(let offset, _, _): removed.insert(start + offset)
      case .insert(let offset, _, _): added.insert(start + offset)
      }
    }
  }

  /// A line of one text or of both.
  package struct Line {
    package enum Change: Character { case kept = " ", removed = "-", added = "+" }

    package let change: Change
    /// With the break; the last may have none.
    package let bytes: ArraySlice<UInt8>
  }

  /// The lines of both texts, with removed lines before the added ones in their place.
  package var lines: [Line] {
    var lines: [Line] = []
    var (left, right) = (0, 0)
    while left < old.count || right < new.count {
      if left < old.count, removed.contains(left) {
        lines.append(Line(change: .removed, bytes: old[left]))
        left += 1
      } else if right < new.count, added.contains(right) {
        lines.append(Line(change: .added, bytes: new[right]))
        right += 1
      } else {
        guard left < old.count, right < new.count else { break }
        lines.append(Line(change: .kept, bytes: old[left]))
        (left, right) = (left + 1, right + 1)
      }
    }
    return lines
  }

  /// The places of the changes among the lines of both texts, with some lines around them.
  ///
  /// - Parameter context: How many lines are shown before and behind a change.
  package static func hunks(of lines: [Line], context: Int) -> [Range<Int>] {
    let changes = lines.indices.filter { lines[$0].change != .kept }
    guard let first = changes.first else { return [] }
    var hunks: [Range<Int>] = []
    var start = max(0, first - context)
    var end = first
    for change in changes {
      if change - end > 2 * context {
        hunks.append(start..<min(lines.count, end + 1 + context))
        start = change - context
      }
      end = change
    }
    hunks.append(start..<min(lines.count, end + 1 + context))
    return hunks
  }

  private static func lines(of text: [UInt8]) -> [ArraySlice<UInt8>] {
    var lines: [ArraySlice<UInt8>] = []
    var start = 0
    while start < text.count {
      let end = text[start...].firstIndex(of: ASCII.newline).map { $0 + 1 } ?? text.count
      lines.append(text[start..<end])
      start = end
    }
    return lines
  }
}
