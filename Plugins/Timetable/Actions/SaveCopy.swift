import ActionKit
import LocalFiles

enum SaveCopy: PreviewingAction {
  static let name = "saveCopy"
  static let summary = "Saves the days of a timetable as the copy that compareWithCopy compares with."
  static let effect = Effect.idempotentWrite(within: .forever)
  static let examples = [
    Example(
      "The days that were compared",
      """
      copy: timetable/g511.json
      days: ${{ steps.changes.days }}
      """)
  ]

  struct Input: FieldSet {
    @Field("Path of the copy; a missing folder is created.", .notEmpty) var copy: String
    @Field("The days, as compareWithCopy or getTimetable gave them.") var days: [TimetableDay]
  }

  struct Output: FieldSet {
    @Field("Full path of the copy.", .isFile) var path: String
    @Field("How many classes it has.") var classes: Int
  }

  static func preview(_ input: Input, on service: TimetableClient, in context: ActionContext) async throws -> [Change] {
    let file = try service.files.file(input.copy, in: context)
    let old = try await TimetableCopy.read(file)
    return [Change("the copy '\(file.path)'", from: old.map { words($0.days) }, to: words(input.days))]
  }

  static func run(_ input: Input, on service: TimetableClient, in context: ActionContext) async throws -> Output {
    let file = try service.files.file(input.copy, in: context)
    let copy = try TimetableCopy {
      $0.savedAt = context.now
      $0.days = input.days
    }
    try await file.write(try JSON.write(copy.encoded(), .pretty) + [ASCII.newline])
    return try Output {
      $0.path = file.path
      $0.classes = input.days.reduce(0) { $0 + $1.entries.count }
    }
  }

  private static func words(_ days: [TimetableDay]) -> String {
    let count = days.reduce(0) { $0 + $1.entries.count }
    return count == 1 ? "1 class" : "\(count) classes"
  }
}
