import ActionKit
package import Basics

/// A value for an input, as it is given when the recipe is started.
package enum GivenInput: Sendable {
  /// A text of the command line, which is read by the input's type.
  case text(String)
  /// A value of a file or a schedule.
  case value(Value, Source)
  /// A value that is computed when a run starts.
  case computed(ValueTemplate, Source)
  /// The name of a secret, which alone is stored.
  case secret(name: String)

  /// The secret that a text names as `@secret:NAME`; nil for any other text.
  package init?(secretNamedBy text: String) {
    guard text.hasPrefix("@secret:") else { return nil }
    self = .secret(name: String(text.dropFirst(8)))
  }

  /// Reads a value of a document, whose text may name a secret.
  package init(_ value: Value, from source: Source) {
    self = value.string.flatMap(GivenInput.init(secretNamedBy:)) ?? .value(value, source)
  }
}

extension Recipe {
  /// Reads a run's inputs as values of their types; all faults are reported at once.
  ///
  /// A secret input is stored as `{"secret": NAME}` and resolved when it is used.
  package func inputs(from given: [(name: String, input: GivenInput)]) -> Result<ValueMap, Diagnostics> {
    Recipe.inputs(inputs, from: given, of: name)
  }

  /// The faults of the given inputs, by name, in words for programs that send JSON.
  package func inputFaults(of given: [(name: String, input: GivenInput)]) -> [(name: String, fault: Diagnostic)] {
    Recipe.Input.read(given, for: inputs, of: "recipe '\(name)'") { input in
      input.isMissing + (input.isSecret ? "; give the name of a secret, as @secret:NAME" : "")
    }.faults
  }

  static func inputs(
    _ inputs: [Recipe.Input], from given: [(name: String, input: GivenInput)], of recipe: String
  ) -> Result<ValueMap, Diagnostics> {
    let (values, faults) = Recipe.Input.read(given, for: inputs, of: "recipe '\(recipe)'") { input in
      "\(input.isMissing); give it with -i \(input.name)=\(input.isSecret ? "@secret:NAME" : "…")"
    }
    return faults.isEmpty
      ? .success(Recipe.withDefaults(values, for: inputs)) : .failure(Diagnostics(faults.map(\.fault)))
  }
}

extension Recipe.Input {
  /// That it is missing, in words.
  var isMissing: String {
    "\(word) '\(name)' (\(kind)) is missing"
      + (summary.isEmpty ? "" : ": \(summary.hasSuffix(".") ? String(summary.dropLast()) : summary)")
  }

  /// Reads the values given for some inputs, and returns each fault with the name of its input; `missing` says that an
  /// input is needed.
  static func read(
    _ given: [(name: String, input: GivenInput)], for inputs: [Recipe.Input], of what: String,
    missing: (Recipe.Input) -> String
  ) -> (values: ValueMap, faults: [(name: String, fault: Diagnostic)]) {
    var faults: [(name: String, fault: Diagnostic)] = []
    var values = ValueMap()
    var named: Set<String> = []
    for (name, value) in given {
      guard let input = inputs.first(where: { $0.name.hasSameScalars(as: name) }) else {
        let names = inputs.map(\.name)
        let guess = name.nearest(among: names)
        let known: MessageText = names.isEmpty ? "it takes none" : "it takes \(names.joined(separator: ", "))"
        // The input that was probably meant is not missing as well.
        if let guess { named.insert(guess) }
        let question = guess.map { guess in
          MessageText.didYouMean(guess, by: name, among: names).unless(given.contains { $0.name == guess })
        }
        let word = inputs.first?.word ?? .input
        let message: MessageText = "\(what) has no \(word.rawValue) '\(name)'; \(question ?? known)"
        faults.append((name, Diagnostic(message)))
        continue
      }
      named.insert(name)
      if case .computed = value, !input.isSecret { continue }
      switch input.checked(value) {
      case .success(let value): values[name] = value
      case .failure(let found): faults += found.list.map { (name, $0) }
      }
    }
    for input in inputs where input.isRequired && !named.contains(input.name) {
      faults.append((input.name, Diagnostic(missing(input))))
    }
    return (values, faults)
  }

  /// The value as the input's type, or its faults.
  func checked(_ given: GivenInput) -> Result<Value, Diagnostics> {
    func refusal(_ message: String) -> Result<Value, Diagnostics> { .failure(Diagnostics([Diagnostic(message)])) }
    var given = given
    if isSecret, case .value(let value, let source) = given { given = GivenInput(value, from: source) }
    switch given {
    case .secret(let secret) where isSecret: return .success(.object(["secret": .string(secret)]))
    case .secret where word == .field:
      return refusal("field '\(name)' takes no secret, because an answer is kept with the run")
    case .secret:
      return refusal("input '\(name)' isn't a secret; declare it with 'secret: true' to give it by @secret:")
    case _ where isSecret: return refusal("input '\(name)' is secret; give the name of one, as @secret:NAME")
    case .value(let value, let source): return checked(value, in: source)
    case .computed: preconditionFailure("A computed input is checked once it is computed.")
    case .text(let text):
      func scalar(_ value: Value?) -> Result<Value, Diagnostics> {
        value.map { checked($0, in: nil) }
          ?? refusal("'\(word.path).\(name)' must be \(declaration.type.wanted), but found '\(text)'")
      }
      let source = Source(name: "\(word == .input ? "-i" : "-f") \(name)", text: text)
      switch declaration.type {
      case .list, .map, .object, .dyn:
        do throws(JSONError) { return checked(try JSON.parse(source.bytes), in: source) } catch {
          var fault = error.diagnostic(in: source)
          fault.message = "'\(word.path).\(name)' isn't valid JSON: \(fault.message)"
          return .failure(Diagnostics([fault]))
        }
      case .int: return scalar(Int(text).map { .int($0) })
      case .double: return scalar(Double(text).map { .double($0) })
      case .bool: return scalar(text == "true" ? .bool(true) : text == "false" ? .bool(false) : nil)
      default: return checked(.string(text), in: nil)
      }
    }
  }

  private func checked(_ value: Value, in source: Source?) -> Result<Value, Diagnostics> {
    let schema = ObjectSchema(fields: [declaration])
    let given = Value.object([name: value])
    let faults = schema.check(given, as: word.path).filter { $0.severity == .error }
    guard faults.isEmpty else {
      return .failure(
        Diagnostics(
          faults.map { fault in
            source.map { fault.diagnostic(in: $0) } ?? Diagnostic(MessageText(fault.message, fault.suggestions))
          }))
    }
    return .success(schema.restored(given)[name] ?? value)
  }
}

extension Findings {
  /// Reads the inputs that a file gives for a recipe's runs, and reports each fault at its place.
  ///
  /// They are checked like the command line's. `missing` says that an input is needed; the error is at `key` if no
  /// place is nearer. `computed` compiles a value that holds expressions.
  func inputs(
    _ value: Value?, for inputs: [Recipe.Input], at key: Value, missing: (Recipe.Input) -> String,
    computed: (Value, Recipe.Input) -> ValueTemplate?
  ) -> [(name: String, input: GivenInput)] {
    var given: [(name: String, input: GivenInput)] = []
    var places: [String: Value] = [:]
    if let value {
      guard let map = value.map else {
        let path = inputs.first?.word.path ?? "inputs"
        error("'\(path)' takes a mapping from names to values, but found \(value.written)", at: value)
        return []
      }
      for member in map.members {
        let name = member.key.plainText
        if let text = member.value.string, text.hasPrefix("@secret:") {
          given.append((name, .secret(name: String(text.dropFirst(8)))))
        } else if member.value.holdsExpression, let input = inputs.first(where: { $0.name.hasSameScalars(as: name) }) {
          given.append((name, .computed(computed(member.value, input) ?? .literal(.null, .dyn), source)))
        } else {
          given.append((name, .value(member.value, source)))
        }
        places[name] = member.key
      }
    }
    let found = Recipe.Input.read(given, for: inputs, of: "the recipe", missing: missing)
    for (name, var fault) in found.faults {
      // An empty range is a place of the file whose extent the reader of inputs cannot know.
      let start = fault.location.map { Place(offset: $0.range.lowerBound) }
      fault.location =
        start.flatMap(range).map { Diagnostic.Location(source, $0) } ?? fault.location
        ?? location(of: places[name] ?? key)
      add(fault, about: Value(.null, at: Place(offset: fault.location?.range.lowerBound ?? -1)))
    }
    return given
  }
}

extension Value {
  /// The value as a person would write it.
  package var plainText: String {
    switch content {
    case .string(let text): text
    case .timestamp(let instant): "\(instant)"
    case .duration(let span): "\(span)"
    case .masked(let text): text.displayed
    case .double(let number) where !number.isFinite: number.isNaN ? "NaN" : number < 0 ? "-Infinity" : "Infinity"
    default: JSON.displayed(self)
    }
  }
}
