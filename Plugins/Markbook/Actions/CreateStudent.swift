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
    @Field("The gender, which the service wants and never tells again.") var gender: Gender
    @Field("Key of the class, as the markbook has it.") var classKey: Int
  }

  struct Output: FieldSet {
    @Field("Key of the new student in the markbook.") var studentKey: Int
  }

  struct Baseline: FieldSet {
    @Field("Keys of the students who had the id before.") var studentKeys: [Int]
  }

  static func run(_ input: Input, on markbook: MarkbookClient, in context: ActionContext) async throws -> Output {
    try await onceUnderSession(input, on: markbook, in: context) {
      let answer = try await markbook.createStudent(
        markbookKey: input.markbookKey, sid: input.sid, familyName: input.familyName, givenName: input.givenName,
        preferredName: input.preferredName, gender: input.gender, classKey: input.classKey)
      return try Output { $0.studentKey = answer.studentKey }
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
      let new = try await namesakes(input, on: markbook).filter { !baseline.studentKeys.contains($0.key) }
      guard let first = new.first else { return .notDone }
      guard new.count == 1 else {
        return .unknown("Markbook \(input.markbookKey) has \(new.count) new students with the id '\(input.sid)'.")
      }
      guard first.studentID.hasSameScalars(as: input.sid) else {
        return .unknown(
          "Markbook \(input.markbookKey) has a new student with the id '\(first.studentID)', which is not quite "
            + "'\(input.sid)'; see whose it is.")
      }
      return .done(try Output { $0.studentKey = first.key })
    }
  }

  static func preview(
    _ input: Input, on markbook: MarkbookClient, in context: ActionContext
  ) async throws -> [Change] {
    let book = try await markbook.getMarkbook(key: input.markbookKey)
    guard let home = book.classList.first(where: { $0.key == input.classKey }) else {
      throw ActionError(
        .notFound, "Markbook '\(book.head.markbookName)' has no class with key \(input.classKey).")
    }
    return [
      Change(
        "Student \(input.givenName) \(input.familyName) (\(input.sid)) of '\(book.head.markbookName)'", from: nil,
        to: "in class \(home.name)")
    ]
  }

  /// The students with that id, or with one that is alike.
  private static func namesakes(_ input: Input, on markbook: MarkbookClient) async throws -> [MarkbookStudent] {
    try await markbook.getMarkbook(key: input.markbookKey).studentList.filter { $0.studentID.isAlike(input.sid) }
  }
}
