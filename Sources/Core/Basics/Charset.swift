import Glibc
import Synchronization

// How bytes from outside become text.
//
// Every place that reads bytes from outside asks here, so that the rules are the same everywhere
// (docs/files-and-commands.md has the table of sources):
//
//     a charset that is named   is honoured: UTF-8, UTF-16, and the charsets of one byte a character that hold ASCII
//                               (ISO-8859, windows-125x, KOI8). An unknown one is told, never guessed.
//     no name                   is UTF-8
//     a byte order mark         says by itself what follows (Unicode, section 23.8), and is no part of the text
//     bytes that don't fit      are refused with their place, or become U+FFFD where the source can't send again what it
//                               printed: commands, log lines, names that are only shown
//
// As browsers do (encoding.spec.whatwg.org), ISO-8859-1 and US-ASCII in a message are read as windows-1252, since
// senders that name one mostly mean the other. `latin-1` as a recipe's `encoding` is the charset of the standard: every
// byte is a character.

/// How the characters of a text are written as bytes.
package struct Charset: Sendable, Hashable {
  private enum Form: Sendable, Hashable {
    case utf8
    /// Nil: by its byte order mark.
    case utf16(isLittle: Bool?)
    case latin1
    /// One byte a character, named as libc names it.
    case bytes(String)
  }

  private let form: Form
  /// The charset's name in messages.
  package let name: String

  private init(_ form: Form, _ name: String) {
    self.form = form
    self.name = name
  }

  package static let utf8 = Charset(.utf8, "UTF-8")
  /// UTF-16 whose byte order a mark says; without one it can't be read.
  package static let utf16 = Charset(.utf16(isLittle: nil), "utf-16")
  package static let utf16LE = Charset(.utf16(isLittle: true), "utf-16le")
  package static let utf16BE = Charset(.utf16(isLittle: false), "utf-16be")
  package static let latin1 = Charset(.latin1, "latin-1")
  package static let windows1252 = Charset(.bytes("WINDOWS-1252"), "windows-1252")

  /// The charset that a message names (RFC 9110, 8.3.2); nil if none of these has the name.
  package init?(named name: String) {
    let name = name.trimmed.lowercased()
    switch name {
    case "utf-8", "utf8", "unicode-1-1-utf-8": self = .utf8
    case "utf-16": self = .utf16
    case "utf-16le": self = .utf16LE
    case "utf-16be": self = .utf16BE
    case "us-ascii", "ascii", "iso-8859-1", "iso8859-1", "iso_8859-1", "latin1", "latin-1", "l1", "cp1252", "x-cp1252":
      self = .windows1252
    default:
      guard let known = Charset.libraryName(of: name) else { return nil }
      self.init(.bytes(known), name)
    }
  }

  /// The libc name of a charset that has one byte a character and holds ASCII.
  private static func libraryName(of name: String) -> String? {
    func number(after prefixes: [String]) -> Int? {
      prefixes.lazy.filter { name.hasPrefix($0) }.compactMap { Int(name.dropFirst($0.utf8.count)) }.first
    }
    if let part = number(after: ["iso-8859-", "iso8859-", "iso_8859-"]), (2...16).contains(part), part != 12 {
      return "ISO-8859-\(part)"
    }
    if let page = number(after: ["windows-", "cp", "x-cp"]), (1250...1258).contains(page) { return "WINDOWS-\(page)" }
    switch name {
    case "latin2": return "ISO-8859-2"
    case "latin-9", "latin9": return "ISO-8859-15"
    case "koi8-r": return "KOI8-R"
    case "koi8-u": return "KOI8-U"
    default: return nil
    }
  }

  // MARK: Reading

  private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

  /// The charset that a byte order mark at the beginning says, and how long the mark is.
  private static func marked(_ bytes: [UInt8]) -> (charset: Charset, count: Int)? {
    if bytes.starts(with: mark) { return (.utf8, mark.count) }
    // UTF-32's mark begins with the bytes of UTF-16's. A text in UTF-16 is not expected to begin with NUL.
    if bytes.starts(with: [0xFF, 0xFE, 0, 0]), bytes.count.isMultiple(of: 4) { return nil }
    if bytes.starts(with: [0xFF, 0xFE]) { return (.utf16LE, 2) }
    if bytes.starts(with: [0xFE, 0xFF]) { return (.utf16BE, 2) }
    return nil
  }

  /// The charset of bytes that say it themselves by a byte order mark; nil if they don't.
  package static func marked(in bytes: [UInt8]) -> Charset? { marked(bytes)?.charset }

  /// The text of bytes, without a byte order mark.
  package func text(of bytes: [UInt8]) throws(CharsetError) -> String {
    switch form {
    case .utf8:
      let start = bytes.starts(with: Charset.mark) ? Charset.mark.count : 0
      if let text = String(validating: bytes[start...], as: UTF8.self) { return text }
      throw notUTF8(bytes)
    case .utf16(let isLittle):
      let found = Charset.marked(bytes)
      guard let isLittle = isLittle ?? found.flatMap({ $0.charset == .utf8 ? nil : $0.charset == .utf16LE }) else {
        throw CharsetError(message: "has no byte order mark", charset: self, isMisfit: false)
      }
      let count = found.map { $0.charset == (isLittle ? .utf16LE : .utf16BE) ? $0.count : 0 } ?? 0
      return try utf16(bytes[count...], isLittle: isLittle)
    case .latin1, .bytes:
      // Bytes that begin with the mark of UTF-8 are read as UTF-8, even if another charset was named.
      let start = bytes.starts(with: Charset.mark) ? Charset.mark.count : 0
      if start > 0, let text = String(validating: bytes[start...], as: UTF8.self) { return text }
      let table = try self.table()
      var text = String.UnicodeScalarView()
      for (index, byte) in bytes.enumerated().dropFirst(start) {
        guard byte >= 0x80 else {
          text.append(Unicode.Scalar(byte))
          continue
        }
        guard let scalar = table[Int(byte) - 0x80] else { throw misfit(in: bytes, at: index) }
        text.append(scalar)
      }
      return String(text)
    }
  }

  /// The text of bytes in UTF-8; of bytes that are in UTF-8 these are themselves, without another copy of many.
  package func utf8(of bytes: [UInt8]) throws(CharsetError) -> [UInt8] {
    guard form == .utf8 else { return Array(try text(of: bytes).utf8) }
    do throws(UTF8.ValidationError) { _ = try UTF8Span(validating: bytes.span) } catch { throw notUTF8(bytes) }
    return bytes.starts(with: Charset.mark) ? Array(bytes[Charset.mark.count...]) : bytes
  }

  /// Whether each byte below 0x80 is the character of ASCII.
  package var holdsASCII: Bool { if case .utf16 = form { false } else { true } }

  /// The text of bytes that can't be sent again, without a byte order mark; bytes that don't fit become U+FFFD.
  package func displayedText(of bytes: some Collection<UInt8>) -> String {
    if form != .utf8, let text = try? text(of: Array(bytes)) { return text }
    let isMarked = bytes.starts(with: Charset.mark)
    if case .utf16(let isLittle) = form {
      let all = Array(bytes)
      let found = Charset.marked(all)
      let isMarked = found.map { $0.charset != .utf8 } ?? false
      if let isLittle = isLittle ?? (isMarked ? found?.charset == .utf16LE : nil),
        let text = try? utf16(all[(isMarked ? 2 : 0)...], isLittle: isLittle, replacesMisfits: true)
      {
        return text
      }
    }
    guard case .bytes = form, let table = try? table() else {
      return String(decoding: isMarked ? bytes.dropFirst(3) : bytes.dropFirst(0), as: UTF8.self)
    }
    let rest = isMarked ? bytes.dropFirst(3) : bytes.dropFirst(0)
    return String(
      String.UnicodeScalarView(rest.map { $0 < 0x80 ? Unicode.Scalar($0) : table[Int($0) - 0x80] ?? "\u{FFFD}" }))
  }

  /// The value of a header field: in UTF-8, or in the charset of old services (RFC 9110, section 5.5).
  package static func fieldText(of bytes: some Collection<UInt8>) -> String {
    String(validating: bytes, as: UTF8.self) ?? windows1252.displayedText(of: bytes)
  }

  /// - Parameter replacesMisfits: Whether what isn't UTF-16 is U+FFFD, and no error.
  private func utf16(
    _ bytes: ArraySlice<UInt8>, isLittle: Bool, replacesMisfits: Bool = false
  ) throws(CharsetError) -> String {
    let name = isLittle ? "utf-16le" : "utf-16be"
    func fault(_ message: String) -> CharsetError {
      CharsetError(message: "is not in \(name): \(message)", charset: self, isMisfit: false)
    }
    let isOdd = !bytes.count.isMultiple(of: 2)
    if isOdd, !replacesMisfits { throw fault("it has an odd number of bytes") }
    let end = isOdd ? bytes.endIndex - 1 : bytes.endIndex
    var text = String.UnicodeScalarView()
    var (line, index) = (1, bytes.startIndex)
    func unit(_ index: Int) -> UInt32 {
      isLittle
        ? UInt32(bytes[index]) | UInt32(bytes[index + 1]) << 8 : UInt32(bytes[index]) << 8 | UInt32(bytes[index + 1])
    }
    while index < end {
      var code = unit(index)
      var width = 2
      if (0xD800...0xDBFF).contains(code), index + 2 < end, (0xDC00...0xDFFF).contains(unit(index + 2)) {
        code = 0x10000 + (code & 0x3FF) << 10 + unit(index + 2) & 0x3FF
        width = 4
      }
      guard let scalar = Unicode.Scalar(code) ?? (replacesMisfits ? "\u{FFFD}" : nil) else {
        throw fault("line \(line), byte \(index + 1) begins half a character")
      }
      if scalar == "\n" { line += 1 }
      text.append(scalar)
      index += width
    }
    if isOdd { text.append("\u{FFFD}") }
    return String(text)
  }

  // MARK: Writing

  /// The bytes of a text in a charset of one byte a character, or in UTF-8; nil beside the first character that has none.
  package func bytes(of text: String) -> (bytes: [UInt8], misfit: Unicode.Scalar?) {
    switch form {
    case .utf8: return (Array(text.utf8), nil)
    case .utf16(let isLittle):
      var bytes: [UInt8] = isLittle == nil ? [0xFF, 0xFE] : []
      for unit in text.utf16 {
        let (low, high) = (UInt8(truncatingIfNeeded: unit), UInt8(truncatingIfNeeded: unit >> 8))
        bytes += isLittle == false ? [high, low] : [low, high]
      }
      return (bytes, nil)
    case .latin1, .bytes:
      guard let table = try? table() else { return ([], text.unicodeScalars.first) }
      var bytes: [UInt8] = []
      bytes.reserveCapacity(text.utf8.count)
      for scalar in text.unicodeScalars {
        guard let byte = Charset.byte(of: scalar, in: table) else { return (bytes, scalar) }
        bytes.append(byte)
      }
      return (bytes, nil)
    }
  }

  /// Whether a character can be written.
  package func holds(_ scalar: Unicode.Scalar) -> Bool {
    switch form {
    case .utf8, .utf16: true
    case .latin1, .bytes: (try? table()).flatMap { Charset.byte(of: scalar, in: $0) } != nil
    }
  }

  private static func byte(of scalar: Unicode.Scalar, in table: [Unicode.Scalar?]) -> UInt8? {
    if scalar.value < 0x80 { return UInt8(scalar.value) }
    return table.firstIndex { $0 == scalar }.map { UInt8(0x80 + $0) }
  }

  // MARK: Tables

  private static let tables = Mutex<[String: [Unicode.Scalar?]]>([:])

  /// The characters of the bytes from 0x80 on; nil for one that is none.
  private func table() throws(CharsetError) -> [Unicode.Scalar?] {
    guard case .bytes(let known) = form else { return (0x80...0xFF).map { Unicode.Scalar(UInt8($0)) } }
    let table = Charset.tables.withLock { tables in
      if let table = tables[known] { return Optional(table) }
      let table = Charset.readTable(known)
      if let table { tables[known] = table }
      return table
    }
    guard let table else {
      throw CharsetError(
        message: "is in \(name), which this system can't read: iconv has no \(known)", charset: self, isMisfit: false)
    }
    return table
  }

  /// The characters of windows-1252 from 0x80 to 0x9F; 0 for a byte that is none.
  ///
  /// This one is needed everywhere, also where libc has no tables to convert with, as in small images.
  private static let windows1252Codes: [UInt32] = [
    0x20AC, 0, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0, 0x017D, 0, 0,
    0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0, 0x017E, 0x0178,
  ]

  /// Asks libc byte by byte, once for each charset.
  private static func readTable(_ name: String) -> [Unicode.Scalar?]? {
    if name == "WINDOWS-1252" {
      return windows1252Codes.map { $0 == 0 ? nil : Unicode.Scalar($0) }
        + (0xA0...0xFF).map { Unicode.Scalar(UInt8($0)) }
    }
    let conversion = iconv_open("UTF-8", name)
    guard conversion != iconv_t(bitPattern: -1) else { return nil }
    defer { iconv_close(conversion) }
    return (0x80...0xFF).map { (code: Int) -> Unicode.Scalar? in
      var input = [CChar(bitPattern: UInt8(code))]
      var output = [CChar](repeating: 0, count: 8)
      let count = input.withUnsafeMutableBufferPointer { input in
        output.withUnsafeMutableBufferPointer { output in
          var (from, to) = (input.baseAddress, output.baseAddress)
          var (left, room) = (1, 8)
          let result = iconv(conversion, &from, &left, &to, &room)
          if result < 0 || left > 0 || iconv(conversion, nil, nil, &to, &room) != 0 {
            _ = iconv(conversion, nil, nil, nil, nil)
            return 0
          }
          return 8 - room
        }
      }
      let text = String(decoding: output[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
      return text.unicodeScalars.count == 1 ? text.unicodeScalars.first : nil
    }
  }

  // MARK: Faults

  /// Says which of the bytes doesn't fit.
  private func notUTF8(_ bytes: [UInt8]) -> CharsetError {
    let start = bytes.starts(with: Charset.mark) ? Charset.mark.count : 0
    var parser = Unicode.UTF8.ForwardParser()
    var (rest, offset) = (bytes[start...].makeIterator(), start)
    while case .valid(let scalar) = parser.parseScalar(from: &rest) { offset += scalar.count }
    return misfit(in: bytes, at: offset)
  }

  /// The error for a byte that fits no character; its number counts from 1, as lines do.
  private func misfit(in bytes: [UInt8], at index: Int) -> CharsetError {
    let line = bytes[..<index].count { $0 == ASCII.newline } + 1
    let found =
      index < bytes.count
      ? "(0x\(bytes[index] < 16 ? "0" : "")\(String(bytes[index], radix: 16, uppercase: true)))" : "(the end)"
    return CharsetError(
      message: "is not in \(name): line \(line), byte \(index + 1) \(found) fits no character", charset: self,
      isMisfit: true)
  }
}

/// Why bytes aren't text in a charset.
package struct CharsetError: Error, Hashable, Sendable {
  /// A sentence without its subject and point: `is not in UTF-8: line 1, byte 5 (0xFC) fits no character`.
  package var message: String
  package var charset: Charset
  /// Whether bytes don't fit the charset, so that they may be in another.
  package var isMisfit: Bool
}
