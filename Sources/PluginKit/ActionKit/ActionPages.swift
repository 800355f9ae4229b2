// The pages for people, as Markdown: pure functions of the declarations, so that a test can generate them again and
// compare. The fields of nested sets are rows of the same table with dotted paths, `students[].results[].taskKey`,
// because a reader of a recipe looks for a path.

extension ActionDescriptor {
  /// The action's page; `level` is the level of its first heading.
  public func markdown(level: Int = 1) -> String {
    let heading = String(repeating: "#", count: level)
    var page = "\(heading) \(id)\n\n\(summary)\n\n"
    page += facts.map { "- **\($0.name):** \($0.sentence)\n" }.joined()
    page += "\n\(heading)# Input\n\n" + input.table(isGiven: true)
    page += "\n\(heading)# Output\n\n" + output.table(isGiven: false)
    for example in examples {
      page += "\n\(heading)# Example: \(example.title)\n\n```yaml\n\(step(with: example.input))```\n"
    }
    return page
  }

  /// A step that calls the action, as a recipe has it.
  ///
  /// - Parameter input: The fields in YAML.
  package func step(with input: String) -> String {
    var step = "- uses: \(id)\n"
    let lines = input.split(separator: "\n", omittingEmptySubsequences: false)
    if lines.contains(where: { !$0.isEmpty }) {
      step += "  with:\n" + lines.map { $0.isEmpty ? "\n" : "    \($0)\n" }.joined()
    }
    return step
  }

  /// The facts that a recipe's author needs beside the fields; names in the sentences are between backticks.
  package var facts: [(name: String, sentence: String)] {
    if takesEffect {
      return [
        ("Effect", "as the step declares in `effect`, which decides how it is planned, repeated and tried again."),
        ("Time-out", "\(timeout.written) unless the step says otherwise."),
      ]
    }
    var facts = [(name: "Effect", sentence: "`\(effect.name)`. \(effect.sentence)")]
    if effect.isWrite {
      facts.append(("In a plan", canPreview ? "shown with its changes." : "shown without its changes."))
    }
    if effect.isWrite || effect.name == "consume" { facts.append(("When the answer is lost", afterLostAnswer)) }
    let tries = retry ?? (acceptsKey ? .standard : nil)
    facts.append(
      (
        "Tried again",
        tries.map { (retry == nil ? "with a `key`, " : "") + $0.sentence } ?? "not unless the step says so."
      ))
    facts.append(("Time-out", "\(timeout.written) unless the step says otherwise."))
    if !formerIDs.isEmpty {
      facts.append(("Formerly", formerIDs.map { "`\($0)`" }.joined(separator: ", ") + "."))
    }
    return facts
  }

  private var afterLostAnswer: String {
    let otherwise =
      canReconcile
      ? "errand checks whether it was done; if that stays unknown, the run stops as `uncertain`."
      : "the run stops as `uncertain`."
    switch effect {
    case .pure, .read, .idempotentWrite(.forever): return "it is repeated."
    case .consume(...0): return otherwise
    case .consume(let repeats): return "it is repeated \(atMost(repeats)); then \(otherwise)"
    case .idempotentWrite(.sameDay(let zone)):
      return "it is repeated on the same day (\(zone)); after that \(otherwise)"
    case .idempotentWrite(.span(let span)): return "it is repeated within \(span.written); after that \(otherwise)"
    case .write:
      return (acceptsKey ? "with a `key` it is repeated, and the service does nothing twice; without one, " : "")
        + otherwise
    }
  }
}

extension PluginDescriptor {
  /// The plugin's page: its configuration, an index, its client's use, and the page of each action.
  public func markdown() -> String {
    let actions = actions
    var page =
      "# \(name)\n\n\(summary)\n\n## Connection\n\nUnder `connections` in `errand.yaml`, with `plugin: \(name)` "
      + "if the connection has another name.\n\n"
    page += configuration.table(isGiven: true)
    page += "\n## Actions\n\n| Action | Effect | |\n| --- | --- | --- |\n"
    for action in actions {
      page +=
        "| [`\(action.id)`](#\(action.id.anchor)) | \(action.takesEffect ? "the step's" : action.effect.name) | \(action.summary.inCell) |\n"
    }
    if let (module, usage) = library {
      page +=
        "\n## From a Swift program\n\nDepend on the library `\(module)`.\n\n```swift\nimport \(module)\n\n\(usage)\n```\n"
    }
    for action in actions { page += "\n" + action.markdown(level: 2) }
    return page
  }
}

extension RetrySchedule {
  /// The number of attempts, the delays and the kinds of errors, for pages.
  var sentence: String {
    if maxAttempts == 1 { return "never." }
    let kinds = ErrorKind.allCases.filter(kinds.contains).map { "`\($0.rawValue)`" }.joined(separator: ", ")
    var certain = self
    certain.jitter = .none
    let displayed = (1..<max(min(maxAttempts, 5), 1)).map { certain.delay(afterAttempt: $0, chance: 1).written }
    let waits = displayed.joined(separator: ", ") + (maxAttempts > 5 ? ", …" : "")
    return "\(counted(maxAttempts, "attempt")) at most, after \(displayed.count == 1 ? "a wait" : "waits") of "
      + "\(jitter == .full ? "up to " : "")\(waits), on \(kinds)."
  }
}

/// A field in the table of an action's page; names in its texts are between backticks.
package struct FieldRow: Sendable {
  /// The field's name after the names of the sets around it: `students[].results[].taskKey`.
  package var path: String
  /// The name of its type.
  package var type: String
  /// Whether it is present, or its default.
  package var presence: String
  /// The field's sentence, and sentences for its limits and former names.
  package var sentences: String
  /// The advice instead of giving it.
  package var deprecation: String?

  fileprivate var inMarkdown: String {
    let all = sentences + (deprecation.map { " **Deprecated:** \($0)" } ?? "")
    return "| `\(path)` | \(type.inCell) | \(presence.inCell) | \(all.inCell) |\n"
  }
}

extension ObjectSchema {
  /// The sentence below a table with volatile fields.
  package static let noteOnVolatile =
    "Volatile fields differ from one answer to the next; a plan doesn't compare them."

  /// The fields as a table, nested ones included.
  func table(isGiven: Bool) -> String {
    let rows = rows(isGiven: isGiven)
    guard !rows.isEmpty else { return "No fields.\n" }
    return "| Field | Type | | |\n| --- | --- | --- | --- |\n" + rows.map(\.inMarkdown).joined()
      + (hasVolatile ? "\n\(ObjectSchema.noteOnVolatile)\n" : "")
  }

  /// Whether a field, or a field of a nested set, is volatile.
  package var hasVolatile: Bool {
    fields.contains { $0.isVolatile || $0.type.nested?.schema.hasVolatile == true }
  }

  /// The fields, each followed by the fields of its nested set.
  ///
  /// - Parameter isGiven: Whether recipes give them, as opposed to those of an output.
  package func rows(isGiven: Bool) -> [FieldRow] { rows(path: "", isGiven: isGiven) }

  private func rows(path: String, isGiven: Bool) -> [FieldRow] {
    fields.flatMap { field in
      let row = FieldRow(
        path: path + field.name, type: field.type.name, presence: field.presence(isGiven: isGiven),
        sentences: field.sentences, deprecation: field.deprecation)
      guard let (nested, suffix) = field.type.nested else { return [row] }
      return [row] + nested.rows(path: "\(path)\(field.name)\(suffix).", isGiven: isGiven)
    }
  }
}

extension FieldSchema {
  /// A word for whether the field is present.
  fileprivate func presence(isGiven: Bool) -> String {
    guard isGiven else {
      return [isOptional ? "optional" : nil, isVolatile ? "volatile" : nil].compactMap { $0 }.joined(separator: ", ")
    }
    if isOptional { return "optional" }
    guard let fallback else { return "required" }
    return type.isSecret ? "has a default" : "default `\(fallback.inJSON)`"
  }

  /// The field's sentence, and sentences for its limits and former names.
  fileprivate var sentences: String {
    var sentences = [summary] + (sentenceOnSecrets.map { [$0] } ?? [])
    sentences += limits.map { limit in
      if case .each(let limit) = limit { return "Each must \(limit.words(for: type.element))." }
      return "Must \(limit.words(for: type))."
    }
    if !aliases.isEmpty { sentences.append("Formerly \(aliases.map { "`\($0)`" }.joined(separator: ", ")).") }
    return sentences.joined(separator: " ")
  }
}

extension FieldType {
  /// The set inside the type, and the suffix between the field's name and the set's fields in a path.
  package var nested: (schema: ObjectSchema, suffix: String)? {
    switch self {
    case .object(let schema): (schema, "")
    case .list(let element): element.nested.map { ($0.schema, "[]" + $0.suffix) }
    case .map(let value): value.nested.map { ($0.schema, ".*" + $0.suffix) }
    case .optional(let wrapped), .secret(let wrapped): wrapped.nested
    default: nil
    }
  }
}

extension TimeSpan {
  /// The length with the units that a person would write: `1h30m`.
  package var written: String {
    var rest = nanoseconds
    guard rest > 0 else { return description }
    var text = ""
    for (unit, size) in [
      ("d", 86_400_000_000_000), ("h", 3_600_000_000_000), ("m", 60_000_000_000), ("s", 1_000_000_000),
      ("ms", 1_000_000),
    ] where rest >= size {
      text += "\(rest / size)\(unit)"
      rest %= size
    }
    return rest == 0 ? text : description
  }
}

extension Value {
  /// The value in JSON, as pages show defaults.
  fileprivate var inJSON: String { JSON.displayed(self) }
}

extension String {
  /// The text in a cell of a Markdown table.
  fileprivate var inCell: String {
    var text = ""
    for character in self {
      switch character {
      case "|": text += "\\|"
      case "\n", "\r\n": text += " "
      default: text.append(character)
      }
    }
    return text
  }

  /// GitHub's anchor of a heading.
  fileprivate var anchor: String { lowercased().filter { $0 != "." } }
}
