import ActionKit

// How writes that create something find out after a lost answer whether they were done.
//
// The baseline lists the entries from before the write. An entry that isn't in the baseline, and whose name equals the
// requested one, was created by this write. The service may trim a name or change its case; an entry with a name that
// differs only so may be ours or another user's, and a person has to check. A request can still be under way at the
// first look, even after the program that sent it died. So a missing entry counts as not done only once the attempt is
// old enough to have ended; until then, the look is repeated.

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

  /// The name in lowercase, without blanks at its ends, since the service may change both.
  var folded: String { trimmed.lowercased() }
}

/// Something that a write may have made, under the name or id that was asked for or one that is alike.
struct Namesake {
  let key: Int
  let name: String
}

extension Reconciliation {
  /// Tells from the new entries whether a write that creates one of them was done.
  ///
  /// - Parameters:
  ///   - one: The noun for one entry, before its name in a sentence.
  ///   - many: The noun for several entries.
  init(
    new: [Namesake], wanted: String, in markbookKey: Int, _ one: String, _ many: String,
    output: (_ key: Int) throws -> Output
  ) rethrows {
    guard let first = new.first else {
      self = .notDone
      return
    }
    if new.count > 1 {
      self = .unknown("Markbook \(markbookKey) has \(new.count) new \(many) '\(wanted)'.")
    } else if !first.name.hasSameScalars(as: wanted) {
      self = .unknown(
        "Markbook \(markbookKey) has a new \(one) '\(first.name)', which differs from '\(wanted)'; check who made it.")
    } else {
      self = .done(try output(first.key))
    }
  }
}
