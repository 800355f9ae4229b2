/// An identifier whose text sorts by its creation time (RFC 9562, UUID version 7).
///
/// 48 bits are the milliseconds since the epoch, 74 are random; the rest is fixed. Identifiers of the same millisecond
/// are in no particular order. Clock and randomness are handed in, so that a simulated run gives the same identifiers.
public struct UUID7: Hashable, Sendable {
  /// The first eight octets: the time, the version, and twelve random bits.
  private let high: UInt64
  /// The last eight octets: the variant and 62 random bits.
  private let low: UInt64

  /// Makes an identifier; instants before 1970 count as that.
  public init(at instant: Timestamp, using random: inout some RandomNumberGenerator) {
    let milliseconds =
      UInt64(max(0, instant.seconds)) * 1000 + UInt64(instant.seconds < 0 ? 0 : instant.nanoseconds / 1_000_000)
    high = milliseconds << 16 | 0x7000 | random.next() & 0x0FFF
    low = 0x8000_0000_0000_0000 | random.next() >> 2
  }

  /// Reads an identifier in its text form, in capitals or not; nil if the text isn't a UUID of version 7.
  public init?(_ text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.map(\.utf8.count) == [8, 4, 4, 4, 12], let octets = [UInt8](hexadecimal: parts.joined()) else {
      return nil
    }
    high = octets[..<8].reduce(0) { $0 << 8 | UInt64($1) }
    low = octets[8...].reduce(0) { $0 << 8 | UInt64($1) }
    guard high & 0xF000 == 0x7000, low >> 62 == 0b10 else { return nil }
  }

  /// The creation time, to the millisecond; nil if it is beyond the year 9999.
  public var instant: Timestamp? {
    let milliseconds = Int(high >> 16)
    return Timestamp(seconds: milliseconds / 1000, nanoseconds: milliseconds % 1000 * 1_000_000)
  }
}

extension UUID7: Comparable {
  /// Whether the left one was made earlier; their texts sort in the same order.
  public static func < (left: UUID7, right: UUID7) -> Bool { (left.high, left.low) < (right.high, right.low) }
}

extension UUID7: CustomStringConvertible {
  /// The usual form in lower case: `019a9f5c-3c00-7abc-8def-0123456789ab`.
  public var description: String {
    let digits = [high, low].flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) } }
      .hexadecimal
    var text = ""
    for (index, digit) in digits.enumerated() {
      if [8, 12, 16, 20].contains(index) { text += "-" }
      text.append(digit)
    }
    return text
  }
}
