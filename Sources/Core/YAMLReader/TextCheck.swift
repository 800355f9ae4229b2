import Basics

/// Checks a text's bytes before YAML reads them.
struct TextCheck {
  /// Where the text begins, behind a byte order mark if there is one.
  private(set) var start = 0
  /// Whether all is ASCII, so that code points and bytes count alike.
  private(set) var isASCII = true
  /// Why the text cannot be read.
  private(set) var errors: [Diagnostic] = []
  /// Readable parts that are probably not meant.
  private(set) var warnings: [Diagnostic] = []

  /// A binary file has thousands of faults of this kind; the first few say enough.
  private static let mostErrors = 10

  private let source: Source

  init(_ source: Source) {
    self.source = source
    let bytes = source.bytes
    if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
      fail("the file is UTF-16; save it as UTF-8", 0..<2)
      return
    }
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { start = 3 }
    bytes.withUnsafeBufferPointer { check($0) }
  }

  /// The text with U+FFFD for all that is refused in it; nil if that isn't enough to read it.
  static func mended(_ source: Source) -> Source? {
    var scalars = String.UnicodeScalarView()
    for scalar in String(decoding: source.bytes, as: UTF8.self).unicodeScalars {
      switch scalar.value {
      case 0x09, 0x0A, 0x0D, 0x20..<0x7F: scalars.append(scalar)
      case 0xFEFF where scalars.isEmpty: continue
      case 0..<0xA0, 0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF: scalars.append("\u{FFFD}")
      default: scalars.append(scalar)
      }
    }
    let mended = Source(name: source.name, text: String(scalars))
    return TextCheck(mended).errors.isEmpty ? mended : nil
  }

  private mutating func check(_ bytes: UnsafeBufferPointer<UInt8>) {
    var offset = start
    while offset < bytes.count {
      let byte = bytes[offset]
      if byte >= 0x20, byte < 0x7F {
        offset += 1
      } else if byte < 0x80 {
        if byte != ASCII.newline, byte != ASCII.carriageReturn, byte != ASCII.tab {
          refuseControl(UInt32(byte), offset..<offset + 1)
        }
        offset += 1
      } else {
        isASCII = false
        let (scalar, length) = decode(bytes, at: offset)
        let range = offset..<offset + length
        if let scalar {
          check(scalar, range)
        } else {
          fail("the byte \(hex(UInt32(byte), digits: 2)) isn't valid UTF-8; save the file as UTF-8", range)
        }
        offset += length
      }
      if errors.count > TextCheck.mostErrors {
        errors[TextCheck.mostErrors].message = "this and what follows isn't text either; is this the right file?"
        return
      }
    }
  }

  private mutating func check(_ scalar: UInt32, _ range: Range<Int>) {
    switch scalar {
    case 0x80...0x84, 0x86...0x9F, 0xFFFE, 0xFFFF: refuseControl(scalar, range)
    case 0x85: refuseSeparator("next line", scalar, #"\N"#, range)
    case 0x2028: refuseSeparator("line separator", scalar, #"\L"#, range)
    case 0x2029: refuseSeparator("paragraph separator", scalar, #"\P"#, range)
    case 0xFEFF: fail("a byte order mark (U+FEFF) is inside the text; remove it", range)
    case 0x202A...0x202E, 0x2066...0x2069:
      let message = """
        an invisible control (U+\(hex(scalar, digits: 4))) lets text look different from what it says; \
        in double quotes write it as \\u\(hex(scalar, digits: 4))
        """
      warnings.append(Diagnostic(message, at: Diagnostic.Location(source, range), severity: .warning))
    default: break
    }
  }

  private mutating func refuseControl(_ scalar: UInt32, _ range: Range<Int>) {
    let code = hex(scalar, digits: 4)
    fail("a control character (U+\(code)) is in the text; in double quotes write it as \\u\(code)", range)
  }

  private mutating func refuseSeparator(_ name: String, _ scalar: UInt32, _ escape: String, _ range: Range<Int>) {
    let code = hex(scalar, digits: 4)
    fail("an invisible \(name) (U+\(code)) is in the text; remove it, or in double quotes write \(escape)", range)
  }

  private mutating func fail(_ message: String, _ range: Range<Int>) {
    errors.append(Diagnostic(message, at: Diagnostic.Location(source, range)))
  }
}

/// The scalar that begins with a byte above 0x7F and its length, or nil and the number of bytes to skip.
///
/// Follows table 3-7 of the Unicode Standard: no surrogates, nothing overlong, nothing above 10FFFF.
private func decode(_ bytes: UnsafeBufferPointer<UInt8>, at offset: Int) -> (scalar: UInt32?, length: Int) {
  let lead = bytes[offset]
  let (length, second): (Int, ClosedRange<UInt8>)
  switch lead {
  case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
  case 0xE0: (length, second) = (3, 0xA0...0xBF)
  case 0xED: (length, second) = (3, 0x80...0x9F)
  case 0xE1...0xEF: (length, second) = (3, 0x80...0xBF)
  case 0xF0: (length, second) = (4, 0x90...0xBF)
  case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
  case 0xF4: (length, second) = (4, 0x80...0x8F)
  default: return (nil, 1)
  }
  var scalar = UInt32(lead) & (0x7F >> UInt32(length))
  for index in 1..<length {
    let allowed = index == 1 ? second : 0x80...0xBF
    guard offset + index < bytes.count, allowed.contains(bytes[offset + index]) else { return (nil, index) }
    scalar = scalar << 6 | UInt32(bytes[offset + index]) & 0x3F
  }
  return (scalar, length)
}

/// A number in upper-case hexadecimal digits, at least that many.
private func hex(_ number: UInt32, digits: Int) -> String {
  let text = String(number, radix: 16, uppercase: true)
  return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
}
