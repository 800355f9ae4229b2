import ActionKit
import HTTPClient
import LocalFiles

enum CompareWithCopy: Action {
  static let name = "compareWithCopy"
  static let summary = "Reports the changes in a group's timetable since saveCopy saved a copy."
  static let effect = Effect.read
  static let examples = [
    Example(
      "Since the last copy",
      """
      selection: { programId: informatica-maghiara, year: 1, group: 511 }
      copy: timetable/g511.json
      """)
  ]

  struct Input: FieldSet {
    @Field("The program, study year and group.") var selection: SelectionFields
    @Field("Path of the copy; without a copy there is nothing to compare with, and no change.", .notEmpty)
    var copy: String
    @Field("Whether to ask the network even if the cached file is fresh.") var refresh = false
  }

  struct Output: FieldSet {
    @Field("Whether a timetable is published; if not, every class of the copy is gone.") var available: Bool
    @Field("Whether there is a copy.") var hasCopy: Bool
    @Field("When the copy was saved.") var copiedAt: Timestamp?
    @Field("The changes, in the order of the week.") var changes: [ChangeFields]
    @Field("The days that have classes, for saveCopy.") var days: [TimetableDay]
    @Field("How current the timetable is.") var freshness: FreshnessFields
    @Field("Warnings about the data.") var warnings: [String]
  }

  struct ChangeFields: FieldSet {
    @Field("Whether a class is new, gone, or has another day, time, room or teacher.") var kind: Kind
    @Field("The change as a line for people.") var text: String
    @Field("The course.") var course: String

    enum Kind: String, Choice {
      case added, removed, changed
    }

    init() {}

    init(_ change: EntryChange) {
      text = change.text
      switch change {
      case .added(_, let entry):
        kind = .added
        course = entry.course
      case .removed(_, let entry):
        kind = .removed
        course = entry.course
      case .changed(_, let new):
        kind = .changed
        course = new.1.course
      }
    }
  }

  static func run(_ input: Input, on service: TimetableClient, in context: ActionContext) async throws -> Output {
    let copy = try await TimetableCopy.read(service.files.file(input.copy, in: context))
    let selection = try await input.selection.resolved(by: service)
    let answer = try await service.timetable(of: selection, refresh: input.refresh)
    let days = answer.content?.narrowed(to: input.selection.subgroup).days ?? []
    return try Output {
      $0.available = answer.content != nil
      $0.hasCopy = copy != nil
      $0.copiedAt = copy?.savedAt
      $0.changes = copy.map { EntryChange.between($0.days, days).map(ChangeFields.init) } ?? []
      $0.days = days
      $0.freshness = FreshnessFields(
        answer, generatedAt: answer.content?.generatedAt, lastUpdatedAtSource: answer.content?.lastUpdatedAtSource)
      $0.warnings = answer.warnings
    }
  }
}

/// A timetable as it was, in a file of JSON.
struct TimetableCopy: FieldSet {
  @Field("When it was saved.") var savedAt: Timestamp
  @Field("The days that had classes.") var days: [TimetableDay]

  /// Reads a copy; nil if there is none.
  static func read(_ file: LocatedFile) async throws(ActionError) -> TimetableCopy? {
    guard let bytes = try await file.readIfThere(limit: 64 << 20) else { return nil }
    guard let value = try? JSON.parse(bytes), let copy = try? TimetableCopy(answer: value, as: "copy") else {
      throw ActionError(.validation, "'\(file.path)' isn't a copy of a timetable; remove it, or name another file.")
    }
    return copy
  }
}
