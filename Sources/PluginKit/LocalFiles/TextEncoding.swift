package import ActionKit

// The encodings of text files.
//
// A byte order mark tells the encoding. A file without one is UTF-8 unless the step says otherwise, because its content
// doesn't tell. Bytes that don't match the encoding are refused with their place: a table with guessed letters in its
// names is worse than none. `Charset` defines the rules.

/// The encoding of a file to read.
package enum ReadEncoding: String, Choice {
  case auto
  case utf8 = "utf-8"
  case utf16 = "utf-16"
  case utf16LE = "utf-16le"
  case utf16BE = "utf-16be"
  case latin1 = "latin-1"
  case windows1252 = "windows-1252"

  /// The charset of some bytes.
  private func charset(of bytes: [UInt8]) -> Charset {
    switch self {
    case .auto: Charset.marked(in: bytes) ?? .utf8
    case .utf8: .utf8
    case .utf16: .utf16
    case .utf16LE: .utf16LE
    case .utf16BE: .utf16BE
    case .latin1: .latin1
    case .windows1252: .windows1252
    }
  }

  /// The text of a file; `what` names the file in messages.
  package func text(of bytes: [UInt8], called what: String) throws(ActionError) -> String {
    do throws(CharsetError) { return try charset(of: bytes).text(of: bytes) } catch { throw .init(error, what) }
  }

  /// The text of a file in UTF-8; a UTF-8 file's own bytes are returned, so that a large file isn't copied.
  package func utf8(of bytes: [UInt8], called what: @autoclosure () -> String) throws(ActionError) -> [UInt8] {
    do throws(CharsetError) { return try charset(of: bytes).utf8(of: bytes) } catch { throw .init(error, what()) }
  }

  /// The printed output of a command, without line ends at its end.
  ///
  /// Invalid bytes become U+FFFD, because the command can't be repeated because of them.
  package func printedText(of bytes: [UInt8]) -> String {
    let charset = charset(of: bytes)
    guard charset.holdsASCII else {
      let text = charset.displayedText(of: bytes).unicodeScalars
      return String(text[..<(text.lastIndex { $0 != "\n" }.map(text.index(after:)) ?? text.startIndex)])
    }
    return charset.displayedText(of: bytes[..<(bytes.lastIndex { $0 != ASCII.newline }.map { $0 + 1 } ?? 0)])
  }

  /// The body of a message in UTF-8: the recipe determines its encoding, or else its byte order mark or its `charset`.
  package func utf8(
    ofBody bytes: [UInt8], _ type: ContentType, called what: @autoclosure () -> String
  ) throws(ActionError) -> [UInt8] {
    guard self == .auto, Charset.marked(in: bytes) == nil else { return try utf8(of: bytes, called: what()) }
    do throws(CharsetError) { return try type.utf8(of: bytes) } catch { throw .init(error, what()) }
  }

  /// The body of a message in UTF-8, for a step that can't name the encoding: the message itself determines it.
  package static func utf8(
    ofUnlabelledBody bytes: [UInt8], _ type: ContentType, called what: @autoclosure () -> String
  ) throws(ActionError) -> [UInt8] {
    do throws(CharsetError) { return try type.utf8(of: bytes) } catch {
      let help = error.isMisfit ? "; the service must name its charset in 'Content-Type'" : ""
      throw ActionError(.validation, "\(what()) \(error.message)\(help).")
    }
  }
}

extension ActionError {
  /// Creates the error of a text with another encoding than expected; the message includes the fix.
  fileprivate init(_ error: CharsetError, _ what: String) {
    let help =
      error.isMisfit
      ? "; say as its 'encoding' what it is, such as windows-1252"
      : error.charset == .utf16 ? "; say utf-16le or utf-16be as its 'encoding', whichever it is" : ""
    self.init(.validation, "\(what) \(error.message)\(help).")
  }
}

/// The encoding of a file to write.
package enum WriteEncoding: String, Choice {
  case utf8 = "utf-8"
  case utf16 = "utf-16"
  case latin1 = "latin-1"
  case windows1252 = "windows-1252"

  /// The bytes of a UTF-8 text in the file's encoding.
  package func bytes(of text: [UInt8], hasMark: Bool) throws(ActionError) -> [UInt8] {
    if self == .utf8 { return (hasMark ? [0xEF, 0xBB, 0xBF] : []) + text }
    let text = String(decoding: text, as: UTF8.self)
    let (bytes, misfit) = charset.bytes(of: text)
    guard let misfit else { return bytes }
    let line = text.unicodeScalars.prefix { $0 != misfit }.count { $0 == "\n" } + 1
    throw self.misfit(misfit, " on line \(line), byte \(bytes.count + 1) of the file")
  }

  /// The refusal of a text that can't be encoded, wherever it is in the file.
  package func refusal(of text: String) -> ActionError? {
    let charset = charset
    return text.unicodeScalars.first { !charset.holds($0) }.map { misfit($0, "") }
  }

  package var charset: Charset {
    switch self {
    case .utf8: .utf8
    case .utf16: .utf16
    case .latin1: .latin1
    case .windows1252: .windows1252
    }
  }

  private func misfit(_ scalar: Unicode.Scalar, _ place: String) -> ActionError {
    ActionError(
      .validation,
      "'\(scalar)' (U+\(String(scalar.value, radix: 16, uppercase: true)))\(place) has no place in \(rawValue); write it in "
        + "utf-8 or utf-16.")
  }
}
