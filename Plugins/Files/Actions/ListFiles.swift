import ActionKit
import LocalFiles

enum ListFiles: Action {
  static let name = "list"
  static let summary = "Lists the contents of a folder, without errand's own files."
  static let effect = Effect.read
  static let examples = [
    Example("Every table, in folders inside as well", "pattern: \"*.csv\"\nrecursive: true"),
    Example("One folder", "folder: archive"),
  ]

  struct Input: FieldSet {
    @Field("Path of the folder; absent means the one that paths start from.", .notEmpty) var folder: String?
    @Field(
      "The form of the names to list; `*` matches any text and `?` any one character, in any Unicode form.", .notEmpty)
    var pattern = "*"
    @Field("Whether to list the folders inside, too; symbolic links are never followed.") var recursive = false
    @Field("The most entries to list; if there are more, the step fails.", .range(1...100_000))
    var limit = 10_000
  }

  struct Output: FieldSet {
    @Field("The entries, in the order of their paths.") var entries: [Entry]
    @Field("Full path of the folder.") var path: String
    @Field(
      "Paths that aren't valid UTF-8, with such bytes as `\\xE9`, which no action can use; absent if there are none.")
    var unreadable: [String]?
  }

  struct Entry: FieldSet {
    @Field("Its name, without folders.") var name: String
    @Field("Its path, in the form that the other actions accept.") var path: String
    @Field("The kind of entry.") var kind: FileKind
    @Field("Size of a file; 0 for anything else.") var bytes: Int
    @Field("When its content was last changed.") var modifiedAt: Timestamp
  }

  static func run(_ input: Input, on files: LocalFiles, in context: ActionContext) async throws -> Output {
    let folder = try files.file(input.folder ?? ".", in: context)
    let (listed, unreadable) = try await folder.list(
      matching: input.pattern, isRecursive: input.recursive, limit: input.limit)
    let prefix = input.folder.map { $0.hasSuffix("/") ? $0 : "\($0)/" } ?? ""
    return try Output { output in
      output.path = folder.path
      output.unreadable = unreadable.isEmpty ? nil : unreadable
      output.entries = try listed.map { file in
        try Entry {
          $0.name = String(file.path.split(separator: "/").last ?? "")
          $0.path = prefix + file.path
          $0.kind = FileKind(file.status.kind)
          $0.bytes = file.status.bytes
          $0.modifiedAt = file.status.modifiedAt
        }
      }
    }
  }
}

/// The kind of file at a path.
enum FileKind: String, Choice {
  case file, folder, link, other

  init(_ kind: LocatedFile.Status.Kind) {
    self =
      switch kind {
      case .file: .file
      case .folder: .folder
      case .link: .link
      case .other: .other
      }
  }
}
