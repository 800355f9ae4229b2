import Basics

// Suggestions for people who know other languages: words between values, and methods that have another form in CEL. The
// messages show CEL's form; none of these words is accepted.

/// The suggestion for a word where an operator is expected; nil if there is none.
func replacement(forOperator word: String, at range: Range<Int>) -> MessageText? {
  func write(_ code: String) -> MessageText {
    MessageText("write `\(code)` for `\(word)`", [.code(code, for: range)])
  }
  return switch word.lowercased() {
  case "equals", "eq": write("==")
  // `is` may be followed by `not`, and compares identity in other languages.
  case "is": write("==").tentative
  case "mod": write("%")
  case "then", "else", "when": "there is no `\(word)`; a choice is written condition ? value : otherwise"
  case "like": "there is no `\(word)`; write a.contains('…'), or a.matches('…') with a pattern"
  case "between": "there is no `\(word)`; a range is written low <= x && x <= high"
  case "not": "there is no `not` between values; the opposite of `in` is written !(a in b)"
  case "for": "there is no `for`; write items.map(x, value), or items.filter(x, condition)"
  default: nil
  }
}

/// The suggestion for a word that CEL reserves.
func replacement(forReserved word: String) -> String {
  switch word {
  case "if", "else": "there is no `\(word)`; a choice is written condition ? value : otherwise"
  case "for", "while", "loop": "there is no `\(word)`; write items.map(x, value), or items.filter(x, condition)"
  case "let", "var", "const": "there is no `\(word)`; a value is named with cel.bind(x, value, expression)"
  case "return": "there is no `return`; the expression itself is the value"
  default: "`\(word)` is a word that CEL keeps for itself and no name"
  }
}

/// The recipe feature that replaces a function of other workflow languages; nil if there is none.
func replacement(forFunction name: String) -> String? {
  switch name {
  case "always": "the steps of `finally` run however the run ended"
  case "failure": "the steps of `onFailure` run when a step failed, and those of `onError` when this one did"
  case "success": "a step runs only if those before it succeeded, so leave it out"
  case "toJSON", "toJson": "write json.format(value)"
  case "fromJSON", "fromJson": "write json.parse(text)"
  default: nil
  }
}

/// The CEL form of a template filter; nil if there is none.
func replacement(forFilter name: String) -> String? {
  switch name {
  case "upper", "uppercase", "upcase": "text.upperAscii()"
  case "lower", "lowercase", "downcase": "text.lowerAscii()"
  case "trim", "strip": "text.trim()"
  case "length", "size", "count": "size(value)"
  case "default": "value.orValue(…)"
  case "join": "list.join(', ')"
  case "first": "list[0]"
  case "int": "int(value)"
  case "float": "double(value)"
  case "string": "string(value)"
  case "json", "tojson", "to_json": "json.format(value)"
  case "fromjson", "from_json": "json.parse(text)"
  case "round": "stats.round(value, 2)"
  case "sum": "stats.sum(list)"
  case "replace": "text.replace('a', 'b')"
  case "split": "text.split(',')"
  default: nil
  }
}

/// The CEL form of a method of other languages, and whether it does the same for all values; nil if there is none.
///
/// `receiver` and `arguments` are code that binds closer than any operator.
func replacement(
  forMethod name: String, on receiver: String, with arguments: [String]
) -> (code: String, isCertain: Bool)? {
  switch (name, arguments.count) {
  case ("equals", 1), ("eq", 1): ("\(receiver) == \(arguments[0])", true)
  case ("isEmpty", 0), ("empty", 0): ("size(\(receiver)) == 0", true)
  case ("isNull", 0), ("isNone", 0): ("\(receiver) == null", true)
  case ("first", 0): ("\(receiver)[0]", true)
  case ("last", 0): ("\(receiver)[size(\(receiver)) - 1]", true)
  // For a missing item they return nothing in other languages; CEL's index fails.
  case ("get", 1), ("at", 1): ("\(receiver)[\(arguments[0])]", false)
  case ("add", 1), ("append", 1): ("\(receiver) + [\(arguments[0])]", true)
  // In other languages, `push` returns the new length.
  case ("push", 1): ("\(receiver) + [\(arguments[0])]", false)
  case ("concat", 1), ("plus", 1): ("\(receiver) + \(arguments[0])", true)
  case ("keys", 0): ("\(receiver).map(k, k)", true)
  case ("values", 0): ("\(receiver).map(k, \(receiver)[k])", true)
  // The second number is a length in most languages, and an end here.
  case ("substr", 2):
    if let start = Int(arguments[0]), let length = Int(arguments[1]), length < 1 << 32, start < 1 << 32 {
      ("\(receiver).substring(\(start), \(start + length))", false)
    } else {
      ("\(receiver).substring(\(arguments[0]), \(arguments[0]) + \(arguments[1]))", false)
    }
  // In other languages, a position may count from the end.
  case ("substr", 1), ("slice", 1), ("slice", 2):
    ("\(receiver).substring(\(arguments.joined(separator: ", ")))", false)
  case ("toInt", 0), ("toInteger", 0): ("int(\(receiver))", false)
  case ("toDouble", 0), ("toFloat", 0), ("toNumber", 0): ("double(\(receiver))", false)
  case ("orElse", 1), ("unwrap", 1), ("or_else", 1): ("\(receiver).orValue(\(arguments[0]))", true)
  case ("abs", 0): ("math.abs(\(receiver))", true)
  case ("strftime", 1), ("format", 1): ("time.format(\(receiver), \(arguments[0]))", false)
  default: nil
  }
}
