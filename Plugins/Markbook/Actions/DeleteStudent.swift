import ActionKit

enum DeleteStudent: PreviewingAction, ReconcilingAction, RetryingAction {
  static let name = "deleteStudent"
  static let summary = "Deletes a student; updateStudentClass can restore them."
  // Repeating the call deletes nothing more. But the service may refuse the repetition, and then its answer lacks the
  // fields that restoring the student needs. So a lost answer is looked up first.
  static let effect = Effect.write
  static let retry = RetrySchedule.standard
  static let examples = [
    Example(
      "A student who left",
      """
      markbookKey: 1207731
      studentKey: 14
      sid: "0047251"
      """)
  ]

  typealias Input = StudentReference

  struct Output: FieldSet {
    @Field("Key of the student, needed to restore them.") var studentKey: Int
    @Field("The student's id, needed to restore them.") var sid: String
    @Field("Key of the class they were in; absent if they had been deleted already.") var classKey: Int?
  }

  struct Baseline: FieldSet {
    @Field("Key of the class they were in; absent if they had been deleted already.") var classKey: Int?
  }

  /// Reads before it deletes, because it is unknown whether the service still shows a deleted student's class.
  static func run(_ input: Input, on markbook: MarkbookClient, in context: ActionContext) async throws -> Output {
    let classKey = try await student(input, on: markbook)?.classKey
    return try await onceUnderSession(input, on: markbook, in: context) {
      try await markbook.deleteStudent(markbookKey: input.markbookKey, studentKey: input.studentKey, sid: input.sid)
      return try output(input, classKey: classKey)
    }
  }

  static func baseline(
    _ input: Input, on markbook: MarkbookClient, in context: ActionContext
  ) async throws -> Baseline {
    let classKey = try await student(input, on: markbook)?.classKey
    return try Baseline { $0.classKey = classKey }
  }

  static func reconcile(
    _ input: Input, with baseline: Baseline, startedAt: Timestamp, on markbook: MarkbookClient,
    in context: ActionContext
  ) async throws -> Reconciliation<Output> {
    try await context.reconcile(since: startedAt) {
      // A student who is missing now and was missing before proves nothing.
      guard let classKey = baseline.classKey else { return .notDone }
      guard let student = try await student(input, on: markbook) else {
        return .done(try output(input, classKey: classKey))
      }
      if student.classKey == classKey { return .notDone }
      return .unknown(
        "\(student.label) was in the class with key \(classKey), and is now shown in the one with key "
          + "\(student.classKey); check whether they are deleted.")
    }
  }

  static func preview(
    _ input: Input, on markbook: MarkbookClient, in context: ActionContext
  ) async throws -> [Change] {
    let book = try await markbook.getMarkbook(key: input.markbookKey)
    let student = try input.student(in: book)
    return [
      Change(
        "Student \(student.label) of '\(book.head.markbookName)'",
        from: "in class \(student.className), key \(student.classKey)", to: nil)
    ]
  }

  private static func student(_ input: Input, on markbook: MarkbookClient) async throws -> MarkbookStudent? {
    try await input.student(ifIn: markbook.getMarkbook(key: input.markbookKey))
  }

  private static func output(_ input: Input, classKey: Int?) throws -> Output {
    try Output {
      $0.studentKey = input.studentKey
      $0.sid = input.sid
      $0.classKey = classKey
    }
  }
}
