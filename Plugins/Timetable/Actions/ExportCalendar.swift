import ActionKit
import Calendars
import HTTPClient
import LocalFiles

enum ExportCalendar: PreviewingAction {
  static let name = "exportCalendar"
  static let summary = "Writes a group's classes as a calendar file (iCalendar) that other programs can subscribe to."
  // The file depends only on the timetable, however often it is written.
  static let effect = Effect.idempotentWrite(within: .forever)
  static let examples = [
    Example(
      "A semester",
      """
      selection: { programId: informatica-maghiara, year: 1, group: 511, language: hu }
      to: ${{ inputs.file }}
      from: 2026-02-23
      until: 2026-06-07
      """)
  ]

  struct Input: ValidatedFieldSet {
    @Field("The program, study year and group.") var selection: SelectionFields
    @Field("Path of the file; a missing folder is created.", .notEmpty) var to: String
    @Field(
      "First date; absent means the first day of teaching by the academic calendar or, without one, today.",
      .pattern(.date))
    var from: String?
    @Field(
      "Last date; absent means the last day of teaching by the academic calendar or, without one, 120 days later.",
      .pattern(.date))
    var until: String?
    @Field("The calendar's name in calendar programs.", .notEmpty) var title = "Timetable"
    @Field("Whether to ask the network even if the cached file is fresh.") var refresh = false

    func conflicts() -> [Conflict] {
      guard let from = from.flatMap({ CivilDate($0) }), let until = until.flatMap({ CivilDate($0) }) else { return [] }
      return ExportCalendar.fault(from, until).map { [Conflict($0, at: "until")] } ?? []
    }
  }

  struct Output: FieldSet {
    @Field("Whether a timetable is published; if not, the file is left as it is.") var available: Bool
    @Field("Full path of the file.", .isFile) var path: String
    @Field("Whether the file was written; a file that already says the same is left as it is.") var changed: Bool
    @Field("How many classes are in it.") var events: Int
    @Field("First date.") var from: String
    @Field("Last date.") var until: String
    @Field("How current the timetable is.") var freshness: FreshnessFields
    @Field("Warnings about the data.") var warnings: [String]
  }

  /// The fault of a first and a last date; nil if they are valid.
  private static func fault(_ from: CivilDate, _ until: CivilDate) -> String? {
    if until < from { return "must not be before 'from'" }
    if until.daysSinceEpoch - from.daysSinceEpoch > 400 { return "must be at most 400 days after 'from'" }
    return nil
  }

  /// A calendar file to export, with the classes and dates that it covers.
  private struct Export {
    var days: ClassDays
    var dates: ClosedRange<CivilDate>
    var calendar: ICalendar
    var file: LocatedFile
    var old: [UInt8]?
    let new: [UInt8]
    /// Whether the content of the file changes; the time of the look-up doesn't count.
    let changes: Bool
    var isAvailable: Bool { days.timetable.content != nil }

    init(_ days: ClassDays, _ dates: ClosedRange<CivilDate>, _ calendar: ICalendar, file: LocatedFile, old: [UInt8]?) {
      (self.days, self.dates, self.calendar, self.file, self.old) = (days, dates, calendar, file, old)
      let new = Array(calendar.text.utf8)
      self.new = new
      changes = days.timetable.content != nil && old.map { Export.lines($0) != Export.lines(new) } ?? true
    }

    private static func lines(_ file: [UInt8]) -> [ArraySlice<UInt8>] {
      file.split(separator: ASCII.newline, omittingEmptySubsequences: false)
        .filter { !$0.starts(with: "DTSTAMP:".utf8) }
    }
  }

  private static func export(
    _ input: Input, _ service: TimetableClient, _ context: ActionContext
  ) async throws -> Export {
    let file = try service.files.file(input.to, in: context)
    let today = try service.date(nil, or: context.now)
    var dates = today...today
    let days = try await ClassDays(input.selection, refresh: input.refresh, on: service) { weeks in
      let from = input.from.flatMap { CivilDate($0) } ?? weeks.teachingDates?.lowerBound ?? today
      let until =
        input.until.flatMap { CivilDate($0) } ?? weeks.teachingDates.map(\.upperBound).flatMap { $0 < from ? nil : $0 }
        ?? from.adding(days: 120)
      if let fault = fault(from, until) {
        throw ActionError(.validation, "The last date, \(until), \(fault), which is \(from).")
      }
      dates = from...until
      return dates
    }
    // The publisher's instant, so that the file stays the same while the timetable does.
    let stamp = days.timetable.content?.generatedAt ?? days.timetable.cachedAt
    let calendar = ICalendar(
      name: input.title, of: days.days, days.selection, stamp: stamp, zone: try service.zone)
    let old = try await file.readIfThere(limit: 64 << 20)
    return Export(days, dates, calendar, file: file, old: old)
  }

  static func preview(_ input: Input, on service: TimetableClient, in context: ActionContext) async throws -> [Change] {
    let export = try await export(input, service, context)
    guard export.changes else { return [] }
    let before = export.old?.split(separator: ASCII.newline).count { $0.starts(with: "BEGIN:VEVENT".utf8) }
    let after = export.calendar.events.count
    return [Change("the file '\(export.file.path)'", from: before.map { "\($0) events" }, to: "\(after) events")]
  }

  static func run(_ input: Input, on service: TimetableClient, in context: ActionContext) async throws -> Output {
    let export = try await export(input, service, context)
    if export.changes { try await export.file.write(export.new) }
    return try Output {
      $0.available = export.isAvailable
      $0.path = export.file.path
      $0.changed = export.changes
      $0.events = export.calendar.events.count
      $0.from = export.dates.lowerBound.description
      $0.until = export.dates.upperBound.description
      $0.freshness = export.days.freshness
      $0.warnings = export.days.timetable.warnings(for: export.days.days)
    }
  }
}
