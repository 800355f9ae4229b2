import ActionKit
import LocalFiles

enum ReadBytes: Action {
  static let name = "readBytes"
  static let summary = "Reads a file as bytes."
  static let effect = Effect.read
  static let examples = [Example("A file in a folder", "path: archive/2025/marks.csv")]

  typealias Input = FilePath

  struct Output: FieldSet {
    @Field("The file's content.") var bytes: [UInt8]
    @Field("Full path of the file.") var path: String
  }

  static func run(_ input: Input, on files: LocalFiles, in context: ActionContext) async throws -> Output {
    let file = try files.file(input.path, in: context)
    let bytes = try await file.read(limit: files.maxBytes)
    return try Output {
      $0.bytes = bytes
      $0.path = file.path
    }
  }
}
