import ActionKit

enum DeleteStudent: PreviewingAction {
  static let name = "deleteStudent"
  static let summary = "Deletes a student so that updateStudentClass can bring them back."
  static let effect = Effect.idempotentWrite(within: .forever)
  static let examples = [
    Example(
      "A student who left",
      """
      markbookKey: 1207731
      studentKey: 14
      sid: "0047251"
      """)
  ]

  struct Input: FieldSet {
    @Field("Key of the markbook.") var markbookKey: Int
    @Field("Key of the student.") var studentKey: Int
    @Field("The same student's id in the school's own system.", .notEmpty) var sid: String
  }

  struct Output: FieldSet {
    @Field("Key of the student, which bringing them back needs.") var studentKey: Int
    @Field("The student's id, which bringing them back needs.") var sid: String
    @Field("Key of the class they were in; absent if they had been deleted already.") var classKey: Int?
  }

  /// Reads before it deletes, because nobody knows whether the service still shows a deleted student's class.
  static func run(_ input: Input, on markbook: MarkbookClient, in context: ActionContext) async throws -> Output {
    let student = try await markbook.getMarkbook(key: input.markbookKey).student(input.studentKey, sid: input.sid)
    try await markbook.deleteStudent(markbookKey: input.markbookKey, studentKey: input.studentKey, sid: input.sid)
    return try Output {
      $0.studentKey = input.studentKey
      $0.sid = input.sid
      $0.classKey = student?.classKey
    }
  }

  static func preview(
    _ input: Input, on markbook: MarkbookClient, in context: ActionContext
  ) async throws -> [Change] {
    let book = try await markbook.getMarkbook(key: input.markbookKey)
    let student = try await markbook.student(input.studentKey, sid: input.sid, in: book)
    return [
      Change(
        "Student \(student.label) of '\(book.head.markbookName)'",
        from: "in class \(student.className), key \(student.classKey)", to: nil)
    ]
  }
}
