package import ActionKit

// How the characters of a file are written.
//
// A byte order mark says it by itself; without one a file is in UTF-8 unless the step says otherwise, since nothing in it
// tells. What does not fit is refused with its place: a table with guessed letters in its names is worse than none. The
// rules are those of `Charset`.

/// How a file that is read is written.
package enum ReadEncoding: String, Choice {
  case auto
  case utf8 = "utf-8"
  case utf16 = "utf-16"
  case utf16LE = "utf-16le"
  case utf16BE = "utf-16be"
  case latin1 = "latin-1"
  case windows1252 = "windows-1252"

  /// The charset that bytes are in.
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

  /// The text of a file; `what` names it in messages.
  package func text(of bytes: [UInt8], called what: String) throws(ActionError) -> String {
    do throws(CharsetError) { return try charset(of: bytes).text(of: bytes) } catch { throw .init(error, what) }
  }

  /// The text of a file in UTF-8; of a file that is in UTF-8 these are its bytes, without another copy of a large file.
  package func utf8(of bytes: [UInt8], called what: @autoclosure () -> String) throws(ActionError) -> [UInt8] {
    do throws(CharsetError) { return try charset(of: bytes).utf8(of: bytes) } catch { throw .init(error, what()) }
  }

  /// What a command printed, without line ends at its end; what doesn't fit is U+FFFD, because the command isn't repeated
  /// for it.
  package func printedText(of bytes: [UInt8]) -> String {
    let charset = charset(of: bytes)
    guard charset.holdsASCII else {
      let text = charset.shownText(of: bytes).unicodeScalars
      return String(text[..<(text.lastIndex { $0 != "\n" }.map(text.index(after:)) ?? text.startIndex)])
    }
    return charset.shownText(of: bytes[..<(bytes.lastIndex { $0 != ASCII.newline }.map { $0 + 1 } ?? 0)])
  }

  /// The body of a message in UTF-8: as the recipe says, else as the message does by its mark or its `charset`.
  package func utf8(
    ofBody bytes: [UInt8], _ type: ContentType, called what: @autoclosure () -> String
  ) throws(ActionError) -> [UInt8] {
    guard self == .auto, Charset.marked(in: bytes) == nil else { return try utf8(of: bytes, called: what()) }
    do throws(CharsetError) { return try type.utf8(of: bytes) } catch { throw .init(error, what()) }
  }

  /// The body of a message in UTF-8 for a step that can't say how it is written: as the message itself says.
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
  /// Says what a text is not, and what helps.
  fileprivate init(_ error: CharsetError, _ what: String) {
    let help =
      error.isMisfit
      ? "; say as its 'encoding' what it is, such as windows-1252"
      : error.charset == .utf16 ? "; say utf-16le or utf-16be as its 'encoding', whichever it is" : ""
    self.init(.validation, "\(what) \(error.message)\(help).")
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
    let text = String(decoding: text, as: UTF8.self)
    let (bytes, misfit) = charset.bytes(of: text)
    guard let misfit else { return bytes }
    let line = text.unicodeScalars.prefix { $0 != misfit }.count { $0 == "\n" } + 1
    throw self.misfit(misfit, " on line \(line), byte \(bytes.count + 1) of the file")
  }

  /// Why a text cannot be part of a file, wherever it stands in it.
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
