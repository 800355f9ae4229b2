import ActionKit
import Calendars
import SandboxKit

/// The one backup that the school has scheduled or built.
struct SandboxBackup: Sendable {
  /// How long the zip exists after its address was first given.
  static var lifetime: TimeSpan { .seconds(3600) }

  var matching: String
  /// When it is built: the first 1 AM in Sydney after it was scheduled.
  var built: Timestamp
  /// When its address was first given.
  var told: Timestamp?

  /// The name of the zip, which carries the moment of building in UTC.
  var fileName: String {
    let stamp = String(decoding: built.description.utf8.filter { $0 != ASCII.colon }, as: UTF8.self)
    return "wattlecreek-backup-\(stamp).zip"
  }

  /// Whether the zip has been deleted.
  func isGone(at now: Timestamp) -> Bool {
    guard let age = told.flatMap({ now.span(since: $0) }) else { return false }
    return age >= SandboxBackup.lifetime
  }

  /// Sydney's clock; without tzdata its winter time, rather than no sandbox at all.
  static let sydney =
    (try? TimeZoneDatabase.system.rules(named: "Australia/Sydney")) ?? TimeZoneRules(name: "+10:00", offset: 36_000)

  /// The first 1 AM in Sydney after an instant.
  static func nextBuild(after now: Timestamp) -> Timestamp {
    let today = sydney.localTime(at: now).time.date.daysSinceEpoch
    for day in today...today + 1 {
      let time = CivilTime(CivilDate(daysSinceEpoch: day), secondOfDay: 3600)
      if let instant = sydney.instant(of: time), instant > now { return instant }
    }
    return now
  }
}

extension SandboxSchool {
  mutating func scheduleBackup(_ parameters: SandboxParameters, at now: Timestamp) -> SandboxAnswer {
    guard let matching = parameters["matching"], matching.count >= 2 else { return .refused("invalid matching") }
    backup = SandboxBackup(matching: matching, built: SandboxBackup.nextBuild(after: now))
    return SandboxAnswer()
  }

  mutating func backupURL(at now: Timestamp) -> SandboxAnswer {
    guard let scheduled = backup, !scheduled.isGone(at: now) else {
      return SandboxAnswer(status: .errorNoBackup, payload: ["url": .string("")])
    }
    guard scheduled.built <= now else {
      return SandboxAnswer(status: .errorPending, payload: ["url": .string("")])
    }
    if scheduled.told == nil { backup?.told = now }
    return SandboxAnswer(payload: ["url": .string("\(origin)\(SandboxSchool.downloads)\(scheduled.fileName)")])
  }

  /// Where backups are downloaded from.
  static var downloads: String { "/markbook/download/" }

  /// The zip with a name, if it was built, its address was given, and it isn't deleted yet.
  func download(_ fileName: String, at now: Timestamp) -> [UInt8]? {
    guard let backup, backup.told != nil, !backup.isGone(at: now), backup.fileName.hasSameScalars(as: fileName) else {
      return nil
    }
    var archive = StoredArchive()
    for markbook in markbooks where markbook.head.markbookName.contains(backup.matching) {
      archive.add("\(markbook.head.markbookKey).csv", Array(markbook.csv.utf8))
    }
    return archive.finished()
  }
}

extension SandboxMarkbook {
  /// The results as a table, one line a student.
  fileprivate var csv: String {
    let header = ["studentid", "familyname", "givename", "classname"] + head.tasks.map(\.name)
    let rows = present.map { row in
      let student = row.student
      return [student.sid, student.familyName, student.givenName, student.className]
        + head.tasks.map { row.results[$0.key] ?? "" }
    }
    return ([header] + rows).map { cells in
      cells.map { "\"\($0.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\""))\"" }
        .joined(separator: ",") + "\r\n"
    }.joined()
  }
}
