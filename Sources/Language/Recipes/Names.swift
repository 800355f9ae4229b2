package import Basics

/// The rule for names of inputs, steps, branches and variables.
///
/// Expressions use them without quotes, so they must be CEL identifiers that mean nothing else there.
package enum Names {
  /// Names that expressions give a meaning of their own.
  static let reserved: Set<String> = [
    "inputs", "steps", "run", "secrets", "now", "result", "error", "event", "item",
  ]

  /// CEL's words and its reserved words (google/cel-spec, "Syntax").
  private static let words: Set<String> = [
    "true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import",
    "let", "loop", "package", "namespace", "return", "var", "void", "while",
  ]
  private static let types: Set<String> = [
    "int", "uint", "double", "bool", "string", "bytes", "list", "map", "type", "dyn", "google", "timestamp",
    "duration",
  ]
  private static let namespaces: Set<String> = [
    "stats", "time", "json", "csv", "text", "math", "strings", "sets", "base64", "regex", "optional", "cel", "lists",
  ]

  /// The rule for every name, as the end of a sentence that begins with an invalid one.
  package static let form =
    "isn't a name: a name begins with a lowercase letter, and letters and digits follow, as in 'taskKey2'"

  /// Whether a name has only letters and digits, beginning with a lowercase letter.
  package static func isWellFormed(_ name: String) -> Bool {
    guard let first = name.utf8.first, ASCII.lowercase.contains(first) else { return false }
    return name.utf8.allSatisfy { ASCII.lowercase.contains($0 | 0x20) || ASCII.digits.contains($0) }
  }

  /// A name that joins several words; nil if that isn't valid either.
  private static func joined(_ name: String) -> String? {
    // Without its other letters a word is another one.
    if name.contains(where: { !$0.isASCII && $0.isLetter }) { return nil }
    // A name in capitals isn't split into words.
    let name = name.utf8.contains(where: ASCII.lowercase.contains) ? name : name.lowercased()
    if isWellFormed(name), fault(in: name) == nil { return name }
    let words = parts(of: name).flatMap { $0.split(separator: "_") }.filter { !$0.isEmpty }
    guard let first = words.first, words.count > 1 || name.utf8.count > first.utf8.count else {
      let lower = name.prefix(1).lowercased() + name.dropFirst()
      return isWellFormed(lower) && lower != name && fault(in: lower) == nil ? lower : nil
    }
    let joined = words.dropFirst().reduce(first.prefix(1).lowercased() + first.dropFirst()) {
      $0 + $1.prefix(1).uppercased() + $1.dropFirst()
    }
    return isWellFormed(joined) && fault(in: joined) == nil ? joined : nil
  }

  /// Why a name isn't valid, as the end of a sentence that begins with the name; nil if it is valid.
  package static func fault(in name: String) -> MessageText? {
    if !isWellFormed(name) {
      return joined(name).map { MessageText("\(form); write '\($0)'", [.text($0)]) } ?? MessageText(form)
    }
    if reserved.contains(name) { return "has a meaning of its own in recipes; choose another name" }
    if words.contains(name) { return "is a word of the expression language; choose another name" }
    if types.contains(name) { return "is a type of the expression language; choose another name" }
    if namespaces.contains(name) { return "is a library of the expression language; choose another name" }
    return nil
  }

  /// The identifiers that an expression would read in a name: all of a good one, `my` and `total` of `my-total`.
  static func parts(of name: String) -> [String] {
    name.split { !($0.isASCII && ($0.isLetter || $0.isNumber) || $0 == "_") }.map(String.init)
  }
}
