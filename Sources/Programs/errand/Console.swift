import AgentRuntime
import Basics
import Glibc
import Synchronization

/// The terminal, or the files and pipes in its place.
///
/// Results go to standard output; progress, warnings and errors to standard error.
struct Console: Sendable {
  var isQuiet = false
  var isVerbose = false
  var colourOut: Bool
  var colourError: Bool
  /// Whether progress is drawn in place.
  var isLive: Bool

  init(noColour: Bool, isQuiet: Bool, isVerbose: Bool) {
    let hasColour = !noColour && getenv("NO_COLOR") == nil && String(environment: "TERM") != "dumb"
    colourOut = hasColour && isatty(STDOUT_FILENO) == 1
    colourError = hasColour && isatty(STDERR_FILENO) == 1
    isLive = isatty(STDERR_FILENO) == 1 && String(environment: "TERM") != "dumb" && !isQuiet
    self.isQuiet = isQuiet
    self.isVerbose = isVerbose
  }

  func out(_ text: String) { Console.write(text + "\n", to: STDOUT_FILENO, keepsStyles: colourOut) }
  /// Prints a value as JSON, which may be large.
  func out(json value: Value, _ style: JSON.Style = .pretty) {
    var rest: [UInt8] = []
    JSON.show(value, style) { piece in
      rest += piece
      // A piece may end inside a character.
      guard let end = rest.lastIndex(where: { $0 & 0xC0 != 0x80 }) else { return }
      Console.write(json: String(decoding: rest[..<end], as: UTF8.self), to: STDOUT_FILENO)
      rest = Array(rest[end...])
    }
    Console.write(json: String(decoding: rest, as: UTF8.self) + "\n", to: STDOUT_FILENO)
  }
  /// Prints the changes of files, as a patch that can be applied: carriage returns at line ends are part of it.
  func show(patch: String, isAside: Bool) {
    let (stream, colour) = isAside ? (STDERR_FILENO, colourError) : (STDOUT_FILENO, colourOut)
    let lines = "\(patch)\n".split(separator: "\r\n" as Character, omittingEmptySubsequences: false)
    let safe = lines.map { String($0).safeText(keepsStyles: colour) }.joined(separator: "\r\n")
    Console.write(bytesOf: safe, to: stream)
  }
  /// Prints a text that is JSON.
  func out(json text: String) { Console.write(json: text + "\n", to: STDOUT_FILENO) }
  /// Prints values as lines of JSON for programs that read standard error.
  func error(json values: Value...) {
    for value in values { Console.write(json: JSON.displayed(value) + "\n", to: STDERR_FILENO) }
  }
  /// Prints a value with its name: summarised for a terminal, else whole.
  ///
  /// - Parameters:
  ///   - hint: How to see what is left out.
  ///   - isAside: Whether standard output is reserved for something else.
  func show(_ value: Value, named name: String, hint: String, isAside: Bool = false) {
    let (stream, colour) = isAside ? (STDERR_FILENO, colourError) : (STDOUT_FILENO, colourOut)
    func print(_ text: String) { Console.write(text + "\n", to: stream, keepsStyles: colour) }
    let heading = Style.bold.applied(to: name, colour)
    if let width = Console.width(of: stream) {
      let text = ValueText(width: width, colour: colour, hint: hint)
      print(
        (value.tableRows(most: ValueText.mostRows) == nil ? "" : "\n")
          + text.lines(of: value, named: name).joined(separator: "\n"))
    } else if let rows = value.tableRows() {
      print("\n\(heading)")
      for line in Table(headings: rows.headings, rows: rows.cells).lines(colour: colour) { print(line) }
    } else if let text = value.string, text.contains("\n") {
      Console.write("\(heading):\n  ", to: stream, keepsStyles: colour)
      (text.hasSuffix("\n") ? text.dropLast() : text[...]).safeLines(indent: "  ") { Console.write($0, to: stream) }
      print("")
    } else {
      print("\(heading): \(value.plain)")
    }
  }
  func error(_ text: String) { Console.write(text + "\n", to: STDERR_FILENO, keepsStyles: colourError) }
  /// Prints a remark for people only; `--quiet` omits it.
  func say(_ text: String) { if !isQuiet { error(text) } }

  /// Shows the faults of a file.
  func show(_ faults: Diagnostics) { error(faults.rendered(colour: colourError)) }

  /// The columns of the terminal that the output goes to; nil if it goes elsewhere.
  var width: Int? { Console.width(of: STDOUT_FILENO) }

  /// Rows under headings, cut to the terminal's width.
  ///
  /// - Parameter cutFirst: The headings of the columns that are cut first, the least important first; all alike if empty.
  func table(_ headings: [String], _ rows: [[String]], cutFirst: [String] = []) -> String {
    Table(headings: headings, rows: rows, cutFirst: cutFirst).lines(width: width, colour: colourOut)
      .joined(separator: "\n")
  }

  /// The columns of the terminal that progress is drawn on.
  var widthOfErrors: Int { Console.width(of: STDERR_FILENO) ?? 80 }

  static func width(of descriptor: Int32) -> Int? {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 else { return nil }
    // A terminal that does not report its size counts as one of the usual width.
    return size.ws_col > 0 ? Int(size.ws_col) : 80
  }

  /// Whether a person can be asked.
  var canAsk: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1 }

  /// Asks the user at the terminal; false if there is no terminal.
  func confirms(_ question: String) -> Bool {
    guard canAsk else { return false }
    Console.write("\(question) [y/N] ", to: STDERR_FILENO)
    return ["y", "yes"].contains(readLine()?.trimmed.lowercased() ?? "")
  }

  /// The first `errno` of a failed write to standard output, or 0; reported once, when the program ends.
  static let outputFailure = Atomic<Int32>(0)

  /// Writes text for people, without the control characters that a terminal would interpret.
  ///
  /// Almost all text may contain words from files, services, agents and arguments.
  ///
  /// - Parameter keepsStyles: Whether errand's own styles are in it, as on a terminal with colours.
  static func write(_ text: String, to descriptor: Int32, keepsStyles: Bool = false) {
    write(bytesOf: text.safeText(keepsStyles: keepsStyles), to: descriptor)
  }

  /// Writes JSON, whose readers find in it what they would without this.
  static func write(json text: String, to descriptor: Int32) { write(bytesOf: text.safeJSON, to: descriptor) }

  /// Draws over the last lines of standard error.
  static func redraw(_ text: String, over lines: Int) {
    let start = lines > 0 ? "\u{1B}[\(lines)A\u{1B}[J" : ""
    write(bytesOf: start + text.safeText(keepsStyles: true), to: STDERR_FILENO)
  }

  /// Writes everything; a reader that closed its end isn't an error of this program.
  private static func write(bytesOf text: String, to descriptor: Int32) {
    var text = text
    text.withUTF8 { write($0, to: descriptor) }
  }

  private static func write(_ bytes: UnsafeBufferPointer<UInt8>, to descriptor: Int32) {
    var rest = UnsafeRawBufferPointer(bytes)
    while !rest.isEmpty {
      let count = Glibc.write(descriptor, rest.baseAddress, rest.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        if descriptor == STDOUT_FILENO, errno != EPIPE {
          _ = outputFailure.compareExchange(expected: 0, desired: errno, ordering: .relaxed)
        }
        return
      }
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
  }
}

/// How parts of a line look on a terminal that has colours.
enum Style: String {
  case bold = "1"
  case dim = "2"
  case red = "31"
  case green = "32"
  case yellow = "33"
  case blue = "34"

  func applied(to text: String, _ isOn: Bool) -> String {
    isOn ? "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" : text
  }
}

extension String {
  /// The text, cut to the width of a table's column.
  var clipped: String { shortened(into: 80) }
}

extension [String] {
  /// The texts, each only where it comes first.
  var withoutRepeats: [String] {
    var known: Set<String> = []
    return filter { known.insert($0).inserted }
  }
}
