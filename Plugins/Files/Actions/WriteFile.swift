import ActionKit
import LocalFiles

enum WriteFile: PreviewingAction {
  static let name = "write"
  static let summary = "Creates or replaces a file in one step, so that no reader sees half of it."
  static let effect = Effect.idempotentWrite(within: .forever)
  static let examples = [
    Example("A text", "path: reports/today.md\ntext: |\n  # Today\n\n  All is well."),
    Example("Bytes", "path: dot.bin\nbytes: AAEC/w=="),
  ]

  struct Input: ValidatedFieldSet {
    @Field("Path of the file; a missing folder is created, and a symbolic link is refused.", .notEmpty)
    var path: String
    @Field("The new content, as UTF-8 text; either this or `bytes`.") var text: String?
    @Field("The new content, as bytes; either this or `text`.") var bytes: [UInt8]?

    func conflicts() -> [Conflict] { FileContent.conflicts(text, bytes) }
  }

  struct Output: FieldSet {
    @Field("Full path of the file.", .isFile) var path: String
    @Field("Its size.") var bytes: Int
    @Field("Whether the file was written; a file that already holds the same is left as it is.") var changed: Bool
  }

  static func preview(_ input: Input, on files: LocalFiles, in context: ActionContext) async throws -> [Change] {
    let file = try files.file(input.path, in: context)
    let new = FileContent.bytes(input.text, input.bytes)
    var old: [UInt8]?
    if let status = try await file.status(for: .write), status.kind == .file {
      guard status.bytes <= files.maxBytes else {
        return [Change("the file '\(file.path)'", from: "\(status.bytes) bytes", to: FileContent.words(new))]
      }
      old = try await file.read(limit: files.maxBytes)
    }
    if old == new { return [] }
    return [Change("the file '\(file.path)'", from: old.map(FileContent.words), to: FileContent.words(new))]
  }

  static func run(_ input: Input, on files: LocalFiles, in context: ActionContext) async throws -> Output {
    let file = try files.file(input.path, in: context)
    let bytes = FileContent.bytes(input.text, input.bytes)
    let changed = try await file.write(bytes)
    return try Output {
      $0.path = file.path
      $0.bytes = bytes.count
      $0.changed = changed
    }
  }
}
