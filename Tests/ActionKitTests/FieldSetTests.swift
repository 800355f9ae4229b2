import ActionKit
import Testing

private enum Colour: String, Choice {
  case red
  case green
}

private struct Mark: FieldSet {
  @Field("Who.") var student: String
  @Field("How many.", .min(0)) var points: Int
}

private struct Sheet: FieldSet {
  @Field("Key of the sheet.") var key: Int
  @Field("How many to ask for at a time.", .min(1), .max(500)) var pageSize = 50
  @Field("What was written about it.", .maxLength(20)) var comment: String?
  @Field("Its colour.") var colour: Colour = .red
  @Field("The marks on it.", .maxLength(2)) var marks: [Mark] = []
  @Field("The factor.", aliases: ["scale"]) var factor = 1.0
  @Field("When it is due.") var due: Timestamp?
  @Field("How long it takes.", .max(.seconds(3600))) var takes: TimeSpan?
  @Field("What opens it.", .minLength(4)) var token: Secret<String>?
  @Field("The picture of it.") var picture: [UInt8]?
  @Field("Words by language.", .each(.notEmpty)) var words: [String: String] = [:]
  @Field("Whatever else there is.") var rest: Value?
  @Field("Whether it counts.", deprecated: "give 'factor' as 0.") var counts: Bool?
}

@Suite struct FieldSetTests {
  @Test func `reads given, default and absent fields`() throws {
    let sheet = try Sheet(
      checking: .object([
        "key": .int(7), "colour": .string("green"), "scale": .int(2), "due": .string("2026-11-20T09:30:00Z"),
        "marks": .list([.object(["student": .string("Ann"), "points": .int(3)])]), "comment": .null,
        "token": .string("abcd"),
      ]))
    #expect(sheet.key == 7)
    #expect(sheet.pageSize == 50)
    #expect(sheet.comment == nil)
    #expect(sheet.colour == .green)
    #expect(sheet.factor == 2)
    #expect(sheet.due?.description == "2026-11-20T09:30:00Z")
    #expect(sheet.marks.map(\.student) == ["Ann"])
    #expect(sheet.token?.reveal() == "abcd")
  }
}
