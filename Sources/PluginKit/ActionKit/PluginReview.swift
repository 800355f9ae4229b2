// Rules for every plugin that the compiler doesn't check: names and sentences, effects that match the other
// declarations, examples and defaults within the declared limits, no properties that aren't fields. The plugin's tests
// check them, never the start of the program. `errand test` checks plugins from outside, except the names and sentences
// of their fields, because others wrote these.

/// Checks the examples and patterns of a review further, with tools that the program doesn't contain.
package protocol PluginExaminer: Sendable {
  /// The faults of an action's example.
  func faults(of example: Example, of action: ActionDescriptor) -> [String]
  /// The faults of a field's pattern.
  func faults(of pattern: TextPattern, _ field: String) -> [String]
}

/// Collects the faults of a plugin's declarations, in their order.
package struct PluginReview {
  package private(set) var faults: [String] = []
  private let isFromOutside: Bool
  private let examiner: (any PluginExaminer)?

  /// - Parameters:
  ///   - isFromOutside: Whether others wrote the names and sentences of its fields.
  ///   - examiner: Checks further, with tools that the program doesn't contain.
  package init(isFromOutside: Bool, examiner: (any PluginExaminer)? = nil) {
    self.isFromOutside = isFromOutside
    self.examiner = examiner
  }

  package mutating func review(_ plugin: PluginDescriptor) {
    if !plugin.name.isLowerCamelCase { faults.append("the plugin's name, '\(plugin.name)', is not in lowerCamelCase") }
    reviewSentence(plugin.summary, "the summary of the plugin")
    review(plugin.configuration, "Configuration", isOutput: false)
    var known: Set<String> = []
    for action in plugin.actions {
      for id in [action.id] + action.formerIDs where !known.insert(id).inserted {
        faults.append("two actions are or were named '\(id)'")
      }
      review(action)
    }
  }

  private mutating func review(_ action: ActionDescriptor) {
    let name = action.id.split(separator: ".").last.map(String.init) ?? ""
    if !name.isLowerCamelCase { faults.append("the name of '\(action.id)' is not in lowerCamelCase") }
    reviewSentence(action.summary, "the summary of '\(action.id)'")
    reviewEffect(action)
    review(action.input, "'\(action.id)', input", isOutput: false)
    review(action.output, "'\(action.id)', output", isOutput: true)
    if let baseline = action.baseline { review(baseline, "'\(action.id)', baseline", isOutput: true) }
    if action.examples.isEmpty { faults.append("'\(action.id)' has no example") }
    for example in action.examples { faults += examiner?.faults(of: example, of: action) ?? [] }
    if (try? JSON.write(action.jsonSchema())) == nil {
      faults.append("'\(action.id)' has a default or limit that JSON cannot say")
    }
  }

  private mutating func reviewEffect(_ action: ActionDescriptor) {
    if action.takesEffect {
      let field = action.input.fields.first { $0.name == "effect" }
      if field?.type.name != StepEffect.fieldType.name || field?.isRequired != true || action.effect != .write {
        faults.append("'\(action.id)' is a write until the step says otherwise, in a required field 'effect'")
      }
    }
    switch action.effect {
    case .consume(let repeats) where repeats < 0:
      faults.append("'\(action.id)' cannot be run again \(repeats) times")
    case .idempotentWrite(.sameDay(let zone)) where zone.isEmpty:
      faults.append("'\(action.id)' does not say in which zone its day ends")
    case .idempotentWrite(.span(let span)) where span <= .zero:
      faults.append("'\(action.id)' can be repeated for no time at all")
    default: break
    }
    if !action.effect.isWrite {
      let offers = [
        (action.acceptsKey, "an idempotency key"), (action.canPreview, "a preview"),
        (action.canReconcile && action.effect.runsInPlan, "to reconcile"),
      ]
      for (isOffered, offer) in offers where isOffered {
        faults.append("'\(action.id)' is \(action.effect.name) and offers \(offer), which only a write has")
      }
    }
    if action.effect == .write, action.retry != nil, !action.acceptsKey, !action.canReconcile {
      faults.append("'\(action.id)' is tried again, and is a write that neither accepts a key nor reconciles")
    }
    if let retry = action.retry, retry.maxAttempts < 1 { faults.append("'\(action.id)' is never tried") }
    if action.timeout <= .zero { faults.append("'\(action.id)' has no time to run") }
  }

  private mutating func review(_ schema: ObjectSchema, _ name: String, isOutput: Bool) {
    for fault in schema.declarationFaults { faults.append("\(name): \(fault)") }
    var known: Set<String> = []
    for field in schema.fields {
      let name = "\(name), field '\(field.name)'"
      for given in [field.name] + field.aliases {
        if !known.insert(given).inserted { faults.append("\(name): '\(given)' names two fields") }
        if !isFromOutside, !given.isLowerCamelCase { faults.append("\(name): '\(given)' is not in lowerCamelCase") }
      }
      if ["true", "false", "null", "in"].contains(field.name) {
        faults.append("\(name): expressions cannot read a field of that name")
      }
      if !isFromOutside { reviewSentence(field.summary, "\(name): the text") }
      if !isFromOutside, let deprecation = field.deprecation { reviewSentence(deprecation, "\(name): the deprecation") }
      if field.isVolatile, !isOutput { faults.append("\(name): only an output differs from one answer to the next") }
      if field.isFile, !isOutput { faults.append("\(name): only an output is a file that was written") }
      if field.secrecy != .none, isOutput { faults.append("\(name): only an input may hold a secret") }
      reviewType(field.type, name, isOutput: isOutput)
      for limit in field.limits { review(limit, name) }
      reviewDefault(of: field, name)
      if let nested = field.type.nested { review(nested.schema, "\(name)\(nested.suffix)", isOutput: isOutput) }
    }
  }

  private mutating func reviewType(_ type: FieldType, _ name: String, isOutput: Bool) {
    switch type {
    case .optional(let wrapped):
      guard isFromOutside else { return faults.append("\(name): a list or map cannot hold optionals") }
      reviewType(wrapped, name, isOutput: isOutput)
    case .secret(let wrapped):
      if isOutput { faults.append("\(name): an output, which is kept in the state, cannot hold a secret") }
      reviewType(wrapped, name, isOutput: false)
    case .list(let element), .map(let element): reviewType(element, name, isOutput: isOutput)
    case .choice(let options) where Set(options).count < options.count || options.isEmpty:
      faults.append("\(name): the choices must differ, and there must be some")
    default: break
    }
  }

  private mutating func review(_ limit: Limit, _ name: String) {
    switch limit {
    case .each(let limit): review(limit, name)
    case .pattern(let pattern): faults += examiner?.faults(of: pattern, name) ?? []
    default: break
    }
  }

  /// A default must be a valid value of the field.
  private mutating func reviewDefault(of field: FieldSchema, _ name: String) {
    guard let fallback = field.fallback else { return }
    var alone = field
    alone.deprecation = nil
    let found = ObjectSchema(fields: [alone]).check(.object([field.name: fallback]), as: "default")
    faults += found.map { "\(name): \($0.message)" }
  }

  private mutating func reviewSentence(_ text: String, _ name: String) {
    if text.isEmpty || (!isFromOutside && text.first?.isLowercase != false) || !text.hasSuffix(".")
      || text.utf8.contains(ASCII.newline)
    {
      faults.append("\(name) is not a sentence on one line: '\(text)'")
    }
  }
}

extension String {
  /// Whether the text is a valid name in recipes.
  fileprivate var isLowerCamelCase: Bool {
    guard let first = unicodeScalars.first, ("a"..."z").contains(first) else { return false }
    return unicodeScalars.allSatisfy {
      ("a"..."z").contains($0) || ("A"..."Z").contains($0) || ("0"..."9").contains($0)
    }
  }
}
