// Evaluates expressions in a plan, as far as their values are known, and notes what may fail.
import ActionKit
import Basics
import Expressions
import Recipes
import RunState

extension Planner {
  // MARK: Expressions

  enum Knowledge<Content> {
    case known(Content)
    case unknown(Unknown)
  }

  /// The value as far as it is known, also if something fails before.
  func evaluate(_ template: ValueTemplate, in environment: PlannedEnvironment, at path: StepPath)
    throws(StepInterruption) -> PlannedValue
  {
    let value = try evaluate(template, in: environment.environment, at: path)
    guard let environment = environment.otherwise, let other = try? evaluate(template, in: environment, at: path),
      other != value
    else {
      return PlannedValue(value)
    }
    return PlannedValue(value, otherwise: other)
  }

  /// The value as far as it is known.
  func evaluate(_ template: ValueTemplate, in environment: Environment, at path: StepPath) throws(StepInterruption)
    -> Value
  {
    do throws(LocatedEvaluationError) { return try template.evaluate(asFarAsKnownIn: environment.slots) } catch {
      throw failure(error.message, at: path, error.location)
    }
  }

  /// A text for people, with words in place of unknown values.
  func text(_ template: ValueTemplate, in environment: Environment, at path: StepPath) throws(StepInterruption)
    -> String
  {
    do throws(LocatedEvaluationError) {
      return redactor.redact(try template.text(asFarAsKnownIn: environment.slots))
    } catch {
      throw failure(error.message, at: path, error.location)
    }
  }

  func known(
    _ expression: RecipeExpression, in environment: Environment, at path: StepPath
  ) throws(StepInterruption) -> Knowledge<Value> {
    do throws(LocatedEvaluationError) { return .known(try expression.evaluate(in: environment.slots)) } catch {
      if let unknown = error.unknown { return .unknown(unknown) }
      throw failure(error.message, at: path, error.location)
    }
  }

  func holds(
    _ condition: RecipeExpression, in environment: Environment, at path: StepPath
  ) throws(StepInterruption) -> Knowledge<Bool> {
    switch try known(condition, in: environment, at: path) {
    case .unknown(let unknown): return .unknown(unknown)
    case .known(let value):
      guard let holds = value.bool else {
        throw failure("a condition must be a bool, but this is \(value.kindName)", at: path)
      }
      return .known(holds)
    }
  }

  /// Whether a condition holds, and the unknown that leaves it open if something fails before.
  func decide(
    _ condition: RecipeExpression, in environment: PlannedEnvironment, at path: StepPath
  ) throws(StepInterruption) -> (now: Knowledge<Bool>, otherwise: Unknown?) {
    let now = try holds(condition, in: environment.environment, at: path)
    guard case .known = now, let other = environment.otherwise,
      case .unknown(let unknown)? = try? holds(condition, in: other, at: path)
    else { return (now, nil) }
    return (now, unknown)
  }

  /// Assumes that the failures that would leave a condition open haven't happened.
  func settle(_ environment: inout PlannedEnvironment, by condition: RecipeExpression) {
    guard case .known? = try? known(condition, in: environment.environment, at: "") else { return }
    environment.settle { candidate in
      if case .unknown? = try? known(condition, in: candidate, at: "") { true } else { false }
    }
  }

  func values(
    _ outputs: [NamedTemplate], in environment: PlannedEnvironment, at path: StepPath
  ) throws(StepInterruption) -> PlannedValue {
    var values = ValueMap()
    var others = ValueMap()
    var isSame = true
    for output in outputs {
      let planned = try evaluate(output.template, in: environment, at: path)
      values[output.name] = planned.value
      others[output.name] = planned.otherwise ?? planned.value
      if planned.otherwise != nil { isSame = false }
    }
    return PlannedValue(.map(values), otherwise: isSame ? nil : .map(others))
  }

  func failure(_ message: String, at path: StepPath, _ location: Diagnostic.Location? = nil) -> StepInterruption {
    var error = RunError(.expression, redactor.redact(message), step: path)
    error.place(at: location)
    return .failed(error)
  }

  /// A step's name in texts that only people read.
  func name(of step: Step, _ path: StepPath) -> String { step.id == nil ? step.title : path }

  func note(_ event: Plan.Event, at path: StepPath) {
    plan.entries.append(Plan.Entry(path: path, conditions: conditions, event: event))
  }
}
