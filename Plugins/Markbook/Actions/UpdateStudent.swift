import ActionKit

enum UpdateStudent: PreviewingAction {
  static let name = "updateStudent"
  static let summary = "Replaces all names of a student, and the gender."
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
    @Included var reference: StudentReference
    @Field("Family name, even if it stays the same.") var familyName: String
    @Field("Given name, even if it stays the same.") var givenName: String
    @Field("The name the student goes by, even if it stays the same; empty for none.") var preferredName: String
    @Field("The gender, even if it stays the same; the service never returns it, so it can't be looked up.")
    var gender: Gender
  }

  typealias Output = StatusResponse

  static func run(_ input: Input, on markbook: MarkbookClient, in context: ActionContext) async throws -> Output {
    try await markbook.updateStudent(
      markbookKey: input.reference.markbookKey, studentKey: input.reference.studentKey, sid: input.reference.sid,
      familyName: input.familyName,
      givenName: input.givenName, preferredName: input.preferredName, gender: input.gender)
  }

  static func preview(
    _ input: Input, on markbook: MarkbookClient, in context: ActionContext
  ) async throws -> [Change] {
    let book = try await markbook.getMarkbook(key: input.reference.markbookKey)
    let student = try input.reference.student(in: book)
    let names = [
      ("Family name", student.familyName, input.familyName), ("Given name", student.givenName, input.givenName),
      ("Preferred name", student.preferredName, input.preferredName),
    ]
    let changed = names.filter { !$0.1.hasSameScalars(as: $0.2) }.map { name, before, after in
      Change("\(name) of \(student.label)", from: before.isEmpty ? nil : before, to: after.isEmpty ? nil : after)
    }
    return changed + [
      Change("Gender of \(student.label)", from: "not told by the service", to: input.gender.rawValue)
    ]
  }
}
