import ActionKit

// The fields that several actions share.

/// The selection of a timetable, as recipes write it.
struct SelectionFields: FieldSet {
  @Field("Academic year; absent means the latest of the catalog.", .pattern(.academicYear)) var academicYear: String?
  @Field("Id of the program in the catalog; case matters.", .notEmpty) var programId: String
  @Field("Study year, 1 for the first.", .min(1)) var year: Int
  @Field("Group.", .min(1)) var group: Int
  @Field("Formation such as '512/1'; leaves out classes for other subgroups.", .notEmpty) var subgroup: String?
  @Field("Teaching language of the program; without it the academic calendar can't tell which week it is.")
  var language: TeachingLanguage?
  @Field("Whether it is the program's last study year, whose semesters differ.")
  var studyYearKind = StudyYearKind.nonterminal

  init() {}

  /// The selection, with the academic year looked up if it is not given.
  func resolved(by client: TimetableClient) async throws(TimetableError) -> TimetableSelection {
    var academicYear = academicYear
    if academicYear == nil { academicYear = try await client.catalog().content.academicYears.last }
    guard let academicYear else {
      throw TimetableError(.notFound, "The catalog has no academic year yet; give 'academicYear'.")
    }
    return TimetableSelection(academicYear: academicYear, programId: programId, year: year, group: group)
  }
}

/// How current an answer is.
struct FreshnessFields: FieldSet {
  @Field("When the publisher made the file, if it says so.") var generatedAt: Timestamp?
  @Field("The day of the university's last change to its page, if it is known.") var lastUpdatedAtSource: String?
  @Field("Whether it came from the cache, and not over the network now.", .volatile) var fromCache: Bool
  @Field("When it came over the network.", .volatile) var cachedAt: Timestamp
  @Field("When the publisher's server last confirmed that it is current.", .volatile) var checkedAt: Timestamp
  @Field("Whether it replaces a current one that was unavailable.", .volatile) var isStale: Bool
  @Field("Why it isn't current; absent if it is.", .volatile) var staleReason: String?

  init() {}

  init<Content>(_ published: Published<Content>, generatedAt: Timestamp?, lastUpdatedAtSource: String? = nil) {
    self.generatedAt = generatedAt
    self.lastUpdatedAtSource = lastUpdatedAtSource
    fromCache = published.fromCache
    cachedAt = published.cachedAt
    checkedAt = published.checkedAt
    isStale = published.staleReason != nil
    staleReason = published.staleReason
  }
}

/// One date with its classes.
struct DayFields: FieldSet {
  @Field("The date.") var date: String
  @Field("The day of the week.") var weekday: DayName
  @Field("Which of two alternating weeks it is; absent if there are no classes, or it is unknown.")
  var week: TeachingWeek.Parity?
  @Field("The teaching week of the semester, 1 for the first, if the academic calendar says so.") var weekNumber: Int?
  @Field("Why there are no classes at all, such as the name of the holidays.") var noClasses: String?
  @Field("The classes, by starting time.") var entries: [TimetableEntry]
  @Field("When the first class starts.") var firstStartsAt: Timestamp?
  @Field("When the last class ends.") var lastEndsAt: Timestamp?

  enum DayName: String, Choice {
    case monday, tuesday, wednesday, thursday, friday, saturday, sunday
  }

  init() {}

  init(_ day: ClassDay, _ service: TimetableClient) throws {
    date = day.date.description
    weekday = DayName.allCases[(day.date.weekday + 6) % 7]
    switch day.week {
    case .teaching(let parity, let number):
      week = parity
      weekNumber = number
    case .noClasses(let reason): noClasses = reason
    case .unknown: break
    }
    entries = day.entries
    let zone = try service.zone
    let instants = day.entries.compactMap { $0.instants(on: day.date, in: zone) }
    firstStartsAt = instants.map(\.start).min()
    lastEndsAt = instants.map(\.end).max()
  }
}

extension TeachingWeek.Parity: Hashable {}

extension Published {
  /// The warnings of the answer, with one more if the week of some class is unknown.
  func warnings(for days: [ClassDay]) -> [String] {
    let isOpen = days.contains { $0.week == .unknown && $0.entries.contains { $0.frequency != .weekly } }
    return warnings + (isOpen ? [Self.unknownWeek] : [])
  }

  private static var unknownWeek: String {
    "It is unknown which of the alternating weeks it is, so classes of both are given: it takes an academic calendar of "
      + "that year and 'language' in the selection, or 'weekOneMonday' in the connection."
  }
}

/// The classes of some dates, with how current they are.
struct ClassDays: Sendable {
  var selection: TimetableSelection
  var timetable: Published<GroupTimetable?>
  var weeks: TeachingWeeks
  var days: [ClassDay]

  /// Reads the timetable, and the calendar that decides the weeks; then selects the classes of the dates that `dates`
  /// chooses.
  init(
    _ fields: SelectionFields, week: TeachingWeek.Parity? = nil, refresh: Bool = false, on service: TimetableClient,
    dates: (TeachingWeeks) throws -> ClosedRange<CivilDate>
  ) async throws {
    selection = try await fields.resolved(by: service)
    timetable = try await service.timetable(of: selection, refresh: refresh)
    var calendar: AcademicCalendar?
    if week == nil, fields.language != nil {
      do throws(TimetableError) {
        let answer = try await service.academicCalendar()
        calendar = answer.content
        timetable.warnings += answer.doubts(of: "The academic calendar")
      } catch {
        timetable.warnings.append("The academic calendar is missing. \(error.message)")
      }
      // A calendar of another year says nothing about this one.
      if let year = calendar?.academicYear, !year.hasSameScalars(as: selection.academicYear) { calendar = nil }
    }
    weeks = TeachingWeeks(
      explicit: week, calendar: calendar, language: fields.language, kind: fields.studyYearKind,
      anchor: service.weekOneMonday)
    let range = try dates(weeks)
    let empty = GroupTimetable.none
    days = (timetable.content ?? empty).days(range, weeks, subgroup: fields.subgroup)
  }

  var freshness: FreshnessFields {
    FreshnessFields(
      timetable, generatedAt: timetable.content?.generatedAt,
      lastUpdatedAtSource: timetable.content?.lastUpdatedAtSource)
  }
}

extension GroupTimetable {
  /// One without a single day.
  fileprivate static var none: GroupTimetable {
    var timetable = GroupTimetable()
    timetable.days = []
    return timetable
  }
}
