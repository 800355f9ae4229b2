// The output of a program, as lines without secrets, while the program prints it.
//
// The bytes come in chunks that end anywhere. They are searched whenever a line ends, from the first unreported byte
// on. A find that reaches the end of the bytes may be the beginning of a secret: its lines are held back until more
// bytes decide it. Fewer than four bytes of a secret at the end of a line are reported at once, because half of all
// lines end in a letter that begins some form of some secret; but they are kept as context, so that the rest of the
// secret is found when it comes in the next line.
//
// A secret is shown as `•••`, and a line end within it as a line end, so that each line of a key is one of the output.
// A line end is a line feed; a carriage return before it stays, so that the text is as it was printed. A line longer
// than 64 KiB is cut into pieces, after its secrets are taken out, and bytes that aren't UTF-8 become replacement
// characters.
import Basics

package struct RedactedLines: Sendable {
  /// The most bytes of a line.
  package static let longest = 64 << 10

  private let finder: SecretFinder
  /// The unreported bytes, after some context.
  private var rest: [UInt8] = []
  /// How many bytes of `rest` are reported already.
  private var told = 0

  package init(_ finder: SecretFinder) { self.finder = finder }

  /// Takes bytes; returns the lines that are complete, without line feeds.
  package mutating func add(_ bytes: [UInt8]) -> [String] {
    rest += bytes
    guard rest.count - told > RedactedLines.longest || bytes[...].firstPlace(of: ASCII.newline) != nil else {
      return []
    }
    var manner = SecretFinder.Manner(isShown: true, cutFrom: 1)
    manner.isOpen = true
    var finds = finder.finds(in: rest, manner)
    // The undecided bytes begin at the first of the overlapping finds that reach the end, or at an unfinished
    // character.
    var open = rest.count - rest.bytesOfCutEscape
    while let last = finds.last, last.range.upperBound > open || last.range.upperBound == rest.count {
      open = min(open, last.start)
      finds.removeLast()
    }
    var end = rest[..<open].lastIndex(of: ASCII.newline).map { $0 + 1 } ?? 0
    if open < rest.count, let last = rest.lastIndex(of: ASCII.newline), last >= open,
      rest[open...last].count(where: { !Needle.isLineEnd($0) }) < SecretFinder.shortest
    {
      end = last + 1
    } else if open - max(end, told) > RedactedLines.longest {
      end = open
    }
    guard end > told else { return [] }
    let lines = lines(to: end, finds)
    // The context is the find that is under way, or the one that the end is in.
    let context = min(open, end, finds.last { $0.range.upperBound > end }?.start ?? end)
    rest.removeFirst(context)
    told = end - context
    return lines
  }

  /// Returns the remaining lines when no more bytes come; the program may have been stopped within a secret.
  package mutating func finish() -> [String] {
    guard told < rest.count else { return [] }
    let finds = finder.finds(in: rest, SecretFinder.Manner(isShown: true, cutFrom: SecretFinder.shortest)).filter {
      $0.range.upperBound - $0.start >= SecretFinder.shortest
    }
    defer { (rest, told) = ([], 0) }
    return lines(to: rest.count, finds)
  }

  /// The lines from the first unreported byte up to an end.
  private func lines(to end: Int, _ finds: [SecretFinder.Find]) -> [String] {
    var lines: [String] = []
    var line: [UInt8] = []
    func copy(_ range: Range<Int>, _ take: (ArraySlice<UInt8>) -> Void) {
      var start = range.lowerBound
      while let newline = rest[start..<range.upperBound].firstPlace(of: ASCII.newline) {
        take(rest[start..<newline])
        RedactedLines.end(&line, &lines)
        start = newline + 1
      }
      take(rest[start..<range.upperBound])
    }
    var place = told
    for find in finds {
      let (first, last) = (max(place, find.range.lowerBound), min(end, find.range.upperBound))
      if first >= last { continue }
      copy(place..<first) { line += $0 }
      copy(first..<last) { part in
        if part.contains(where: { !Needle.isLineEnd($0) }), find.start >= place || line.isEmpty {
          line += MaskedText.mark.utf8
        }
      }
      place = last
    }
    copy(place..<end) { line += $0 }
    if !line.isEmpty { RedactedLines.end(&line, &lines) }
    return lines
  }

  private static func end(_ line: inout [UInt8], _ lines: inout [String]) {
    var rest = line[...]
    repeat {
      var piece = rest.prefix(longest)
      if piece.count < rest.count { piece = piece.dropLast(piece.bytesOfCutCharacter) }
      lines.append(String(decoding: piece, as: UTF8.self))
      rest = rest[piece.endIndex...]
    } while !rest.isEmpty
    line = []
  }
}

extension [UInt8] {
  /// How many bytes at the end may be the beginning of a character, written as it is or escaped.
  fileprivate var bytesOfCutEscape: Int {
    let cut = bytesOfCutCharacter
    var count = 0
    // Backslashes may be doubled many times.
    let most = Swift.min(self.count, Needle.mostBackslashes + 16)
    for distance in 1...Swift.max(1, most) where distance <= most {
      let byte = self[self.count - distance]
      if "%&\\".utf8.contains(byte) { count = distance }
      let isDigit = 0x30...0x39 ~= byte || 0x41...0x5A ~= byte || 0x61...0x7A ~= byte
      if !isDigit, !"%&\\#".utf8.contains(byte) { break }
    }
    return Swift.max(cut, count)
  }
}
