package import Basics

/// A line that a program of a run printed, or several that it printed at once, with line feeds between them.
///
/// A record of several lines begins with their number, so that a log can be counted without being read:
///
///     {"lines":2,"step":"backup","attempt":1,"stream":"output","at":"2026-11-23T13:00:05.25Z","text":"12 files\ndone"}
package struct PrintedLine: Record, Equatable {
  /// Where a line was printed.
  package enum Stream: String, Recordable, CaseIterable {
    case output, errors
    /// A remark of Errand's own.
    case note
  }

  package var step: StepPath
  package var attempt: Int
  package var stream: Stream
  package var at: Timestamp
  package var text: String

  package init(step: StepPath, attempt: Int, stream: Stream, at: Timestamp, text: String) {
    self.step = step
    self.attempt = attempt
    self.stream = stream
    self.at = at
    self.text = text
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    let _: Int? = try member("lines", record.map(\.lineCount).flatMap { $0 > 1 ? $0 : nil })
    step = try member("step", record?.step)
    attempt = try member("attempt", record?.attempt)
    stream = try member("stream", record?.stream)
    at = try member("at", record?.at)
    text = try member("text", record?.text)
  }

  /// How many lines they are.
  package var lineCount: Int { text.utf8.count { $0 == ASCII.newline } + 1 }

  /// The lines one by one.
  package var lines: [PrintedLine] {
    text.utf8.split(separator: ASCII.newline, omittingEmptySubsequences: false).map { text in
      var line = self
      line.text = String(decoding: text, as: UTF8.self)
      return line
    }
  }

  /// How many bytes count against the limits: the text with its line end.
  package var size: Int { text.utf8.count + 1 }
  /// The most bytes of text that the log keeps of an attempt of a step.
  package static let mostOfAttempt = 64 << 20
  /// The most bytes of text in a run's log.
  package static let mostOfRun = 256 << 20

  /// The line of the file.
  package var bytes: [UInt8] { ((try? recordedBytes(of: self)) ?? []) + [ASCII.newline] }

  /// The lines in as few records as possible.
  package static func joined(_ lines: [PrintedLine]) -> [PrintedLine] {
    var joined: [PrintedLine] = []
    var texts: [String] = []
    var size = 0
    func end() {
      guard var line = joined.popLast() else { return }
      line.text = texts.joined(separator: "\n")
      joined.append(line)
    }
    for line in lines {
      if let last = joined.last, size + line.size <= RedactedLines.longest, line.hasSameHead(as: last) {
        texts.append(line.text)
        size += line.size
        continue
      }
      end()
      joined.append(line)
      (texts, size) = ([line.text], line.size)
    }
    end()
    return joined
  }

  private func hasSameHead(as other: PrintedLine) -> Bool {
    attempt == other.attempt && stream == other.stream && at == other.at && step.hasSameScalars(as: other.step)
  }

  /// The lines that the log keeps of an attempt that has that many bytes of text in it, and the note that it keeps no
  /// more; then the size is nil.
  package static func fitting(_ lines: [PrintedLine], ofAttemptAfter size: inout Int?) -> [PrintedLine] {
    var fitting: [PrintedLine] = []
    for var line in lines {
      guard let before = size else { break }
      size = before + line.size
      if before + line.size > mostOfAttempt {
        size = nil
        line.stream = .note
        line.text =
          "this attempt has printed \(mostOfAttempt >> 20) MiB, the most that the log keeps; what follows isn't kept"
      }
      fitting.append(line)
    }
    return fitting
  }

  /// The records that still fit into a log with that many bytes of text, and the note that it is full; then its size is
  /// the largest.
  package static func fitting(_ lines: [PrintedLine], after size: inout Int) -> [PrintedLine] {
    var fitting: [PrintedLine] = []
    for line in lines where size <= mostOfRun {
      size += line.size
      let isFull = size > mostOfRun
      if isFull { size = .max }
      fitting.append(isFull ? .full(at: line.at) : line)
    }
    return fitting
  }

  /// The note that the log of a run is full.
  static func full(at instant: Timestamp) -> PrintedLine {
    PrintedLine(
      step: "", attempt: 0, stream: .note, at: instant,
      text: "the log of this run has reached \(mostOfRun >> 20) MiB; what is printed from here on isn't kept")
  }

  /// Whether a line of a run's log is the last.
  var isEnd: Bool { stream == .note && step.isEmpty }

  /// Whether the line belongs to a step, or to one inside it.
  package func belongs(to path: StepPath) -> Bool {
    guard step.utf8.starts(with: path.utf8) else { return false }
    let rest = step.utf8.dropFirst(path.utf8.count)
    return rest.first.map { "/[!".utf8.contains($0) } ?? true
  }
}

/// Some lines of a run's log.
package struct PrintedPiece: Record, Equatable {
  /// One by one, in order.
  package var lines: [PrintedLine]
  /// The number of each line in the log, from 1.
  package var numbers: [Int]
  /// The numbers of the lines that were searched for; the others are around them.
  package var matches: [Int] = []
  /// How many lines of the log come before the next ones.
  package var next: Int
  /// How many lines are before these, if there are any.
  package var earlier: Int?
  /// Whether there was nothing more when it was read.
  package var isLast: Bool

  package init(lines: [PrintedLine], numbers: [Int], next: Int, earlier: Int? = nil, isLast: Bool) {
    self.lines = lines
    self.numbers = numbers
    self.next = next
    self.earlier = earlier
    self.isLast = isLast
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    next = try member("next", record?.next)
    earlier = try member("earlier", record?.earlier)
    isLast = try member("isLast", record?.isLast)
    numbers = try member("numbers", record?.numbers)
    matches = try member("matches", record?.matches, default: [])
    lines = try member("lines", record?.lines)
  }
}
