import ActionKit

enum CreateStudent: PreviewingAction, ReconcilingAction {
  static let name = "createStudent"
  static let summary = "Adds a student to a class of a markbook."
  static let effect = Effect.write
  static let examples = [
    Example(
      "A new student",
      """
      markbookKey: 1207731
      sid: "0047999"
      familyName: Lee
      givenName: Susannah
      preferredName: Sue
      gender: female
      classKey: 4
      """)
  ]

  struct Input: FieldSet {
    @Field("Key of the markbook.") var markbookKey: Int
    @Field("The student's id in the school's own system, new in the markbook.", .notEmpty) var sid: String
    @Field("Family name.") var familyName: String
    @Field("Given name.") var givenName: String
    @Field("The name the student goes by.") var preferredName = ""
    @Field("The gender, which the service requires and never returns.") var gender: Gender
    @Field("Key of the class in the markbook.") var classKey: Int
  }

  typealias Output = CreateStudentResponse

  struct Baseline: FieldSet {
    @Field("Keys of the students who had the id before.") var studentKeys: [Int]
  }

  static func run(_ input: Input, on markbook: MarkbookClient, in context: ActionContext) async throws -> Output {
    try await onceUnderSession(input, on: markbook, in: context) {
      try await markbook.createStudent(
        markbookKey: input.markbookKey, sid: input.sid, familyName: input.familyName, givenName: input.givenName,
        preferredName: input.preferredName, gender: input.gender, classKey: input.classKey)
    }
  }

  static func baseline(
    _ input: Input, on markbook: MarkbookClient, in context: ActionContext
  ) async throws -> Baseline {
    let keys = try await namesakes(input, on: markbook).map(\.key)
    return try Baseline { $0.studentKeys = keys }
  }

  static func reconcile(
    _ input: Input, with baseline: Baseline, startedAt: Timestamp, on markbook: MarkbookClient,
    in context: ActionContext
  ) async throws -> Reconciliation<Output> {
    try await context.reconcile(since: startedAt) {
      try Reconciliation(
        new: await namesakes(input, on: markbook).filter { !baseline.studentKeys.contains($0.key) },
        wanted: input.sid, in: input.markbookKey, "student with the id", "students with the id"
      ) { key in try Output { $0.studentKey = key } }
    }
  }

  static func preview(
    _ input: Input, on markbook: MarkbookClient, in context: ActionContext
  ) async throws -> [Change] {
    let head = try await markbook.getMarkbook(key: input.markbookKey).head
    let home = try head.homeClass(input.classKey)
    return [
      Change(
        "Student \(input.givenName) \(input.familyName) (\(input.sid)) of '\(head.markbookName)'", from: nil,
        to: "in class \(home.name)")
    ]
  }

  /// The students with that id, or with one that is alike.
  private static func namesakes(_ input: Input, on markbook: MarkbookClient) async throws -> [Namesake] {
    try await markbook.getMarkbook(key: input.markbookKey).students.filter { $0.student.sid.isAlike(input.sid) }
      .map { Namesake(key: $0.student.key, name: $0.student.sid) }
  }
}
