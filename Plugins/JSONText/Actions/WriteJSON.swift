import ActionKit
import LocalFiles

enum WriteJSON: PreviewingAction {
  static let name = "write"
  static let summary = "Writes a value to a JSON file, replacing an existing one."
  static let effect = Effect.idempotentWrite(within: .forever)
  static let examples = [Example("For people", "path: out/ada.json\nvalue: { name: Ada, marks: [93.5, 88] }")]

  struct Input: FieldSet {
    @Field("Path of the file; a missing folder is created.", .notEmpty) var path: String
    @Included var content: JSONContent
  }

  struct Output: FieldSet {
    @Field("Full path of the file.", .isFile) var path: String
    @Field("Its size.") var bytes: Int
    @Field("Whether the file was written; a file that already holds the same is left as it is.") var changed: Bool
  }

  static func preview(_ input: Input, on files: LocalFiles, in context: ActionContext) async throws -> [Change] {
    let file = try files.file(input.path, in: context)
    return try await file.changes(to: Array(input.content.text().utf8), limit: files.maxBytes) {
      "\($0.count) bytes"
    }
  }

  static func run(_ input: Input, on files: LocalFiles, in context: ActionContext) async throws -> Output {
    let file = try files.file(input.path, in: context)
    let bytes = Array(try input.content.text().utf8)
    let changed = try await file.write(bytes)
    return try Output {
      $0.path = file.path
      $0.bytes = bytes.count
      $0.changed = changed
    }
  }
}
