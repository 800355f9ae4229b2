import ActionKit

enum NearbyStops: RetryingAction {
  static let name = "nearbyStops"
  static let summary = "Finds stops near a place, the nearest first."
  static let effect = Effect.read
  static let retry = boardRetry
  static let examples = [
    Example(
      "Around a square in Bern",
      """
      latitude: 46.9488
      longitude: 7.4391
      limit: 2
      """)
  ]

  struct Input: FieldSet {
    @Field("Latitude in degrees, north is positive.", .range(-90...90)) var latitude: Double
    @Field("Longitude in degrees, east is positive.", .range(-180...180)) var longitude: Double
    @Field("The most stops to list.", .range(StopSearch.limits)) var limit = 20
  }

  typealias Output = StopSearch

  static func run(_ input: Input, on service: StationboardClient, in context: ActionContext) async throws -> StopSearch
  {
    try await service.nearbyStops(latitude: input.latitude, longitude: input.longitude, limit: input.limit)
  }
}
