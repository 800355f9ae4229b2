import ActionKit

enum UpdateStudentClass: PreviewingAction {
  static let name = "updateStudentClass"
  static let summary = "Moves a student to another class, or brings a deleted student back into one."
  static let effect = Effect.idempotentWrite(within: .forever)
  static let examples = [
    Example(
      "To another class",
      """
      markbookKey: 1207731
      studentKey: 14
      sid: "0047251"
      classKey: 9
      """)
  ]

  struct Input: FieldSet {
    @Field("Key of the markbook.") var markbookKey: Int
    @Field("Key of the student, as a fresh reading of the markbook has it.") var studentKey: Int
    @Field("The same student's id in the school's own system; the service checks one by the other.", .notEmpty)
    var sid: String
    @Field("Key of the class, as the markbook has it.") var classKey: Int
  }

  typealias Output = WriteFields

  static func run(_ input: Input, on markbook: MarkbookClient, in context: ActionContext) async throws -> Output {
    let answer = try await markbook.updateStudentClass(
      markbookKey: input.markbookKey, studentKey: input.studentKey, sid: input.sid, classKey: input.classKey)
    return WriteFields(answer.envelope)
  }

  static func preview(
    _ input: Input, on markbook: MarkbookClient, in context: ActionContext
  ) async throws -> [Change] {
    let book = try await markbook.getMarkbook(key: input.markbookKey)
    guard let home = book.classList.first(where: { $0.key == input.classKey }) else {
      throw ActionError(.notFound, "Markbook '\(book.head.markbookName)' has no class with key \(input.classKey).")
    }
    // A student who is not shown may have been deleted, and is brought back.
    let student = book.student(input.studentKey, sid: input.sid)
    return [Change("Class of \(student?.label ?? "student \(input.sid)")", from: student?.className, to: home.name)]
  }
}
