public import ActionKit

// What several outputs hold, in the words that recipes use: a student's id is `sid` everywhere.

struct ClassFields: FieldSet {
  @Field("Key of the class in its markbook.") var key: Int
  @Field("Name of the class, unique in the markbook.") var name: String
  @Field("The teacher's family name, by the service's account; some schools enter the given name here.")
  var teacherName1: String
  @Field("The teacher's given name, by the service's account.") var teacherName2: String

  init() {}

  init(_ part: MarkbookClass) {
    key = part.key
    name = part.name
    teacherName1 = part.teacherName1
    teacherName2 = part.teacherName2
  }
}

struct TaskFields: FieldSet {
  @Field("Key of the task in its markbook.") var key: Int
  @Field("Name of the task, as writing a result wants it.") var name: String
  @Field("The most that can be reached; absent for a task that is not marked in numbers.") var maximum: Double?
  @Field("The most that can be reached, as the service writes it.") var maximumText: String
  @Field("How many decimals the service shows, if it says so.") var decimalPlaces: Int?

  init() {}

  init(_ part: MarkbookTask) {
    key = part.key
    name = part.name
    maximum = part.maximumValue
    maximumText = part.maximum
    decimalPlaces = part.decimalPlaces
  }
}

struct StudentFields: FieldSet {
  @Field("Key of the student in the markbook.") var key: Int
  @Field("The student's id in the school's own system.") var sid: String
  @Field("Family name.") var familyName: String
  @Field("Given name.") var givenName: String
  @Field("The name the student goes by; empty if there is none.") var preferredName: String
  @Field("Key of the student's class, which need not be among the classes.") var classKey: Int
  @Field("Name of the student's class.") var className: String

  init() {}

  init(_ part: MarkbookStudent) {
    key = part.key
    sid = part.studentID
    familyName = part.familyName
    givenName = part.givenName
    preferredName = part.preferredName
    classKey = part.classKey
    className = part.className
  }
}

struct OutcomeFields: FieldSet {
  @Field("Key of the outcome in its markbook.") var key: Int
  @Field("Code in the syllabus; empty if there is none.") var code: String
  @Field("Short name.") var name: String
  @Field("The outcome in full.") var outcome: String
  @Field("Keys of the tasks that feed it.") var taskKeys: [Int]

  init() {}

  init(_ part: MarkbookOutcome) {
    key = part.key
    code = part.code
    name = part.name
    outcome = part.outcome
    taskKeys = part.taskList
  }
}

/// One result of one student, with the number it may be.
struct ResultFields: FieldSet {
  @Field("Key of the task.") var taskKey: Int
  @Field("Name of the task.") var taskName: String
  @Field("The result as it was entered; empty if there is none, which is not a zero.") var raw: String
  @Field("The result as the service shows it; compute with the raw one.") var rounded: String
  @Field("The result as a number; absent if there is none, or it is not a plain number.") var value: Double?
  @Field("The result in percent of what can be reached; absent without a number, or without a maximum above zero.")
  var percent: Double?

  init() {}

  init(_ task: MarkbookTask, raw: String, rounded: String) {
    taskKey = task.key
    taskName = task.name
    self.raw = raw
    self.rounded = rounded
    value = resultValue(raw)
    percent = resultPercent(value, of: task.maximumValue)
  }
}

extension Gender: Choice {}

extension MarkbookResponse {
  /// A student's results, one for each task: what the service leaves out is there as an empty one.
  func results(of student: MarkbookStudent) -> [ResultFields] {
    taskList.enumerated().map { index, task in
      ResultFields(
        task, raw: index < student.rawResults.count ? student.rawResults[index] : "",
        rounded: index < student.roundedResults.count ? student.roundedResults[index] : "")
    }
  }

  /// The student of a key, if the id is theirs too.
  func student(_ key: Int, sid: String) -> MarkbookStudent? {
    studentList.first { $0.key == key && $0.studentID.hasSameScalars(as: sid) }
  }
}

/// What the service tells of a write that makes nothing new.
struct WriteFields: FieldSet {
  @Field("When the service answered, by its own clock; absent if it does not say.") var answeredAt: Timestamp?

  init() {}

  init(_ envelope: ResponseEnvelope) { answeredAt = envelope.seconds.flatMap { Timestamp(seconds: $0) } }
}
