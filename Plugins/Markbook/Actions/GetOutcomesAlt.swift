import ActionKit

enum GetOutcomesAlt: Action {
  static let name = "getOutcomesAlt"
  static let summary = "Reads a markbook's outcomes, with the levels in one list beside the students."
  static let effect = Effect.read
  static let examples = [Example("One markbook", "markbookKey: 1207731")]

  struct Input: FieldSet {
    @Field("Key of the markbook.") var markbookKey: Int
  }

  struct Output: FieldSet {
    @Field("The classes.") var classes: [ClassFields]
    @Field("The outcomes.") var outcomes: [OutcomeFields]
    @Field("The students, deleted ones left out if the service does so.") var students: [StudentFields]
    @Field("The levels; one that is not listed has not been reached.") var levels: [Item]
  }

  struct Item: FieldSet {
    @Field("Key of the student.") var studentKey: Int
    @Field("Key of the outcome.") var outcomeKey: Int
    @Field("The level in the school's own words; absent if there is none.") var level: String?
  }

  static func run(_ input: Input, on markbook: MarkbookClient, in context: ActionContext) async throws -> Output {
    let answer = try await markbook.getOutcomesAlt(key: input.markbookKey)
    return try Output { output in
      output.classes = answer.classList.map(ClassFields.init)
      output.outcomes = answer.outcomeList.map(OutcomeFields.init)
      output.students = answer.studentList.map(StudentFields.init)
      output.levels = try answer.levelList.map { part in
        try Item {
          $0.studentKey = part.studentKey
          $0.outcomeKey = part.outcomeKey
          $0.level = part.outcomeLevel.isEmpty ? nil : part.outcomeLevel
        }
      }
    }
  }
}
