import Basics

/// The escapes in double quotes that JSON uses for characters beyond U+FFFF, in two halves: `"\ud83e\udd80"`.
///
/// YAML 1.2 reads JSON, but libyaml refuses each half, since it isn't a character. So libyaml gets a text of the same
/// length with another first digit in each half. That turns the halves into characters that the text doesn't contain.
/// In libyaml's results, two such characters are joined again, and text that wasn't an escape is restored.
struct SurrogateEscapes {
  /// The text for libyaml.
  private(set) var bytes: [UInt8]
  /// The digit, in lower case, that stands for the `d` of the halves.
  private let digit: UInt8
  /// Whether half a pair is U+FFFD.
  private let replacesHalves: Bool

  /// Nil where the text has no such escape, or holds characters of each kind that could stand for the halves.
  init?(_ text: [UInt8], replacesHalves: Bool) {
    self.replacesHalves = replacesHalves
    var halves: [Int] = []
    // By their first digits: `e800` to `efff` and the like.
    var taken: Set<UInt8> = []
    for index in text.indices {
      switch text[index] {
      case ASCII.backslash:
        guard let digit = SurrogateEscapes.digit(of: text, at: index) else { continue }
        if text[digit] | 0x20 == UInt8(ascii: "d") { halves.append(digit) } else { taken.insert(text[digit] | 0x20) }
      case 0xEA...0xEE where index + 1 < text.count && text[index + 1] >= 0xA0:
        taken.insert(text[index] - 0xEA + UInt8(ascii: "a"))
      default: break
      }
    }
    let digits: [UInt8] = [UInt8(ascii: "e"), UInt8(ascii: "a"), UInt8(ascii: "b"), UInt8(ascii: "c")]
    guard !halves.isEmpty, let free = digits.first(where: { !taken.contains($0) }) else { return nil }
    digit = free
    bytes = text
    for index in halves { bytes[index] = text[index] & 0x20 == 0 ? free & ~0x20 : free }
  }

  /// Where the first digit is of an escape `\uX8…` to `\uXf…` or `\U0000X8…`, if one begins there.
  private static func digit(of text: [UInt8], at index: Int) -> Int? {
    guard index + 5 < text.count else { return nil }
    var digit = index + 2
    switch text[index + 1] {
    case UInt8(ascii: "u"): break
    case UInt8(ascii: "U") where text[digit..<digit + 4].allSatisfy({ $0 == ASCII.zero }): digit += 4
    default: return nil
    }
    guard digit + 3 < text.count, text[digit..<digit + 4].allSatisfy(isHexDigit) else { return nil }
    let isUpper = text[digit + 1] >= UInt8(ascii: "8")
    return isUpper ? digit : nil
  }

  /// The text that a scalar of libyaml means; nil if it is unchanged.
  ///
  /// - Parameter range: The scalar's range.
  func restored(
    _ text: UnsafeBufferPointer<UInt8>, at range: Range<Int>, of source: UnsafeBufferPointer<UInt8>
  ) throws(ScannerError) -> [UInt8]? {
    guard isTouched(range) else { return nil }
    var result: [UInt8] = []
    result.reserveCapacity(text.count)
    var count = 0
    var index = 0
    while index < text.count {
      if let half = half(text, at: index) {
        guard half < 0x400, let other = self.half(text, at: index + 3), other >= 0x400 else {
          guard replacesHalves else { throw lone(count, in: range, of: source) }
          result += UTF8.encodedReplacementCharacter
          count += 1
          index += 3
          continue
        }
        let code = 0x10000 + UInt32(half) << 10 + UInt32(other - 0x400)
        result += Unicode.Scalar(code).map { Array(UTF8.encode($0) ?? UTF8.encodedReplacementCharacter) } ?? []
        count += 2
        index += 6
      } else if text[index] == ASCII.backslash, index + 5 < text.count, text[index + 1] == UInt8(ascii: "u"),
        text[index + 2] | 0x20 == digit, text[index + 3] >= UInt8(ascii: "8"),
        text[index + 2..<index + 6].allSatisfy(isHexDigit)
      {
        result += [text[index], text[index + 1], text[index + 2] & 0x20 | UInt8(ascii: "D")]
        index += 3
      } else {
        result.append(text[index])
        index += 1
      }
    }
    return result
  }

  /// The index of a half among the 2048, if there is one here.
  private func half(_ text: UnsafeBufferPointer<UInt8>, at index: Int) -> UInt16? {
    guard index + 2 < text.count, text[index] == 0xE0 | (digit - UInt8(ascii: "a") + 10), text[index + 1] >= 0xA0 else {
      return nil
    }
    return UInt16(text[index + 1] & 0x1F) << 6 | UInt16(text[index + 2] & 0x3F)
  }

  /// Whether the scalar has a backslash, without which nothing in it was changed.
  private func isTouched(_ range: Range<Int>) -> Bool { bytes[range].contains(ASCII.backslash) }

  /// The error for a half without its other one, the half after `count` others in a scalar.
  private func lone(_ count: Int, in range: Range<Int>, of source: UnsafeBufferPointer<UInt8>) -> ScannerError {
    var count = count
    var index = range.lowerBound
    while index + 1 < range.upperBound {
      guard source[index] == ASCII.backslash else {
        index += 1
        continue
      }
      if source[index + 1] == UInt8(ascii: "u"), index + 3 < range.upperBound, source[index + 2] | 0x20 == digit,
        source[index + 3] >= UInt8(ascii: "8")
      {
        if count == 0 { break }
        count -= 1
      }
      index += 2
    }
    return ScannerError(
      problem: ScannerError.loneHalf, context: "", offset: min(index, range.upperBound), contextOffset: index)
  }
}

extension ScannerError {
  /// The problem of an escape that libyaml was kept from seeing.
  static let loneHalf = "found half of a surrogate pair"
}

private func isHexDigit(_ byte: UInt8) -> Bool {
  ASCII.digits.contains(byte) || (0x61...0x66).contains(byte | 0x20)
}
