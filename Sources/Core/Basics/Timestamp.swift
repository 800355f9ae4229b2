/// An instant in UTC: seconds since 1970-01-01T00:00:00Z, without leap seconds, and nanoseconds.
public struct Timestamp: Hashable, Sendable {
  /// Whole seconds since the epoch, before or after.
  public var seconds: Int
  /// Nanoseconds after `seconds`, 0 to 999,999,999.
  public var nanoseconds: Int32

  /// The first instant that can be written (RFC 3339): 0001-01-01T00:00:00Z.
  public static let earliest = Timestamp(uncheckedSeconds: -62_135_596_800, nanoseconds: 0)
  /// The last instant that can be written (RFC 3339): 9999-12-31T23:59:59.999999999Z.
  public static let latest = Timestamp(uncheckedSeconds: 253_402_300_799, nanoseconds: 999_999_999)

  init(uncheckedSeconds seconds: Int, nanoseconds: Int32) {
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }

  /// Creates an instant, if it lies between the years 1 and 9999.
  public init?(seconds: Int, nanoseconds: Int = 0) {
    guard (0...999_999_999).contains(nanoseconds), seconds >= Timestamp.earliest.seconds,
      seconds <= Timestamp.latest.seconds
    else { return nil }
    self.init(uncheckedSeconds: seconds, nanoseconds: Int32(truncatingIfNeeded: nanoseconds))
  }

  /// The instant that much later, or nil if that is out of range.
  public func advanced(by span: TimeSpan) -> Timestamp? {
    let (whole, rest) = span.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    var seconds = seconds + whole
    var nanoseconds = Int(nanoseconds) + rest
    if nanoseconds < 0 {
      nanoseconds += 1_000_000_000
      seconds -= 1
    } else if nanoseconds >= 1_000_000_000 {
      nanoseconds -= 1_000_000_000
      seconds += 1
    }
    return Timestamp(seconds: seconds, nanoseconds: nanoseconds)
  }

  /// The time from another instant to this one, or nil if it is more than 292 years.
  public func span(since other: Timestamp) -> TimeSpan? {
    let (product, overflow) = (seconds - other.seconds).multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, overflow2) = product.addingReportingOverflow(Int(nanoseconds) - Int(other.nanoseconds))
    return overflow || overflow2 ? nil : TimeSpan(nanoseconds: sum)
  }
}

extension Timestamp: Comparable {
  /// Whether the left instant is the earlier one.
  public static func < (left: Timestamp, right: Timestamp) -> Bool {
    (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
  }
}

extension Timestamp: CustomStringConvertible {
  /// RFC 3339 in UTC, with as many decimals of the second as are needed: `2026-11-20T09:30:00.25Z`.
  public var description: String {
    String(unsafeUninitializedCapacity: Timestamp.mostBytes) { write(to: $0) }
  }

  /// The most bytes that `write(to:)` needs.
  static let mostBytes = 30

  /// Writes the description, and gives the number of its bytes.
  ///
  /// Digit by digit, because a journal is full of instants.
  func write(to buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
    let date = CivilDate(daysSinceEpoch: seconds.flooredDivision(by: 86_400))
    let time = seconds.flooredRemainder(by: 86_400)
    var end = 0
    func write(_ number: Int, digits: Int, before separator: Unicode.Scalar) {
      var rest = number
      for index in stride(from: end + digits - 1, through: end, by: -1) {
        buffer[index] = UInt8(truncatingIfNeeded: rest % 10) &+ ASCII.zero
        rest /= 10
      }
      buffer[end + digits] = UInt8(ascii: separator)
      end += digits + 1
    }
    write(date.year, digits: 4, before: "-")
    write(date.month, digits: 2, before: "-")
    write(date.day, digits: 2, before: "T")
    write(time / 3600, digits: 2, before: ":")
    write(time / 60 % 60, digits: 2, before: ":")
    write(time % 60, digits: 2, before: nanoseconds == 0 ? "Z" : ".")
    if nanoseconds != 0 {
      write(Int(nanoseconds), digits: 9, before: "Z")
      // The zeros at the end are not needed.
      while buffer[end - 2] == 0x30 { end -= 1 }
      buffer[end - 1] = UInt8(ascii: "Z")
    }
    return end
  }

  /// Reads RFC 3339 with `Z` or an offset; nil if the text is not that, or out of range.
  ///
  /// A second of 60 is refused, as CEL's `timestamp()` does.
  public init?(_ text: String) {
    var text = text
    guard let instant = text.withUTF8(Timestamp.init(utf8:)) else { return nil }
    self = instant
  }

  private init?(utf8 bytes: UnsafeBufferPointer<UInt8>) {
    func digits(_ range: Range<Int>) -> Int? {
      guard range.upperBound <= bytes.count else { return nil }
      var number = 0
      for index in range {
        guard case let digit = bytes[index] &- ASCII.zero, digit < 10 else { return nil }
        number = number * 10 + Int(digit)
      }
      return number
    }
    func isByte(_ index: Int, _ scalar: Unicode.Scalar) -> Bool {
      index < bytes.count && bytes[index] == UInt8(ascii: scalar)
    }
    guard let year = digits(0..<4), isByte(4, "-"), let month = digits(5..<7), isByte(7, "-"),
      let day = digits(8..<10), (isByte(10, "T") || isByte(10, "t")), let hour = digits(11..<13), isByte(13, ":"),
      let minute = digits(14..<16), isByte(16, ":"), let second = digits(17..<19),
      let date = CivilDate(year: year, month: month, day: day), hour < 24, minute < 60, second < 60
    else { return nil }
    var index = 19
    var nanoseconds = 0
    if isByte(index, ".") {
      index += 1
      let start = index
      while index < bytes.count, ASCII.digits.contains(bytes[index]) { index += 1 }
      guard index > start, index - start <= 9, let fraction = digits(start..<index) else { return nil }
      nanoseconds = (index - start..<9).reduce(fraction) { value, _ in value * 10 }
    }
    var offset = 0
    if (isByte(index, "Z") || isByte(index, "z")) {
      index += 1
    } else {
      guard (isByte(index, "+") || isByte(index, "-")), let hours = digits(index + 1..<index + 3),
        isByte(index + 3, ":"),
        let minutes = digits(index + 4..<index + 6), hours < 24, minutes < 60
      else { return nil }
      offset = (hours * 60 + minutes) * (bytes[index] == ASCII.minus ? -60 : 60)
      index += 6
    }
    guard index == bytes.count else { return nil }
    let seconds = date.daysSinceEpoch * 86_400 + hour * 3600 + minute * 60 + second - offset
    self.init(seconds: seconds, nanoseconds: nanoseconds)
  }
}

/// A length of time in nanoseconds, up to 292 years either way (CEL's range for durations).
public struct TimeSpan: Hashable, Comparable, Sendable {
  /// The length in nanoseconds.
  public var nanoseconds: Int

  /// Creates a length of time.
  public init(nanoseconds: Int) { self.nanoseconds = nanoseconds }

  /// No time at all.
  public static let zero = TimeSpan(nanoseconds: 0)
  /// A number of seconds, clamped to the range.
  public static func seconds(_ count: Int) -> TimeSpan { clamped(count, 1_000_000_000) }
  /// A number of milliseconds, clamped to the range.
  public static func milliseconds(_ count: Int) -> TimeSpan { clamped(count, 1_000_000) }

  private static func clamped(_ count: Int, _ unit: Int) -> TimeSpan {
    let (product, overflow) = count.multipliedReportingOverflow(by: unit)
    return TimeSpan(nanoseconds: overflow ? (count < 0 ? .min : .max) : product)
  }

  /// The length in seconds, rounded.
  public var inSeconds: Double { Double(nanoseconds) / 1e9 }

  /// Whether the left length is the lesser one.
  public static func < (left: TimeSpan, right: TimeSpan) -> Bool { left.nanoseconds < right.nanoseconds }

  /// The sum, clamped to the range.
  public static func + (left: TimeSpan, right: TimeSpan) -> TimeSpan {
    let (sum, overflow) = left.nanoseconds.addingReportingOverflow(right.nanoseconds)
    return TimeSpan(nanoseconds: overflow ? (left.nanoseconds < 0 ? .min : .max) : sum)
  }

  /// The difference, clamped to the range.
  public static func - (left: TimeSpan, right: TimeSpan) -> TimeSpan {
    let (difference, overflow) = left.nanoseconds.subtractingReportingOverflow(right.nanoseconds)
    return TimeSpan(nanoseconds: overflow ? (left.nanoseconds < 0 ? .min : .max) : difference)
  }
}

extension TimeSpan: CustomStringConvertible {
  /// Which units a text may use.
  public enum Units: Sendable {
    /// The units of CEL's `duration()`, which are Go's: h m s ms us ns.
    case expression
    /// Those and `d` (24 hours) and `w` (7 days), as durations in YAML may be written.
    case recipe
  }

  /// Reads a signed sum of decimal numbers with units, as `1h30m`, `-1.5s` or `0`; nil if it is not that or out of range.
  public init?(_ text: String, units: Units = .recipe) {
    var rest = Array(text.utf8)[...]
    let isNegative = rest.first == ASCII.minus
    if isNegative || rest.first == ASCII.plus { rest = rest.dropFirst() }
    if rest.elementsEqual("0".utf8) {
      self.init(nanoseconds: 0)
      return
    }
    guard !rest.isEmpty else { return nil }
    // Kept below zero, because the least length has no positive twin.
    var total = 0
    while !rest.isEmpty {
      let whole = rest.prefix { ASCII.digits.contains($0) }
      rest = rest.dropFirst(whole.count)
      var fraction = whole[whole.endIndex...]
      if rest.first == ASCII.dot {
        rest = rest.dropFirst()
        fraction = rest.prefix { ASCII.digits.contains($0) }
        rest = rest.dropFirst(fraction.count)
      }
      guard !(whole.isEmpty && fraction.isEmpty) else { return nil }
      let name = String(decoding: rest.prefix { !ASCII.digits.contains($0) && $0 != ASCII.dot }, as: UTF8.self)
      rest = rest.dropFirst(name.utf8.count)
      guard let unit = TimeSpan.nanoseconds(in: name, units) else { return nil }
      guard let count = Int(String(decoding: whole.isEmpty ? [0x30] : Array(whole), as: UTF8.self)) else { return nil }
      let (product, overflow) = count.multipliedReportingOverflow(by: -unit)
      var part = 0.0
      var scale = Double(unit)
      for byte in fraction {
        scale /= 10
        part += Double(byte - ASCII.zero) * scale
      }
      let (sum, overflow2) = total.addingReportingOverflow(product)
      let (sum2, overflow3) = sum.subtractingReportingOverflow(Int(part.rounded(.toNearestOrEven)))
      guard !overflow, !overflow2, !overflow3 else { return nil }
      total = sum2
    }
    if isNegative {
      self.init(nanoseconds: total)
    } else {
      guard total != .min else { return nil }
      self.init(nanoseconds: -total)
    }
  }

  private static func nanoseconds(in unit: String, _ units: Units) -> Int? {
    switch unit {
    case "ns": 1
    case "us", "µs": 1000
    case "ms": 1_000_000
    case "s": 1_000_000_000
    case "m": 60_000_000_000
    case "h": 3_600_000_000_000
    case "d" where units == .recipe: 86_400_000_000_000
    case "w" where units == .recipe: 604_800_000_000_000
    default: nil
    }
  }

  /// The length as CEL's `string()` writes it: seconds with as many decimals as are needed, `5400s`, `0.25s`.
  public var description: String {
    let (whole, rest) = nanoseconds.magnitude.quotientAndRemainder(dividingBy: 1_000_000_000)
    let sign = nanoseconds < 0 ? "-" : ""
    return rest == 0 ? "\(sign)\(whole)s" : "\(sign)\(whole).\(decimals(Int(rest)))s"
  }
}

extension TimeSpan {
  /// The length without its sign, clamped to the range.
  public var magnitude: TimeSpan { TimeSpan(nanoseconds: Int(clamping: nanoseconds.magnitude)) }

  /// A length of time as people say it: `0.3s`, `12s`, `-4m 05s`, `2h 10m`, `400d 3h`.
  public var spoken: String {
    if nanoseconds < 0 { return magnitude.spoken == "0.0s" ? "0.0s" : "-\(magnitude.spoken)" }
    let seconds = nanoseconds / 1_000_000_000
    if seconds < 10 { return "\(seconds).\(nanoseconds / 100_000_000 % 10)s" }
    if seconds < 60 { return "\(seconds)s" }
    if seconds < 3600 { return "\(seconds / 60)m \(seconds % 60 < 10 ? "0" : "")\(seconds % 60)s" }
    let hours = seconds / 3600
    return hours < 1000 ? "\(hours)h \(seconds / 60 % 60)m" : "\(hours / 24)d \(hours % 24)h"
  }
}

/// The nine digits of a fraction in nanoseconds, without the zeros at the end.
private func decimals(_ nanoseconds: Int) -> String {
  var text = String(nanoseconds)
  text = String(repeating: "0", count: max(0, 9 - text.utf8.count)) + text
  while text.hasSuffix("0") { text.removeLast() }
  return text
}
