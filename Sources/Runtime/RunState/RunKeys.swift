/// Run keys: names that callers choose for runs, so that a request which is sent twice starts one run.
///
/// A key belongs to one caller and one recipe. It is recorded with the run's first event, so that no second run of the
/// same key can be appended: the state refuses it as a conflict while the run is open, and for seven days after it was
/// created. A retry takes over the key of the run that it retries, unless it was asked for with a key of its own. A
/// start out of turn that has to wait reserves its key for the run that it will start, and one that starts nothing
/// leaves its outcome with the key.
///
/// The state finds the run by the SHA-256 of caller, recipe and key, each ended by a byte 0, so that nothing legible is
/// left of a run that is deleted; its key stays taken for those days. Keys that have expired are removed when the
/// oldest of them is a day overdue, which costs one look at each key a day.
package import Basics

/// The key of a run, as its caller chose it.
package struct RunKey: Record, Equatable {
  /// How long a run keeps its key after its creation, even if it has ended.
  package static let lifetime = TimeSpan.seconds(7 * 86_400)
  /// The words for a key in messages.
  package static let words = "the key of the request"
  /// The most characters of a key.
  package static let mostCharacters = 200

  package var key: String
  /// The account of the caller.
  package var caller: String
  /// The SHA-256 of the request, if it was not a start, whose inputs the run has: a retry, or a start out of turn.
  package var request: String?

  package init(_ key: String, caller: String) {
    self.key = key
    self.caller = caller
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    key = try member("key", record?.key)
    caller = try member("caller", record?.caller)
    request = try member("request", record?.request)
  }

  /// Why a text can't be a key; nil if it can.
  package static func fault(of text: String) -> String? {
    let isSound = !text.isEmpty && text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
    if isSound, text.unicodeScalars.count <= mostCharacters { return nil }
    return "a key has 1 to \(mostCharacters) characters and no control characters, such as 2026-11"
  }

  /// The key as a decision about a run keeps it: as a digest, which says nothing when the run's data is deleted.
  package func digested(of run: String) throws(RecordError) -> RunKey {
    var digested = self
    digested.key = try digest(of: run)
    return digested
  }

  /// The name that the state stores the key under.
  package func digest(of recipe: String) throws(RecordError) -> String {
    do throws(StateError) {
      return try sha256([caller, recipe, key].flatMap { Array($0.utf8) + [0] })
    } catch {
      throw RecordError(error.message)
    }
  }
}

/// The run that has a key, or the outcome of a start that made none.
package struct KeyedRun: Record, Equatable {
  /// Empty if there is none.
  package var run: String
  /// When it was created.
  package var at: Timestamp
  /// The outcome of a start out of turn that started nothing, such as one that was skipped.
  package var settled: SlotRecord?

  package init(run: String, at: Timestamp) {
    self.run = run
    self.at = at
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    run = try member("run", record?.run)
    at = try member("at", record?.at)
    settled = try member("settled", record?.settled)
  }
}

/// The runs that have a key.
struct RunKeys: Sendable, Equatable {
  /// By the digests of their keys.
  private(set) var runs: [String: KeyedRun] = [:]
  /// A bound of when the oldest of those was created that have ended.
  private var oldest: Timestamp?

  /// How long the oldest key is overdue before expired keys are removed.
  private static let slack = TimeSpan.seconds(86_400)

  init() {}

  /// - Parameter isOpen: Whether a run is open.
  init(_ runs: [String: KeyedRun], isOpen: (String) -> Bool) {
    self.runs = runs
    oldest = runs.values.filter { !isOpen($0.run) }.map(\.at).min()
  }

  /// The run that has a key at an instant.
  func holder(of digest: String, at instant: Timestamp, isOpen: (String) -> Bool) -> KeyedRun? {
    guard let holder = runs[digest], isOpen(holder.run) || instant < holder.at.adding(RunKey.lifetime) else {
      return nil
    }
    return holder
  }

  /// Reserves a key for a run that a waiting start will create.
  mutating func reserve(
    _ key: RunKey, for run: String, of recipe: String, at instant: Timestamp, isOpen: (String) -> Bool
  ) throws(RecordError) {
    let digest = try key.digest(of: recipe)
    if let holder = holder(of: digest, at: instant, isOpen: isOpen), holder.run != run {
      throw .isTaken(key, by: holder)
    }
    runs[digest] = KeyedRun(run: run, at: instant)
    oldest = min(oldest ?? instant, instant)
  }

  /// Keeps with its key what became of a start out of turn that started nothing.
  mutating func keep(_ slot: SlotRecord, _ key: RunKey, of recipe: String, isOpen: (String) -> Bool) throws(RecordError)
  {
    let digest = try key.digest(of: recipe)
    if let holder = holder(of: digest, at: slot.at, isOpen: isOpen) { throw .isTaken(key, by: holder) }
    var keyed = KeyedRun(run: "", at: slot.at)
    keyed.settled = slot
    // The digest finds it.
    keyed.settled?.key?.key = ""
    runs[digest] = keyed
    oldest = min(oldest ?? slot.at, slot.at)
  }

  /// Gives a new run its key.
  mutating func take(_ key: RunKey, for run: RunCreated, isOpen: (String) -> Bool) throws(RecordError) {
    let digest = try key.digest(of: run.recipe)
    if let holder = holder(of: digest, at: run.at, isOpen: isOpen), holder.run != run.run {
      let isRetry = run.cause.kind == .retry && key.request == nil
      if isRetry, run.cause.run != holder.run { return }
      guard isRetry else {
        throw .isTaken(key, by: holder)
      }
    }
    runs[digest] = KeyedRun(run: run.run, at: run.at)
    guard let oldest, oldest.adding(RunKey.lifetime).adding(RunKeys.slack) <= run.at else { return }
    runs = runs.filter { isOpen($0.value.run) || run.at < $0.value.at.adding(RunKey.lifetime) || $0.key == digest }
    self.oldest = runs.values.filter { !isOpen($0.run) && $0.run != run.run }.map(\.at).min()
  }

  /// Notes the end of a run that has a key.
  mutating func end(_ key: RunKey, of run: RunRecord) {
    guard let digest = try? key.digest(of: run.recipe), let holder = runs[digest], holder.run == run.id else { return }
    if let end = run.endedAt, holder.at.adding(RunKey.lifetime) <= end {
      runs[digest] = nil
    } else {
      oldest = min(oldest ?? holder.at, holder.at)
    }
  }
}

extension RecordError {
  fileprivate static func isTaken(_ key: RunKey, by holder: KeyedRun) -> RecordError {
    let who = holder.settled.map { "a start of '\($0.schedule)' that started nothing" } ?? "the run \(holder.run)"
    return RecordError("\(who) has the key '\(key.key)'", isConflict: true)
  }
}

extension Timestamp {
  fileprivate func adding(_ span: TimeSpan) -> Timestamp { advanced(by: span) ?? .latest }
}
