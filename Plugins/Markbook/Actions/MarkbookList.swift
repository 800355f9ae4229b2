import ActionKit

enum MarkbookList: Action {
  static let name = "markbookList"
  static let summary = "Lists the markbooks of the school."
  static let effect = Effect.read
  static let examples = [Example("All markbooks", "{}")]

  struct Input: FieldSet {}

  struct Output: FieldSet {
    @Field("The markbooks.") var markbooks: [Item]
    @Field("The school's name; absent if the service does not say it.") var schoolName: String?
  }

  struct Item: FieldSet {
    @Field("Key by which every other action names the markbook.") var key: Int
    @Field("Name of the markbook.") var name: String
    @Field("Perhaps the owner's login name; may be empty.") var owner: String
    @Field("Year group or calendar year, as the school likes.") var year: String
    @Field("Course, in free text.") var course: String
  }

  static func run(_ input: Input, on markbook: MarkbookClient, in context: ActionContext) async throws -> Output {
    let answer = try await markbook.markbookList()
    return try Output { output in
      output.schoolName = answer.envelope.schoolName
      output.markbooks = try answer.list.map { part in
        try Item {
          $0.key = part.key
          $0.name = part.name
          $0.owner = part.owner
          $0.year = part.year
          $0.course = part.course
        }
      }
    }
  }
}
