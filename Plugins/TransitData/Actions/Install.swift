import ActionKit
import LocalFiles

enum Install: Action {
  static let name = "install"
  static let summary = "Installs a station file from this machine if it is newer than the installed data."
  static let effect = Effect.idempotentWrite(within: .forever)
  static let examples = [Example("A file that came with a program", "from: data/stage3_final.json")]

  struct Input: FieldSet {
    @Field("Path of the file, in the form that releases have.", .notEmpty) var from: String
  }

  static func run(_ input: Input, on rail: TransitDataClient, in context: ActionContext) async throws -> UpdateFields {
    let file = try rail.files.file(input.from, in: context)
    return try UpdateFields(await rail.install(file.read(limit: rail.settings.maxFileBytes)))
  }
}
