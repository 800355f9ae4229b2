import ActionKit

enum CreateMarkbook: PreviewingAction, ReconcilingAction {
  static let name = "createMarkbook"
  static let summary = "Adds a markbook with its classes and students; tasks cannot be made."
  static let effect = Effect.write
  static let examples = [
    Example(
      "A class of one",
      """
      markbookName: 2027 Y9 Science
      markbookYear: Year 9
      markbookCourse: Science
      ownerKey: 31
      shareList: [31, 34]
      classList:
        - { key: 1, name: 9SCI-1, teacherName1: Reynolds, teacherName2: Tom }
      studentList:
        - { key: 1, studentID: "9812345", familyName: Alexander, givenName: Eddie, classKey: 1 }
      """)
  ]

  struct Input: ValidatedFieldSet {
    @Field("The school's name; the one that the service itself gives, if left out.") var schoolName: String?
    @Field("Name wanted; the service adds -1, -2 and so on to one that is taken.", .notEmpty) var markbookName: String
    @Field("Year group or calendar year.") var markbookYear: String
    @Field("Course.") var markbookCourse: String
    @Field("Key of the user who will own it.") var ownerKey: Int
    @Field("Keys of the users it is shared with.") var shareList: [Int] = []
    @Field("The classes.") var classList: [NewClass] = []
    @Field("The students.") var studentList: [NewStudent] = []

    func conflicts() -> [Conflict] {
      let keys = Set(classList.map(\.key))
      let homeless = studentList.filter { !keys.contains($0.classKey) }
      var conflicts = homeless.map {
        Conflict(
          "names class \($0.classKey) for student '\($0.studentID)', which 'classList' does not have", at: "studentList"
        )
      }
      if keys.count < classList.count {
        conflicts.append(Conflict("gives a key to more than one class", at: "classList"))
      }
      if Set(studentList.map { Array($0.studentID.utf8) }).count < studentList.count {
        conflicts.append(Conflict("gives a studentID to more than one student", at: "studentList"))
      }
      return conflicts
    }
  }

  struct NewClass: FieldSet {
    @Field("Key by which the students here name the class; the service gives its own.") var key: Int
    @Field("Name of the class.", .notEmpty) var name: String
    @Field("The teacher's family name.") var teacherName1: String
    @Field("The teacher's given name.") var teacherName2: String
  }

  struct NewStudent: FieldSet {
    @Field("Key of the student here; the service gives its own.") var key: Int
    @Field("The student's id in the school's own system.", .notEmpty) var studentID: String
    @Field("Family name.") var familyName: String
    @Field("Given name.") var givenName: String
    @Field("The name the student goes by.") var preferredName = ""
    @Field("Key of the class in 'classList'.") var classKey: Int
  }

  struct Output: FieldSet {
    @Field("Key of the new markbook.") var markbookKey: Int
    @Field("Name it got.") var markbookName: String
    @Field("Whether the name wanted was taken, so that it got another.") var isRenamed: Bool
    @Field("How many classes the service took over.") var classCount: Int
    @Field("How many students the service took over.") var studentCount: Int
    @Field("How many users the service shared it with.") var shareCount: Int
    @Field("Whether the service took over as many classes, students and shares as it was sent.") var isComplete: Bool
  }

  struct Baseline: FieldSet {
    @Field("Keys of the markbooks that had the name, with or without a number, before.") var markbookKeys: [Int]
  }

  static func run(_ input: Input, on markbook: MarkbookClient, in context: ActionContext) async throws -> Output {
    try await onceUnderSession(input, on: markbook, in: context) {
      let answer = try await markbook.createMarkbook(request(input))
      return try output(
        input, key: answer.markbookKey, name: answer.markbookName, classes: answer.classCount,
        students: answer.studentCount, shares: answer.shareCount)
    }
  }

  static func baseline(
    _ input: Input, on markbook: MarkbookClient, in context: ActionContext
  ) async throws -> Baseline {
    let keys = try await namesakes(of: input.markbookName, on: markbook).map(\.key)
    return try Baseline { $0.markbookKeys = keys }
  }

  static func reconcile(
    _ input: Input, with baseline: Baseline, startedAt: Timestamp, on markbook: MarkbookClient,
    in context: ActionContext
  ) async throws -> Reconciliation<Output> {
    try await context.reconcile(since: startedAt) {
      let new = try await namesakes(of: input.markbookName, on: markbook).filter {
        !baseline.markbookKeys.contains($0.key)
      }
      guard let first = new.first else { return .notDone }
      guard new.count == 1 else {
        return .unknown("\(new.count) new markbooks are named '\(input.markbookName)', or so with a number.")
      }
      guard isForm(first.name, of: input.markbookName) else {
        return .unknown(
          "Markbook '\(first.name)', key \(first.key), is new, and is not quite '\(input.markbookName)'; see whose it is."
        )
      }
      let book = try await markbook.getMarkbook(key: first.key)
      // Somebody else may have made a markbook of that name meanwhile; theirs has other students.
      let sent = input.studentList.map(\.studentID)
      guard book.studentList.allSatisfy({ student in sent.contains { $0.hasSameScalars(as: student.studentID) } })
      else {
        return .unknown(
          "Markbook '\(first.name)', key \(first.key), is new and has students who were not sent; see whose it is.")
      }
      return .done(
        try output(
          input, key: first.key, name: first.name, classes: book.classList.count, students: book.studentList.count,
          shares: book.head.shareList.count))
    }
  }

  static func preview(
    _ input: Input, on markbook: MarkbookClient, in context: ActionContext
  ) async throws -> [Change] {
    let isTaken = try await namesakes(of: input.markbookName, on: markbook).contains {
      $0.name.hasSameScalars(as: input.markbookName)
    }
    let content = "\(input.classList.count) classes, \(input.studentList.count) students"
    return [
      Change(
        "Markbook '\(input.markbookName)'", from: nil,
        to: isTaken ? "\(content), under another name because this one is taken" : content)
    ]
  }

  // MARK: Parts

  private static func request(_ input: Input) -> CreateMarkbookRequest {
    let classNames = Dictionary(input.classList.map { ($0.key, $0.name) }) { first, _ in first }
    return CreateMarkbookRequest(
      schoolName: input.schoolName ?? "", markbookName: input.markbookName, markbookYear: input.markbookYear,
      markbookCourse: input.markbookCourse, ownerKey: input.ownerKey, shareList: input.shareList,
      classList: input.classList.map {
        NewMarkbookClass(key: $0.key, name: $0.name, teacherName1: $0.teacherName1, teacherName2: $0.teacherName2)
      },
      studentList: input.studentList.map {
        NewMarkbookStudent(
          key: $0.key, studentID: $0.studentID, familyName: $0.familyName, givenName: $0.givenName,
          preferredName: $0.preferredName, classKey: $0.classKey, className: classNames[$0.classKey] ?? "")
      })
  }

  private static func output(
    _ input: Input, key: Int, name: String, classes: Int, students: Int, shares: Int
  ) throws -> Output {
    try Output {
      $0.markbookKey = key
      $0.markbookName = name
      $0.isRenamed = !name.hasSameScalars(as: input.markbookName)
      $0.classCount = classes
      $0.studentCount = students
      $0.shareCount = shares
      $0.isComplete =
        classes == input.classList.count && students == input.studentList.count && shares == input.shareList.count
    }
  }

  /// The markbooks of that name, of that name with `-1`, `-2` and so on after it, or of one that is alike.
  private static func namesakes(of name: String, on markbook: MarkbookClient) async throws -> [MarkbookSummary] {
    try await markbook.markbookList().list.filter {
      isForm($0.name, of: name) || isForm($0.name.folded, of: name.folded)
    }
  }

  static func isForm(_ name: String, of wanted: String) -> Bool {
    guard name.utf8.starts(with: wanted.utf8) else { return false }
    let rest = name.utf8.dropFirst(wanted.utf8.count)
    guard !rest.isEmpty else { return true }
    return rest.first == ASCII.minus && rest.count > 1
      && rest.dropFirst().allSatisfy { ASCII.digits.contains($0) }
  }
}
