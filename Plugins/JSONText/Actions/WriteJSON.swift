import ActionKit
import LocalFiles

enum WriteJSON: PreviewingAction {
  static let name = "write"
  static let summary = "Writes a value as a file in JSON, replacing one that is there."
  static let effect = Effect.idempotentWrite(within: .forever)
  static let examples = [Example("For people", "path: out/ada.json\nvalue: { name: Ada, marks: [93.5, 88] }")]

  struct Input: FieldSet {
    @Field("Path of the file; its folder is made if it is missing.", .notEmpty) var path: String
    @Included var content: JSONContent
  }

  struct Output: FieldSet {
    @Field("Full path of the file.") var path: String
    @Field("Its size.") var bytes: Int
    @Field("Whether it was written; one that holds the same already is left as it is.") var changed: Bool
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
