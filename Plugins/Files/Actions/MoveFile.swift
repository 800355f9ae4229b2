import ActionKit
import LocalFiles

enum MoveFile: PreviewingAction, ReconcilingAction {
  static let name = "move"
  static let summary = "Moves or renames a file or folder, also to another file system."
  static let effect = Effect.write
  static let examples = [Example("Into a folder", "from: notes.txt\nto: archive/notes.txt")]

  struct Input: FieldSet {
    @Field("Path of the file or folder.", .notEmpty) var from: String
    @Field("Its new path; a missing folder above it is created.", .notEmpty) var to: String
    @Field("Whether to replace a file at the new path; if not, the step fails.") var replace = false
  }

  struct Output: FieldSet {
    @Field("Its full path now.") var path: String
  }

  struct Baseline: FieldSet {
    @Field("Which file of the machine it was.") var identity: String?
    @Field("Its size; absent if it isn't a file.") var bytes: Int?
    @Field("When its content was last changed.") var modifiedAt: Timestamp?
  }

  static func preview(_ input: Input, on files: LocalFiles, in context: ActionContext) async throws -> [Change] {
    let (from, to) = (try files.file(input.from, in: context), try files.file(input.to, in: context))
    guard let status = try await from.status(for: .move) else { return [] }
    let old = try await to.status(for: .move).map { "a \($0.kind.rawValue)" }
    return [
      Change("the \(status.kind.rawValue) '\(from.path)'", from: "there", to: nil),
      Change("the \(status.kind.rawValue) '\(to.path)'", from: old, to: "the one from '\(from.path)'"),
    ]
  }

  static func baseline(_ input: Input, on files: LocalFiles, in context: ActionContext) async throws -> Baseline {
    let status = try await files.file(input.from, in: context).status()
    return try Baseline {
      $0.identity = status?.identity
      $0.bytes = status.flatMap { $0.kind == .file ? $0.bytes : nil }
      $0.modifiedAt = status?.modifiedAt
    }
  }

  static func reconcile(
    _ input: Input, with baseline: Baseline, startedAt: Timestamp, on files: LocalFiles, in context: ActionContext
  ) async throws -> Reconciliation<Output> {
    let (from, to) = (try files.file(input.from, in: context), try files.file(input.to, in: context))
    guard let identity = baseline.identity else { return .notDone }
    let (source, target) = (try await from.status(), try await to.status())
    if source?.identity == identity { return .notDone }
    if target?.identity == identity { return .done(try Output { $0.path = to.path }) }
    // A move to another file system creates another file, with the same size and time.
    if source == nil, let target, target.kind == .file, target.bytes == baseline.bytes,
      target.modifiedAt == baseline.modifiedAt
    {
      return .done(try Output { $0.path = to.path })
    }
    return .unknown("look whether '\(to.path)' is what '\(from.path)' was")
  }

  static func run(_ input: Input, on files: LocalFiles, in context: ActionContext) async throws -> Output {
    let (from, to) = (try files.file(input.from, in: context), try files.file(input.to, in: context))
    try await from.move(to: to, replacing: input.replace)
    return try Output { $0.path = to.path }
  }
}
