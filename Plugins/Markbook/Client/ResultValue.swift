import ActionKit

/// The number that a result's text is, if it is one.
///
/// The service holds results as text: `17`, `17.50`, `17.500000`, but also grades, words, `n0` (a zero that stays
/// zero) and a leading `!` (locked against recalculation). Only an optional sign, digits and at most one point
/// between or before digits count as a number, in every locale; everything else is a result that is
/// there and is not numeric. An empty text is no result, and never a zero.
func resultValue(_ text: String) -> Double? {
  var digits = text[...].utf8
  while digits.first == ASCII.space { digits.removeFirst() }
  while digits.last == ASCII.space { digits.removeLast() }
  let number = digits
  if let sign = digits.first, sign == ASCII.minus || sign == ASCII.plus { digits.removeFirst() }
  let parts = digits.split(separator: ASCII.dot, maxSplits: 2, omittingEmptySubsequences: false)
  let isNumber =
    parts.count <= 2 && parts.last?.isEmpty == false
    && parts.allSatisfy { $0.allSatisfy { ASCII.digits.contains($0) } }
  guard isNumber, let value = Double(String(Substring(number))), value.isFinite else { return nil }
  return value
}

/// Returns a result as a percentage of the task's maximum, from 0 to 100 unless the result is outside the task's range.
///
/// Returns nil if the result isn't a number, or the maximum isn't a number above zero.
func resultPercent(_ value: Double?, of maximum: Double?) -> Double? {
  guard let value, let maximum, maximum > 0 else { return nil }
  let percent = value * 100 / maximum
  return percent.isFinite ? percent : nil
}
