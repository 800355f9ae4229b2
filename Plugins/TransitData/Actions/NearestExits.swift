import ActionKit

enum NearestExits: Action {
  static let name = "nearestExits"
  static let summary = "Finds the station exits near a place in the installed data, the nearest first."
  static let effect = Effect.read
  static let examples = [
    Example("Three exits", "latitude: 1.284\nlongitude: 103.8515\nlimit: 3"),
    Example(
      "Step-free, and within ten minutes on foot",
      "latitude: 1.284\nlongitude: 103.8515\nwithin: 800\nstepFree: true"),
  ]

  struct Input: FieldSet {
    @Field("Degrees north of the place.", .range(-90...90)) var latitude: Double
    @Field("Degrees east of the place.", .range(-180...180)) var longitude: Double
    @Field("The most exits to list.", .range(1...1000)) var limit = 5
    @Field("How far away an exit may be, in metres as the crow flies.", .min(0)) var within: Double?
    @Field("Line that the station must be on, in its short or long form.", .notEmpty) var line: String?
    @Field("Whether to list only exits that are described as step-free.") var stepFree = false
  }

  struct Output: FieldSet {
    @Field("The exits, the nearest first.") var exits: [ExitMatchFields]
  }

  static func run(_ input: Input, on rail: TransitDataClient, in context: ActionContext) async throws -> Output {
    let exits = try await rail.installed().data.exits(
      near: Position(latitude: input.latitude, longitude: input.longitude), within: input.within, line: input.line,
      isStepFree: input.stepFree, limit: input.limit)
    return try Output { $0.exits = exits.map(ExitMatchFields.init) }
  }
}
