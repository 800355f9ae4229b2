import ActionKit

enum GetStation: Action {
  static let name = "getStation"
  static let summary = "Looks up one station, by code or by name, in the installed data."
  static let effect = Effect.read
  static let examples = [Example("By code", "station: NS61"), Example("By name", "station: Lantern Quay")]

  struct Input: FieldSet {
    @Field("Code or name, in any case, with or without MRT STATION or LRT STATION.", .notEmpty)
    var station: String
  }

  struct Output: FieldSet {
    @Field("The station.") var station: StationFields
  }

  static func run(_ input: Input, on rail: TransitDataClient, in context: ActionContext) async throws -> Output {
    let station = try await rail.installed().data.station(input.station)
    return try Output { $0.station = StationFields(station) }
  }
}
