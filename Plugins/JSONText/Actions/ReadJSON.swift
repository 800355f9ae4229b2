import ActionKit
import LocalFiles

enum ReadJSON: Action {
  static let name = "read"
  static let summary = "Reads a JSON file, or a part of it."
  static let effect = Effect.read
  static let examples = [
    Example("A whole file", "path: classes.json"),
    Example("One part", "path: classes.json\nat: /classes/0/teacher/name"),
  ]

  struct Input: FieldSet {
    @Field("Path of the file.", .notEmpty) var path: String
    @Field("Place of the part to read (RFC 6901); empty for the whole value.", .pattern(.jsonPointer)) var at = ""
  }

  struct Output: FieldSet {
    @Field("The value at that place.") var value: Value
  }

  static func run(_ input: Input, on files: LocalFiles, in context: ActionContext) async throws -> Output {
    let file = try files.file(input.path, in: context)
    let text = try await file.text(limit: files.maxBytes)
    let value = try JSONReading.value(of: text, at: input.at, called: "'\(file.path)'")
    return try Output { $0.value = value }
  }
}
