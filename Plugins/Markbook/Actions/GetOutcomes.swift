import ActionKit

enum GetOutcomes: Action {
  static let name = "getOutcomes"
  static let summary = "Reads a markbook's outcomes, and its students with the levels they reached."
  static let effect = Effect.read
  static let examples = [Example("One markbook", "markbookKey: 1207731")]

  struct Input: FieldSet {
    @Field("Key of the markbook.") var markbookKey: Int
  }

  struct Output: FieldSet {
    @Field("The classes.") var classes: [ClassFields]
    @Field("The outcomes.") var outcomes: [OutcomeFields]
    @Field("The students, deleted ones left out if the service does so.") var students: [Student]
  }

  struct Student: FieldSet {
    @Field("Key of the student in the markbook.") var key: Int
    @Field("The student's id in the school's own system.") var sid: String
    @Field("Family name.") var familyName: String
    @Field("Given name.") var givenName: String
    @Field("The name the student goes by; empty if there is none.") var preferredName: String
    @Field("Key of the student's class, which need not be among the classes.") var classKey: Int
    @Field("Name of the student's class.") var className: String
    @Field("One level for each outcome, in the order of the outcomes.") var levels: [Level]
  }

  struct Level: FieldSet {
    @Field("Key of the outcome.") var outcomeKey: Int
    @Field("Short name of the outcome.") var outcomeName: String
    @Field("The level in the school's own words; absent if there is none.") var level: String?
  }

  static func run(_ input: Input, on markbook: MarkbookClient, in context: ActionContext) async throws -> Output {
    let answer = try await markbook.getOutcomes(key: input.markbookKey)
    return try Output { output in
      output.classes = answer.classList.map(ClassFields.init)
      output.outcomes = answer.outcomeList.map(OutcomeFields.init)
      output.students = try answer.studentList.map { part in
        try Student {
          $0.key = part.key
          $0.sid = part.studentID
          $0.familyName = part.familyName
          $0.givenName = part.givenName
          $0.preferredName = part.preferredName
          $0.classKey = part.classKey
          $0.className = part.className
          $0.levels = try answer.outcomeList.enumerated().map { index, outcome in
            let level = index < part.outcomeLevels.count ? part.outcomeLevels[index] : ""
            return try Level {
              $0.outcomeKey = outcome.key
              $0.outcomeName = outcome.name
              $0.level = level.isEmpty ? nil : level
            }
          }
        }
      }
    }
  }
}
