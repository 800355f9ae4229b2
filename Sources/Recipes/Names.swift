import Basics

/// The rule for names of inputs, steps, branches and variables.
///
/// They stand bare in expressions, so they must be CEL identifiers that mean nothing else there.
enum Names {
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

  /// What is wrong with a name, as the end of a sentence that begins with it; nil if nothing is.
  static func fault(in name: String) -> String? {
    let isLowerCamelCase =
      name.utf8.first.map { (0x61...0x7A).contains($0) } ?? false
      && name.utf8.allSatisfy {
        (0x61...0x7A).contains($0) || (0x41...0x5A).contains($0) || (0x30...0x39).contains($0)
      }
    if !isLowerCamelCase {
      return "is no name: a name begins with a small letter and goes on with letters and digits, as in 'markKey2'"
    }
    if reserved.contains(name) { return "has a meaning of its own in recipes; choose another name" }
    if words.contains(name) { return "is a word of the expression language; choose another name" }
    if types.contains(name) { return "is a type of the expression language; choose another name" }
    if namespaces.contains(name) { return "is a library of the expression language; choose another name" }
    return nil
  }
}
