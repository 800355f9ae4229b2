import ActionKit
import LocalFiles

enum WriteJSON: PreviewingAction {
  static let name = "write"
  static let summary = "Writes a value as a file in JSON, replacing one that is there."
  static let effect = Effect.idempotentWrite(within: .forever)
  static let examples = [Example("For people", "path: out/ada.json\nvalue: { name: Ada, marks: [93.5, 88] }")]

  struct Input: FieldSet {
    @Field("Path of the file; its folder is made if it is missing.", .notEmpty) var path: String
    @Field("The value.") var value: Value
    @Field("Whether every item has its own line, or all is on one.") var layout = JSONLayout.pretty
    @Field("Whether the keys of maps are in alphabetical order, and not in that of the value.") var sortKeys = false
  }

  struct Output: FieldSet {
    @Field("Full path of the file.") var path: String
    @Field("Its size.") var bytes: Int
    @Field("Whether it was written; one that holds the same already is left as it is.") var changed: Bool
  }

  static func preview(_ input: Input, on files: LocalFiles, in context: ActionContext) async throws -> [Change] {
    let file = try files.file(input.path, in: context)
    let bytes = Array(try input.layout.text(input.value, sortsKeys: input.sortKeys).utf8)
    let status = try await file.status()
    if status?.bytes == bytes.count, try await file.read(limit: files.maxBytes) == bytes { return [] }
    return [
      Change("the file '\(file.path)'", from: status.map { "\($0.bytes) bytes" }, to: "\(bytes.count) bytes")
    ]
  }

  static func run(_ input: Input, on files: LocalFiles, in context: ActionContext) async throws -> Output {
    let file = try files.file(input.path, in: context)
    let bytes = Array(try input.layout.text(input.value, sortsKeys: input.sortKeys).utf8)
    let changed = try await file.write(bytes)
    return try Output {
      $0.path = file.path
      $0.bytes = bytes.count
      $0.changed = changed
    }
  }
}
