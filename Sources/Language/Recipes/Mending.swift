package import Basics
import YAMLReader

/// A text after the fixes of its faults were applied, as far as each left the text with fewer faults.
///
/// A fix is tried before it is kept: with it the fault must be gone and no other have come. What it brings to light, as
/// the first readable text shows all faults of a recipe that YAML couldn't read, may be mended in turn, and only the
/// whole is judged. A fault is known by its severity and message, since fixes move what comes after them.
package struct Mending {
  /// The text as it is left.
  package private(set) var text: [UInt8]
  /// The titles of the fixes that were applied.
  package private(set) var applied: [String] = []
  /// What is at fault in the text.
  private var faults: [Diagnostic]

  /// Finds what is at fault in a text.
  package typealias Check = ([UInt8]) -> [Diagnostic]

  /// Rounds of fixes, in each of which all that stand apart are applied.
  private static let mostRounds = 10
  /// How often fixes that bring faults to light may follow one another.
  private static let deepest = 4
  /// The same while YAML can't read the text, of which it tells one fault at a time.
  private static let deepestUnread = 100
  /// How often a text is checked at most; a hostile one could make every fix bring others.
  private static let mostChecks = 20...400
  /// How many bytes are checked at most, as far as the checks above allow.
  private static let mostBytes = 2 << 20

  package init(_ text: [UInt8], check: Check) {
    self.text = text
    faults = check(text)
    let affordable = Mending.mostBytes / max(text.count, 1)
    var checksLeft = min(max(affordable, Mending.mostChecks.lowerBound), Mending.mostChecks.upperBound)
    mend(check, depth: 0, &checksLeft)
  }

  private mutating func mend(_ check: Check, depth: Int, _ checksLeft: inout Int) {
    for _ in 0..<Mending.mostRounds {
      let mendable = Mending.apart(faults.filter { $0.certainFix != nil })
      if let all = applying(mendable, check, depth: nil, &checksLeft) {
        self = all
        continue
      }
      let good = good(among: mendable, check, &checksLeft)
      if let some = applying(good, check, depth: nil, &checksLeft) {
        self = some
        continue
      }
      var one: Mending?
      for fault in good + mendable where one == nil { one = applying([fault], check, depth: depth, &checksLeft) }
      guard let one else { return }
      self = one
    }
  }

  /// The faults whose fixes bring no others, found by halves of those that bring some together.
  private func good(among faults: [Diagnostic], _ check: Check, _ checksLeft: inout Int) -> [Diagnostic] {
    guard faults.count > 1 else { return [] }
    var good: [Diagnostic] = []
    for half in [Array(faults[..<(faults.count / 2)]), Array(faults[(faults.count / 2)...])] {
      // One check is left for those that are found.
      guard checksLeft > 1 else { break }
      let isGood = applying(half, check, depth: nil, &checksLeft) != nil
      good += isGood ? half : self.good(among: half, check, &checksLeft)
    }
    return good
  }

  /// What is left with the fixes of some faults, if nothing is wrong with it that wasn't, and those faults are gone.
  ///
  /// - Parameter depth: How many fixes brought this one to light; nil if it must bring none.
  private func applying(_ mended: [Diagnostic], _ check: Check, depth: Int?, _ checksLeft: inout Int) -> Mending? {
    guard !mended.isEmpty, checksLeft > 0 else { return nil }
    checksLeft -= 1
    var result = self
    let fixes = mended.compactMap(\.certainFix)
    result.text = fixes.flatMap(\.edits).applied(to: text)
    result.applied += fixes.map(\.title)
    result.faults = check(result.text)
    var allowed = Mending.counts(faults)
    for fault in mended { allowed[Key(fault), default: 0] -= 1 }
    func isGood(_ result: Mending) -> Bool {
      Mending.counts(result.faults).allSatisfy { $0.value <= allowed[$0.key, default: 0] }
    }
    if isGood(result) { return result }
    guard let depth else { return nil }
    // What comes to light once YAML can read the text is counted anew.
    let isFirstRead = result.isReadable && !isReadable
    let next = isFirstRead ? 0 : depth + 1
    guard next <= (result.isReadable ? Mending.deepest : Mending.deepestUnread) else { return nil }
    result.mend(check, depth: next, &checksLeft)
    return isGood(result) || result.isReadable && !isReadable ? result : nil
  }

  /// Whether YAML can read the text, so that its faults are those of a recipe.
  package var isReadable: Bool { (try? YAMLReader.read(Source(name: "", bytes: text))) != nil }

  /// The faults whose fixes change different parts of the text.
  private static func apart(_ faults: [Diagnostic]) -> [Diagnostic] {
    var taken: [Range<Int>] = []
    return faults.filter { fault in
      let ranges = (fault.certainFix?.edits ?? []).map(\.range)
      let isFree = ranges.allSatisfy { range in
        !taken.contains { $0.lowerBound <= range.upperBound && range.lowerBound <= $0.upperBound }
      }
      if isFree { taken += ranges }
      return isFree
    }
  }

  private struct Key: Hashable {
    let severity: Diagnostic.Severity
    let message: String

    init(_ fault: Diagnostic) { (severity, message) = (fault.severity, fault.message) }
  }

  private static func counts(_ faults: [Diagnostic]) -> [Key: Int] {
    faults.reduce(into: [:]) { $0[Key($1), default: 0] += 1 }
  }
}
