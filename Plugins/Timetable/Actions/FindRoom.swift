import ActionKit

enum FindRoom: Action {
  static let name = "findRoom"
  static let summary = "Finds the address of a room by its code in a timetable."
  static let effect = Effect.read
  static let examples = [Example("A laboratory", "room: lab3")]

  struct Input: FieldSet {
    @Field("Code of the room, in any case and spacing, or a text that holds it.", .notEmpty) var room: String
  }

  struct Output: FieldSet {
    @Field("The room's address; absent if the legend doesn't give it.") var address: String?
    @Field("How current the legend is.") var freshness: FreshnessFields
    @Field("Warnings about the data.") var warnings: [String]
  }

  static func run(_ input: Input, on service: TimetableClient, in context: ActionContext) async throws -> Output {
    let legend = try await service.rooms()
    return try Output {
      $0.address = legend.content.address(of: input.room)
      $0.freshness = FreshnessFields(legend, generatedAt: nil)
      $0.warnings = legend.warnings
    }
  }
}
