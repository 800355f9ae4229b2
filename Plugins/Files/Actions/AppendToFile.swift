import ActionKit
import LocalFiles

enum AppendToFile: PreviewingAction, ReconcilingAction {
  static let name = "append"
  static let summary = "Appends to a file, such as a line to a log."
  static let effect = Effect.write
  static let examples = [Example("A line", "path: log/seen.txt\ntext: \"Ada: 93.5\\n\"")]

  struct Input: ValidatedFieldSet {
    @Field("Path of the file; a missing file or folder is created.", .notEmpty) var path: String
    @Field("The text to add, as UTF-8, with its own line break if it is a line; either this or `bytes`.")
    var text: String?
    @Field("The bytes to add; either this or `text`.") var bytes: [UInt8]?

    func conflicts() -> [Conflict] { FileContent.conflicts(text, bytes) }
  }

  struct Output: FieldSet {
    @Field("Full path of the file.", .isFile) var path: String
    @Field("The file's size afterwards.") var bytes: Int
  }

  struct Baseline: FieldSet {
    @Field("Size of the file before; 0 if there was none.") var bytes: Int
  }

  static func preview(_ input: Input, on files: LocalFiles, in context: ActionContext) async throws -> [Change] {
    let file = try files.file(input.path, in: context)
    let size = try await size(of: file)
    let added = FileContent.bytes(input.text, input.bytes).count
    // A sparse file may be as large as an int says.
    let sum = (size ?? 0).magnitude + added.magnitude
    return [Change("the file '\(file.path)'", from: size.map { "\($0) bytes" }, to: "\(sum) bytes")]
  }

  static func baseline(_ input: Input, on files: LocalFiles, in context: ActionContext) async throws -> Baseline {
    let size = try await size(of: files.file(input.path, in: context))
    return try Baseline { $0.bytes = size ?? 0 }
  }

  /// Compares the bytes after the file's old end with the added ones; the file may have grown since.
  static func reconcile(
    _ input: Input, with baseline: Baseline, startedAt: Timestamp, on files: LocalFiles, in context: ActionContext
  ) async throws -> Reconciliation<Output> {
    let file = try files.file(input.path, in: context)
    let added = FileContent.bytes(input.text, input.bytes)
    let size = try await size(of: file) ?? 0
    if size == baseline.bytes { return added.isEmpty ? .done(try output(file, size)) : .notDone }
    let look = "look at '\(file.path)' from byte \(baseline.bytes) on, where it ended before the step"
    let (end, isTooLarge) = baseline.bytes.addingReportingOverflow(added.count)
    guard !isTooLarge, size >= end, size <= files.maxBytes else { return .unknown(look) }
    let found = try await file.read(limit: files.maxBytes).dropFirst(baseline.bytes).prefix(added.count)
    return found.elementsEqual(added) ? .done(try output(file, end)) : .unknown(look)
  }

  static func run(_ input: Input, on files: LocalFiles, in context: ActionContext) async throws -> Output {
    let file = try files.file(input.path, in: context)
    return try output(file, try await file.append(FileContent.bytes(input.text, input.bytes)))
  }

  private static func size(of file: LocatedFile) async throws -> Int? {
    try await file.status(for: .append).flatMap { $0.kind == .file ? $0.bytes : nil }
  }

  private static func output(_ file: LocatedFile, _ size: Int) throws -> Output {
    try Output {
      $0.path = file.path
      $0.bytes = size
    }
  }
}
