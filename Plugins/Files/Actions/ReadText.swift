import ActionKit
import LocalFiles

enum ReadText: Action {
  static let name = "read"
  static let summary = "Reads a file as UTF-8 text."
  static let effect = Effect.read
  static let examples = [Example("A file beside errand.yaml", "path: notes.txt")]

  typealias Input = FilePath

  struct Output: FieldSet {
    @Field("The file's content, without a byte order mark.") var text: String
    @Field("Full path of the file.") var path: String
  }

  static func run(_ input: Input, on files: LocalFiles, in context: ActionContext) async throws -> Output {
    let file = try files.file(input.path, in: context)
    let text = try await file.text(limit: files.maxBytes)
    return try Output {
      $0.text = text
      $0.path = file.path
    }
  }
}
