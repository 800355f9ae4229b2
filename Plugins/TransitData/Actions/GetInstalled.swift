import ActionKit

enum GetInstalled: Action {
  static let name = "getInstalled"
  static let summary = "Reports which version of the data is installed."
  static let effect = Effect.read
  static let examples = [Example("The installed data", "{}")]

  struct Input: FieldSet {}

  struct Output: FieldSet {
    @Field("The installed data.") var installed: InstalledFields
    @Field("The source to credit where the data are shown or passed on.") var attribution: String
  }

  private static let attribution =
    "Station data: github.com/Oculis-Navigate/singapore-rail-data (MIT). Positions: Data.gov.sg and OneMap. "
    + "Descriptions: Singapore MRT Lines wiki (CC BY-SA)."

  static func run(_ input: Input, on rail: TransitDataClient, in context: ActionContext) async throws -> Output {
    let data = try await rail.installed()
    return try Output {
      $0.installed = InstalledFields(data)
      $0.attribution = attribution
    }
  }
}
