import ActionKit

enum CompareAndSet: ReconcilingAction, PreviewingAction {
  static let name = "compareAndSet"
  static let summary = "Stores a value only if the current one equals the one that the recipe expects."
  static let effect = Effect.write
  static let examples = [
    Example("Take it if it is free", "name: onDuty\nvalue: ana"),
    Example("Hand it over", "name: onDuty\nexpected: ana\nvalue: ben"),
  ]

  struct Input: FieldSet {
    @Field("Name of the value.", .notEmpty, .maxLength(200)) var name: String
    @Field(
      "The value that must be stored already, with the same type and contents; absent means that there must be none.")
    var expected: Value?
    @Field("The value to store in its place.", .notNull("use store.delete to remove a value")) var value: Value
  }

  struct Output: FieldSet {
    @Field("Whether the value was as expected, and the new one is stored.") var isSet: Bool
    @Field("The value that is stored now; absent if there is none.") var value: Value?

    init() {}

    init(_ outcome: ValueOutcome) throws {
      try self.init {
        $0.isSet = outcome.isChanged
        $0.value = outcome.value
      }
    }
  }

  /// Empty, because the state records the result of the step.
  struct Baseline: FieldSet {}

  static func run(_ input: Input, on service: Void, in context: ActionContext) async throws -> Output {
    try Output(
      await context.storedValues.change(input.name) { $0 == input.expected ? .set(input.value) : .keep })
  }

  static func baseline(_ input: Input, on service: Void, in context: ActionContext) async throws -> Baseline {
    Baseline()
  }

  static func reconcile(
    _ input: Input, with baseline: Baseline, startedAt: Timestamp, on service: Void, in context: ActionContext
  ) async throws -> Reconciliation<Output> {
    guard let change = try await context.storedValues.earlierChange() else { return .notDone }
    return .done(try Output(change))
  }

  static func preview(_ input: Input, on service: Void, in context: ActionContext) async throws -> [Change] {
    let value = try await context.storedValues.value(of: input.name)
    guard value == input.expected, value != input.value else { return [] }
    return [Change(subject(input.name), from: value.map(displayed), to: displayed(input.value))]
  }
}
