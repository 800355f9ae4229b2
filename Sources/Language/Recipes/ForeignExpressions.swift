import Basics
import Expressions

// Expressions as other languages write them: `{{ inputs.name }}`, `${inputs.name}`, `$inputs.name`.
//
// In a recipe they are text, which is right for the templates of another program. So only what names something that the
// place can see is told; and after `$`, where a shell has its own variables, only what begins with one of our objects,
// `now`, and the variables that every shell has. In a script all of the latter is the shell's.

extension Scope {
  /// The first part of a text that is an expression elsewhere, as a range of its UTF-8, and what it is here.
  ///
  /// - Parameter isScript: Whether a shell expands the text.
  func foreignExpression(in text: String, isScript: Bool) -> (range: Range<Int>, hint: MessageText)? {
    let bytes = Array(text.utf8)
    var start = bytes.startIndex
    while start < bytes.endIndex {
      let rest = bytes[start...]
      let (opening, closing): (String, String)
      if rest.starts(with: "{{".utf8) {
        (opening, closing) = ("{{", "}}")
      } else if rest.starts(with: "${".utf8) {
        (opening, closing) = ("${", "}")
      } else if rest.first == ASCII.dollar {
        (opening, closing) = ("$", "")
      } else {
        start += 1
        continue
      }
      start += opening.utf8.count
      let inner = bytes[start...]
      let blanks = closing.isEmpty ? 0 : inner.prefix { $0 == ASCII.space }.count
      var path = inner.dropFirst(blanks).prefix(while: isPathByte)
      // The full stop of a sentence.
      while path.last == ASCII.dot { path.removeLast() }
      let end = bytes[path.endIndex...].drop { !closing.isEmpty && $0 == ASCII.space }
      let name = String(decoding: path, as: UTF8.self)
      let range = start - opening.utf8.count..<end.startIndex + closing.utf8.count
      guard end.starts(with: closing.utf8) else { continue }
      let isBareKnown = opening == "{{" || !isScript && (name == "now" || opening == "${" && blanks > 0)
      func write(_ path: String) -> MessageText {
        MessageText("an expression is written ${{ \(path) }}", [.code("${{ \(path) }}", for: range)])
      }
      if isKnown(name, isBareKnown: isBareKnown) { return (range, write(name)) }
      guard !isScript else { continue }
      let input = opening == "{{" ? name : name.lowercased()
      if opening == "{{" || name == name.uppercased(), isKnown("inputs.\(input)", isBareKnown: false) {
        return (range, write("inputs.\(input)"))
      }
      if opening != "{{", shellVariables.contains(name) { return (range, "variables of a shell aren't expanded here") }
    }
    return nil
  }

  /// Whether a path leads to something.
  private func isKnown(_ path: String, isBareKnown: Bool) -> Bool {
    let parts = path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard let root = parts.first, let type = expressions.type(of: root) else { return false }
    guard parts.count > 1 else { return isBareKnown }
    guard isBareKnown || ["inputs", "steps", "secrets", "run"].contains(root) else { return false }
    return if case .object(let object) = type { object[parts[1]] != nil } else { true }
  }
}

/// The variables that every shell has.
private let shellVariables = ["HOME", "USER", "PATH", "PWD", "TMPDIR", "HOSTNAME", "SHELL", "LOGNAME"]

private func isPathByte(_ byte: UInt8) -> Bool {
  switch byte {
  case ASCII.digits, ASCII.uppercase, ASCII.lowercase, ASCII.dot, ASCII.underscore: true
  default: false
  }
}
