package import ActionKit
import Basics
import YAMLReader

/// The faults found in one file, collected so that the first doesn't hide the second.
package final class Findings {
  let document: YAMLDocument
  /// Gets the facts that the check finds, beside faults.
  let observer: CheckObserver?
  package private(set) var list: [Diagnostic]
  private var reported: Set<String> = []
  /// The places of secrets in the text.
  private var hidden: [(secret: HiddenSecret, isRefused: Bool)] = []

  /// Whether values of unknown keys are hidden; for errand.yaml, where most values are settings.
  var hidesUnknown = false

  init(_ document: YAMLDocument, observer: CheckObserver? = nil) {
    self.document = document
    self.observer = observer
    self.list = document.diagnostics
  }

  var source: Source { document.source }

  /// Adds an error that marks a whole value.
  func error(_ message: MessageText, at value: Value, notes: [Diagnostic.Note] = []) {
    add(message, at: location(of: value), about: value, severity: .error, notes: notes)
  }

  /// Adds a warning that marks a whole value.
  func warning(_ message: MessageText, at value: Value) {
    add(message, at: location(of: value), about: value, severity: .warning)
  }

  /// Adds a fault in a part of a scalar, with the fixes that the message suggests.
  func add(
    _ message: MessageText, at location: Diagnostic.Location?, about value: Value, severity: Diagnostic.Severity,
    notes: [Diagnostic.Note] = []
  ) {
    add(Diagnostic(message, at: location, severity: severity, notes: notes), about: value)
  }

  /// Adds a fault in a scalar; the suggestions of its message become changes of this text.
  func add(_ diagnostic: Diagnostic, about value: Value) {
    var diagnostic = diagnostic
    if !diagnostic.suggestions.isEmpty {
      let scalar = document.scalar(at: value.place)
      diagnostic.fixes += diagnostic.suggestions.compactMap { document.fix($0, for: scalar, with: value) }
      diagnostic.suggestions = []
    }
    list.append(diagnostic)
  }

  /// Suggests replacing a value by a text, as written.
  func replacement(of value: Value, with text: String) -> [Suggestion] {
    guard let range = location(of: value)?.range, !range.isEmpty else { return [] }
    return [.edits("write \(text)", [Diagnostic.Edit(range, text)])]
  }

  /// Adds a fault that a check of values found.
  func add(_ fault: Fault) {
    add(fault.diagnostic(in: source, range: range), about: Value(.null, at: fault.place))
  }

  func add(_ diagnostic: Diagnostic) { list.append(diagnostic) }

  /// Hides a secret in the text from all output.
  ///
  /// - Parameter isRefused: Whether it is an error to write the secret there.
  func hide(_ value: Value, isRefused: Bool = false) {
    guard let text = value.string ?? spelling(of: value), let range = location(of: value)?.range, !range.isEmpty else {
      return
    }
    hidden.append((HiddenSecret(range: range, text: text), isRefused))
    observer?.note(secret: Diagnostic.Location(source, range))
  }

  /// Hides each text in a value.
  func hideAll(in value: Value) {
    var open = [value]
    while let value = open.popLast() {
      if let items = value.list {
        open += items
      } else if let map = value.map {
        open += map.members.map(\.value)
      } else if value.string?.holdsExpression != true {
        hide(value)
      }
    }
  }

  /// The findings with `•••` in the place of each secret of the text.
  var listWithoutSecrets: [Diagnostic] { list.hiding(hidden.map(\.secret), in: source) }

  /// The findings with `•••` in the place of each secret that may not be written there.
  var listWithoutRefusedSecrets: [Diagnostic] {
    list.hiding(hidden.filter(\.isRefused).map(\.secret), in: source)
  }

  /// Whether a message that is given only once is given for the first time.
  func isFirst(_ what: String) -> Bool { reported.insert(what).inserted }

  /// Takes back the errors after the first findings; true if there were any.
  func forgiveErrors(after count: Int) -> Bool {
    let later = list[count...]
    list.replaceSubrange(count..., with: later.filter { $0.severity != .error })
    return list.count < count + later.count
  }

  /// Whether there is an error that marks a value.
  func hasError(at value: Value) -> Bool {
    guard let start = location(of: value)?.range.lowerBound else { return false }
    return list.contains { $0.severity == .error && $0.location?.range.lowerBound == start }
  }

  func location(of value: Value) -> Diagnostic.Location? {
    value.place.offset == nil ? nil : Diagnostic.Location(source, document.range(of: value))
  }

  /// The bytes of the scalar at a place.
  func range(at place: Place) -> Range<Int>? { document.scalar(at: place)?.range }

  /// How a scalar is written in the file.
  func spelling(of value: Value) -> String? {
    range(at: value.place).map { String(decoding: source.bytes[$0], as: UTF8.self) }
  }

  /// How a short value on one line is written as an expression, if it is made of numbers and plain texts.
  func expression(ofPlainList value: Value) -> String? {
    guard let items = value.list, items.count <= 8 else { return nil }
    let texts = items.compactMap { item -> String? in
      switch item.content {
      case .int, .bool: item.plainText
      case .string(let text):
        text.utf8.allSatisfy { ASCII.digits ~= $0 || ASCII.uppercase ~= $0 || ASCII.lowercase ~= $0 || $0 == ASCII.dot }
          ? "'\(text)'" : nil
      default: nil
      }
    }
    return texts.count == items.count ? "[\(texts.joined(separator: ", "))]" : nil
  }

  /// The text of a scalar that has to be one, or nil with an error.
  ///
  /// - Parameter isFree: Whether any text will do, so that a number may be meant as one.
  func text(_ value: Value, of what: String, isFree: Bool = true) -> String? {
    guard let text = value.string else {
      error("\(what) \(value.isNoText(spelling(of: value)).unless(!isFree))", at: value)
      return nil
    }
    if text.holdsExpression {
      error("\(what) must be written out; an expression isn't allowed here", at: value)
      return nil
    }
    return text
  }

  /// A name by the rule for inputs, steps and variables, or nil with an error.
  func name(_ value: Value, of what: String) -> String? {
    guard let text = text(value, of: what, isFree: false) else { return nil }
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
      let advice = MessageText("write \(isTrue)", [.verbatim("\(isTrue)")])
      error("\(what) takes a bool; YAML 1.2 reads '\(text)' as a string: \(advice)", at: value)
    } else {
      let bare = value.string.flatMap { ["true", "false"].contains($0.lowercased()) ? $0.lowercased() : nil }
      error(
        MessageText(
          "\(what) takes a bool (true or false), but found \(value.kindName)", bare.map { [.verbatim($0)] } ?? []),
        at: value)
    }
    return nil
  }

  func int(_ value: Value, of what: String, in range: ClosedRange<Int>) -> Int? {
    guard let number = value.int else {
      let bare = value.string.flatMap { Int($0) }.map { "\($0)" }
      error(
        MessageText("\(what) takes an int, but found \(value.kindName)", bare.map { [.verbatim($0)] } ?? []), at: value)
      return nil
    }
    guard range.contains(number) else {
      error("\(what) must be from \(range.lowerBound) to \(range.upperBound), but is \(number)", at: value)
      return nil
    }
    return number
  }

  func number(_ value: Value, of what: String, in range: ClosedRange<Int>) -> Double? {
    let number: Double? =
      switch value.content {
      case .int(let number): Double(number)
      case .double(let number): number
      default: nil
      }
    if let number, number >= Double(range.lowerBound), number <= Double(range.upperBound) { return number }
    error(
      "\(what) takes a number from \(range.lowerBound) to \(range.upperBound), but found \(value.written)", at: value)
    return nil
  }

  func instant(_ value: Value, of what: String) -> Timestamp? {
    if let text = value.string, let instant = Timestamp(text) { return instant }
    error(
      "\(what) takes an instant with its offset, such as 2026-11-20T09:30:00+02:00, but found \(value.written)",
      at: value)
    return nil
  }

  func duration(_ value: Value, of what: String, atLeast least: TimeSpan = .zero) -> TimeSpan? {
    guard let text = value.string, let span = TimeSpan(text) else {
      let hint =
        value.int.map { count in
          MessageText(
            "; say the unit: \(count)s, \(count)m or \(count)h", ["s", "m", "h"].map { .verbatim("\(count)\($0)") })
        } ?? value.string.flatMap(Findings.duration(inWords:)).map { MessageText("; write \($0)", [.verbatim($0)]) }
        ?? ""
      error("\(what) takes a duration such as 90s, 5m, 1h30m, 2d, but found \(value.written)\(hint)", at: value)
      return nil
    }
    guard span >= least else {
      error("\(what) must be at least \(least.written), but is \(span.written)", at: value)
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
    if let guess = MessageText.didYouMean(text, among: words) {
      error("\(what) cannot be '\(text)'; \(guess)", at: value)
    } else {
      error("\(what) must be one of \(words.joined(separator: ", ")), but found \(value.written)", at: value)
    }
    return nil
  }
}

extension Value {
  /// The value as messages show it.
  var displayed: String {
    switch content {
    case .list(let items) where items.isEmpty: "an empty list"
    case .map(let map) where map.isEmpty: "an empty map"
    default: written
    }
  }

  /// Says that the value isn't a text, with a fix, as the end of a sentence that begins with the value's place.
  ///
  /// - Parameter spelling: How it is written in the file.
  func isNoText(_ spelling: String?) -> MessageText {
    switch content {
    case .int, .double, .bool:
      MessageText(
        "takes a string, but found \(kindName); write it in quotes if it is meant as text",
        spelling.map { [.verbatim("\"\($0)\"")] } ?? [])
    default: "takes a string, but found \(kindName)"
    }
  }
}

/// The members of one mapping, by name.
///
/// An unknown key is an error, and is then read as the known one that was probably meant, so that a typing error is one
/// error and hides no others.
struct Fields {
  let value: Value
  private let what: String
  let keys: KeySet
  let findings: Findings
  private var members: [ValueMap.Member] = []
  /// Members of unknown keys, which are errors already.
  private(set) var strays: [ValueMap.Member] = []
  /// Keys without a value, which are errors already.
  private var empty: [String] = []

  /// Fails with an error if the value isn't a mapping.
  ///
  /// - Parameters:
  ///   - hint: Ends the error for a key that resembles none; the default lists the known keys.
  ///   - others: The meanings of other systems' keys.
  ///   - advice: Ends the error for a key, before any other guess.
  ///   - form: The way to write a value that isn't a mapping as one.
  init?(
    _ value: Value, of what: String, _ keys: KeySet, _ findings: Findings, hint: String? = nil,
    others: OtherNotations = .none, advice: (ValueMap.Member) -> MessageText? = { _ in nil }, form: MessageText? = nil
  ) {
    guard let map = value.map else {
      let form = form.map { "; write \($0)" } ?? "" as MessageText
      findings.error("\(what) takes a mapping, but found \(value.kindName)\(form)", at: value)
      return nil
    }
    self.value = value
    self.what = what
    self.keys = keys
    self.findings = findings
    let names = keys.names
    for var member in map.members {
      let name = member.name ?? member.key.plainText
      if !names.contains(where: { $0.hasSameScalars(as: name) }) {
        // Keys of other notations have known meanings, even if they resemble none of ours.
        let known =
          advice(member)
          ?? (others.keys[name] == nil ? others.advice(name, member.value).map { MessageText($0) } : nil)
        let guess = known == nil ? others.keys[name] ?? name.nearest(among: names) : nil
        let end =
          known
          ?? guess.map {
            let question: MessageText =
              others.keys[name] == nil ? .didYouMean($0, by: name, among: names) : .didYouMean($0)
            return question.tentative(if: OtherNotations.doubtful.contains(name)).unless(map[$0] != nil)
          }
          ?? hint.map { MessageText($0) }
          ?? "it takes \(names.joined(separator: ", "))"
        findings.error("\(what) has no key '\(name)'; \(end)", at: member.key)
        // The value may be a secret under the right key.
        if findings.hidesUnknown, member.value.map != nil || member.value.list != nil || name.namesSecret {
          findings.hideAll(in: member.value)
        }
        guard let guess, map[guess] == nil else {
          strays.append(member)
          continue
        }
        member.key = Value(.string(guess), at: member.key.place)
      }
      if member.value.isNull {
        findings.error("'\(name)' is empty; give it a value, or leave it out", at: member.key)
        empty.append(member.name ?? name)
      } else {
        members.append(member)
      }
    }
  }

  /// The member of a name.
  func member(_ name: String) -> ValueMap.Member? { members.first { $0.name?.hasSameScalars(as: name) ?? false } }

  /// The value of a name.
  subscript(name: String) -> Value? { member(name)?.value }

  /// To add a key with a value after another, as a choice that its author may have to change.
  func addition(_ text: String, after name: String) -> [Suggestion] {
    guard let edits = member(name).flatMap({ findings.document.adding(text, after: $0) }) else { return [] }
    return [Suggestion("add \(text)", .edits(edits), isTentative: true)]
  }

  /// The value of a name, or nil with an error that it is missing.
  func require(_ name: String, _ why: String) -> Value? {
    let value = self[name]
    if value == nil, !empty.contains(name) { findings.error("\(what) needs '\(name)': \(why)", at: self.value) }
    return value
  }

  /// The members whose keys exclude each other; exactly one is allowed, and the others are errors.
  ///
  /// - Parameter advice: The error if there is no such member, for a key that needs one of them.
  func kinds(_ advice: (Key) -> MessageText? = { _ in nil }) -> [ValueMap.Member] {
    let words = keys.kinds
    let found = members.filter { member in words.contains { $0.hasSameScalars(as: member.name ?? "") } }
    if found.isEmpty, strays.isEmpty, !empty.contains(where: words.contains) {
      let lone = members.compactMap { member in
        keys.keys.first { $0.name == member.name }.flatMap(advice).map { (place: member.key, advice: $0) }
      }
      if let first = lone.first {
        findings.error(first.advice, at: first.place)
      } else {
        findings.error("\(what) needs one of \(words.joined(separator: ", "))", at: value)
      }
    }
    if let first = found.first {
      for other in found.dropFirst() {
        findings.error(
          "\(what) is one thing: '\(other.name ?? "")' isn't allowed beside '\(first.name ?? "")'; split it in two",
          at: other.key)
      }
    }
    return found
  }
}
