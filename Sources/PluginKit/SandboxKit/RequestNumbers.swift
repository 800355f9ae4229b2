import Basics
package import HTTPTypes

// The numbers of requests. A sandbox computes only with numbers that are read here: each lies within limits that the
// sandbox chooses, so that no request makes a sum overflow, a count negative or an index leave its list.

extension HTTPQuery {
  /// The whole number of an item, limited to a range; nil if there is none, or it isn't a whole number.
  ///
  /// A number beyond 64 bits is the end of the range on its side.
  package func number(_ name: String, in range: ClosedRange<Int>) -> Int? {
    guard let text = self[name] else { return nil }
    if let number = Int(text) { return min(max(number, range.lowerBound), range.upperBound) }
    let isNegative = text.utf8.first == ASCII.minus
    let digits = isNegative || text.utf8.first == ASCII.plus ? text.utf8.dropFirst() : text.utf8[...]
    guard !digits.isEmpty, digits.allSatisfy({ ASCII.digits.contains($0) }) else { return nil }
    return isNegative ? range.lowerBound : range.upperBound
  }
}

extension HTTPServerRequest {
  /// The first byte of the range `bytes=N-`, if it is a byte of the file; nil for every other range.
  ///
  /// A server may ignore any range (RFC 9110, section 14.2).
  package func firstByte(ofFileWith count: Int) -> Int? {
    guard let range = headers["Range"], range.hasPrefix("bytes="), range.hasSuffix("-"),
      let first = Int(range.dropFirst("bytes=".count).dropLast()), first >= 0, first < count
    else { return nil }
    return first
  }
}
