import ActionKit

// How the writes that make something new find out after a lost answer whether they did.
//
// What was there before is the baseline; what is there now and was not before, and looks like what was asked for, is
// ours. What is only alike, because a service may trim a name or change its case, may be ours and may be somebody's; a
// person has to look. A request can still be under way when somebody looks, also after the program that sent it died. So what is not
// there counts as not done only once the attempt is old enough to have ended; until then, the look is taken again.

extension ActionContext {
  /// How long the service may need for a request that it has received.
  static let settling = TimeSpan.seconds(10)

  /// Looks, and if nothing is there looks once more when the attempt has settled.
  func reconcile<Output>(
    since startedAt: Timestamp, _ look: () async throws -> Reconciliation<Output>
  ) async throws -> Reconciliation<Output> {
    let first = try await look()
    guard case .notDone = first, let age = time.now().span(since: startedAt), age < Self.settling else { return first }
    try await time.sleep(for: min(Self.settling - age, Self.settling))
    return try await look()
  }
}

extension String {
  /// Whether the service may have made this name of another: without space at its ends, or in other case.
  func isAlike(_ other: String) -> Bool { folded == other.folded }

  /// The name without what a service may change of it.
  var folded: String { trimmed.lowercased() }
}

extension MarkbookClient {
  /// A student by key and id, as a write will want them; the error says that the pair is none.
  func student(_ key: Int, sid: String, in markbook: MarkbookResponse) throws(ActionError) -> MarkbookStudent {
    guard let student = markbook.student(key, sid: sid) else {
      throw ActionError(
        .notFound, "Markbook '\(markbook.head.markbookName)' has no student with key \(key) and id '\(sid)'.")
    }
    return student
  }
}

extension MarkbookStudent {
  /// The student as plans name them.
  var label: String { "\(preferredName.isEmpty ? givenName : preferredName) \(familyName) (\(studentID))" }
}
