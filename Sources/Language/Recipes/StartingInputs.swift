import ActionKit
package import Basics
import Expressions

// The inputs of an entry of `on:` that are computed. They are so once, at the instant at which a run is created, and the run
// is created with what they gave: nothing is computed again when it goes on. They may read
//
//   now         the instant at which the run is created
//   run         what the run's steps will see as `run`; `run.slot` is there for entries that are due at times
//   event       of an entry that waits for an event what came with it, as `match` sees it; of one that follows a recipe
//               the run that ended, {run, status}
//
// and no secrets: what a run is created with is kept. An input that is a secret is given by name, as everywhere.

/// A run about to be created, as far as its inputs may depend on it.
package struct StartingRun: Sendable {
  package var id: String
  package var recipe: String
  package var at: Timestamp
  /// What was due.
  package var slot: Timestamp?
  /// What came with the event, or what ended.
  package var event: Value?

  package init(id: String, recipe: String, at: Timestamp, slot: Timestamp? = nil, event: Value? = nil) {
    self.id = id
    self.recipe = recipe
    self.at = at
    self.slot = slot
    self.event = event
  }

  /// What an entry that follows a recipe sees as `event`.
  package static func ended(_ run: String, as status: String) -> Value {
    .object(["run": .string(run), "status": .string(status)])
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

/// The inputs that the runs of one entry are created with, some of which are computed.
package struct StartingInputs: Sendable {
  private let inputs: [Recipe.Input]
  private let given: [(name: String, input: GivenInput)]
  private let recipe: String
  /// Whether the event must be known.
  package let readsEvent: Bool

  /// A thousand starts may be made up for at once, and other schedules wait meanwhile.
  private static let limits = EvaluationLimits(steps: 20_000, bytes: 1 << 20)

  /// Nil where nothing is computed.
  package init?(_ trigger: Trigger, of recipe: Recipe) {
    let templates = trigger.inputs.compactMap {
      if case .computed(let template, _) = $0.input { template } else { nil }
    }
    guard !templates.isEmpty else { return nil }
    inputs = recipe.inputs
    given = trigger.inputs
    self.recipe = recipe.name
    readsEvent = templates.contains { $0.references.contains { $0.name == "event" } }
  }

  /// The inputs of a run, or why it can't be created, in a sentence.
  package func values(for run: StartingRun) -> Result<ValueMap, Diagnostics> {
    if readsEvent, run.event == nil {
      return .failure(
        Diagnostics([Diagnostic("its inputs are computed from an event, and there is none, or it is no longer kept")]))
    }
    let environment = run.environment
    var values: [(name: String, input: GivenInput)] = []
    var faults: [Diagnostic] = []
    for (name, input) in given {
      guard case .computed(let template, let source) = input else {
        values.append((name, input))
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
}

extension Scope {
  /// What the inputs of an entry may read.
  fileprivate static func ofInputs(_ kind: Trigger.Kind) -> Scope {
    var scope = Scope()
    scope.declare("now", .timestamp)
    var run = RecipeTypes.run
    switch kind {
    case .timed:
      run = ObjectType(
        run.name,
        fields: run.fields.map { field in
          var field = field
          if field.name == "slot" { field.isOptional = false }
          return field
        })
      scope.declare("run", .object(run))
    case .event:
      scope.declare("run", .object(run))
      scope.declare("event", .dyn)
    case .afterRecipe:
      scope.declare("run", .object(run))
      scope.declare(
        "event",
        .object(ObjectType("event", fields: [ObjectType.Field("run", .string), ObjectType.Field("status", .string)])))
    }
    return scope
  }
}

extension ExpressionCompiler {
  /// An input of an entry that is computed when a run starts.
  func input(_ value: Value, _ input: Recipe.Input, of kind: Trigger.Kind) -> ValueTemplate? {
    // That a secret is given by name is said where the inputs are read.
    guard !input.isSecret else {
      noteEvaluated(value)
      return nil
    }
    let schema = ObjectSchema(fields: [input.declaration])
    let given = Value.object([input.name: value])
    guard case .map(let members, _)? = fields(given, of: schema, path: "inputs", in: Scope.ofInputs(kind)).template
    else {
      return nil
    }
    return members.first?.value
  }
}
