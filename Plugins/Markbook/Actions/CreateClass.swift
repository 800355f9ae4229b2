import ActionKit

enum CreateClass: PreviewingAction, ReconcilingAction {
  static let name = "createClass"
  static let summary = "Adds a class to a markbook."
  static let effect = Effect.write
  static let examples = [
    Example(
      "A new class",
      """
      markbookKey: 1207731
      name: 8GEO-W
      teacherFamilyName: Thackeray
      teacherGivenName: Mark
      """)
  ]

  struct Input: FieldSet {
    @Field("Key of the markbook.") var markbookKey: Int
    @Field("Name of the class, new in the markbook.", .notEmpty) var name: String
    @Field("The teacher's family name.") var teacherFamilyName: String
    @Field("The teacher's given name.") var teacherGivenName: String
  }

  typealias Output = CreateClassResponse

  struct Baseline: FieldSet {
    @Field("Keys of the classes that had the name before.") var classKeys: [Int]
  }

  static func run(_ input: Input, on markbook: MarkbookClient, in context: ActionContext) async throws -> Output {
    try await onceUnderSession(input, on: markbook, in: context) {
      try await markbook.createClass(
        markbookKey: input.markbookKey, name: input.name, teacherFamilyName: input.teacherFamilyName,
        teacherGivenName: input.teacherGivenName)
    }
  }

  static func baseline(
    _ input: Input, on markbook: MarkbookClient, in context: ActionContext
  ) async throws -> Baseline {
    let keys = try await namesakes(input, on: markbook).map(\.key)
    return try Baseline { $0.classKeys = keys }
  }

  static func reconcile(
    _ input: Input, with baseline: Baseline, startedAt: Timestamp, on markbook: MarkbookClient,
    in context: ActionContext
  ) async throws -> Reconciliation<Output> {
    try await context.reconcile(since: startedAt) {
      try Reconciliation(
        new: await namesakes(input, on: markbook).filter { !baseline.classKeys.contains($0.key) },
        wanted: input.name, in: input.markbookKey, "class", "classes named"
      ) { key in try Output { $0.classKey = key } }
    }
  }

  static func preview(
    _ input: Input, on markbook: MarkbookClient, in context: ActionContext
  ) async throws -> [Change] {
    let book = try await markbook.getMarkbook(key: input.markbookKey)
    return [
      Change(
        "Class \(input.name) of '\(book.head.markbookName)'", from: nil,
        to: "taught by \(input.teacherGivenName) \(input.teacherFamilyName)")
    ]
  }

  /// The classes of that name, or of one that is alike.
  private static func namesakes(_ input: Input, on markbook: MarkbookClient) async throws -> [Namesake] {
    try await markbook.getMarkbook(key: input.markbookKey).head.classes.filter { $0.name.isAlike(input.name) }
      .map { Namesake(key: $0.key, name: $0.name) }
  }
}
