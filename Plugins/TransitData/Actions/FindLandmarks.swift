import ActionKit

enum FindLandmarks: Action {
  static let name = "findLandmarks"
  static let summary = "Finds the exits near a landmark in the installed data."
  static let effect = Effect.read
  static let examples = [Example("Near a pier", "text: pier")]

  struct Input: FieldSet {
    @Field("Part of the landmark's name, in any case.", .notEmpty) var text: String
  }

  struct Output: FieldSet {
    @Field("The landmarks, one entry for each exit that they are near.") var landmarks: [LandmarkMatchFields]
  }

  static func run(_ input: Input, on rail: TransitDataClient, in context: ActionContext) async throws -> Output {
    let landmarks = try await rail.installed().data.landmarks(containing: input.text)
    return try Output { $0.landmarks = landmarks.map(LandmarkMatchFields.init) }
  }
}
