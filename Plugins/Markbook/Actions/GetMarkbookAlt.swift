import ActionKit

enum GetMarkbookAlt: Action {
  static let name = "getMarkbookAlt"
  static let summary = "Reads a markbook, with the results in one list beside the students."
  static let effect = Effect.read
  static let examples = [Example("One markbook", "markbookKey: 1207731")]

  struct Input: FieldSet {
    @Field("Key of the markbook.") var markbookKey: Int
  }

  struct Output: FieldSet {
    @Field("Key of the markbook.") var markbookKey: Int
    @Field("Name of the markbook.") var markbookName: String
    @Field("Year group or calendar year, as the school likes.") var markbookYear: String
    @Field("Course, in free text.") var markbookCourse: String
    @Field("Key of the user who owns it.") var ownerKey: Int
    @Field("Keys of the users it is shared with.") var shareList: [Int]
    @Field("The classes.") var classes: [ClassFields]
    @Field("The tasks.") var tasks: [TaskFields]
    @Field("The students, deleted ones left out if the service does so.") var students: [StudentFields]
    @Field("The results; one that is not listed is one that is empty.") var results: [Item]
  }

  struct Item: FieldSet {
    @Field("Key of the student.") var studentKey: Int
    @Field("Key of the task.") var taskKey: Int
    @Field("Name of the task; absent if the markbook lists no such task.") var taskName: String?
    @Field("The result as it was entered; empty if there is none, which is not a zero.") var raw: String
    @Field("The result as the service shows it; compute with the raw one.") var rounded: String
    @Field("The result as a number; absent if there is none, or it is not a plain number.") var value: Double?
    @Field("The result in percent of what can be reached; absent without a number, or without a maximum above zero.")
    var percent: Double?
  }

  static func run(_ input: Input, on markbook: MarkbookClient, in context: ActionContext) async throws -> Output {
    let answer = try await markbook.getMarkbookAlt(key: input.markbookKey)
    let tasks = Dictionary(answer.taskList.map { ($0.key, $0) }) { first, _ in first }
    return try Output { output in
      output.markbookKey = answer.head.markbookKey
      output.markbookName = answer.head.markbookName
      output.markbookYear = answer.head.markbookYear
      output.markbookCourse = answer.head.markbookCourse
      output.ownerKey = answer.head.ownerKey
      output.shareList = answer.head.shareList
      output.classes = answer.classList.map(ClassFields.init)
      output.tasks = answer.taskList.map(TaskFields.init)
      output.students = answer.studentList.map(StudentFields.init)
      output.results = try answer.resultList.map { part in
        try Item {
          $0.studentKey = part.studentKey
          $0.taskKey = part.taskKey
          $0.taskName = tasks[part.taskKey]?.name
          $0.raw = part.rawResult
          $0.rounded = part.roundedResult
          $0.value = resultValue(part.rawResult)
          $0.percent = resultPercent($0.value, of: tasks[part.taskKey]?.maximumValue)
        }
      }
    }
  }
}
