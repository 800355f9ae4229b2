import ActionKit
import LocalFiles

enum FileExists: Action {
  static let name = "exists"
  static let summary = "Checks whether a file or folder exists."
  static let effect = Effect.read
  static let examples = [Example("A file", "path: notes.txt")]

  struct Input: FieldSet {
    @Field("Path of a file or folder.", .notEmpty) var path: String
  }

  struct Output: FieldSet {
    @Field("Whether something exists at the path.") var exists: Bool
    @Field("Full path.") var path: String
    @Field("The kind of entry; absent if nothing exists at the path.") var kind: FileKind?
    @Field("Size of a file; absent if there is none.") var bytes: Int?
    @Field("When its content was last changed; absent if nothing exists at the path.") var modifiedAt: Timestamp?
  }

  static func run(_ input: Input, on files: LocalFiles, in context: ActionContext) async throws -> Output {
    let file = try files.file(input.path, in: context)
    let status = try await file.status()
    return try Output {
      $0.exists = status != nil
      $0.path = file.path
      $0.kind = status.map { FileKind($0.kind) }
      $0.bytes = status.flatMap { $0.kind == .file ? $0.bytes : nil }
      $0.modifiedAt = status?.modifiedAt
    }
  }
}
