package import ActionKit

// How the characters of a file are written.
//
// A byte order mark says it by itself (Unicode, section 23.8); without one a file is in UTF-8 unless the step says
// otherwise, since nothing in it tells. What does not fit is refused with its place: a table with guessed letters in its
// names is worse than none. latin-1 is ISO 8859-1, in which every byte is a character; windows-1252 has others from 0x80
// to 0x9F, of which five bytes are none.

/// How a file that is read is written.
package enum ReadEncoding: String, Choice {
  case auto
  case utf8 = "utf-8"
  case utf16 = "utf-16"
  case utf16LE = "utf-16le"
  case utf16BE = "utf-16be"
  case latin1 = "latin-1"
  case windows1252 = "windows-1252"

  /// The encoding that a media type names with its `charset`; nil if it names none of these.
  package init?(charset name: String) {
    switch name.lowercased() {
    case "utf-8", "utf8", "us-ascii", "ascii": self = .utf8
    case "utf-16", "utf-16le", "utf-16be":
      guard let known = ReadEncoding(rawValue: name.lowercased()) else { return nil }
      self = known
    // As browsers take it (encoding.spec.whatwg.org), since what says the one mostly means the other.
    case "iso-8859-1", "iso8859-1", "latin1", "latin-1", "windows-1252", "cp1252": self = .windows1252
    default: return nil
    }
  }

  private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

  /// The text of a file; `what` names it in messages.
  package func text(of bytes: [UInt8], called what: String) throws(ActionError) -> String {
    switch self {
    case .auto, .utf16:
      if bytes.starts(with: [0xFF, 0xFE]) { return try utf16(bytes[2...], isLittle: true, what) }
      if bytes.starts(with: [0xFE, 0xFF]) { return try utf16(bytes[2...], isLittle: false, what) }
      guard self == .auto else {
        throw fault("\(what) has no byte order mark; say utf-16le or utf-16be as its 'encoding', whichever it is")
      }
      return try utf8(bytes, what)
    case .utf8: return try utf8(bytes, what)
    case .utf16LE: return try utf16(bytes.starts(with: [0xFF, 0xFE]) ? bytes[2...] : bytes[...], isLittle: true, what)
    case .utf16BE: return try utf16(bytes.starts(with: [0xFE, 0xFF]) ? bytes[2...] : bytes[...], isLittle: false, what)
    case .latin1, .windows1252:
      var text = String.UnicodeScalarView()
      for (index, byte) in bytes.enumerated() {
        var code = UInt32(byte)
        if self == .windows1252, (0x80...0x9F).contains(byte) {
          code = Windows1252.codes[Int(byte) - 0x80]
          if code == 0 { throw misfit("windows-1252", what, in: bytes, at: index) }
        }
        if let scalar = Unicode.Scalar(code) { text.append(scalar) }
      }
      return String(text)
    }
  }

  /// The text of a file in UTF-8; of a file that is in UTF-8 these are its bytes, without another copy of a large file.
  package func utf8(of bytes: [UInt8], called what: String) throws(ActionError) -> [UInt8] {
    let isUTF8 = self == .utf8 || self == .auto && ![[0xFF, 0xFE], [0xFE, 0xFF]].contains { bytes.starts(with: $0) }
    guard isUTF8 else { return Array(try text(of: bytes, called: what).utf8) }
    do throws(UTF8.ValidationError) { _ = try UTF8Span(validating: bytes.span) } catch {
      throw notUTF8(bytes, what)
    }
    return bytes.starts(with: Self.mark) ? Array(bytes[Self.mark.count...]) : bytes
  }

  private func utf8(_ bytes: [UInt8], _ what: String) throws(ActionError) -> String {
    let start = bytes.starts(with: Self.mark) ? Self.mark.count : 0
    if let text = String(validating: bytes[start...], as: UTF8.self) { return text }
    throw notUTF8(bytes, what)
  }

  /// Says which of the bytes doesn't fit.
  private func notUTF8(_ bytes: [UInt8], _ what: String) -> ActionError {
    let start = bytes.starts(with: Self.mark) ? Self.mark.count : 0
    var parser = Unicode.UTF8.ForwardParser()
    var (rest, offset) = (bytes[start...].makeIterator(), start)
    while case .valid(let scalar) = parser.parseScalar(from: &rest) { offset += scalar.count }
    return misfit("UTF-8", what, in: bytes, at: offset)
  }

  private func utf16(_ bytes: ArraySlice<UInt8>, isLittle: Bool, _ what: String) throws(ActionError) -> String {
    let name = isLittle ? "utf-16le" : "utf-16be"
    guard bytes.count.isMultiple(of: 2) else {
      throw fault("\(what) is not in \(name): it has an odd number of bytes")
    }
    var text = String.UnicodeScalarView()
    var (line, index) = (1, bytes.startIndex)
    func unit(_ index: Int) -> UInt32 {
      isLittle
        ? UInt32(bytes[index]) | UInt32(bytes[index + 1]) << 8 : UInt32(bytes[index]) << 8 | UInt32(bytes[index + 1])
    }
    while index < bytes.endIndex {
      var code = unit(index)
      var width = 2
      if (0xD800...0xDBFF).contains(code), index + 2 < bytes.endIndex, (0xDC00...0xDFFF).contains(unit(index + 2)) {
        code = 0x10000 + (code & 0x3FF) << 10 + unit(index + 2) & 0x3FF
        width = 4
      }
      guard let scalar = Unicode.Scalar(code) else {
        throw fault("\(what) is not in \(name): line \(line), byte \(index + 1) begins half a character")
      }
      if scalar == "\n" { line += 1 }
      text.append(scalar)
      index += width
    }
    return String(text)
  }

  /// What a byte says that fits nothing; it is counted from 1, as the lines are.
  private func misfit(_ name: String, _ what: String, in bytes: [UInt8], at index: Int) -> ActionError {
    let line = bytes[..<index].count { $0 == ASCII.newline } + 1
    let found =
      index < bytes.count
      ? "(0x\(bytes[index] < 16 ? "0" : "")\(String(bytes[index], radix: 16, uppercase: true)))" : "(the end)"
    return fault(
      "\(what) is not in \(name): line \(line), byte \(index + 1) \(found) fits no character; say as its 'encoding' what it is, "
        + "such as windows-1252")
  }

  private func fault(_ message: String) -> ActionError {
    ActionError(.validation, "\(message).")
  }
}

/// How a file is written.
package enum WriteEncoding: String, Choice {
  case utf8 = "utf-8"
  case utf16 = "utf-16"
  case latin1 = "latin-1"
  case windows1252 = "windows-1252"

  /// A text in UTF-8 as it goes into the file.
  package func bytes(of text: [UInt8], hasMark: Bool) throws(ActionError) -> [UInt8] {
    if self == .utf8 { return (hasMark ? [0xEF, 0xBB, 0xBF] : []) + text }
    var bytes: [UInt8] = self == .utf16 ? [0xFF, 0xFE] : []
    bytes.reserveCapacity(text.count * (self == .utf16 ? 2 : 1) + 2)
    var line = 1
    for scalar in String(decoding: text, as: UTF8.self).unicodeScalars {
      if scalar == "\n" { line += 1 }
      if self == .utf16 {
        for unit in UTF16.encode(scalar) ?? .init() { bytes += [UInt8(truncatingIfNeeded: unit), UInt8(unit >> 8)] }
      } else if let byte = byte(of: scalar) {
        bytes.append(byte)
      } else {
        throw misfit(scalar, " on line \(line), byte \(bytes.count + 1) of the file")
      }
    }
    return bytes
  }

  /// Why a text cannot be part of a file, wherever it stands in it.
  package func refusal(of text: String) -> ActionError? {
    if self == .utf8 || self == .utf16 { return nil }
    return text.unicodeScalars.first { byte(of: $0) == nil }.map { misfit($0, "") }
  }

  /// The byte of a character in an encoding that has one byte for each.
  private func byte(of scalar: Unicode.Scalar) -> UInt8? {
    if scalar.value < 0x80 || scalar.value <= 0xFF && (self == .latin1 || scalar.value > 0x9F) {
      return UInt8(scalar.value)
    }
    guard self == .windows1252, let index = Windows1252.codes.firstIndex(of: scalar.value) else { return nil }
    return UInt8(0x80 + index)
  }

  private func misfit(_ scalar: Unicode.Scalar, _ place: String) -> ActionError {
    ActionError(
      .validation,
      "'\(scalar)' (U+\(String(scalar.value, radix: 16, uppercase: true)))\(place) has no place in \(rawValue); write it in "
        + "utf-8 or utf-16.")
  }
}

private enum Windows1252 {
  /// The characters of the bytes from 0x80 to 0x9F; 0 for one that is none.
  static let codes: [UInt32] = [
    0x20AC, 0, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0, 0x017D, 0, 0,
    0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0, 0x017E, 0x0178,
  ]
}
