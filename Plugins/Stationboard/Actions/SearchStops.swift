import ActionKit

enum SearchStops: RetryingAction {
  static let name = "searchStops"
  static let summary = "Finds stops by name, with tolerance for typing errors, and gives the ids that boards need."
  static let effect = Effect.read
  static let retry = boardRetry
  static let examples = [Example("A town", "query: bern")]

  struct Input: FieldSet {
    @Field(
      "The name, or a part of it.", .minLength(StopSearch.lengths.lowerBound), .maxLength(StopSearch.lengths.upperBound)
    ) var query: String
    @Field("The most stops to list.", .range(StopSearch.limits)) var limit = 20
  }

  typealias Output = StopSearch

  static func run(_ input: Input, on service: StationboardClient, in context: ActionContext) async throws -> StopSearch
  {
    try await service.searchStops(input.query, limit: input.limit)
  }
}
