import ActionKit

// How the writes that make something new find out after a lost answer whether they did.
//
// What was there before is the baseline; what is there now and was not before, and looks like what was asked for, is
// ours. What is only alike, because a service may trim a name or change its case, may be ours or another user's; a person
// has to check. A request can still be under way at the first look, also after the program that sent it died. So what is
// not there counts as not done only once the attempt is old enough to have ended; until then, the look is repeated.

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

/// Something that a write may have made, under the name or id that was asked for or one that is alike.
struct Namesake {
  let key: Int
  let name: String
}

extension Reconciliation {
  /// What the things that are there now and were not before say of a write that makes one of them.
  ///
  /// - Parameters:
  ///   - one: What one of them is called in a sentence, before its name.
  ///   - many: What several of them are called.
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
