/// Failures that look alike: of a recipe, at a step, of a kind, with a message that is the same without its numbers.
///
/// The summary of a run that failed has the id of its group, so that the failures of a group are counted and found
/// without reading their records: the CRC-64/XZ of the recipe, the step, the kind and the message, each with a line end.
/// The step is its path without the numbers of items and rounds. In the message, each word with a digit is `#`, so that
/// "run 12 failed after 3.5s" and "run 7 failed after 10.2s" are alike. A run whose data was erased is in no group,
/// because its message is gone.
package import Basics

/// The group that a failed run belongs to.
package struct FailureMark: Record, Equatable {
  /// The id of the group.
  package var group: String
  package var kind: ErrorKind
  /// The path of the step that failed, without the numbers of items; nil if no step did.
  package var step: String?

  /// The mark of a run; nil unless it failed and still has its message.
  init?(of run: RunRecord) {
    guard FailureMark.statuses.contains(run.status), run.erasedAt == nil else { return nil }
    kind = run.error?.kind ?? .internal
    step = run.error?.step.map(FailureMark.stepPattern)
    var sum = Checksum()
    let message = FailureMark.pattern(run.error?.message ?? run.reason ?? "")
    sum.update(Array([run.recipe, step ?? "", kind.rawValue, message].map { $0 + "\n" }.joined().utf8))
    group = sum.text
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    group = try member("group", record?.group)
    kind = try member("kind", record?.kind)
    step = try member("step", record?.step)
  }

  /// The statuses of runs that count as failures: a person ended the others, or they succeeded.
  package static let statuses: Set<RunStatus> = [.failed, .timedOut]

  /// How much of a message is compared, in bytes.
  private static let mostCompared = 400

  /// The first line of a message with `#` for each word that has a digit, and for each UUID.
  package static func pattern(_ message: String) -> String {
    var pattern: [UInt8] = []
    var word: [UInt8] = []
    var hasDigit = false
    func endWord() {
      pattern += hasDigit ? [UInt8(ascii: "#")] : word
      (word, hasDigit) = ([], false)
    }
    let bytes = Array(message.utf8.prefix(mostCompared))
    var rest = bytes[...]
    while let byte = rest.first, byte != ASCII.newline {
      if word.isEmpty, isUUID(rest.prefix(36)) {
        pattern.append(UInt8(ascii: "#"))
        rest.removeFirst(36)
        continue
      }
      rest.removeFirst()
      let isDigit = ASCII.digits.contains(byte)
      if isDigit || ASCII.lowercase.contains(byte | 0x20) {
        word.append(byte)
        hasDigit = hasDigit || isDigit
      } else {
        endWord()
        pattern.append(byte)
      }
    }
    endWord()
    return String(decoding: pattern, as: UTF8.self)
  }

  /// Whether bytes are a UUID, such as a run's id, whose parts may have no digit.
  private static func isUUID(_ bytes: ArraySlice<UInt8>) -> Bool {
    bytes.count == 36
      && bytes.enumerated().allSatisfy { index, byte in
        [8, 13, 18, 23].contains(index)
          ? byte == ASCII.minus
          : ASCII.digits.contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
      }
  }

  /// The path of a step without the numbers between its brackets.
  private static func stepPattern(_ step: StepPath) -> String {
    var isInside = false
    let bytes = step.utf8.filter { byte in
      defer { if byte == ASCII.openBracket { isInside = true } }
      if byte == ASCII.closeBracket { isInside = false }
      return !isInside
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// The failures of a group since an instant.
package struct FailureGroup: Record, Equatable {
  /// The one that ended last.
  package var latest: RunSummary
  package var count: Int
  /// Whether a run of the recipe that the same schedule started, or a retry, has succeeded since.
  package var hasSucceeded: Bool

  package init(latest: RunSummary, count: Int, hasSucceeded: Bool) {
    self.latest = latest
    self.count = count
    self.hasSucceeded = hasSucceeded
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    latest = try member("latest", record?.latest)
    count = try member("count", record?.count)
    hasSucceeded = try member("hasSucceeded", record?.hasSucceeded, default: false)
  }

  package var id: String { latest.failure?.group ?? "" }
  package var recipe: String { latest.recipe }

  /// The text that the messages have in common: without their numbers.
  package var message: String? { latest.reason.map(FailureMark.pattern) }

  /// Whether a run is one of the group's.
  package static func matches(_ run: RunSummary, group: String) -> Bool {
    run.failure?.group.hasSameScalars(as: group) == true
  }

  /// How long failures are listed.
  package static let reach = TimeSpan.seconds(30 * 86_400)
  /// The most groups that are counted; of more, the ones that failed last.
  package static let most = 1000
}

/// A person dismissed the failures of a group so far: it isn't listed until it fails again.
package struct FailureDismissed: Record, Equatable {
  package var at: Timestamp
  /// The id of the group.
  package var group: String
  package var recipe: String
  /// The end of the latest failure that the person knew of; a later one isn't dismissed.
  package var until: Timestamp
  /// Who dismissed it: the name of the token or the person; absent for the agent's own account.
  package var by: String?
  package var note: String?

  package init(
    at: Timestamp, group: String, recipe: String, until: Timestamp, by person: String? = nil, note: String? = nil
  ) {
    self.at = at
    self.group = group
    self.recipe = recipe
    self.until = until
    by = person
    self.note = note
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    at = try member("at", record?.at)
    group = try member("group", record?.group)
    recipe = try member("recipe", record?.recipe)
    until = try member("until", record?.until)
    by = try member("by", record?.by)
    note = try member("note", record?.note)
  }

  /// When it is forgotten, because the failures that it is about are no longer listed.
  package var forgottenAt: Timestamp { at.advanced(by: FailureGroup.reach + FailureGroup.reach) ?? .latest }
}
