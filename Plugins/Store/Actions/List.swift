import ActionKit

enum List: Action {
  static let name = "list"
  static let summary = "Lists the names of the stored values."
  static let effect = Effect.read
  static let examples = [Example("All", "{}"), Example("Those of one kind", "prefix: train/")]

  struct Input: FieldSet {
    @Field("How the names begin.", .maxLength(200)) var prefix = ""
    @Field("How many names are given at most.", .range(1...10_000)) var limit = 1000
  }

  struct Output: FieldSet {
    @Field("The names, in the order of their Unicode scalars.") var names: [String]
    @Field("How many names begin so, also beyond the limit.") var count: Int
  }

  static func run(_ input: Input, on service: Void, in context: ActionContext) async throws -> Output {
    let names = try await context.storedValues.names.filter { $0.utf8.starts(with: input.prefix.utf8) }
    return try Output {
      $0.names = Array(names.prefix(input.limit))
      $0.count = names.count
    }
  }
}
