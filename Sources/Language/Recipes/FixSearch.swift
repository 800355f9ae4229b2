package import Basics
import YAMLReader

/// A text after the search for fixes, which keeps a fix only if it leaves the text with fewer faults.
///
/// A fix is tried before it is kept: the fault must be gone, and no other may appear. A fix can bring other faults to
/// light: once YAML can read a recipe, all its faults show. Those may be fixed in turn, and then only the overall
/// result is judged. Two faults are the same if they have the same severity and message, since fixes move the text
/// after them.
///
/// The time of a check grows with the text, so as many fixes as possible are tried in one check: first all, then all
/// except the ones near new faults, which mostly finds the good ones in a few checks. Trying halves of the rest, and
/// single fixes, costs more; both are tried while there is time.
package struct FixSearch {
  /// The text as it is left.
  package private(set) var text: [UInt8]
  /// The titles of the fixes that were applied.
  package private(set) var applied: [String] = []
  /// Whether all fixes were tried in the time allowed.
  package private(set) var isComplete = true
  /// The faults in the text.
  private var faults: [Diagnostic]

  /// Finds the faults in a text.
  package typealias Check = ([UInt8]) -> [Diagnostic]

  /// The most rounds of fixes; each round applies all fixes that don't overlap.
  private static let mostRounds = 10
  /// How often fixes near new faults are left out before halves are tried.
  private static let mostSiftings = 6
  /// The longest chain of fixes that each bring faults to light.
  private static let deepest = 4
  /// The most checks of a text, since a hostile text could make every fix bring other faults.
  private static let mostChecks = 20...400
  /// The most bytes that are checked, within the bounds of `mostChecks`.
  private static let mostBytes = 2 << 20
  /// The most rounds for a text that YAML can't read, because YAML reports one fault at a time, and reads no further.
  private static let mostUnread = 5000

  /// - Parameter hasTime: Whether another check may begin.
  package init(_ text: [UInt8], hasTime: @escaping () -> Bool = { true }, check: @escaping Check) {
    self.text = text
    faults = check(text)
    let affordable = FixSearch.mostBytes / max(text.count, 1)
    let most = min(max(affordable, FixSearch.mostChecks.lowerBound), FixSearch.mostChecks.upperBound)
    var trials = Trials(check: check, hasTime: hasTime, left: most)
    if !isReadable { makeReadable(&trials) }
    mend(&trials, depth: 0)
    isComplete = !trials.isOver
  }

  /// The checks that are left.
  private struct Trials {
    let check: Check
    let hasTime: () -> Bool
    var left: Int
    /// Whether something couldn't be tried.
    var isOver = false

    /// Whether there is another one; it counts as done.
    mutating func next() -> Bool {
      guard left > 0, hasTime() else {
        isOver = true
        return false
      }
      left -= 1
      return true
    }
  }

  /// Applies fixes until YAML can read the text, or none if it can't with all of them.
  ///
  /// If time runs out while every fix so far has moved the first fault further down, these fixes are kept, and a later
  /// search can continue.
  private mutating func makeReadable(_ trials: inout Trials) {
    var next = self
    for _ in 0..<FixSearch.mostUnread {
      guard trials.hasTime() else {
        trials.isOver = true
        self = next
        return
      }
      let mended = FixSearch.apart(next.faults.filter { $0.certainFix != nil })
      guard let first = mended.compactMap({ $0.certainFix?.edits.first?.range.lowerBound }).min() else { return }
      next.apply(mended, trials.check)
      if next.isReadable {
        self = next
        return
      }
      // Without progress, the fix only replaced a fault by another of its kind.
      let isStuck = next.faults.contains { fault in
        fault.severity == .error && (fault.location?.range.lowerBound ?? 0) < first
      }
      if isStuck { return }
    }
    trials.isOver = true
    self = next
  }

  private mutating func apply(_ mended: [Diagnostic], _ check: Check) {
    let fixes = mended.compactMap(\.certainFix)
    text = fixes.flatMap(\.edits).applied(to: text)
    applied += fixes.map(\.title)
    faults = check(text)
  }

  private mutating func mend(_ trials: inout Trials, depth: Int) {
    for _ in 0..<FixSearch.mostRounds {
      let mendable = FixSearch.apart(mendable)
      if let most = sifting(mendable, &trials) {
        self = most
        continue
      }
      if let all = applying(mendable, &trials, depth: depth) {
        self = all
        continue
      }
      let groups = FixSearch.groups(of: mendable)
      let good = good(among: groups, &trials)
      if let some = applying(good, &trials, depth: nil) {
        self = some
        continue
      }
      var one: FixSearch?
      for group in groups where one == nil && (groups.count > 1 || group.count == 1) {
        one = applying(group, &trials, depth: depth)
      }
      for group in groups where one == nil && group.count > 1 {
        one = applying([group[0]], &trials, depth: depth)
        // The group's other faults remain untried.
        trials.isOver = true
      }
      guard let one else { return }
      self = one
    }
  }

  /// The faults with a certain fix.
  ///
  /// If expressions read an undeclared name at several places, it is probably the declaration that is misspelt.
  private var mendable: [Diagnostic] {
    let counts = FixSearch.counts(faults.filter { $0.certainFix != nil })
    return faults.filter { fault in
      fault.certainFix != nil && !(fault.message.hasSuffix("`?") && counts[Key(fault), default: 0] > 1)
    }
  }

  /// More faults than these are tried by kinds, so that they don't take more checks than a few.
  private static let mostAlone = 16

  /// The groups of faults that are tried together: faults of one kind, whose fixes mostly reveal the same faults, or
  /// single faults if there are few.
  private static func groups(of faults: [Diagnostic]) -> [[Diagnostic]] {
    if faults.count <= mostAlone { return faults.map { [$0] } }
    var groups: [[Diagnostic]] = []
    var places: [Substring: Int] = [:]
    for fault in faults {
      // Faults of one kind have the same text before the first name or number.
      let kind = fault.message.prefix { $0 != "'" && $0 != "`" && !$0.isNumber }
      if let place = places[kind] {
        groups[place].append(fault)
      } else {
        places[kind] = groups.count
        groups.append([fault])
      }
    }
    return groups
  }

  /// A copy with the fixes of some faults applied, without the fixes near new faults; nil if that doesn't help.
  private func sifting(_ faults: [Diagnostic], _ trials: inout Trials) -> FixSearch? {
    var tried = faults
    for _ in 0..<FixSearch.mostSiftings {
      guard !tried.isEmpty, trials.next() else { return nil }
      var result = self
      result.apply(tried, trials.check)
      if result.isGood(after: self, without: tried) { return result }
      let culprits = self.culprits(among: tried, in: result)
      guard !culprits.isEmpty else { return nil }
      tried = tried.indices.filter { !culprits.contains($0) }.map { tried[$0] }
    }
    return nil
  }

  /// The faults whose fixes are nearest to each fault that came up with them, as indices.
  private func culprits(among mended: [Diagnostic], in result: FixSearch) -> Set<Int> {
    let edits = mended.indices.flatMap { index in
      (mended[index].certainFix?.edits ?? []).map { (edit: $0, index: index) }
    }.sorted { $0.edit.range.lowerBound < $1.edit.range.lowerBound }
    // Where each edit ends in the new text.
    var ends: [Int] = []
    var moved = 0
    for (edit, _) in edits {
      moved += edit.text.utf8.count - edit.range.count
      ends.append(edit.range.upperBound + moved)
    }
    let allowed = FixSearch.counts(faults)
    let excess = FixSearch.counts(result.faults).filter { $0.value > allowed[$0.key, default: 0] }
    var culprits: Set<Int> = []
    for fault in result.faults where excess[Key(fault)] != nil {
      guard let place = fault.location?.range.lowerBound else { continue }
      let next = ends.firstIndex { $0 > place } ?? ends.count
      let candidates = [next - 1, next].filter(edits.indices.contains)
      if let nearest = candidates.min(by: { abs(ends[$0] - place) < abs(ends[$1] - place) }) {
        culprits.insert(edits[nearest].index)
      }
    }
    return culprits
  }

  /// The faults whose fixes bring no others, found by splitting the groups in halves.
  private func good(among groups: [[Diagnostic]], _ trials: inout Trials) -> [Diagnostic] {
    guard groups.count > 1 else { return [] }
    var good: [Diagnostic] = []
    for half in [Array(groups[..<(groups.count / 2)]), Array(groups[(groups.count / 2)...])] {
      // One check is kept for the fixes that are found.
      guard trials.left > 1 else { break }
      let all = half.flatMap { $0 }
      good += applying(all, &trials, depth: nil) != nil ? all : self.good(among: half, &trials)
    }
    return good
  }

  /// A copy with the fixes of some faults applied; nil if one of the faults remains, or another appears.
  ///
  /// - Parameter depth: How many fixes brought this one to light; nil if it must bring none.
  private func applying(_ mended: [Diagnostic], _ trials: inout Trials, depth: Int?) -> FixSearch? {
    guard !mended.isEmpty, trials.next() else { return nil }
    var result = self
    result.apply(mended, trials.check)
    if result.isGood(after: self, without: mended) { return result }
    guard let depth, depth < FixSearch.deepest else { return nil }
    result.mend(&trials, depth: depth + 1)
    return result.isGood(after: self, without: mended) ? result : nil
  }

  /// Whether nothing is wrong with it that wasn't before, and some faults are gone.
  private func isGood(after before: FixSearch, without mended: [Diagnostic]) -> Bool {
    var allowed = FixSearch.counts(before.faults)
    for fault in mended { allowed[Key(fault), default: 0] -= 1 }
    return FixSearch.counts(faults).allSatisfy { $0.value <= allowed[$0.key, default: 0] }
  }

  /// Whether YAML can read the text, so that its faults are a recipe's.
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

extension [Diagnostic] {
  /// The faults in a file itself and the faults without a place, but not faults in other files that its check reads.
  package func of(_ file: String) -> [Diagnostic] {
    filter { $0.location.map { $0.source.name == file } ?? true }
  }
}
