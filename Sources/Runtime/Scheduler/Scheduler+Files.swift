package import Basics
import Calendars
package import Recipes
package import RunState

// Files that come or change start runs, one each. The owner looks at the folders and says which versions have stayed
// unchanged for long enough (`SettlingFiles`); the scheduler knows which it has seen. The first look with a pattern
// ignores the files that exist already, unless the entry says otherwise. A file for which the queue has no place stays
// in its folder, unseen, until there is one. A file that is gathered for a batch is recorded with it, in the write that
// records it as seen.

/// A version of a file, with its path from the folder of errand.yaml.
package struct FoundFile: Sendable, Equatable {
  package var path: String
  package var version: FileVersion

  package init(_ path: String, _ version: FileVersion) {
    self.path = path
    self.version = version
  }

  /// An identifier of this version, made from its path, size and time of modification.
  package var id: String {
    var hash = FowlerNollVo()
    hash.add("\(path) \(version.bytes) \(version.modifiedAt)")
    let digits = String(hash.value, radix: 16)
    return "file-" + String(repeating: "0", count: 16 - digits.count) + digits
  }
}

/// The result of a look at the files of one schedule.
package struct FileLook: Sendable {
  package var pattern: FilePattern
  /// All files that match.
  package var present: [FoundFile]
  /// The matching files that have stayed unchanged for long enough.
  package var settled: [FoundFile]
  /// Seen files that are gone.
  package var gone: [String]

  package init(_ pattern: FilePattern, present: [FoundFile], settled: [FoundFile] = [], gone: [String] = []) {
    self.pattern = pattern
    self.present = present
    self.settled = settled
    self.gone = gone
  }
}

/// The files that are waited for until they stay unchanged.
package struct SettlingFiles: Sendable {
  private var pending: [String: (version: FileVersion, since: Timestamp)] = [:]

  package init() {}

  /// The files that have stayed unchanged, the oldest first, and when the next of the others will have.
  ///
  /// - Parameter files: The unseen files that the look found.
  package mutating func look(
    at files: [FoundFile], settling settle: TimeSpan, now: Timestamp
  ) -> (settled: [FoundFile], next: Timestamp?) {
    var rest: [String: (version: FileVersion, since: Timestamp)] = [:]
    var settled: [FoundFile] = []
    var next: Timestamp?
    for file in files {
      // A clock that was set back begins the wait again.
      let known = pending[file.path].flatMap { $0.version == file.version && $0.since <= now ? $0.since : nil }
      let since = known ?? now
      rest[file.path] = (file.version, since)
      let due = since.advanced(by: settle) ?? .latest
      if due <= now { settled.append(file) } else { next = min(next ?? due, due) }
    }
    pending = rest
    settled.sort {
      $0.version.modifiedAt == $1.version.modifiedAt
        ? $0.path.precedesByScalars($1.path) : $0.version.modifiedAt < $1.version.modifiedAt
    }
    return (settled, next)
  }
}

extension Scheduler {
  /// With how many starts that wait files stay in their folder.
  package static let mostWaitingFiles = ScheduleEvaluation.mostBuffered

  /// The files that a schedule has seen, and the number of its waiting starts; nil if there is no such schedule.
  package func files(of id: String) -> (seen: SeenFiles?, waiting: Int)? {
    indexes[id].map { (states[$0]?.files, states[$0]?.buffered.count ?? 0) }
  }

  /// Decides on the files of a schedule: each version that has not been seen is recorded as seen with its slot, in one
  /// batch.
  package mutating func looked(_ look: FileLook, for id: String, at now: Timestamp) -> [Decision] {
    guard let index = indexes[id] else { return [] }
    return evaluate(index, at: now) { $0.take(look) }
  }
}

extension ScheduleEvaluation {
  fileprivate mutating func take(_ look: FileLook) {
    // The entry may have been edited during the look.
    guard case .file(look.pattern, settle: _, let existing) = plan.trigger.kind else { return }
    let gone = look.gone.filter { current.files?.versions[$0] != nil }
    if current.files?.pattern != look.pattern.text {
      let there = existing == .run ? [] : look.present.filter(isNew)
      see(Dictionary(there.map { ($0.path, $0.version) }) { first, _ in first }, gone: gone)
      flush()
      // A file that was just ignored is no longer new.
    } else if !gone.isEmpty {
      see([:], gone: gone)
      flush()
    }
    for file in look.settled where isNew(file) {
      let cause = RunCause(.file, schedule: id, event: file.id, path: file.path)
      if let pause = current.pause {
        see([file.path: file.version])
        settle(now, cause, .paused, ScheduleEvaluation.words(pause))
      } else {
        guard !isFull else { break }
        see([file.path: file.version])
        let found = GatheredFile(path: file.path, version: file.version, at: now)
        if let batch = plan.trigger.batch {
          // A version that went and came back while its batch is open is in it already.
          if current.batch?.files[file.id] == nil { gather(file.id, found, batch) }
        } else {
          offer(now, cause, plan.overlap, Origin(event: EventForm.file(found, id: file.id)))
        }
      }
      flush()
    }
  }

  private func isNew(_ file: FoundFile) -> Bool { current.files?.versions[file.path] != file.version }

  private mutating func see(_ files: [String: FileVersion], gone: [String] = []) {
    guard case .file(let pattern, settle: _, existing: _) = plan.trigger.kind else { return }
    let event = FilesSeen(at: now, schedule: id, pattern: pattern.text, files: files, gone: gone)
    if current.files == nil { current.files = SeenFiles(pattern: pattern.text) }
    current.files?.apply(event)
    add(.filesSeen(event))
  }
}

extension EventForm {
  /// The value for a file that came or changed.
  static func file(_ file: GatheredFile, id: String) -> Value {
    EventForm.file(file.path, id: id, time: file.at, bytes: file.bytes, modifiedAt: file.modifiedAt)
  }
}
