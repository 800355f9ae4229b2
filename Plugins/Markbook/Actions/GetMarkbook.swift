import ActionKit

enum GetMarkbook: Action {
  static let name = "getMarkbook"
  static let summary = "Reads a markbook: its classes, its tasks, and its students with their results."
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
    @Field("One result for each task, in the order of the tasks.") var results: [ResultFields]
  }

  static func run(_ input: Input, on markbook: MarkbookClient, in context: ActionContext) async throws -> Output {
    let answer = try await markbook.getMarkbook(key: input.markbookKey)
    return try Output { output in
      output.markbookKey = answer.head.markbookKey
      output.markbookName = answer.head.markbookName
      output.markbookYear = answer.head.markbookYear
      output.markbookCourse = answer.head.markbookCourse
      output.ownerKey = answer.head.ownerKey
      output.shareList = answer.head.shareList
      output.classes = answer.classList.map(ClassFields.init)
      output.tasks = answer.taskList.map(TaskFields.init)
      output.students = try answer.studentList.map { part in
        try Student {
          $0.key = part.key
          $0.sid = part.studentID
          $0.familyName = part.familyName
          $0.givenName = part.givenName
          $0.preferredName = part.preferredName
          $0.classKey = part.classKey
          $0.className = part.className
          $0.results = answer.results(of: part)
        }
      }
    }
  }
}
