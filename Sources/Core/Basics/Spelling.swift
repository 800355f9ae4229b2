// "Did you mean": the candidate that takes the fewest slips to type.
//
// A slip is a letter left out, added, replaced, or swapped with its neighbour (the optimal string alignment distance),
// counted on lower-cased scalars, so that other capitals don't count as slips. A name of n scalars forgives
// (n + 1) / 3 slips, at most four, and never so many that nothing of a short name would be left.

extension String {
  /// The candidate that was probably meant, or nil if none is near enough.
  ///
  /// Among equally near candidates the first in the order of scalars wins, so that the answer does not depend on the
  /// order of a set or dictionary.
  public func nearest(among candidates: some Sequence<String>) -> String? {
    let wanted = Array(lowercased().unicodeScalars)
    guard (1...64).contains(wanted.count) else { return nil }
    let limit = min((wanted.count + 1) / 3, 4)
    var best: (candidate: String, slips: Int)?
    for candidate in candidates {
      let scalars = Array(candidate.lowercased().unicodeScalars)
      guard let slips = slips(from: wanted, to: scalars, atMost: best?.slips ?? limit),
        slips < scalars.count
      else { continue }
      if let best, slips == best.slips, !candidate.precedesByScalars(best.candidate) { continue }
      best = (candidate, slips)
    }
    return best?.candidate
  }
}

extension String {
  /// Whether the nearest of some names is so near that hardly anything else was meant, rather than only likely.
  ///
  /// Other capitals are no slip. A name of three scalars forgives one, and of ten or more one for each five. Names with
  /// different digits belong to a series, and each of them may be meant. A name that takes one slip more may be meant
  /// as well.
  package func isSurelyMeant(as name: String, among names: some Sequence<String>) -> Bool {
    let (left, right) = (Array(lowercased().unicodeScalars), Array(name.lowercased().unicodeScalars))
    let forgiven = left.count < 3 ? 0 : max(1, left.count / 5)
    func digits(_ scalars: [Unicode.Scalar]) -> [Unicode.Scalar] { scalars.filter { $0.properties.numericType != nil } }
    guard digits(left) == digits(right), let taken = slips(from: left, to: right, atMost: forgiven) else {
      return false
    }
    let rival = taken == 0 ? 0 : min(taken + 1, max(taken, (left.count + 1) / 3))
    return !names.contains { other in
      !other.hasSameScalars(as: name)
        && slips(from: left, to: Array(other.lowercased().unicodeScalars), atMost: rival) != nil
    }
  }
}

/// The number of slips between two names, or nil if it exceeds the limit.
private func slips(from left: [Unicode.Scalar], to right: [Unicode.Scalar], atMost limit: Int) -> Int? {
  guard abs(left.count - right.count) <= limit else { return nil }
  // Rows of the usual table: two scalars of `left` ago, one ago, and the one under way.
  var beforePrevious: [Int] = []
  var previous = Array(0...right.count)
  for i in left.indices {
    var row = [i + 1]
    for j in right.indices {
      var slips = min(previous[j] + (left[i] == right[j] ? 0 : 1), previous[j + 1] + 1, row[j] + 1)
      if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
        slips = min(slips, beforePrevious[j - 1] + 1)
      }
      row.append(slips)
    }
    // A swap reaches over one row, so both must be past the limit before it is hopeless.
    if let least = row.min(), least > limit, let before = previous.min(), before > limit { return nil }
    (beforePrevious, previous) = (previous, row)
  }
  guard let slips = previous.last, slips <= limit else { return nil }
  return slips
}
