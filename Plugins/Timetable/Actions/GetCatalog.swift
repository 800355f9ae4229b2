import ActionKit

enum GetCatalog: Action {
  static let name = "getCatalog"
  static let summary = "Reads the catalog of academic years, programs, study years and groups."
  static let effect = Effect.read
  static let examples = [Example("The whole catalog", "{}")]

  struct Input: FieldSet {
    @Field("Whether to ask the network even if the cached file is fresh.") var refresh = false
  }

  struct Output: FieldSet {
    @Field("The academic years, the latest last.") var academicYears: [String]
    @Field("The programs.") var programs: [Program]
    @Field("How current it is.") var freshness: FreshnessFields
    @Field("Warnings about the data.") var warnings: [String]
  }

  static func run(_ input: Input, on service: TimetableClient, in context: ActionContext) async throws -> Output {
    let catalog = try await service.catalog(refresh: input.refresh)
    return try Output {
      $0.academicYears = catalog.content.academicYears
      $0.programs = catalog.content.programs
      $0.freshness = FreshnessFields(catalog, generatedAt: catalog.content.generatedAt)
      $0.warnings = catalog.warnings
    }
  }
}
