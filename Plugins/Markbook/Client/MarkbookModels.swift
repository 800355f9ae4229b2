public import ActionKit

// The service's answers and inputs, as Swift types that recipes use too: the sentence of each field is its
// documentation. `WireFields.swift` reads and writes them.

// MARK: - Lists

/// The answer of `markbookList`.
public struct MarkbookListResponse: FieldSet {
  @Field("The markbooks.") public var markbooks: [MarkbookSummary]
  @Field("The school's name; absent if the service doesn't give it.") public var schoolName: String?

  public init() {}
}

/// A markbook, as the list of markbooks shows it.
public struct MarkbookSummary: FieldSet, Hashable {
  @Field("Key of the markbook, for the other actions.") public var key: Int
  @Field("Name of the markbook.") public var name: String
  @Field("Perhaps the owner's login name; may be empty.") public var owner: String
  @Field("Year group or calendar year, as the school likes.") public var year: String
  @Field("Course, in free text.") public var course: String

  public init() {}
}

/// The answer of `userList`.
public struct UserListResponse: FieldSet {
  @Field("The users.") public var users: [MarkbookUser]

  public init() {}
}

/// A user of the service.
public struct MarkbookUser: FieldSet {
  @Field("Key of the user, which owners and shares refer to.") public var key: Int
  @Field("Name, given name first.") public var name: String
  @Field("Name to log in with.") public var loginID: String
  @Field("Address; empty if there is none.") public var email: String

  public init() {}
}

// MARK: - Markbooks

/// The answer of `getMarkbook`: each student has a list of results.
public struct MarkbookResponse: FieldSet {
  @Included public var head: MarkbookHead
  @Field("The students, without deleted ones if the service leaves them out.") public var students: [MarkedStudent]

  public init() {}
}

/// The answer of `getMarkbookAlt`: one separate list holds all results.
public struct MarkbookAltResponse: FieldSet {
  @Included public var head: MarkbookHead
  @Field("The students, without deleted ones if the service leaves them out.") public var students: [MarkbookStudent]
  @Field("The results; a result that isn't listed is empty.") public var results: [ListedResult]

  public init() {}
}

/// A markbook without its students.
public struct MarkbookHead: FieldSet, Hashable {
  @Field("Key of the markbook.") public var markbookKey: Int
  @Field("Name of the markbook.") public var markbookName: String
  @Field("Year group or calendar year, as the school likes.") public var markbookYear: String
  @Field("Course, in free text.") public var markbookCourse: String
  @Field("Key of the user who owns it.") public var ownerKey: Int
  @Field("Keys of the users it is shared with.") public var shareList: [Int]
  @Field("The classes.") public var classes: [MarkbookClass]
  @Field("The tasks.") public var tasks: [MarkbookTask]

  public init() {}
}

/// A class in a markbook.
public struct MarkbookClass: FieldSet, Hashable {
  @Field("Key of the class in its markbook.") public var key: Int
  @Field("Name of the class, unique in the markbook.") public var name: String
  @Field("The teacher's family name, according to the service; some schools enter the given name here.")
  public var teacherName1: String
  @Field("The teacher's given name, according to the service.") public var teacherName2: String

  public init() {}
}

/// A column of a markbook.
///
/// Whether it is entered or calculated, and its weight, the service does not tell.
public struct MarkbookTask: FieldSet, Hashable {
  @Field("Key of the task in its markbook.") public var key: Int
  @Field("Name of the task, as putStudentResult expects it.") public var name: String
  @Field("The highest possible result; absent for a task that isn't marked in numbers.") public var maximum: Double?
  @Field("The highest possible result, as the service writes it.") public var maximumText: String
  @Field("How many decimals the service shows, if it says so.") public var decimalPlaces: Int?

  public init() {}
}

/// A student in a markbook.
///
/// The service takes a gender and never tells it.
public struct MarkbookStudent: FieldSet, Hashable {
  @Field("Key of the student in the markbook.") public var key: Int
  @Field("The student's id in the school's own system.") public var sid: String
  @Field("Family name.") public var familyName: String
  @Field("Given name.") public var givenName: String
  @Field("The name the student goes by; empty if there is none.") public var preferredName: String
  @Field("Key of the student's class, which may be missing from the classes.") public var classKey: Int
  @Field("Name of the student's class.") public var className: String

  public init() {}
}

/// A student with the results.
public struct MarkedStudent: FieldSet {
  @Included public var student: MarkbookStudent
  @Field("One result for each task, in the order of the tasks.") public var results: [StudentResult]

  public init() {}
}

/// One result of one student.
public struct StudentResult: FieldSet {
  @Field("Key of the task.") public var taskKey: Int
  @Field("Name of the task.") public var taskName: String
  @Included public var mark: Mark

  public init() {}
}

/// One result, in the alternate form.
///
/// A pair of student and task may be missing, and may come twice.
public struct ListedResult: FieldSet {
  @Field("Key of the student.") public var studentKey: Int
  @Field("Key of the task.") public var taskKey: Int
  @Field("Name of the task; absent if the markbook lists no such task.") public var taskName: String?
  @Included public var mark: Mark

  public init() {}
}

/// A result, with the number it may be.
public struct Mark: FieldSet, Hashable {
  @Field("The result as it was entered; empty if there is none, which isn't a zero.") public var raw: String
  @Field("The result as the service shows it; compute with the raw one.") public var rounded: String
  @Field("The result as a number; absent if there is none, or it isn't a plain number.") public var value: Double?
  @Field("The result in percent of the maximum; absent without a number, or without a maximum above zero.")
  public var percent: Double?

  public init() {}
}

// MARK: - Outcomes

/// The answer of `getOutcomes`: each student has a list of levels.
///
/// It names no markbook and no task.
public struct OutcomesResponse: FieldSet {
  @Field("The classes.") public var classes: [MarkbookClass]
  @Field("The outcomes.") public var outcomes: [MarkbookOutcome]
  @Field("The students, without deleted ones if the service leaves them out.") public var students: [LevelledStudent]

  public init() {}
}

/// The answer of `getOutcomesAlt`: one separate list holds all levels.
public struct OutcomesAltResponse: FieldSet {
  @Field("The classes.") public var classes: [MarkbookClass]
  @Field("The outcomes.") public var outcomes: [MarkbookOutcome]
  @Field("The students, without deleted ones if the service leaves them out.") public var students: [MarkbookStudent]
  @Field("The levels; a level that isn't listed hasn't been reached.") public var levels: [ListedLevel]

  public init() {}
}

/// A learning outcome that tasks assess.
public struct MarkbookOutcome: FieldSet, Hashable {
  @Field("Key of the outcome in its markbook.") public var key: Int
  @Field("Code in the syllabus; empty if there is none.") public var code: String
  @Field("Short name.") public var name: String
  @Field("The outcome in full.") public var outcome: String
  @Field("Keys of the tasks that count towards it.") public var taskKeys: [Int]

  public init() {}
}

/// A student with the levels.
public struct LevelledStudent: FieldSet {
  @Included public var student: MarkbookStudent
  @Field("One level for each outcome, in the order of the outcomes.") public var levels: [StudentLevel]

  public init() {}
}

/// The level that one student reached in one outcome.
public struct StudentLevel: FieldSet {
  @Field("Key of the outcome.") public var outcomeKey: Int
  @Field("Short name of the outcome.") public var outcomeName: String
  @Field("The level in the school's own words; absent if there is none.") public var level: String?

  public init() {}
}

/// One level, in the alternate form.
public struct ListedLevel: FieldSet {
  @Field("Key of the student.") public var studentKey: Int
  @Field("Key of the outcome.") public var outcomeKey: Int
  @Field("The level in the school's own words; absent if there is none.") public var level: String?

  public init() {}
}

// MARK: - Writes

/// The answer to a write that creates nothing.
public struct StatusResponse: FieldSet {
  @Field("When the service answered, by its own clock; absent if it doesn't say.") public var answeredAt: Timestamp?

  public init() {}
}

/// The answer of `createStudent`.
public struct CreateStudentResponse: FieldSet {
  @Field("Key of the new student in the markbook.") public var studentKey: Int

  public init() {}
}

/// The answer of `createClass`.
public struct CreateClassResponse: FieldSet {
  @Field("Key of the new class in the markbook.") public var classKey: Int

  public init() {}
}

/// A student's gender, which the service requires in writes and never returns.
public enum Gender: String, Choice {
  case male
  case female
  case other
}

/// A markbook to be made, with its classes and students.
///
/// The keys of classes and students tie them to each other in the request and mean nothing beyond it.
public struct CreateMarkbookRequest: ValidatedFieldSet {
  @Field("The school's name; absent means the name that the service gives.") public var schoolName: String?
  @Field("The wanted name; the service adds -1, -2 and so on to a name that is taken.", .notEmpty)
  public var markbookName: String
  @Field("Year group or calendar year.") public var markbookYear: String
  @Field("Course.") public var markbookCourse: String
  @Field("Key of the user who will own it.") public var ownerKey: Int
  @Field("Keys of the users it is shared with.") public var shareList: [Int] = []
  @Field("The classes.") public var classList: [NewMarkbookClass] = []
  @Field("The students.") public var studentList: [NewMarkbookStudent] = []

  public init() {}

  public func conflicts() -> [Conflict] {
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

/// A class of a markbook to be made.
public struct NewMarkbookClass: FieldSet {
  @Field("Key of the class here, for the students' 'classKey'; the service gives its own.") public var key: Int
  @Field("Name of the class.", .notEmpty) public var name: String
  @Field("The teacher's family name.") public var teacherName1: String
  @Field("The teacher's given name.") public var teacherName2: String

  public init() {}
}

/// A student of a markbook to be made.
public struct NewMarkbookStudent: FieldSet {
  @Field("Key of the student here; the service gives its own.") public var key: Int
  @Field("The student's id in the school's own system.", .notEmpty) public var studentID: String
  @Field("Family name.") public var familyName: String
  @Field("Given name.") public var givenName: String
  @Field("The name the student goes by.") public var preferredName = ""
  @Field("Key of the class in 'classList'.") public var classKey: Int

  public init() {}
}

/// The answer of `createMarkbook`.
public struct CreateMarkbookResponse: FieldSet {
  @Field("Key of the new markbook.") public var markbookKey: Int
  @Field("The name that the markbook got.") public var markbookName: String
  @Field("Whether the wanted name was taken, so that the markbook got another.") public var isRenamed: Bool
  @Field("The number of classes that the service accepted.") public var classCount: Int
  @Field("The number of students that the service accepted.") public var studentCount: Int
  @Field("The number of users that the service shared it with.") public var shareCount: Int
  @Field("Whether the service accepted as many classes, students and shares as it was sent.")
  public var isComplete: Bool

  public init() {}

  /// The answer, compared with the request.
  func compared(with request: CreateMarkbookRequest) -> CreateMarkbookResponse {
    var answer = self
    answer.isRenamed = !markbookName.hasSameScalars(as: request.markbookName)
    answer.isComplete =
      classCount == request.classList.count && studentCount == request.studentList.count
      && shareCount == request.shareList.count
    return answer
  }
}

// MARK: - Backups

/// The answer of `getBackupURL`.
public struct BackupURLResponse: FieldSet {
  @Field("Whether the backup is ready, is still to be built, or doesn't exist.") public var state: BackupState
  @Field("Address of the zip; absent unless the backup is ready.") public var url: String?

  public init() {}
}

/// How far a backup is.
public enum BackupState: String, Choice {
  /// It can be downloaded, for about an hour from the first time this was answered.
  case ready
  /// It is scheduled, and built at about 1 AM.
  case pending
  /// None is scheduled.
  case none
}
