import ActionKit
package import Basics
import Expressions
import YAMLReader

// The computed inputs of an entry of `on:`. They are computed once, when the slot is decided. They are kept with the
// slot while its start waits, and then with the run: nothing is computed again. They may read
//
//   now         the instant of the decision
//   run         as the run's steps will see it; `run.slot` is there for entries that are due at times, and
//               `run.startedAt` is the instant of the decision
//   event       the cause of the start (`EventForm`)
//   events      the list of events, for an entry with `batch`, in the place of `event`
//
// and no secrets, because a run's inputs are kept. An input that is a secret is given by name, as everywhere.

/// The facts about a run before its creation that its inputs may depend on.
package struct StartingRun: Sendable {
  package var id: String
  package var recipe: String
  package var at: Timestamp
  /// The due time of the slot.
  package var slot: Timestamp?
  /// The value of `event` or `events`.
  package var event: Value?

  package init(id: String, recipe: String, at: Timestamp, slot: Timestamp? = nil, event: Value? = nil) {
    self.id = id
    self.recipe = recipe
    self.at = at
    self.slot = slot
    self.event = event
  }

  /// The values of `Scope.ofInputs`, in its order.
  fileprivate var environment: [Value] {
    var run = ValueMap()
    run["id"] = .string(id)
    run["recipe"] = .string(recipe)
    run["startedAt"] = .timestamp(at)
    run["slot"] = slot.map { .timestamp($0) }
    run["attempt"] = .int(1)
    return [.timestamp(at), .map(run), event ?? .null]
  }
}

/// The inputs for new runs of one entry; some may be computed.
package struct StartingInputs: Sendable {
  private let inputs: [Recipe.Input]
  private let given: [(name: String, input: GivenInput)]
  private let recipe: String
  /// The inputs that are computed from `event` or `events`.
  package let namesReadingEvent: [String]
  /// Whether any is computed.
  package let isComputed: Bool
  /// Whether the id of the run must be known.
  package let readsRun: Bool

  /// A thousand starts may be made up for at once, and other schedules wait meanwhile.
  private static let limits = EvaluationLimits(steps: 20_000, bytes: 1 << 20)

  package init(_ trigger: Trigger, of recipe: Recipe) {
    inputs = recipe.inputs
    given = trigger.inputs
    self.recipe = recipe.name
    let computed = trigger.inputs.compactMap { name, input in
      if case .computed(let template, _) = input {
        (name: name, reads: Set(template.references.map(\.name)))
      } else {
        nil
      }
    }
    isComputed = !computed.isEmpty
    namesReadingEvent = computed.filter { !$0.reads.isDisjoint(with: ["event", "events"]) }.map(\.name)
    readsRun = computed.contains { $0.reads.contains("run") }
  }

  /// Whether `event` or `events` must be known.
  package var readsEvent: Bool { !namesReadingEvent.isEmpty }

  /// The inputs of a run, or why it can't be created.
  ///
  /// - Parameter known: Inputs that were decided before, or that a person gives; they override the entry's.
  package func values(
    for run: StartingRun, known: [(name: String, input: GivenInput)] = []
  ) -> Result<ValueMap, Diagnostics> {
    let environment = run.environment
    var values = known
    var faults: [Diagnostic] = []
    for (name, input) in given where !known.contains(where: { $0.name.hasSameScalars(as: name) }) {
      guard case .computed(let template, let source) = input else {
        values.append((name, input))
        continue
      }
      if run.event == nil, namesReadingEvent.contains(where: name.hasSameScalars) {
        faults.append(
          Diagnostic("the input '\(name)' is computed from an event, and there is none, or it is no longer kept"))
        continue
      }
      do throws(LocatedEvaluationError) {
        values.append((name, .value(try template.evaluate(in: environment, limits: StartingInputs.limits), source)))
      } catch {
        faults.append(Diagnostic("the input '\(name)' can't be computed: \(error.message)", at: error.location))
      }
    }
    guard faults.isEmpty else { return .failure(Diagnostics(faults)) }
    return Recipe.inputs(inputs, from: values, of: recipe)
  }

  /// The faults of inputs that a person gives, by name; missing inputs aren't faults.
  package func faults(of given: [(name: String, input: GivenInput)]) -> [(name: String, fault: Diagnostic)] {
    Recipe.Input.read(given, for: inputs, of: "recipe '\(recipe)'") { _ in "" }.faults.filter {
      !$0.fault.message.isEmpty
    }
  }

  /// The inputs of a run to keep while its start waits: those computed, and those a person gave.
  package func lasting(_ values: ValueMap, given names: [String] = []) -> ValueMap {
    var kept = ValueMap()
    for (name, input) in given {
      if case .computed = input { kept[name] = values[name] }
    }
    for name in names { kept[name] = values[name] }
    return kept
  }

  /// The kept inputs, in the form for `values`.
  package func given(_ kept: ValueMap) -> [(name: String, input: GivenInput)] {
    let source = Source(name: "inputs", text: "")
    return kept.members.compactMap { member in
      guard let name = member.name, let input = inputs.first(where: { $0.name.hasSameScalars(as: name) }) else {
        // The recipe was edited since, and doesn't have the input any more.
        return nil
      }
      if input.isSecret, let secret = member.value["secret"]?.string { return (input.name, .secret(name: secret)) }
      return (input.name, .value(member.value, source))
    }
  }
}

extension Scope {
  /// The scope of an entry's inputs.
  fileprivate static func ofInputs(_ trigger: Trigger) -> Scope {
    var scope = Scope()
    scope.declare("now", .timestamp)
    var run = RecipeTypes.startingRun
    switch trigger.kind {
    case .timed:
      run = ObjectType(
        run.name,
        fields: run.fields.map { field in
          var field = field
          if field.name == "slot" { field.isOptional = false }
          return field
        })
      scope.declare("run", .object(run))
      scope.explainAbsence(ofVariable: "event", "a schedule has none; use `run.slot`, the instant that was due")
    case .event(_, _, let form):
      scope.declare("run", .object(run))
      scope.explainEvents()
      scope.declareGathered(form.type, trigger.batch)
    case .webhook(let webhook):
      scope.declare("run", .object(run))
      scope.explainEvents()
      scope.declareGathered(webhook.form.type, trigger.batch)
    case .form(let form):
      scope.declare("run", .object(run))
      scope.explainEvents()
      scope.declare("event", form.form.type)
    case .afterRecipe(_, let status, let outputs):
      scope.declare("run", .object(run))
      scope.explainAbsence(ofVariable: "outputs", "they are `event.outputs`")
      scope.declare("event", EventForm.ended(as: status, outputs: outputs ?? .dyn))
    case .file:
      scope.declare("run", .object(run))
      scope.explainAbsence(ofVariable: "file", "it is `event`, as in event.path")
      scope.declareGathered(EventForm.file, trigger.batch)
    }
    return scope
  }

  private mutating func declareGathered(_ type: ValueType, _ batch: Trigger.Batch?) {
    if batch == nil {
      explainAbsence(ofVariable: "events", "it goes with 'batch'; what came is `event`")
      declare("event", type)
    } else {
      explainAbsence(ofVariable: "event", "with 'batch' it is one of the list `events`")
      declare("events", .list(type))
    }
  }
}

extension ExpressionCompiler {
  /// An input of an entry that is computed when a slot is decided.
  func input(_ value: Value, _ input: Recipe.Input, of trigger: Trigger) -> ValueTemplate? {
    // The reader of inputs reports that a secret is given by name.
    guard !input.isSecret else {
      noteEvaluated(value)
      return nil
    }
    let schema = ObjectSchema(fields: [input.declaration])
    let given = Value.object([input.name: value])
    guard case .map(let members, _)? = fields(given, of: schema, path: "inputs", in: Scope.ofInputs(trigger)).template
    else {
      return nil
    }
    let template = members.first?.value
    if case .event(let name, _, let form) = trigger.kind, form.isOpen { template?.warnOfOwnNames(of: name, in: self) }
    return template
  }
}

extension ValueTemplate {
  /// The template as its file has it, on one line and without quotes around a text; for people.
  package var written: String {
    switch self {
    case .literal(let value, _): return value.string ?? JSON.displayed(value)
    case .template(let located):
      let bytes = located.placing.source.bytes
      guard let scalar = located.placing.scalar, scalar.range.upperBound <= bytes.count else { return "${{ … }}" }
      let isQuoted = scalar.style == .singleQuoted || scalar.style == .doubleQuoted
      let range = isQuoted && scalar.range.count > 1 ? scalar.range.dropFirst().dropLast() : scalar.range[...]
      return String(decoding: bytes[range.startIndex..<range.endIndex], as: UTF8.self)
        .split { $0 == " " || $0 == "\n" || $0 == "\t" }.joined(separator: " ")
    case .list(let items, _): return "[\(items.map(\.written).joined(separator: ", "))]"
    case .map(let members, _):
      let pairs = members.map { "\($0.key.string ?? JSON.displayed($0.key)): \($0.value.written)" }
      return "{ \(pairs.joined(separator: ", ")) }"
    }
  }
}

extension ValueTemplate {
  fileprivate func warnOfOwnNames(of event: String, in compiler: ExpressionCompiler) {
    switch self {
    case .literal: break
    case .template(let located):
      compiler.warnOfOwnNames(located.template.references("event"), located.placing, of: event)
    case .list(let items, _): for item in items { item.warnOfOwnNames(of: event, in: compiler) }
    case .map(let members, _): for member in members { member.value.warnOfOwnNames(of: event, in: compiler) }
    }
  }
}
