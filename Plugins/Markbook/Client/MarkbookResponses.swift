// What each call answers.

/// What `markbookList` answers.
public struct MarkbookListResponse: Hashable, Sendable {
  /// What every answer begins with.
  public var envelope: ResponseEnvelope
  /// The markbooks.
  public var list: [MarkbookSummary]

  /// Creates an answer.
  public init(envelope: ResponseEnvelope = ResponseEnvelope(), list: [MarkbookSummary]) {
    self.envelope = envelope
    self.list = list
  }
}

/// What `userList` answers.
public struct UserListResponse: Hashable, Sendable {
  /// What every answer begins with.
  public var envelope: ResponseEnvelope
  /// The users.
  public var list: [MarkbookUser]

  /// Creates an answer.
  public init(envelope: ResponseEnvelope = ResponseEnvelope(), list: [MarkbookUser]) {
    self.envelope = envelope
    self.list = list
  }
}

/// What `getMarkbook` answers: each student carries the results.
public struct MarkbookResponse: Hashable, Sendable {
  /// What every answer begins with.
  public var envelope: ResponseEnvelope
  /// What the markbook says of itself.
  public var head: MarkbookHead
  /// Its classes.
  public var classList: [MarkbookClass]
  /// Its tasks.
  public var taskList: [MarkbookTask]
  /// Its students, with `rawResults` and `roundedResults`.
  public var studentList: [MarkbookStudent]

  /// Creates an answer.
  public init(
    envelope: ResponseEnvelope = ResponseEnvelope(), head: MarkbookHead, classList: [MarkbookClass],
    taskList: [MarkbookTask], studentList: [MarkbookStudent]
  ) {
    self.envelope = envelope
    self.head = head
    self.classList = classList
    self.taskList = taskList
    self.studentList = studentList
  }
}

/// What `getMarkbookAlt` answers: the results stand in a list of their own.
public struct MarkbookAltResponse: Hashable, Sendable {
  /// What every answer begins with.
  public var envelope: ResponseEnvelope
  /// What the markbook says of itself.
  public var head: MarkbookHead
  /// Its classes.
  public var classList: [MarkbookClass]
  /// Its tasks.
  public var taskList: [MarkbookTask]
  /// Its students, without results.
  public var studentList: [MarkbookStudent]
  /// The results.
  ///
  /// An absent pair and an empty result mean the same.
  public var resultList: [MarkbookResult]

  /// Creates an answer.
  public init(
    envelope: ResponseEnvelope = ResponseEnvelope(), head: MarkbookHead, classList: [MarkbookClass],
    taskList: [MarkbookTask], studentList: [MarkbookStudent], resultList: [MarkbookResult]
  ) {
    self.envelope = envelope
    self.head = head
    self.classList = classList
    self.taskList = taskList
    self.studentList = studentList
    self.resultList = resultList
  }
}

/// What `getOutcomes` answers: each student carries the levels.
///
/// It names no markbook and no task.
public struct OutcomesResponse: Hashable, Sendable {
  /// What every answer begins with.
  public var envelope: ResponseEnvelope
  /// The markbook's classes.
  public var classList: [MarkbookClass]
  /// The markbook's outcomes.
  public var outcomeList: [MarkbookOutcome]
  /// The markbook's students, with `outcomeLevels`.
  public var studentList: [MarkbookStudent]

  /// Creates an answer.
  public init(
    envelope: ResponseEnvelope = ResponseEnvelope(), classList: [MarkbookClass], outcomeList: [MarkbookOutcome],
    studentList: [MarkbookStudent]
  ) {
    self.envelope = envelope
    self.classList = classList
    self.outcomeList = outcomeList
    self.studentList = studentList
  }
}

/// What `getOutcomesAlt` answers: the levels stand in a list of their own.
public struct OutcomesAltResponse: Hashable, Sendable {
  /// What every answer begins with.
  public var envelope: ResponseEnvelope
  /// The markbook's classes.
  public var classList: [MarkbookClass]
  /// The markbook's outcomes.
  public var outcomeList: [MarkbookOutcome]
  /// The markbook's students, without levels.
  public var studentList: [MarkbookStudent]
  /// The levels.
  public var levelList: [MarkbookLevel]

  /// Creates an answer.
  public init(
    envelope: ResponseEnvelope = ResponseEnvelope(), classList: [MarkbookClass], outcomeList: [MarkbookOutcome],
    studentList: [MarkbookStudent], levelList: [MarkbookLevel]
  ) {
    self.envelope = envelope
    self.classList = classList
    self.outcomeList = outcomeList
    self.studentList = studentList
    self.levelList = levelList
  }
}

/// What the calls answer that only say that it was done.
public struct StatusResponse: Hashable, Sendable {
  /// What every answer begins with.
  public var envelope: ResponseEnvelope

  /// Creates an answer.
  public init(envelope: ResponseEnvelope = ResponseEnvelope()) { self.envelope = envelope }
}

/// What `createStudent` answers.
public struct CreateStudentResponse: Hashable, Sendable {
  /// What every answer begins with.
  public var envelope: ResponseEnvelope
  /// The key of the new student.
  public var studentKey: Int

  /// Creates an answer.
  public init(envelope: ResponseEnvelope = ResponseEnvelope(), studentKey: Int) {
    self.envelope = envelope
    self.studentKey = studentKey
  }
}

/// What `createClass` answers.
public struct CreateClassResponse: Hashable, Sendable {
  /// What every answer begins with.
  public var envelope: ResponseEnvelope
  /// The key of the new class.
  public var classKey: Int

  /// Creates an answer.
  public init(envelope: ResponseEnvelope = ResponseEnvelope(), classKey: Int) {
    self.envelope = envelope
    self.classKey = classKey
  }
}

/// What `createMarkbook` answers.
public struct CreateMarkbookResponse: Hashable, Sendable {
  /// What every answer begins with.
  public var envelope: ResponseEnvelope
  /// The key of the new markbook.
  public var markbookKey: Int
  /// The name it got: the one asked for or, if that was taken, the same with `-1`, `-2` and so on.
  public var markbookName: String
  /// How many classes were taken over; fewer than were sent means that some were dropped.
  public var classCount: Int
  /// How many students were taken over.
  public var studentCount: Int
  /// How many users it is shared with.
  public var shareCount: Int

  /// Creates an answer.
  public init(
    envelope: ResponseEnvelope = ResponseEnvelope(), markbookKey: Int, markbookName: String, classCount: Int,
    studentCount: Int, shareCount: Int
  ) {
    self.envelope = envelope
    self.markbookKey = markbookKey
    self.markbookName = markbookName
    self.classCount = classCount
    self.studentCount = studentCount
    self.shareCount = shareCount
  }
}

/// What `getBackupURL` answers.
public struct BackupURLResponse: Hashable, Sendable {
  /// What every answer begins with.
  public var envelope: ResponseEnvelope
  /// The address of the zip, or an empty text unless the status is `okay`.
  public var url: String

  /// How far a backup is.
  public enum State: Hashable, Sendable {
    /// It can be downloaded, for about an hour from the first time this was answered.
    case ready(url: String)
    /// It is scheduled, and built at about 1 AM.
    case pending
    /// None is scheduled.
    case none
  }

  /// The verdict: `okay`, `errorPending` or `errorNoBackup`.
  public var status: APIStatus { envelope.status }
  /// How far the backup is.
  public var state: State {
    switch envelope.status {
    case .okay: .ready(url: url)
    case .errorPending: .pending
    case .errorNoBackup, .error: .none
    }
  }

  /// Creates an answer.
  public init(envelope: ResponseEnvelope = ResponseEnvelope(), url: String) {
    self.envelope = envelope
    self.url = url
  }
}
