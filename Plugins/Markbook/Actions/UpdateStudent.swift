import ActionKit

enum UpdateStudent: PreviewingAction {
  static let name = "updateStudent"
  static let summary = "Replaces a student's names and gender, all of them."
  static let effect = Effect.idempotentWrite(within: .forever)
  static let examples = [
    Example(
      "Another preferred name",
      """
      markbookKey: 1207731
      studentKey: 14
      sid: "0047251"
      familyName: Castellanos
      givenName: Mateo
      preferredName: Teo
      gender: male
      """)
  ]

  struct Input: FieldSet {
    @Field("Key of the markbook.") var markbookKey: Int
    @Field("Key of the student, as a fresh reading of the markbook has it.") var studentKey: Int
    @Field("The same student's id in the school's own system; the service checks one by the other.", .notEmpty)
    var sid: String
    @Field("Family name, also if it stays.") var familyName: String
    @Field("Given name, also if it stays.") var givenName: String
    @Field("The name the student goes by, also if it stays; empty for none.") var preferredName: String
    @Field("The gender, also if it stays; the service never tells it, so it cannot be looked up.") var gender: Gender
  }

  typealias Output = WriteFields

  static func run(_ input: Input, on markbook: MarkbookClient, in context: ActionContext) async throws -> Output {
    let answer = try await markbook.updateStudent(
      markbookKey: input.markbookKey, studentKey: input.studentKey, sid: input.sid, familyName: input.familyName,
      givenName: input.givenName, preferredName: input.preferredName, gender: input.gender)
    return WriteFields(answer.envelope)
  }

  static func preview(
    _ input: Input, on markbook: MarkbookClient, in context: ActionContext
  ) async throws -> [Change] {
    let book = try await markbook.getMarkbook(key: input.markbookKey)
    let student = try await markbook.student(input.studentKey, sid: input.sid, in: book)
    let names = [
      ("Family name", student.familyName, input.familyName), ("Given name", student.givenName, input.givenName),
      ("Preferred name", student.preferredName, input.preferredName),
    ]
    let changed = names.filter { !$0.1.hasSameScalars(as: $0.2) }.map { name, before, after in
      Change("\(name) of \(student.label)", from: before.isEmpty ? nil : before, to: after.isEmpty ? nil : after)
    }
    return changed + [Change("Gender of \(student.label)", from: "not told by the service", to: input.gender.rawValue)]
  }
}
