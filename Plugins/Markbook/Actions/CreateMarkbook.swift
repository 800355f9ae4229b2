import ActionKit

enum CreateMarkbook: PreviewingAction, ReconcilingAction {
  static let name = "createMarkbook"
  static let summary = "Creates a markbook with its classes and students; the service can't create tasks."
  static let effect = Effect.write
  static let examples = [
    Example(
      "A class of one",
      """
      markbookName: 2027 Y9 Science
      markbookYear: Year 9
      markbookCourse: Science
      ownerKey: 31
      shareList: [31, 34]
      classList:
        - { key: 1, name: 9SCI-1, teacherName1: Reynolds, teacherName2: Tom }
      studentList:
        - { key: 1, studentID: "9812345", familyName: Alexander, givenName: Eddie, classKey: 1 }
      """)
  ]

  typealias Input = CreateMarkbookRequest
  typealias Output = CreateMarkbookResponse

  struct Baseline: FieldSet {
    @Field("Keys of the markbooks that had the name, with or without a number, before.") var markbookKeys: [Int]
  }

  static func run(_ input: Input, on markbook: MarkbookClient, in context: ActionContext) async throws -> Output {
    try await onceUnderSession(input, on: markbook, in: context) {
      try await markbook.createMarkbook(input)
    }
  }

  static func baseline(
    _ input: Input, on markbook: MarkbookClient, in context: ActionContext
  ) async throws -> Baseline {
    let keys = try await namesakes(of: input.markbookName, on: markbook).map(\.key)
    return try Baseline { $0.markbookKeys = keys }
  }

  static func reconcile(
    _ input: Input, with baseline: Baseline, startedAt: Timestamp, on markbook: MarkbookClient,
    in context: ActionContext
  ) async throws -> Reconciliation<Output> {
    try await context.reconcile(since: startedAt) {
      let new = try await namesakes(of: input.markbookName, on: markbook).filter {
        !baseline.markbookKeys.contains($0.key)
      }
      guard let first = new.first else { return .notDone }
      guard new.count == 1 else {
        return .unknown("\(new.count) new markbooks are named '\(input.markbookName)', with or without a number.")
      }
      guard isForm(first.name, of: input.markbookName) else {
        return .unknown(
          "Markbook '\(first.name)', key \(first.key), is new, and differs from '\(input.markbookName)'; check who made it."
        )
      }
      let book = try await markbook.getMarkbook(key: first.key)
      // Another user may have made a markbook of that name meanwhile, with other students.
      let sent = input.studentList.map(\.studentID)
      guard
        book.students.allSatisfy({ found in sent.contains { $0.hasSameScalars(as: found.student.sid) } })
      else {
        return .unknown(
          "Markbook '\(first.name)', key \(first.key), is new and has students who were not sent; check who made it.")
      }
      var answer = Output()
      answer.markbookKey = first.key
      answer.markbookName = first.name
      answer.classCount = book.head.classes.count
      answer.studentCount = book.students.count
      answer.shareCount = book.head.shareList.count
      return .done(answer.compared(with: input))
    }
  }

  static func preview(
    _ input: Input, on markbook: MarkbookClient, in context: ActionContext
  ) async throws -> [Change] {
    let isTaken = try await namesakes(of: input.markbookName, on: markbook).contains {
      $0.name.hasSameScalars(as: input.markbookName)
    }
    let content = "\(input.classList.count) classes, \(input.studentList.count) students"
    return [
      Change(
        "Markbook '\(input.markbookName)'", from: nil,
        to: isTaken ? "\(content), under another name because this one is taken" : content)
    ]
  }

  /// The markbooks of that name, of that name with `-1`, `-2` and so on after it, or of one that is alike.
  private static func namesakes(of name: String, on markbook: MarkbookClient) async throws -> [MarkbookSummary] {
    try await markbook.markbookList().markbooks.filter {
      isForm($0.name, of: name) || isForm($0.name.folded, of: name.folded)
    }
  }

  static func isForm(_ name: String, of wanted: String) -> Bool {
    guard name.utf8.starts(with: wanted.utf8) else { return false }
    let rest = name.utf8.dropFirst(wanted.utf8.count)
    guard !rest.isEmpty else { return true }
    return rest.first == ASCII.minus && rest.count > 1
      && rest.dropFirst().allSatisfy { ASCII.digits.contains($0) }
  }
}
