import ActionKit

enum UpdateStudentClass: PreviewingAction {
  static let name = "updateStudentClass"
  static let summary = "Moves a student to another class, or restores a deleted student into one."
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
    @Included var reference: StudentReference
    @Field("Key of the class in the markbook.") var classKey: Int
  }

  typealias Output = StatusResponse

  static func run(_ input: Input, on markbook: MarkbookClient, in context: ActionContext) async throws -> Output {
    try await markbook.updateStudentClass(
      markbookKey: input.reference.markbookKey, studentKey: input.reference.studentKey, sid: input.reference.sid,
      classKey: input.classKey)
  }

  static func preview(
    _ input: Input, on markbook: MarkbookClient, in context: ActionContext
  ) async throws -> [Change] {
    let book = try await markbook.getMarkbook(key: input.reference.markbookKey)
    let home = try book.head.homeClass(input.classKey)
    // A student who is not shown may have been deleted, and is brought back.
    let student = input.reference.student(ifIn: book)
    return [
      Change("Class of \(student?.label ?? "student \(input.reference.sid)")", from: student?.className, to: home.name)
    ]
  }
}
