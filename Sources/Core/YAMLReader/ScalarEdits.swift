package import Basics

// How to replace a scalar, or a part of one, with a text so that YAML reads the text as it is meant. It is escaped in
// double quotes, and `'` is doubled in single ones. A scalar without quotes is put in quotes if the text would give it
// another meaning. If the text at hand isn't enough to decide, the result is tried by reading it.

extension YAMLDocument {
  /// The fix that a suggestion is for a scalar with a value; nil if there is none in this text.
  package func fix(_ suggestion: Suggestion, for scalar: YAMLScalar?, with value: Value) -> Diagnostic.Fix? {
    let edit: Diagnostic.Edit?
    var isTentative = suggestion.isTentative
    switch suggestion.content {
    case .edits(let edits): return Diagnostic.Fix(suggestion.title, edits, isTentative: suggestion.isTentative)
    case .text(let text): edit = scalar.flatMap { self.edit($0, to: text) }
    case .verbatim(let text): edit = scalar.map { self.edit($0, toVerbatim: text) }
    case .code(let code, let part):
      guard let scalar, let text = value.string else { return nil }
      edit = self.edit(part, of: scalar, with: Array(text.utf8), to: code)
      // How the lines are broken is its author's choice.
      if let edit {
        let breaks = source.bytes[edit.range].count { $0 == ASCII.newline }
        isTentative = isTentative || breaks > edit.text.utf8.count { $0 == ASCII.newline }
      }
    }
    return edit.map { Diagnostic.Fix(suggestion.title, [$0], isTentative: isTentative) }
  }

  /// The change of a text that writes another into a part of a scalar's value, given as UTF-8 offsets in it; nil if it
  /// can't be written there.
  private func edit(
    _ part: Range<Int>, of scalar: YAMLScalar, with value: [UInt8], to text: String
  ) -> Diagnostic.Edit? {
    guard part.upperBound <= value.count, !text.utf8.contains(where: { $0 < ASCII.space && $0 != ASCII.newline })
    else { return nil }
    let place = scalar.location(of: part).range
    let edit: Diagnostic.Edit
    switch scalar.style {
    case .doubleQuoted: edit = Diagnostic.Edit(place, text.escapedForYAML)
    case .singleQuoted: edit = Diagnostic.Edit(place, text.replacing("'", with: "''"))
    case .plain, .literal, .folded: edit = Diagnostic.Edit(place, text)
    }
    if scalar.style == .doubleQuoted { return edit }
    guard !text.utf8.contains(ASCII.newline) else { return nil }
    guard scalar.style == .plain else { return edit }
    let moved = Diagnostic.Edit(
      place.lowerBound - scalar.range.lowerBound..<place.upperBound - scalar.range.lowerBound, text)
    let written = String(decoding: [moved].applied(to: Array(source.bytes[scalar.range])), as: UTF8.self)
    let meant = String(
      decoding: value[..<part.lowerBound] + Array(text.utf8) + value[part.upperBound...], as: UTF8.self)
    if reads(written, at: scalar, as: meant) { return edit }
    let quoted = QuoteAdvice.quoted(written)
    return reads(quoted, at: scalar, as: meant) ? Diagnostic.Edit(scalar.range, quoted) : nil
  }

  /// The change that makes a text of a scalar, in the quotes that it has or needs.
  private func edit(_ scalar: YAMLScalar, to text: String) -> Diagnostic.Edit? {
    guard !text.utf8.contains(where: { $0 < ASCII.space }) else { return nil }
    let plain = scalar.style == .singleQuoted || scalar.style == .doubleQuoted ? nil : text
    let quoted =
      scalar.style == .singleQuoted
      ? "'\(text.replacing("'", with: "''"))'"
      : scalar.style == .doubleQuoted ? "\"\(text.escapedForYAML)\"" : QuoteAdvice.quoted(text)
    return [plain, quoted].compactMap { $0 }.first { reads($0, at: scalar, as: text) }
      .map { Diagnostic.Edit(scalar.range, $0) }
  }

  /// The change that puts something in the place of a scalar as it is.
  private func edit(_ scalar: YAMLScalar, toVerbatim text: String) -> Diagnostic.Edit {
    let needsSpace =
      scalar.range.isEmpty && scalar.range.lowerBound > 0
      && !isBlankOrBreak(source.bytes[scalar.range.lowerBound - 1])
    return Diagnostic.Edit(scalar.range, needsSpace ? " \(text)" : text)
  }

  /// Whether what is written reads as a text where the scalar is.
  private func reads(_ written: String, at scalar: YAMLScalar, as text: String) -> Bool {
    let isInFlow = isInFlow(scalar.range.lowerBound)
    let sample = Source(name: "", text: isInFlow ? "{key: \(written)}" : "key: \(written)")
    guard let document = try? YAMLReader.read(sample), document.diagnostics.isEmpty,
      let read = document.root["key"]?.string
    else { return false }
    return read.hasSameScalars(as: text)
  }
}

extension String {
  fileprivate var escapedForYAML: String {
    replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
  }
}
