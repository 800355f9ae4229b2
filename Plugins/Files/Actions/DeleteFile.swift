import ActionKit
import LocalFiles

enum DeleteFile: PreviewingAction {
  static let name = "delete"
  static let summary = "Removes a file or an empty folder; succeeds if it is already gone."
  static let effect = Effect.idempotentWrite(within: .forever)
  static let examples = [Example("A file", "path: notes.txt")]

  struct Input: FieldSet {
    @Field("Path of the file, the symbolic link or the empty folder.", .notEmpty) var path: String
  }

  struct Output: FieldSet {
    @Field("Full path.") var path: String
    @Field("Whether there was something to remove.") var deleted: Bool
  }

  static func preview(_ input: Input, on files: LocalFiles, in context: ActionContext) async throws -> [Change] {
    let file = try files.file(input.path, in: context)
    guard let status = try await file.status(for: .remove) else { return [] }
    let size = status.kind == .file ? "\(status.bytes) bytes" : "there"
    return [Change("the \(status.kind.rawValue) '\(file.path)'", from: size, to: nil)]
  }

  static func run(_ input: Input, on files: LocalFiles, in context: ActionContext) async throws -> Output {
    let file = try files.file(input.path, in: context)
    let deleted = try await file.delete()
    return try Output {
      $0.path = file.path
      $0.deleted = deleted
    }
  }
}
