import ActionKit

enum List: Action {
  static let name = "list"
  static let summary = "Lists the names of the stored values."
  static let effect = Effect.read
  static let examples = [Example("All names", "{}"), Example("Names with a prefix", "prefix: train/")]

  struct Input: FieldSet {
    @Field("The beginning of the names.", .maxLength(200)) var prefix = ""
    @Field("The most names to list.", .range(1...10_000)) var limit = 1000
  }

  struct Output: FieldSet {
    @Field("The names, in the order of their Unicode scalars.") var names: [String]
    @Field("The number of names with that beginning, also beyond the limit.") var count: Int
  }

  static func run(_ input: Input, on service: Void, in context: ActionContext) async throws -> Output {
    let names = try await context.storedValues.names.filter { $0.utf8.starts(with: input.prefix.utf8) }
    return try Output {
      $0.names = Array(names.prefix(input.limit))
      $0.count = names.count
    }
  }
}
