import ActionKit

enum Increment: ReconcilingAction, PreviewingAction {
  static let name = "increment"
  static let summary =
    "Adds to a stored int exactly once, even if the program stops meanwhile; a missing value counts as 0."
  static let effect = Effect.write
  static let examples = [Example("One more", "name: streak"), Example("Seven fewer", "name: tickets\nby: -7")]

  struct Input: FieldSet {
    @Field("Name of the value.", .notEmpty, .maxLength(200)) var name: String
    @Field("The number to add.") var by = 1
  }

  struct Output: FieldSet {
    @Field("The sum.") var value: Int
  }

  /// Empty, because the state records the result of the step.
  struct Baseline: FieldSet {}

  static func run(_ input: Input, on service: Void, in context: ActionContext) async throws -> Output {
    try output(
      of: input,
      await context.storedValues.change(input.name) { current throws(ActionError) in
        .set(.int(try sum(input, current)))
      })
  }

  static func baseline(_ input: Input, on service: Void, in context: ActionContext) async throws -> Baseline {
    Baseline()
  }

  static func reconcile(
    _ input: Input, with baseline: Baseline, startedAt: Timestamp, on service: Void, in context: ActionContext
  ) async throws -> Reconciliation<Output> {
    guard let change = try await context.storedValues.earlierChange() else { return .notDone }
    return .done(try output(of: input, change))
  }

  static func preview(_ input: Input, on service: Void, in context: ActionContext) async throws -> [Change] {
    let value = try await context.storedValues.value(of: input.name)
    return [Change(subject(input.name), from: value.map(displayed), to: "\(try sum(input, value))")]
  }

  private static func sum(_ input: Input, _ current: Value?) throws(ActionError) -> Int {
    guard let current else { return input.by }
    guard let number = current.int else {
      throw ActionError(
        .validation,
        "the stored value '\(input.name)' is \(current.kindName), and only an int can be added to; put one there first")
    }
    let (sum, isTooLarge) = number.addingReportingOverflow(input.by)
    if isTooLarge {
      throw ActionError(
        .validation, "\(number) and \(input.by) are together more than the int '\(input.name)' can hold")
    }
    return sum
  }

  private static func output(of input: Input, _ outcome: ValueOutcome) throws -> Output {
    guard let value = outcome.value?.int else {
      throw ActionError(.internal, "the stored value '\(input.name)' isn't an int after the addition", effect: .done)
    }
    return try Output { $0.value = value }
  }
}
