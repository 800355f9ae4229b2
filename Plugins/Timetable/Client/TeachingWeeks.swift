public import ActionKit

// Which week a date lies in.
//
// The publisher marks classes of alternating weeks, and does not say which calendar week is which. The first of these
// rules that can decide is applied:
//
// 1. The caller's choice.
// 2. The academic calendar of the date's academic year, for a teaching language and a kind of study year: the
//    Monday-based weeks of a semester that have a weekday in a teaching period are counted from 1, and odd ones are
//    `week1`. A day outside all teaching periods has no classes.
// 3. A Monday that is known to begin a `week1`: whole weeks since then, even ones are `week1`.
// 4. Otherwise the week is unknown: the classes of both kinds of week are returned, with a warning.

/// The week that a date lies in, as far as it is known.
public enum TeachingWeek: Hashable, Sendable {
  /// Classes are held; `number` counts the teaching weeks of the semester where a calendar says so.
  case teaching(Parity, number: Int?)
  /// No classes are held, for the reason that the text names: a period, or that there is none.
  case noClasses(String)
  /// It is unknown which of the two it is.
  case unknown

  /// One of two alternating weeks.
  public enum Parity: String, Choice {
    case week1, week2

    init(isOdd: Bool) { self = isOdd ? .week1 : .week2 }
  }

  /// Whether a class of a frequency is held, or may be.
  public func holds(_ frequency: Frequency) -> Bool {
    switch self {
    case .teaching(let parity, _): frequency == .weekly || frequency.rawValue == parity.rawValue
    case .noClasses: false
    case .unknown: true
    }
  }
}

/// Tells the week of a date by the rules of `TeachingWeeks.swift`.
public struct TeachingWeeks: Sendable {
  private let explicit: TeachingWeek.Parity?
  private let calendar: AcademicCalendar?
  private let semesters: [Term]
  private let anchor: CivilDate?

  /// Dates of a semester.
  fileprivate struct Term: Sendable {
    var periods: [(dates: ClosedRange<CivilDate>, isTeaching: Bool, name: String?)]
    /// The Mondays of its teaching weeks, in order.
    var mondays: [CivilDate]
  }

  /// Collects the sources that decide the weeks.
  ///
  /// - Parameters:
  ///   - explicit: The caller's choice, for every date.
  ///   - calendar: The academic calendar. It is ignored for dates outside its academic year, which begins in September,
  ///     and if it has no entry for the language and kind.
  ///   - language: The program's teaching language; without one the calendar cannot be used.
  ///   - anchor: A Monday that begins a `week1`.
  public init(
    explicit: TeachingWeek.Parity? = nil, calendar: AcademicCalendar? = nil, language: TeachingLanguage? = nil,
    kind: StudyYearKind = .nonterminal, anchor: CivilDate? = nil
  ) {
    self.explicit = explicit
    self.anchor = anchor
    let own = calendar?.calendars.first { calendar in
      calendar.studyYearKind == kind && (language.map(calendar.languages.contains) ?? false)
    }
    self.calendar = own == nil ? nil : calendar
    semesters = own?.semesters.map(Term.init) ?? []
  }

  /// The calendar's first and last day of teaching; nil if there is none.
  public var teachingDates: ClosedRange<CivilDate>? {
    let periods = semesters.flatMap(\.periods).filter(\.isTeaching).map(\.dates)
    guard let first = periods.map(\.lowerBound).min(), let last = periods.map(\.upperBound).max() else { return nil }
    return first...last
  }

  /// Returns the week of a date, as far as it is known.
  public func week(of date: CivilDate) -> TeachingWeek {
    if let explicit { return .teaching(explicit, number: nil) }
    if let calendar, date.academicYear.hasSameScalars(as: calendar.academicYear) {
      return semesters.lazy.compactMap { $0.week(of: date) }.first ?? .noClasses("no teaching period")
    }
    guard let anchor else { return .unknown }
    let weeks = (date.daysSinceEpoch - anchor.monday.daysSinceEpoch).flooredDivision(by: 7)
    return .teaching(.init(isOdd: weeks.isMultiple(of: 2)), number: nil)
  }
}

extension TeachingWeeks.Term {
  init(_ semester: Semester) {
    periods = semester.periods.compactMap { period in
      guard let first = CivilDate(period.startDate), let last = CivilDate(period.endDate), first <= last else {
        return nil
      }
      return (first...last, period.type == .teaching, period.name)
    }
    var mondays: Set<CivilDate> = []
    for period in periods where period.isTeaching {
      var monday = period.dates.lowerBound.monday
      // No academic year has more weeks.
      for _ in 0..<60 where monday <= period.dates.upperBound {
        let friday = monday.adding(days: 4)
        if friday >= period.dates.lowerBound { mondays.insert(monday) }
        monday = monday.adding(days: 7)
      }
    }
    self.mondays = mondays.sorted()
  }

  /// Returns the week of a date; nil if the semester has no period that contains it.
  func week(of date: CivilDate) -> TeachingWeek? {
    guard let period = periods.first(where: { $0.dates.contains(date) }) else { return nil }
    guard period.isTeaching else { return .noClasses(period.name ?? "vacation") }
    // At the weekend before the first weekday of teaching there is a period and no week.
    guard let index = mondays.firstIndex(of: date.monday) else { return .noClasses("no weekday of teaching") }
    return .teaching(.init(isOdd: index.isMultiple(of: 2)), number: index + 1)
  }
}

extension CivilDate {
  /// The academic year of the date, which begins in September.
  var academicYear: String {
    let first = month >= 9 ? year : year - 1
    return "\(first)-\(first + 1)"
  }
}
