// Translates the patterns of inputs, which RE2 matches, for browsers, which check a field before it is sent.
//
// A browser compiles the attribute `pattern` as a regular expression of ECMAScript with the flag `v`, older ones with `u`,
// and matches the whole text with it (HTML, "The pattern attribute"). So what is written here is valid with both flags,
// and has the same meaning in both languages. Where there is no such text, as for flags like `(?i)`, the field has no
// attribute, and the agent's check alone counts.
import Basics

struct BrowserPattern {
  /// The pattern in the language of browsers.
  private var text = ""
  private let pattern: [Unicode.Scalar]
  private var place = 0
  private var last = Piece.none

  /// The kind of piece that a repetition would follow.
  private enum Piece { case none, atom, place, repeated }

  private static let longest = 1_000

  /// A pattern for a browser; nil if it can't be translated.
  ///
  /// - Parameter pattern: A pattern that RE2 accepts.
  static func text(_ pattern: String) -> String? {
    var translation = BrowserPattern(pattern)
    return translation.isTranslated() ? translation.text : nil
  }

  private init(_ pattern: String) { self.pattern = Array(pattern.unicodeScalars.prefix(BrowserPattern.longest + 1)) }

  private var next: Unicode.Scalar? { scalar(0) }

  private func scalar(_ distance: Int) -> Unicode.Scalar? {
    place + distance < pattern.count ? pattern[place + distance] : nil
  }

  private mutating func take() -> Unicode.Scalar? {
    defer { place += 1 }
    return next
  }

  private mutating func takes(_ wanted: String) -> Bool {
    let scalars = Array(wanted.unicodeScalars)
    guard pattern[min(place, pattern.count)...].starts(with: scalars) else { return false }
    place += scalars.count
    return true
  }

  /// The scalars up to a mark, which is taken as well; nil without one.
  private mutating func text(upTo mark: Unicode.Scalar) -> String? {
    guard let end = pattern[min(place, pattern.count)...].firstIndex(of: mark) else { return nil }
    var text = String.UnicodeScalarView()
    text.append(contentsOf: pattern[place..<end])
    place = end + 1
    return String(text)
  }

  private mutating func add(_ part: String, _ piece: Piece = .atom) -> Bool {
    text += part
    last = piece
    return true
  }

  private mutating func isTranslated() -> Bool {
    guard pattern.count <= BrowserPattern.longest else { return false }
    var depth = 0
    while let scalar = take() {
      let isKnown: Bool
      switch scalar {
      case "^", "$": isKnown = add("\(scalar)", .place)
      // In ECMAScript it leaves out other ends of lines as well.
      case ".": isKnown = add("[^\\n]")
      case "|": isKnown = add("|", .none)
      case "(":
        depth += 1
        isKnown = group()
      case ")":
        depth -= 1
        isKnown = depth >= 0 && add(")")
      case "[": isKnown = set()
      case "*", "+", "?": isKnown = repetition("\(scalar)")
      case "{": isKnown = count().map { repetition($0) } ?? add("\\{")
      case "\\": isKnown = escape()
      default: isKnown = add(BrowserPattern.literal(scalar))
      }
      if !isKnown { return false }
    }
    return depth == 0
  }

  /// The beginning of a group; captures aren't needed.
  private mutating func group() -> Bool {
    if takes("?") {
      if takes(":") { return add("(?:", .none) }
      // Names, but no flags and nothing that looks ahead or behind.
      guard takes("P<") || next == "<" && !["=", "!"].contains(scalar(1)), text(upTo: ">") != nil else { return false }
    }
    return add("(?:", .none)
  }

  /// A repetition, perhaps one that prefers few.
  private mutating func repetition(_ words: String) -> Bool {
    guard last == .atom else { return false }
    return add(words + (takes("?") ? "?" : ""), .repeated)
  }

  /// The bounds of a repetition, after `{`; nil if it is only a character.
  private mutating func count() -> String? {
    guard let end = pattern[min(place, pattern.count)...].firstIndex(of: "}") else { return nil }
    let bounds = pattern[place..<end].split(separator: ",", maxSplits: 1, omittingEmptySubsequences: false)
    func isNumber(_ scalars: ArraySlice<Unicode.Scalar>) -> Bool {
      (1...4).contains(scalars.count) && scalars.allSatisfy { ("0"..."9").contains($0) }
    }
    guard let least = bounds.first, isNumber(least), bounds.count == 1 || isNumber(bounds[1]) || bounds[1].isEmpty
    else { return nil }
    defer { place = end + 1 }
    return "{" + pattern[place..<end].map { "\($0)" }.joined() + "}"
  }

  /// An escape outside a set.
  private mutating func escape() -> Bool {
    guard let scalar = next else { return false }
    switch scalar {
    case "A", "z":
      place += 1
      return add(scalar == "A" ? "^" : "$", .place)
    case "b", "B":
      place += 1
      return add("\\\(scalar)", .place)
    case "S":
      place += 1
      return add("[^\(BrowserPattern.blanks)]")
    case "s":
      place += 1
      return add("[\(BrowserPattern.blanks)]")
    default:
      if let kind = kind() { return add(kind) }
      return character().map { add(BrowserPattern.literal($0)) } ?? false
    }
  }

  // MARK: Sets

  /// RE2's `\s`; ECMAScript's has more.
  private static let blanks = "\\t\\n\\f\\r "

  private static let posix = [
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": "\\x00-\\x7F", "blank": "\\t ", "cntrl": "\\x00-\\x1F\\x7F",
    "digit": "0-9", "graph": "\\x21-\\x7E", "lower": "a-z", "print": "\\x20-\\x7E",
    "punct": "\\x21-\\x2F\\x3A-\\x40\\x5B-\\x60\\x7B-\\x7E", "space": "\\t\\n\\v\\f\\r ", "upper": "A-Z",
    "word": "0-9A-Za-z_", "xdigit": "0-9A-Fa-f",
  ]

  /// A set, after `[`.
  private mutating func set() -> Bool {
    var set = takes("^") ? "[^" : "["
    var isFirst = true
    while isFirst || next != "]" {
      defer { isFirst = false }
      if takes("[:") {
        guard let name = text(upTo: ":"), takes("]"), let members = BrowserPattern.posix[name] else { return false }
        set += members
        continue
      }
      if next == "\\" {
        place += 1
        if takes("s") {
          set += BrowserPattern.blanks
          continue
        }
        if let kind = kind() {
          set += kind
          continue
        }
        place -= 1
      }
      guard let first = member() else { return false }
      set += BrowserPattern.member(first)
      // A hyphen before the end is a character.
      guard next == "-", let end = scalar(1), end != "]" else { continue }
      place += 1
      guard end != "[", let last = member(), last.value >= first.value else { return false }
      set += "-" + BrowserPattern.member(last)
    }
    place += 1
    return add(set + "]")
  }

  /// A character of a set, perhaps escaped.
  private mutating func member() -> Unicode.Scalar? {
    guard let scalar = take() else { return nil }
    return scalar == "\\" ? character() : scalar
  }

  // MARK: Characters

  /// The kinds of characters that both languages have, after a backslash; nil if it is something else.
  private mutating func kind() -> String? {
    guard let scalar = next else { return nil }
    if ["d", "D", "w", "W"].contains(scalar) {
      place += 1
      return "\\\(scalar)"
    }
    guard ["p", "P"].contains(scalar), let first = self.scalar(1) else { return nil }
    var rest = self
    rest.place += 2
    guard let name = first == "{" ? rest.text(upTo: "}") : "\(first)" else { return nil }
    let property = BrowserPattern.scripts.contains(name) ? "Script=\(name)" : name
    guard property != name || BrowserPattern.categories.contains(name) else { return nil }
    place = rest.place
    return "\\\(scalar){\(property)}"
  }

  /// The general categories that mean the same in both languages: for RE2, C has no code points that aren't assigned.
  private static let categories: Set<String> = [
    "L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Mc", "Me", "N", "Nd", "Nl", "No", "P", "Pc", "Pd", "Ps", "Pe", "Pi",
    "Pf", "Po", "S", "Sm", "Sc", "Sk", "So", "Z", "Zs", "Zl", "Zp",
  ]
  private static let scripts: Set<String> = [
    "Arabic", "Cyrillic", "Devanagari", "Greek", "Han", "Hangul", "Hebrew", "Hiragana", "Katakana", "Latin", "Thai",
  ]

  /// The one character that an escape is, after its backslash; nil if it is something else.
  private mutating func character() -> Unicode.Scalar? {
    guard let scalar = take() else { return nil }
    switch scalar {
    case "a": return "\u{7}"
    case "f": return "\u{C}"
    case "n": return "\n"
    case "r": return "\r"
    case "t": return "\t"
    case "v": return "\u{B}"
    case "x":
      var digits = ""
      if takes("{") {
        digits = text(upTo: "}") ?? ""
      } else {
        for _ in 0..<2 { if let digit = take() { digits.unicodeScalars.append(digit) } }
      }
      guard (1...6).contains(digits.utf8.count), digits.utf8.allSatisfy(BrowserPattern.isHexadecimal) else {
        return nil
      }
      return UInt32(digits, radix: 16).flatMap(Unicode.Scalar.init)
    // Punctuation; a letter or a digit would have another meaning.
    default:
      return scalar.isASCII && scalar.value > 0x20 && scalar.value < 0x7F && !BrowserPattern.isWord(scalar)
        ? scalar : nil
    }
  }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    ASCII.digits.contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
  }

  private static func isWord(_ scalar: Unicode.Scalar) -> Bool {
    ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || ("0"..."9").contains(scalar)
  }

  /// A character outside a set.
  private static func literal(_ scalar: Unicode.Scalar) -> String {
    if "^$\\.*+?()[]{}|/".unicodeScalars.contains(scalar) { return "\\\(scalar)" }
    return scalar.value < 0x20 || scalar.value == 0x7F ? code(scalar) : "\(scalar)"
  }

  /// A character in a set, where the flag `v` gives more characters a meaning.
  private static func member(_ scalar: Unicode.Scalar) -> String {
    isWord(scalar) || scalar == "_" || scalar == " " || scalar.value > 0x7F ? "\(scalar)" : code(scalar)
  }

  private static func code(_ scalar: Unicode.Scalar) -> String {
    let digits = String(scalar.value, radix: 16, uppercase: true)
    return "\\x\(digits.utf8.count < 2 ? "0" : "")\(digits)"
  }
}
