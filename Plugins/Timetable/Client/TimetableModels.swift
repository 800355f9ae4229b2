public import ActionKit

// The publisher's files as Swift types that recipes use too: the sentence of each field is its documentation.
//
// The two generations of files are read in the same way. A field that only one of them has is optional; its presence
// decides, not `version`. Undeclared fields are ignored; a value that violates the contract makes its whole file
// unreadable.

/// The selectors: academic years, programs, study years and groups (`catalog.json`).
public struct Catalog: FieldSet {
  @Field("Version of the file's form, if it says so.") public var version: Int?
  @Field("When the publisher made the file.") public var generatedAt: Timestamp?
  @Field("The academic years, the latest last.", .each(.pattern(.academicYear))) public var academicYears: [String]
  @Field("The programs.") public var programs: [Program]

  public init() {}
}

/// A program of study.
public struct Program: FieldSet {
  @Field("The program's id in selections; case matters.", .notEmpty) public var id: String
  @Field("The program's name for people.") public var title: String
  @Field("Its study years.") public var years: [StudyYear]

  public init() {}
}

/// A year of a program.
public struct StudyYear: FieldSet {
  @Field("The year, 1 for the first.", .min(1)) public var year: Int
  @Field("The groups of all academic years together; a year may lack some of them.", .each(.min(1)))
  public var groups: [Int]

  public init() {}
}

/// Notices to students (`announcements.json`, `announcements-v2.json`).
public struct AnnouncementList: FieldSet {
  @Field("Version of the file's form, if it says so.") public var version: Int?
  @Field("When the publisher made the file.") public var generatedAt: Timestamp?
  @Field("The notices, in the publisher's order.") public var items: [Announcement]

  public init() {}
}

/// One notice.
public struct Announcement: FieldSet {
  @Field("Its identifier, the same from one file to the next.", .notEmpty) public var id: String
  @Field("Its heading.") public var title: LocalizedText
  @Field("The text of the notice.") public var message: LocalizedText
  @Field("How much it matters.") public var severity: Severity
  @Field("Name of a symbol of Apple's set SF Symbols.") public var symbolName: String?
  @Field("When it becomes valid; absent for always.") public var startsAt: Timestamp?
  @Field("The first instant when it isn't valid any more; absent for never.") public var endsAt: Timestamp?

  public init() {}

  /// Whether it holds at an instant.
  public func isVisible(at instant: Timestamp) -> Bool {
    (startsAt.map { $0 <= instant } ?? true) && (endsAt.map { instant < $0 } ?? true)
  }
}

/// How much a notice matters.
public enum Severity: String, Choice {
  case info, warning, critical
}

/// A text in one language or two: a string, or an object with `en` and `ro`.
public struct LocalizedText: FieldValue, Hashable {
  /// The text in English or, where there is only one, that.
  public var english: String
  /// The text in Romanian, where there are two.
  public var romanian: String?

  /// Creates a text.
  public init(_ english: String, romanian: String? = nil) {
    self.english = english
    self.romanian = romanian
  }

  /// Either form; which of them a value has is found out when it is read.
  public static let fieldType = FieldType.dyn

  /// Reads either form.
  public init(reading value: Value) throws(ValueError) {
    if let text = value.string, !text.isEmpty {
      self.init(text)
    } else if let english = value["en"]?.string, let romanian = value["ro"]?.string, !english.isEmpty, !romanian.isEmpty
    {
      self.init(english, romanian: romanian)
    } else {
      throw ValueError("a text, or an object with 'en' and 'ro', must be there and not empty", at: value.place)
    }
  }

  /// The form that it was read from.
  public func encoded() -> Value {
    romanian.map { .object(["en": .string(english), "ro": .string($0)]) } ?? .string(english)
  }

  /// The text in a language or, where it is not there in that one, in English.
  public func text(in language: AnnouncementLanguage) -> String {
    language == .ro ? romanian ?? english : english
  }
}

/// A language of the notices.
public enum AnnouncementLanguage: String, Choice {
  case en, ro
}

/// Where the rooms are (`rooms.json`).
public struct RoomLegend: FieldSet {
  @Field("The rooms.") public var rooms: [Room]

  public init() {}
}

/// One room.
public struct Room: FieldSet {
  @Field("Its code, as timetables write it.", .notEmpty) public var code: String
  @Field("The room's address, in free text; may be empty.") public var address: String

  public init() {}
}

/// The timetable of one group, as its file holds it.
public struct GroupTimetable: FieldSet {
  @Field("Version of the file's form; absent means 1.") public var version: Int?
  @Field("When the publisher made the file.") public var generatedAt: Timestamp?
  @Field("The academic year.") public var academicYear: String
  @Field("Id of the program.") public var programId: String
  @Field("The study year.") public var year: Int
  @Field("The group.") public var group: Int
  @Field("The day of the university's last change to its page, if it is known.", .pattern(.date))
  public var lastUpdatedAtSource: String?
  @Field("The days that have classes.") public var days: [TimetableDay]

  public init() {}

  /// Whether no day has a class.
  public var isEmpty: Bool { days.allSatisfy(\.entries.isEmpty) }

  /// Whether it is the timetable that the publisher writes when it couldn't read its source and had nothing older.
  public var isPlaceholder: Bool { isEmpty && lastUpdatedAtSource == nil }
}

/// One day of the week in a timetable.
public struct TimetableDay: FieldSet, Hashable {
  @Field("The day of the week.") public var day: Weekday
  @Field("The classes, by starting time.") public var entries: [TimetableEntry]

  public init() {}
}

/// A day that can have classes.
public enum Weekday: String, Choice {
  case monday, tuesday, wednesday, thursday, friday

  /// The number of the day, 1 for Monday.
  public var number: Int { (Weekday.allCases.firstIndex(of: self) ?? 0) + 1 }

  /// The name in English, with a capital.
  public var title: String { rawValue.prefix(1).uppercased() + rawValue.dropFirst() }
}

/// One class of a timetable.
public struct TimetableEntry: FieldSet, Hashable {
  @Field("The published time, for display: '8–10' or '08:00–10:00'.", .notEmpty) public var time: String
  @Field("When it starts, as HH:MM; absent if the published time can't be read.") public var start: String?
  @Field("When it ends, as HH:MM; absent if the published time can't be read.") public var end: String?
  @Field("The teaching weeks of the class.") public var frequency: Frequency
  @Field("The course.", .notEmpty) public var course: String
  @Field("The kind of class.") public var type: ClassType
  @Field("Code of the room or free text; empty if there is none.") public var room: String
  @Field("The room's address, if it is known.") public var roomAddress: String?
  @Field("The teacher; empty if none is named, '- Necunoscut' if the university doesn't know.")
  public var instructor: String
  @Field("The students that it is for; absent in files of the first version.") public var audience: Audience?

  public init() {}
}

/// Whether a class is held every week, or in one of two alternating weeks.
public enum Frequency: String, Choice {
  case weekly, week1, week2
}

/// The kind of a class.
public enum ClassType: String, Choice {
  case lecture, seminar, lab
}

/// The audience of a class.
///
/// It only informs: no class is left out because of it unless a subgroup is chosen.
public struct Audience: FieldSet, Hashable {
  @Field("The formation on the university's page, such as '512/1'; absent if the page names none clearly.")
  public var formation: String?
  @Field("The publisher's interpretation of the formation.") public var scope: Scope
  @Field("The usual audience of a class of this kind.") public var expectedScope: ExpectedScope
  @Field("Whether scope is as expected, or unknown.") public var isStandard: Bool

  public init() {}

  /// The size of the audience that a formation denotes.
  public enum Scope: String, Choice {
    case cohort, group, subgroup, unknown
  }

  /// The usual audience of a kind of class.
  public enum ExpectedScope: String, Choice {
    case cohort, group, subgroup
  }
}

/// Teaching and vacation periods of one academic year (`academic-calendar.json`).
public struct AcademicCalendar: FieldSet {
  @Field("Version of the file's form, if it says so.") public var version: Int?
  @Field("When the publisher made the file.") public var generatedAt: Timestamp?
  @Field("The academic year that it covers.", .pattern(.academicYear)) public var academicYear: String
  @Field("The page that the dates were taken from.") public var sourceUrl: String?
  @Field("The calendars, one for each set of languages and kind of study year.", .notEmpty)
  public var calendars: [StudyCalendar]

  public init() {}
}

/// The periods that hold for some languages and one kind of study year.
public struct StudyCalendar: FieldSet {
  @Field("The teaching languages that it applies to.") public var languages: [TeachingLanguage]
  @Field("Whether it applies to the last study year or to the others.") public var studyYearKind: StudyYearKind
  @Field("The two semesters.", .minLength(2), .maxLength(2)) public var semesters: [Semester]

  public init() {}
}

/// The teaching language of a program.
public enum TeachingLanguage: String, Choice {
  case ro, en, hu, de
}

/// Whether a study year is a program's last.
public enum StudyYearKind: String, Choice {
  case terminal, nonterminal
}

/// Half of an academic year.
public struct Semester: FieldSet {
  @Field("1 or 2.", .range(1...2)) public var semester: Int
  @Field("First day of teaching.", .pattern(.date)) public var teachingStartsOn: String
  @Field("Last day of teaching.", .pattern(.date)) public var teachingEndsOn: String
  @Field("The periods, in order; exams and resits are in none.", .notEmpty) public var periods: [Period]

  public init() {}
}

/// Days of one sort.
public struct Period: FieldSet {
  @Field("Whether there are classes.") public var type: PeriodType
  @Field("First day.", .pattern(.date)) public var startDate: String
  @Field("Last day, which still belongs to it.", .pattern(.date)) public var endDate: String
  @Field("The period's name.") public var name: String?

  public init() {}
}

/// The sort of a period.
public enum PeriodType: String, Choice {
  case teaching, vacation
}

extension TextPattern {
  /// Two years in a row, as the publisher writes them.
  static let academicYear = TextPattern(
    "an academic year such as 2025-2026", regex: "^[0-9]{4}-[0-9]{4}$", accepted: ["2025-2026"],
    refused: ["2025", "2025-26", "2025–2026", "2025/2026", ""]
  ) { text in
    text.utf8.count == 9
      && text.utf8.enumerated().allSatisfy { $0 == 4 ? $1 == ASCII.minus : ASCII.digits.contains($1) }
  }
}
