package import Basics
import Expressions

/// What an input's value must keep to beyond its type.
package struct InputLimits: Sendable {
  package var choices: [Value] = []
  package var min: Value?
  package var max: Value?
  package var pattern: InputPattern?

  /// What is wrong with a value of the input's type, as the end of a sentence that begins with its name.
  func fault(in value: Value) -> String? {
    if !choices.isEmpty, !choices.contains(value) {
      let texts = choices.map(\.plainText)
      let guess = value.string?.nearest(among: texts).map { "; did you mean '\($0)'?" } ?? ""
      return "must be one of \(texts.joined(separator: ", ")), but is \(value.plainText)\(guess)"
    }
    if let min, min.isAbove(value) { return "must be at least \(min.plainText), but is \(value.plainText)" }
    if let max, value.isAbove(max) { return "must be at most \(max.plainText), but is \(value.plainText)" }
    if let pattern, let text = value.string, !pattern.matches(text) {
      return "must match \(pattern.text), but is '\(text)'"
    }
    return nil
  }
}

extension Value {
  /// Whether the value is greater than another of the same kind; false for kinds without an order.
  fileprivate func isAbove(_ other: Value) -> Bool {
    switch (content, other.content) {
    case (.int(let left), .int(let right)): left > right
    case (.double(let left), .double(let right)): left > right
    case (.timestamp(let left), .timestamp(let right)): left > right
    case (.duration(let left), .duration(let right)): left > right
    default: false
    }
  }

  /// The value as a person would write it.
  package var plainText: String {
    switch content {
    case .string(let text): text
    case .timestamp(let instant): "\(instant)"
    case .duration(let span): "\(span)"
    default: (try? JSON.text(self)) ?? kindName
    }
  }
}

/// A pattern that a whole text must match.
package struct InputPattern: Sendable {
  package let text: String
  private let pattern: Pattern

  init(_ text: String) throws(Pattern.Malformed) {
    self.text = text
    pattern = try Pattern("^(?:\(text))$")
  }

  func matches(_ text: String) -> Bool { pattern.matches(text) }
}

/// A value for an input as whoever starts the recipe gives it.
package enum GivenInput: Sendable {
  /// Text of the command line, to be read as the input's type wants.
  case text(String)
  /// A value of a file or a schedule.
  case value(Value, Source)
  /// The name of a secret, which alone is stored.
  case secret(name: String)
}

extension Recipe {
  /// The inputs of a run, each of its type, from what was given; all faults at once.
  ///
  /// A secret input is stored as `{"secret": NAME}` and resolved when it is used.
  package func inputs(from given: [(name: String, input: GivenInput)]) -> Result<ValueMap, Diagnostics> {
    var faults: [Diagnostic] = []
    var values = ValueMap()
    var isMissing = Set(inputs.filter(\.isRequired).map(\.name))
    for (name, input) in given {
      guard let declared = inputs.first(where: { $0.name == name }) else {
        let guess = name.nearest(among: inputs.map(\.name)).map { "; did you mean '\($0)'?" }
        let known = inputs.isEmpty ? "; it takes none" : "; it takes \(inputs.map(\.name).joined(separator: ", "))"
        faults.append(Diagnostic("recipe '\(self.name)' has no input '\(name)'\(guess ?? known)"))
        continue
      }
      isMissing.remove(name)
      switch declared.checked(input) {
      case .success(let value): values[name] = value
      case .failure(let diagnostics): faults += diagnostics.list
      }
    }
    for input in inputs where isMissing.contains(input.name) {
      let summary = input.summary.isEmpty ? "" : ": \(input.summary)"
      faults.append(Diagnostic("input '\(input.name)' (\(input.type)) is missing\(summary); give it with -i \(input.name)=…"))
    }
    for input in inputs where values[input.name] == nil {
      if let fallback = input.fallback { values[input.name] = fallback }
    }
    return faults.isEmpty ? .success(values) : .failure(Diagnostics(faults))
  }
}

extension Recipe {
  /// The inputs of a call, each of its type, from what expressions gave; with the defaults of those that are left out.
  package func inputs(ofCall given: ValueMap) -> Result<ValueMap, Diagnostics> {
    var faults: [Diagnostic] = []
    var values = ValueMap()
    for input in inputs {
      guard let value = given[input.name] else {
        if let fallback = input.fallback { values[input.name] = fallback }
        continue
      }
      var conformance = Conformance()
      if let value = conformance.bring(value, to: input.type, path: input.name) {
        values[input.name] = value
        if let fault = input.limits.fault(in: value) {
          faults.append(Diagnostic("input '\(input.name)' of '\(name)' \(fault)"))
        }
      }
      faults += conformance.faults.map { Diagnostic("of '\(name)', input \($0.message)") }
    }
    return faults.isEmpty ? .success(values) : .failure(Diagnostics(faults))
  }
}

extension Recipe.Input {
  /// The value of the input's type, or what is wrong with it.
  func checked(_ given: GivenInput) -> Result<Value, Diagnostics> {
    switch given {
    case .secret(let secret):
      guard isSecret else {
        return .failure(
          Diagnostics([Diagnostic("input '\(name)' is no secret; declare it with 'secret: true' to give it by @secret:")]))
      }
      return .success(.object(["secret": .string(secret)]))
    case .text, .value:
      if isSecret {
        return .failure(
          Diagnostics([Diagnostic("input '\(name)' is secret; give it by name: -i \(name)=@secret:NAME")]))
      }
    }
    var conformance = Conformance()
    var source: Source?
    let raw: Value
    switch given {
    case .text(let text):
      switch read(text) {
      case .success(let value): raw = value
      case .failure(let diagnostics): return .failure(diagnostics)
      }
    case .value(let value, let file):
      (raw, source) = (value, file)
    case .secret: return .failure(Diagnostics([]))
    }
    func located(_ message: String, _ value: Value) -> Diagnostic {
      Diagnostic(message, at: source.flatMap { source in value.place.offset.map { .init(source, at: $0) } })
    }
    guard let value = conformance.bring(raw, to: type, path: name) else {
      return .failure(Diagnostics(conformance.faults.map { located("input \($0.message)", $0.value) }))
    }
    if let fault = limits.fault(in: value) {
      return .failure(Diagnostics([located("input '\(name)' \(fault)", value)]))
    }
    return .success(value)
  }

  /// Reads text of the command line: as it stands for scalars, as JSON for lists, maps and objects.
  private func read(_ text: String) -> Result<Value, Diagnostics> {
    func fail(_ message: String) -> Result<Value, Diagnostics> {
      .failure(Diagnostics([Diagnostic("input '\(name)' takes \(type)\(message)")]))
    }
    switch type {
    case .int:
      return Int(text).map { .success(.int($0)) } ?? fail(", but found '\(text)'")
    case .double:
      guard let number = Double(text), number.isFinite else { return fail(", but found '\(text)'") }
      return .success(.double(number))
    case .bool:
      switch text {
      case "true": return .success(.bool(true))
      case "false": return .success(.bool(false))
      default: return fail(" (true or false), but found '\(text)'")
      }
    case .list, .map, .object:
      let source = Source(name: "-i \(name)", text: text)
      do throws(JSONError) {
        return .success(try JSON.parse(source.bytes))
      } catch {
        return .failure(Diagnostics([error.diagnostic(in: source)]))
      }
    default:
      return .success(.string(text))
    }
  }
}
