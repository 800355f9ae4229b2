import Basics
import Testing

@testable import RunState

/// The output of programs, without secrets, however it is split.
@Suite(.timeLimit(.minutes(20))) struct RedactedLinesTests {
  private static func lines(
    _ chunks: [[UInt8]], _ secrets: [String], whole: Bool = true
  ) -> [String] {
    var lines = RedactedLines(SecretFinder(secrets.map { ("S", $0) }))
    var found: [String] = []
    for chunk in chunks { found += lines.add(chunk) }
    return whole ? found + lines.finish() : found
  }

  private static func lines(_ text: String, _ secrets: [String] = [], whole: Bool = true) -> [String] {
    lines([Array(text.utf8)], secrets, whole: whole)
  }

  private struct Case: Sendable, CustomTestStringConvertible {
    var text: String
    var secrets: [String] = []
    var lines: [String]
    var testDescription: String { text.debugDescription }
  }

  private static let cases = [
    Case(text: "", lines: []),
    Case(text: "a\nb\n", lines: ["a", "b"]),
    Case(text: "a\r\n\n b", lines: ["a\r", "", " b"]),
    Case(text: "10%\r20%\rdone\n", lines: ["10%\r20%\rdone"]),
    Case(text: "x\u{0}y\u{1B}[2J\n", lines: ["x\u{0}y\u{1B}[2J"]),
    Case(text: "the token is s3cret!\nok\n", secrets: ["s3cret"], lines: ["the token is •••!", "ok"]),
    Case(text: "s3cret", secrets: ["s3cret"], lines: ["•••"]),
    Case(text: "s3cre\n", secrets: ["s3cret"], lines: ["s3cre"]),
    Case(text: "%733cret%0A\n", secrets: ["s3cret"], lines: ["•••%0A"]),
    Case(text: "{\"a\":\"\\u00733cret\"}\n", secrets: ["s3cret"], lines: ["{\"a\":\"•••\"}"]),
    // A key of several lines.
    Case(
      text: "begin\nAAAABBBB\nCCCCDDDD\nend\n", secrets: ["AAAABBBB\nCCCCDDDD\n"],
      lines: ["begin", "•••", "•••", "end"]),
    Case(text: "one three\ntwo\n", secrets: ["three two"], lines: ["one •••", "•••"]),
    // Digits that a program breaks into lines, with few and with many before the end of the line.
    Case(text: "7333637265742d6b\n65792d31\n.\n", secrets: ["s3cret-key-1"], lines: ["•••", "•••", "."]),
    // Secrets that overlap, or hold one another.
    Case(text: "abcdefgh and abcd.\n", secrets: ["abcd", "abcdefgh"], lines: ["••• and •••."]),
    Case(text: "xabcdefx\n", secrets: ["abcd", "cdef"], lines: ["x•••x"]),
    Case(text: "pä\"ss/wörd\n", secrets: ["pä\"ss/wörd"], lines: ["•••"]),
  ]

  @Test(arguments: cases)
  private func `lines are the same however the bytes are cut`(_ test: Case) {
    let bytes = Array(test.text.utf8)
    for size in 1...max(1, bytes.count) {
      let chunks = stride(from: 0, to: bytes.count, by: size).map { Array(bytes[$0..<min($0 + size, bytes.count)]) }
      #expect(Self.lines(chunks, test.secrets) == test.lines, "in chunks of \(size)")
    }
  }

  @Test func `no part of a secret is told, wherever two cuts are`() {
    let secrets = [
      "correct horse battery", "-----BEGIN KEY-----\nMIIBVgIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END KEY-----",
    ]
    let text = "a \(secrets[0]) b\n\(secrets[1])\n" + Array(secrets[0].utf8).base64 + "\nend\n"
    let bytes = Array(text.utf8)
    let whole = Self.lines([bytes], secrets)
    #expect(whole == ["a ••• b", "•••", "•••", "•••", "•••", "•••", "end"])
    for first in 0..<bytes.count {
      for second in stride(from: first, to: bytes.count, by: 7) {
        let chunks = [Array(bytes[..<first]), Array(bytes[first..<second]), Array(bytes[second...])]
        #expect(Self.lines(chunks, secrets) == whole, "cut at \(first) and \(second)")
      }
    }
  }

  @Test func `a line comes with its end, unless it may be the beginning of a secret`() {
    let secret = "two wor\nand mor"
    #expect(Self.lines("working\nhalf", [secret], whole: false) == ["working"])
    #expect(Self.lines("two wor\n", [secret], whole: false) == [])
    #expect(Self.lines("two wor\nor", [secret], whole: false) == ["two wor"])
    // A single letter that begins a secret doesn't hold a line back, and the rest of the secret is still found.
    #expect(Self.lines("it\n", [secret], whole: false) == ["it"])
    #expect(Self.lines("tw", [secret], whole: false) == [])
    let digits = Array("s3cret-key-1".utf8).hexadecimal
    let chunks = ["x 73\n", String(digits.dropFirst(2)), "\n"].map { Array($0.utf8) }
    #expect(Self.lines(Array(chunks.prefix(1)), ["s3cret-key-1"], whole: false) == ["x 73"])
    #expect(Self.lines(chunks, ["s3cret-key-1"], whole: false) == ["x 73", "•••"])
  }

  @Test func `what breaks off within a secret shows nothing of it`() {
    #expect(Self.lines("log in with s3cret-ke", ["s3cret-key"]) == ["log in with •••"])
    // Three letters aren't a secret yet.
    #expect(Self.lines("stops", ["stop-word"]) == ["stops"])
  }

  @Test func `a long line is cut into pieces, and never within a secret or a character`() {
    let secret = "the secret itself"
    let filler = String(repeating: "ä", count: 40_000)
    let text = filler + secret + filler + "\nshort\n"
    let bytes = Array(text.utf8)
    for size in [bytes.count, 65_536, 4096, 80_003] {
      let chunks = stride(from: 0, to: bytes.count, by: size).map { Array(bytes[$0..<min($0 + size, bytes.count)]) }
      let lines = Self.lines(chunks, [secret])
      #expect(lines.last == "short")
      #expect(lines.dropLast().joined() == filler + "•••" + filler, "in chunks of \(size)")
      #expect(lines.allSatisfy { $0.utf8.count <= RedactedLines.longest })
    }
  }

  @Test func `lines that come fast are whole`() {
    let lines = (1...20_000).map { "line \($0) of many" }
    let bytes = Array(lines.joined(separator: "\n").utf8)
    #expect(bytes.count > 4 * RedactedLines.longest)
    for size in [bytes.count, 65_536, 65_537, 200_000] {
      let chunks = stride(from: 0, to: bytes.count, by: size).map { Array(bytes[$0..<min($0 + size, bytes.count)]) }
      #expect(Self.lines(chunks, ["a secret text"]) == lines, "in chunks of \(size)")
    }
  }

  @Test func `bytes that aren't UTF-8 are displayed as such`() {
    #expect(
      Self.lines([[0x61, 0xFF, 0x62, 0x0A, 0xC3], [0xA4, 0x0A], [0xE2, 0x82]], []) == ["a\u{FFFD}b", "ä", "\u{FFFD}"])
  }

  /// Looks for every form of every secret at every place.
  private static func slowFinds(_ finder: SecretFinder, _ bytes: [UInt8], _ manner: SecretFinder.Manner) -> [Range<Int>]
  {
    bytes.withUnsafeBufferPointer { bytes in
      var found: [Range<Int>] = []
      var end = 0
      for index in bytes.indices {
        let ends = finder.needles.compactMap { $0.end(in: bytes, at: index, manner)?.end }
        guard let last = ends.max(), last > end else { continue }
        found.append(max(index, end)..<last)
        end = last
      }
      return found
    }
  }

  @Test func `forms that are sorted by their first bytes find the same as all forms at each place`() {
    let secrets = ["s3cret", "pä\"ss/w", "12345678", "+plus", "&amp;x", "ＡＢＣＤ", "0x%41", "\\n\\t"]
    var random = SeededGenerator(seed: 4)
    for hasOdd in [false, true] {
      let finder = SecretFinder(secrets.prefix(hasOdd ? 8 : 3).map { ($0, $0) })
      for _ in 0..<200 {
        var text = ""
        for _ in 0..<4 {
          let secret = secrets.randomElement(using: &random) ?? ""
          switch Int.random(in: 0..<7, using: &random) {
          case 0: text += secret
          case 1: text += String(secret.dropLast())
          case 2: text += Array(secret.utf8).base64
          case 3: text += Array(secret.utf8).hexadecimal
          case 4: text += secret.percentEncoded
          case 5: text += JSON.quoted(secret)
          default: text += "x \n"
          }
        }
        // A run of backslashes is tried at few of its places.
        if text.contains("\\\\") { continue }
        for isCut in [false, true] {
          let manner = SecretFinder.Manner(cutFrom: isCut ? 1 : nil, isOpen: isCut)
          let ranges = finder.finds(in: Array(text.utf8), manner).map(\.range)
          #expect(ranges == Self.slowFinds(finder, Array(text.utf8), manner), "\(text)")
        }
      }
    }
  }
}
