import Foundation

/// Counts the lines of comments and pages with phrases that slow a reader down, such as *what* as a noun.
///
/// `errand-dev verify` fails above the bars, so that plain English stays plain.
struct WordCount {
  /// A kind of phrase, and the most lines that may have it.
  struct Pattern {
    let name: String
    /// The bar for comments of Swift and the Makefile, and the one for README and the pages of `docs`.
    let bar: (comments: Int, pages: Int)
    let expression: NSRegularExpression

    /// - Parameter expression: Matches in one line of prose, where `¶` stands for a sentence's start.
    init(_ name: String, _ comments: Int, _ pages: Int, _ expression: String, isAnyCase: Bool = false) {
      self.name = name
      bar = (comments, pages)
      let start = #"(?:^|[.!?] +|[|(] *)"#
      guard
        let expression = try? NSRegularExpression(
          pattern: expression.replacing("¶", with: start),
          options: isAnyCase ? [.anchorsMatchLines, .caseInsensitive] : .anchorsMatchLines)
      else { preconditionFailure("the pattern '\(name)' is written wrongly; a test makes each") }
      self.expression = expression
    }

    /// The numbers, from 0, of the lines that have the phrase.
    func lines(of text: String) -> [Int] {
      let matches = expression.matches(in: text, range: NSRange(location: 0, length: text.utf16.count))
      if matches.isEmpty { return [] }
      let units = Array(text.utf16)
      var (line, place) = (0, 0)
      var found: [Int] = []
      for match in matches {
        // The last line that it touches: an expression may begin at the end of the line before.
        let end = match.range.location + max(match.range.length - 1, 0)
        while place < end {
          if units[place] == 10 { line += 1 }
          place += 1
        }
        if found.last != line { found.append(line) }
      }
      return found
    }
  }

  static let patterns = [
    Pattern("Has, Had", 0, 0, #"¶(?:Has|Had)\b"#),
    Pattern("Of", 0, 0, #"¶Of\b(?! course)"#),
    Pattern(
      "what", 60, 10,
      #"¶What\b|\b(?:of|by|to|for|with|from|in|on|at|after|before|than|besides?|but|without|about|and|or) what\b"#),
    Pattern("by which", 60, 5, #"\b(?:by|of|in|for|from|to|with|under|after|on|at) which\b"#, isAnyCase: true),
    Pattern("those who", 30, 5, #"\bthose (?:who|that|of|in|with)\b|\bthat of\b"#, isAnyCase: true),
    Pattern(
      "carry on, take up", 0, 0,
      #"\bcarr(?:y|ies|ied|ying)(?: \w+){0,2} on\b|\b(?:take|takes|took|taken|taking)(?: \w+){0,2} up\b"#,
      isAnyCase: true),
    Pattern("stand", 0, 0, #"\b(?:stands?|stood|standing)\b(?! for\b| in\b)(?!-in)"#, isAnyCase: true),
    Pattern(
      "go on", 0, 0,
      #"\b(?:deposed|outrun|astray|untold|stranded|go on|goes on|went on|gone on|going on)\b"#, isAnyCase: true),
  ]

  /// The lines with each pattern, by folder.
  private(set) var folders: [(path: String, counts: [Int])] = []
  /// The lines themselves, each with its place and the names of its patterns.
  private(set) var found: [String] = []
  private var comments = [Int](repeating: 0, count: patterns.count)
  private var pages = [Int](repeating: 0, count: patterns.count)

  /// Counts the package's comments and pages, with those at its root; without its changelog, which is history.
  init(of root: URL) throws(ToolError) {
    var counts: [String: [Int]] = [:]
    let below = ["Benchmarks", "Plugins", "Sources", "Tests", "docs"].flatMap { folder in
      root.appending(path: folder).pathsBelow.map { "\(folder)/\($0)" }
    }
    for path in ["Makefile", "Package.swift", "README.md"] + below {
      let isInDocs = path.hasPrefix("docs/")
      let isPage = path == "README.md" || isInDocs && path.hasSuffix(".md") && path != "docs/CHANGELOG.md"
      guard isPage || path == "Makefile" || !isInDocs && path.hasSuffix(".swift") else { continue }
      let text = try root.appending(path: path).text()
      let prose =
        isPage
        ? WordCount.prose(ofPage: text)
        : path == "Makefile" ? WordCount.comments(ofMakefile: text) : WordCount.comments(of: text)
      let above = path.split(separator: "/").dropLast().prefix(path.hasPrefix("Sources/") ? 3 : 2)
      let place = above.isEmpty ? path : above.joined(separator: "/")
      let whole = prose.joined(separator: "\n")
      for (number, pattern) in WordCount.patterns.enumerated() {
        let lines = pattern.lines(of: whole)
        if lines.isEmpty { continue }
        counts[place, default: [Int](repeating: 0, count: WordCount.patterns.count)][number] += lines.count
        if isPage { pages[number] += lines.count } else { comments[number] += lines.count }
        found += lines.map { "\(path):\($0 + 1): \(pattern.name): \(prose[$0])" }
      }
    }
    folders = counts.map { ($0.key, $0.value) }.sorted { $0.path < $1.path }
  }

  /// The comments of Swift, a line for each of the file.
  static func comments(of text: String) -> [String] {
    SwiftLine.all(of: text).map { $0.comment.trimmingCharacters(in: .whitespaces) }
  }

  /// The comments of a Makefile that fill lines, a line for each of the file.
  static func comments(ofMakefile text: String) -> [String] {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      line.hasPrefix("#") ? line.drop { $0 == "#" }.trimmingCharacters(in: .whitespaces) : ""
    }
  }

  /// The prose of a page, a line for each of the file: without code, which quotes others' words.
  static func prose(ofPage text: String) -> [String] {
    var isCode = false
    return text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
      if line.drop(while: { $0 == " " }).hasPrefix("```") {
        isCode.toggle()
        return ""
      }
      if isCode { return "" }
      let parts = line.split(separator: "`", omittingEmptySubsequences: false)
      return parts.enumerated().map { $0 % 2 == 0 ? String($1) : "x" }.joined()
        .trimmingCharacters(in: CharacterSet(charactersIn: " *->#"))
    }
  }

  /// The table for people, with the sums and the bars.
  var table: String {
    func row(_ name: String, _ counts: [Int]) -> String {
      name.padding(toLength: 36, withPad: " ", startingAt: 0)
        + zip(WordCount.patterns, counts).map { pattern, count in
          String(repeating: " ", count: max(1, pattern.name.count + 2 - "\(count)".count)) + "\(count)"
        }.joined()
    }
    let heading = String(repeating: " ", count: 36) + WordCount.patterns.map { "  \($0.name)" }.joined()
    return
      ([heading] + folders.map { row($0.path, $0.counts) }
      + [
        row("comments", comments), row("the most", WordCount.patterns.map(\.bar.comments)), row("pages", pages),
        row("the most", WordCount.patterns.map(\.bar.pages)),
      ]).joined(separator: "\n")
  }

  /// A sentence for each bar that is missed.
  var faults: [String] {
    WordCount.patterns.enumerated().flatMap { number, pattern in
      [("comments", comments[number], pattern.bar.comments), ("docs", pages[number], pattern.bar.pages)].compactMap {
        place, count, most in
        count > most
          ? "\(place): error: \(count) lines have '\(pattern.name)', and at most \(most) may; 'errand-dev words --lines' lists them"
          : nil
      }
    }
  }
}
