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
