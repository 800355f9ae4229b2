import ActionKit

enum PutStudentResult: PreviewingAction {
  static let name = "putStudentResult"
  static let summary = "Records one student's result for one task, replacing an earlier one."
  static let effect = Effect.idempotentWrite(within: .forever)
  static let examples = [
    Example(
      "A mark",
      """
      markbookKey: 1207731
      studentKey: 14
      sid: "0047251"
      taskKey: 14
      taskName: Presentation + Q/A
      result: "9.5"
      """)
  ]

  struct Input: ValidatedFieldSet {
    @Included var reference: StudentReference
    @Field("Key of the task, from a fresh reading of the markbook.") var taskKey: Int
    @Field("The same task's name; the service checks that the two match.", .notEmpty) var taskName: String
    @Field("The result as text: a number with a decimal point, a grade, or words.") var result: String
    @Field("Whether an empty result is intended; the service doesn't document its effect.")
    var allowEmpty = false

    func conflicts() -> [Conflict] {
      result.isEmpty && !allowEmpty
        ? [Conflict("must not be empty, unless 'allowEmpty: true' says that it is intended", at: "result")] : []
    }
  }

  typealias Output = StatusResponse

  static func run(_ input: Input, on markbook: MarkbookClient, in context: ActionContext) async throws -> Output {
    try await markbook.putStudentResult(
      markbookKey: input.reference.markbookKey, studentKey: input.reference.studentKey, sid: input.reference.sid,
      taskKey: input.taskKey,
      taskName: input.taskName, result: input.result)
  }

  static func preview(
    _ input: Input, on markbook: MarkbookClient, in context: ActionContext
  ) async throws -> [Change] {
    let book = try await markbook.getMarkbook(key: input.reference.markbookKey)
    let student = try input.reference.student(in: book)
    let results = book.students.first { $0.student == student }?.results ?? []
    guard
      let now = results.first(where: { $0.taskKey == input.taskKey && $0.taskName.hasSameScalars(as: input.taskName) })
    else {
      throw ActionError(
        .notFound,
        "Markbook '\(book.head.markbookName)' has no task with key \(input.taskKey) and name '\(input.taskName)'.")
    }
    return [
      Change(
        "\(now.taskName) of \(student.label)", from: now.mark.raw.isEmpty ? nil : now.mark.raw,
        to: input.result.isEmpty ? nil : input.result)
    ]
  }
}
