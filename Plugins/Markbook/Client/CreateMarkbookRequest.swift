/// A markbook to be made, with its classes and students.
///
/// Tasks cannot be made.
///
/// The keys of classes and students tie them to each other in the request and mean nothing beyond it; the service
/// gives its own.
public struct CreateMarkbookRequest: Hashable, Sendable {
  /// What is asked for; the service knows one thing here.
  public enum Action: String, Sendable {
    case createMarkbook = "createmarkbook"
  }

  /// The base address of the API; if it is empty, the client's.
  public var api: String
  /// The school's name; if it is empty, the one that the service gave at login.
  public var schoolName: String
  /// What is asked for.
  public var action: Action
  /// The name wanted; the service adds `-1` and so on to one that is taken.
  public var markbookName: String
  /// A year group or a calendar year.
  public var markbookYear: String
  /// The course.
  public var markbookCourse: String
  /// The owner: a key of `userList`.
  public var ownerKey: Int
  /// Whom to share it with: keys of `userList`.
  public var shareList: [Int]
  /// The classes.
  public var classList: [NewMarkbookClass]
  /// The students.
  public var studentList: [NewMarkbookStudent]

  /// Creates a request.
  public init(
    api: String = "", schoolName: String = "", action: Action = .createMarkbook, markbookName: String,
    markbookYear: String, markbookCourse: String, ownerKey: Int, shareList: [Int] = [],
    classList: [NewMarkbookClass] = [], studentList: [NewMarkbookStudent] = []
  ) {
    self.api = api
    self.schoolName = schoolName
    self.action = action
    self.markbookName = markbookName
    self.markbookYear = markbookYear
    self.markbookCourse = markbookCourse
    self.ownerKey = ownerKey
    self.shareList = shareList
    self.classList = classList
    self.studentList = studentList
  }
}

/// A class of a markbook to be made.
public struct NewMarkbookClass: Hashable, Sendable {
  /// The key by which the request's students name it.
  public var key: Int
  /// Its name.
  public var name: String
  /// The teacher's family name.
  public var teacherName1: String
  /// The teacher's given name.
  public var teacherName2: String

  /// Creates a class.
  public init(key: Int, name: String, teacherName1: String, teacherName2: String) {
    self.key = key
    self.name = name
    self.teacherName1 = teacherName1
    self.teacherName2 = teacherName2
  }
}

/// A student of a markbook to be made.
public struct NewMarkbookStudent: Hashable, Sendable {
  /// A key of the request's own.
  public var key: Int
  /// The id in the school's own system; must not be empty.
  public var studentID: String
  /// The family name.
  public var familyName: String
  /// The given name.
  public var givenName: String
  /// The name the student goes by, or an empty text.
  public var preferredName: String
  /// The class: a key of the request's `classList`.
  public var classKey: Int
  /// The name of that class; the service goes by the key.
  public var className: String

  /// Creates a student.
  public init(
    key: Int, studentID: String, familyName: String, givenName: String, preferredName: String, classKey: Int,
    className: String
  ) {
    self.key = key
    self.studentID = studentID
    self.familyName = familyName
    self.givenName = givenName
    self.preferredName = preferredName
    self.classKey = classKey
    self.className = className
  }
}
