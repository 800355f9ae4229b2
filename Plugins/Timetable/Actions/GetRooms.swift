import ActionKit

enum GetRooms: Action {
  static let name = "getRooms"
  static let summary = "Reads the addresses of the rooms."
  static let effect = Effect.read
  static let examples = [Example("All rooms", "{}")]

  struct Input: FieldSet {
    @Field("Whether to ask the network even if the cached file is fresh.") var refresh = false
  }

  struct Output: FieldSet {
    @Field("The rooms, by code; none if the publisher has no legend at the moment.") var rooms: [Room]
    @Field("How current they are.") var freshness: FreshnessFields
    @Field("Warnings about the data.") var warnings: [String]
  }

  static func run(_ input: Input, on service: TimetableClient, in context: ActionContext) async throws -> Output {
    let legend = try await service.rooms(refresh: input.refresh)
    return try Output {
      $0.rooms = legend.content.rooms
      $0.freshness = FreshnessFields(legend, generatedAt: nil)
      $0.warnings = legend.warnings
    }
  }
}
