import ActionKit

enum FindStations: Action {
  static let name = "findStations"
  static let summary = "Lists the stations of the installed data that are on a line, have a name, or are step-free."
  static let effect = Effect.read
  static let examples = [
    Example("Step-free stations on a line", "line: NSL\nstepFree: true"), Example("By part of the name", "name: quay"),
  ]

  struct Input: FieldSet {
    @Field("Part of the name, in any case.", .notEmpty) var name: String?
    @Field("Line, in its short or long form: NS or NSL.", .notEmpty) var line: String?
    @Field("Whether to list only stations with an exit that is described as step-free.") var stepFree = false
  }

  struct Output: FieldSet {
    @Field("The stations, in the data's order.") var stations: [StationFields]
  }

  static func run(_ input: Input, on rail: TransitDataClient, in context: ActionContext) async throws -> Output {
    let stations = try await rail.installed().data.stations(
      containing: input.name, line: input.line, isStepFree: input.stepFree)
    return try Output { $0.stations = stations.map(StationFields.init) }
  }
}
