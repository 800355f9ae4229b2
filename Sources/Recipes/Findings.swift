package import Basics
import YAMLReader

/// What reading one file finds at fault, collected so that the first fault does not hide the second.
package final class Findings {
  let document: YAMLDocument
  package private(set) var list: [Diagnostic]

  init(_ document: YAMLDocument) {
    self.document = document
    self.list = document.diagnostics
  }

  var source: Source { document.source }

  /// Adds an error that marks a whole value.
  func error(_ message: String, at value: Value, notes: [Diagnostic.Note] = []) {
    list.append(Diagnostic(message, at: location(of: value), notes: notes))
  }

  /// Adds a warning that marks a whole value.
  func warning(_ message: String, at value: Value) {
    list.append(Diagnostic(message, at: location(of: value), severity: .warning))
  }

  func add(_ diagnostic: Diagnostic) { list.append(diagnostic) }

  func location(of value: Value) -> Diagnostic.Location? {
    value.place.offset == nil ? nil : Diagnostic.Location(source, document.range(of: value))
  }

  /// The bytes of the scalar at a place.
  func range(at place: Place) -> Range<Int>? { document.scalar(at: place)?.range }

  /// How a scalar is written in the file.
  func spelling(of value: Value) -> String? {
    range(at: value.place).map { String(decoding: source.bytes[$0], as: UTF8.self) }
  }

  /// The text of a scalar that has to be one, or nil with an error.
  func text(_ value: Value, of what: String) -> String? {
    if let text = value.string { return text }
    error("\(what) takes a string, but found \(value.kindName)\(quotingHint(value))", at: value)
    return nil
  }

  /// A name by the rule for inputs, steps and variables, or nil with an error.
  func name(_ value: Value, of what: String) -> String? {
    guard let text = text(value, of: what) else { return nil }
    if let fault = Names.fault(in: text) {
      error("\(what) '\(text)' \(fault)", at: value)
      return nil
    }
    return text
  }

  func bool(_ value: Value, of what: String) -> Bool? {
    if let flag = value.bool { return flag }
    if let text = value.string, document.scalar(at: value.place)?.style == .plain, looksLikeYAML11Bool(text) {
      let isTrue = ["y", "yes", "on"].contains(text.lowercased())
      error("\(what) takes a bool; YAML 1.2 reads '\(text)' as a string: write \(isTrue)", at: value)
    } else {
      error("\(what) takes a bool (true or false), but found \(value.kindName)", at: value)
    }
    return nil
  }

  func int(_ value: Value, of what: String, in range: ClosedRange<Int>) -> Int? {
    guard let number = value.int else {
      error("\(what) takes an int, but found \(value.kindName)", at: value)
      return nil
    }
    guard range.contains(number) else {
      error(
        range.upperBound == .max
          ? "\(what) must be at least \(range.lowerBound)"
          : "\(what) must be from \(range.lowerBound) to \(range.upperBound)", at: value)
      return nil
    }
    return number
  }

  func duration(_ value: Value, of what: String, atLeast least: TimeSpan = .zero) -> TimeSpan? {
    guard let text = value.string, let span = TimeSpan(text) else {
      error("\(what) takes a duration such as 90s, 5m, 1h30m, 2d", at: value)
      return nil
    }
    guard span >= least else {
      error("\(what) must be at least \(least)", at: value)
      return nil
    }
    return span
  }

  /// One of a few words, or nil with an error that lists them.
  func choice<Word: RawRepresentable & CaseIterable>(
    _ value: Value, of what: String, _ type: Word.Type = Word.self
  ) -> Word? where Word.RawValue == String {
    let words = Word.allCases.map(\.rawValue)
    let text = value.string ?? ""
    if let word = Word(rawValue: text) { return word }
    let guess = text.nearest(among: words).map { "; did you mean '\($0)'?" } ?? ""
    error("\(what) must be one of \(words.joined(separator: ", "))\(guess)", at: value)
    return nil
  }

  private func quotingHint(_ value: Value) -> String {
    switch value.content {
    case .int, .double, .bool: "; write it in quotes if it is meant as text"
    case .map, .list: "; an expression that begins with a bracket or brace needs quotes around the whole value"
    default: ""
    }
  }
}

/// The members of one mapping, taken by name; what is left over at the end is unknown.
struct Fields {
  let value: Value
  private let what: String
  private let findings: Findings
  private var members: [ValueMap.Member]
  private var known: [String] = []

  /// Fails with an error if the value is no mapping.
  init?(_ value: Value, of what: String, _ findings: Findings) {
    guard let map = value.map else {
      findings.error("\(what) takes a mapping, but found \(value.kindName)", at: value)
      return nil
    }
    self.value = value
    self.what = what
    self.findings = findings
    members = map.members
  }

  /// The keys that nobody has taken yet.
  var keys: [String] { members.compactMap(\.name) }

  /// Takes the member of a name; a null counts as left out.
  mutating func take(_ name: String) -> Value? { member(name).flatMap { $0.value.isNull ? nil : $0.value } }

  /// Takes the member of a name with its key.
  mutating func member(_ name: String) -> ValueMap.Member? {
    known.append(name)
    guard let index = members.firstIndex(where: { $0.name?.hasSameScalars(as: name) ?? false }) else { return nil }
    return members.remove(at: index)
  }

  /// Takes the member of a name, or adds an error that it is missing.
  mutating func require(_ name: String, _ why: String) -> Value? {
    let member = member(name)
    if let value = member?.value, !value.isNull { return value }
    findings.error("\(what) needs '\(name)': \(why)", at: member?.key ?? value)
    return nil
  }

  /// Adds an error for each key that was not taken.
  func finish() {
    for member in members {
      let name = member.name ?? "\(member.key)"
      let guess = name.nearest(among: known).map { "; did you mean '\($0)'?" } ?? "; it takes \(known.joined(separator: ", "))"
      findings.error("\(what) has no key '\(name)'\(guess)", at: member.key)
    }
  }
}
