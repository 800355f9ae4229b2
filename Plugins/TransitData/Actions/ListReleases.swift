import ActionKit

enum ListReleases: Action {
  static let name = "listReleases"
  static let summary = "Lists releases as GitHub orders them, drafts and previews included."
  static let effect = Effect.read
  static let examples = [Example("The last ten", "perPage: 10")]

  struct Input: FieldSet {
    @Field("The number of releases on a page.", .range(1...100)) var perPage = 30
    @Field("The number of the page, from 1.", .min(1)) var page = 1
  }

  struct Output: FieldSet {
    @Field("The releases.") var releases: [ReleaseFields]
  }

  static func run(_ input: Input, on rail: TransitDataClient, in context: ActionContext) async throws -> Output {
    let releases = try await rail.releases(perPage: input.perPage, page: input.page)
    return try Output { $0.releases = releases.map(ReleaseFields.init) }
  }
}
