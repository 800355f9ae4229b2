import Basics
import Expressions

// Finds expressions written as in other languages: `{{ inputs.name }}`, `${inputs.name}`, `$inputs.name`.
//
// In a recipe they are text, which is right for another program's templates. So only those are reported that name
// something visible at their place. After `$`, which also marks a shell's own variables, only the names of our objects,
// `now`, and the variables that every shell has are reported. In a script these belong to the shell.

extension Scope {
  /// Finds the parts of a text that are expressions in other languages, as ranges of its UTF-8, with their form here.
  ///
  /// The text is right only after all of them are rewritten. Our own expressions are skipped.
  ///
  /// - Parameter isScript: Whether a shell expands the text.
  func foreignExpressions(in text: String, isScript: Bool) -> [(range: Range<Int>, hint: MessageText)] {
    var found: [(range: Range<Int>, hint: MessageText)] = []
    var others = 0
    let bytes = Array(text.utf8)
    if !isScript, let path = pathAlone(text) {
      let code = "${{ \(path) }}"
      let hint = MessageText("an expression is written \(code)", [.code(code, for: 0..<bytes.count)])
      return [(0..<bytes.count, hint.tentative)]
    }
    guard case .success(let template) = Template.parse(text) else { return [] }
    var ours = template.segments.compactMap { if case .expression(let range) = $0 { range } else { nil } }[...]
    var start = bytes.startIndex
    while start < bytes.endIndex {
      if let next = ours.first, start == next.lowerBound - 3 {
        start = next.upperBound + 2
        ours.removeFirst()
        continue
      }
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
      let first = start
      start += opening.utf8.count
      let inner = bytes[start...]
      let blanks = closing.isEmpty ? 0 : inner.prefix { $0 == ASCII.space }.count
      var path = inner.dropFirst(blanks).prefix(while: isPathByte)
      // The full stop of a sentence.
      while path.last == ASCII.dot { path.removeLast() }
      let end = bytes[path.endIndex...].drop { !closing.isEmpty && $0 == ASCII.space }
      let name = String(decoding: path, as: UTF8.self)
      if opening == "{{" { others += 1 }
      guard end.starts(with: closing.utf8) else { continue }
      // A `$` with a blank before the braces belongs to them as well.
      let blank = bytes[..<first].lastIndex { $0 != ASCII.space } ?? first
      let isApart = opening == "{{" && blank < first - 1 && bytes[blank] == ASCII.dollar
      let range = (isApart ? blank : first)..<end.startIndex + closing.utf8.count
      let isBareKnown = opening == "{{" || !isScript && (name == "now" || opening == "${" && blanks > 0)
      func write(_ path: String) -> MessageText {
        // A secret must be the whole text.
        if path.hasPrefix("secrets."), range.count < bytes.count {
          others += 1
          return MessageText("an expression is written ${{ \(path) }}")
        }
        // The sign of `={{ }}` would stay.
        let isMarked = first > 0 && bytes[first - 1] == ASCII.equals
        return MessageText("an expression is written ${{ \(path) }}", [.code("${{ \(path) }}", for: range)])
          .tentative(if: isMarked)
      }
      if isKnown(name, isBareKnown: isBareKnown) {
        found.append((range, write(name)))
        continue
      }
      guard !isScript else { continue }
      let input = opening == "{{" ? name : name.lowercased()
      if opening == "{{" || name == name.uppercased(), isKnown("inputs.\(input)", isBareKnown: false) {
        found.append((range, write("inputs.\(input)")))
      } else if opening != "{{", shellVariables.contains(name) {
        found.append((range, "variables of a shell aren't expanded here"))
      }
    }
    others -= found.count { bytes[$0.range.upperBound - 2..<$0.range.upperBound].elementsEqual("}}".utf8) }
    let isWhole = others == 0 && found.count <= mostForeign
    return found.prefix(mostForeign).map { ($0.range, $0.hint.tentative(if: !isWhole)) }
  }

  /// The path that is all of a text and leads to an input or an output.
  private func pathAlone(_ text: String) -> String? {
    let path = text.trimmed
    guard path.hasPrefix("inputs.") || path.hasPrefix("steps."), path.utf8.allSatisfy(isPathByte),
      isKnown(path, isBareKnown: false)
    else { return nil }
    return path
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

/// In how many places one text is faulted.
private let mostForeign = 20

/// The variables that every shell has.
private let shellVariables = ["HOME", "USER", "PATH", "PWD", "TMPDIR", "HOSTNAME", "SHELL", "LOGNAME"]

private func isPathByte(_ byte: UInt8) -> Bool {
  switch byte {
  case ASCII.digits, ASCII.uppercase, ASCII.lowercase, ASCII.dot, ASCII.underscore: true
  default: false
  }
}
