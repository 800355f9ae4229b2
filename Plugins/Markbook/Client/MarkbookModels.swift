// What the service answers, as Swift types. The names on the wire stand in `MarkbookDecoding.swift`.

/// The verdict that every answer carries.
public enum APIStatus: Hashable, Sendable, CustomStringConvertible {
  /// It was done.
  case okay
  /// A backup is scheduled and not built yet; `getBackupURL` alone says so.
  case errorPending
  /// No backup is scheduled; `getBackupURL` alone says so.
  case errorNoBackup
  /// Anything else, in the service's own words.
  ///
  /// No text but the three above is known for certain: do not branch on it.
  case error(String)

  /// Reads the text of an answer's `status`, which is compared exactly.
  public init(_ text: String) {
    switch text {
    case "OKAY": self = .okay
    case "ERROR:pending": self = .errorPending
    case "ERROR:no backup": self = .errorNoBackup
    default: self = .error(text)
    }
  }

  /// The text on the wire.
  public var description: String {
    switch self {
    case .okay: "OKAY"
    case .errorPending: "ERROR:pending"
    case .errorNoBackup: "ERROR:no backup"
    case .error(let text): text
    }
  }
}

/// What every answer begins with.
///
/// The status alone is sure to be there.
public struct ResponseEnvelope: Hashable, Sendable {
  /// The verdict.
  public var status: APIStatus
  /// The product's name.
  public var source: String?
  /// The base address of the API's version.
  public var api: String?
  /// When it was answered, in seconds since 1970 (UTC).
  public var seconds: Int?
  /// The same moment as the service writes it, with the school's offset from UTC.
  public var date: String?
  /// The school's name.
  public var schoolName: String?
  /// The action that was answered, as the wire calls it.
  public var action: String?

  /// Creates an envelope.
  public init(
    status: APIStatus = .okay, source: String? = nil, api: String? = nil, seconds: Int? = nil, date: String? = nil,
    schoolName: String? = nil, action: String? = nil
  ) {
    self.status = status
    self.source = source
    self.api = api
    self.seconds = seconds
    self.date = date
    self.schoolName = schoolName
    self.action = action
  }
}

/// A markbook, as the list of markbooks shows it.
public struct MarkbookSummary: Hashable, Sendable {
  /// The key by which every other call names it.
  public var key: Int
  /// Its name.
  public var name: String
  /// The owner's login name, perhaps; empty for some.
  ///
  /// To find the owner, take `ownerKey` of `getMarkbook`.
  public var owner: String
  /// A year group or a calendar year, as the school likes.
  public var year: String
  /// The course, in free text.
  public var course: String

  /// Creates a summary.
  public init(key: Int, name: String, owner: String = "", year: String = "", course: String = "") {
    self.key = key
    self.name = name
    self.owner = owner
    self.year = year
    self.course = course
  }
}

/// A user of the service.
public struct MarkbookUser: Hashable, Sendable {
  /// The key that `ownerKey` and `shareList` refer to.
  public var key: Int
  /// The name, given name first.
  public var name: String
  /// The name to log in with.
  public var loginID: String
  /// The address, or an empty text.
  public var email: String

  /// Creates a user.
  public init(key: Int, name: String, loginID: String = "", email: String = "") {
    self.key = key
    self.name = name
    self.loginID = loginID
    self.email = email
  }
}

/// What a markbook says of itself.
public struct MarkbookHead: Hashable, Sendable {
  /// The markbook's key.
  public var markbookKey: Int
  /// Its name.
  public var markbookName: String
  /// A year group or a calendar year, as the school likes.
  public var markbookYear: String
  /// The course, in free text.
  public var markbookCourse: String
  /// The user who owns it.
  public var ownerKey: Int
  /// The users it is shared with.
  public var shareList: [Int]

  /// Creates a head.
  public init(
    markbookKey: Int, markbookName: String, markbookYear: String = "", markbookCourse: String = "", ownerKey: Int,
    shareList: [Int] = []
  ) {
    self.markbookKey = markbookKey
    self.markbookName = markbookName
    self.markbookYear = markbookYear
    self.markbookCourse = markbookCourse
    self.ownerKey = ownerKey
    self.shareList = shareList
  }
}

/// A class in a markbook.
public struct MarkbookClass: Hashable, Sendable {
  /// Its key, unique in the markbook, in no order.
  public var key: Int
  /// Its name, unique in the markbook.
  public var name: String
  /// By the service's account the teacher's family name; some schools have the given name here.
  public var teacherName1: String
  /// By the service's account the teacher's given name.
  public var teacherName2: String

  /// Creates a class.
  public init(key: Int, name: String, teacherName1: String = "", teacherName2: String = "") {
    self.key = key
    self.name = name
    self.teacherName1 = teacherName1
    self.teacherName2 = teacherName2
  }
}

/// A column of a markbook.
///
/// Whether it is entered or calculated, and its weight, the service does not tell.
public struct MarkbookTask: Hashable, Sendable {
  /// Its key, unique in the markbook.
  public var key: Int
  /// Its name; `putStudentResult` wants it together with the key.
  public var name: String
  /// The most that can be reached, as text: `20`, or words where the task is not marked in numbers.
  public var maximum: String
  /// How many decimals the service rounds to for display, if it says so.
  public var decimalPlaces: Int?

  /// The most that can be reached, if that is a number.
  public var maximumValue: Double? { resultValue(maximum) }

  /// Creates a task.
  public init(key: Int, name: String, maximum: String, decimalPlaces: Int? = nil) {
    self.key = key
    self.name = name
    self.maximum = maximum
    self.decimalPlaces = decimalPlaces
  }
}

/// A student in a markbook.
///
/// The service takes a gender and never tells it.
public struct MarkbookStudent: Hashable, Sendable {
  /// The key, unique in the markbook.
  public var key: Int
  /// The id in the school's own system, in which leading zeros count; other calls name it `sid`.
  public var studentID: String
  /// The family name.
  public var familyName: String
  /// The given name.
  public var givenName: String
  /// The name the student goes by, or an empty text.
  public var preferredName: String
  /// The student's class, which need not be in the list of classes.
  public var classKey: Int
  /// The name of that class.
  public var className: String
  /// The results as they were entered, in the order of the tasks; it may be shorter than their list.
  ///
  /// `getMarkbook` only.
  public var rawResults: [String]
  /// The same results as the service shows them.
  ///
  /// Compute with the raw ones.
  public var roundedResults: [String]
  /// The levels reached, in the order of the outcomes; it may be shorter than their list.
  ///
  /// `getOutcomes` only.
  public var outcomeLevels: [String]

  /// Creates a student.
  public init(
    key: Int, studentID: String, familyName: String, givenName: String, preferredName: String = "", classKey: Int,
    className: String = "", rawResults: [String] = [], roundedResults: [String] = [], outcomeLevels: [String] = []
  ) {
    self.key = key
    self.studentID = studentID
    self.familyName = familyName
    self.givenName = givenName
    self.preferredName = preferredName
    self.classKey = classKey
    self.className = className
    self.rawResults = rawResults
    self.roundedResults = roundedResults
    self.outcomeLevels = outcomeLevels
  }
}

/// One student's result for one task, in the alternate form.
///
/// A pair may be missing, and may come twice.
public struct MarkbookResult: Hashable, Sendable {
  /// The student.
  public var studentKey: Int
  /// The task.
  public var taskKey: Int
  /// The result as it was entered; empty if there is none, which is not a zero.
  public var rawResult: String
  /// The result as the service shows it.
  public var roundedResult: String

  /// Creates a result.
  public init(studentKey: Int, taskKey: Int, rawResult: String, roundedResult: String) {
    self.studentKey = studentKey
    self.taskKey = taskKey
    self.rawResult = rawResult
    self.roundedResult = roundedResult
  }
}

/// Something that tasks are to show that students can do.
public struct MarkbookOutcome: Hashable, Sendable {
  /// Its key, unique in the markbook.
  public var key: Int
  /// Its code in the syllabus, or an empty text.
  public var code: String
  /// Its short name.
  public var name: String
  /// Its full text.
  public var outcome: String
  /// The keys of the tasks that feed it.
  public var taskList: [Int]

  /// Creates an outcome.
  public init(key: Int, code: String = "", name: String, outcome: String = "", taskList: [Int] = []) {
    self.key = key
    self.code = code
    self.name = name
    self.outcome = outcome
    self.taskList = taskList
  }
}

/// The level that one student reached in one outcome, in the alternate form.
public struct MarkbookLevel: Hashable, Sendable {
  /// The student.
  public var studentKey: Int
  /// The outcome.
  public var outcomeKey: Int
  /// The level, in the school's own words; empty if there is none.
  public var outcomeLevel: String

  /// Creates a level.
  public init(studentKey: Int, outcomeKey: Int, outcomeLevel: String) {
    self.studentKey = studentKey
    self.outcomeKey = outcomeKey
    self.outcomeLevel = outcomeLevel
  }
}

/// The gender that the service wants to be told, and does not tell again.
public enum Gender: String, CaseIterable, Sendable {
  case male
  case female
  case other
}
