import Agent
import Basics
import Recipes
import RunState
import Scheduler
import Synchronization

/// A folder into which people put files, and which the program watches.
final class SimulatedInbox: Sendable {
  private struct Content {
    var files: [String: FileVersion] = [:]
    var changedAt = Timestamp.earliest
  }

  private let content = Mutex(Content())

  /// What recipes that watch it say, and how long a file must have stayed unchanged.
  static let pattern = "in/*"
  static let settle = TimeSpan.seconds(5)

  var files: [FoundFile] {
    content.withLock { content in
      content.files.map { FoundFile($0.key, $0.value) }.sorted { $0.path.precedesByScalars($1.path) }
    }
  }

  /// When a file came, changed or went last.
  var changedAt: Timestamp { content.withLock { $0.changedAt } }

  /// Changes a file, which goes if there is no size.
  func put(_ bytes: Int?, at path: String, now: Timestamp) {
    content.withLock { content in
      content.files[path] = bytes.map { FileVersion(bytes: $0, modifiedAt: now) }
      content.changedAt = now
    }
  }

  var watched: WatchedFolder {
    WatchedFolder { [self] patterns in
      var listing = FileListing()
      listing.files = files
      return Dictionary(uniqueKeysWithValues: patterns.map { ($0, listing) })
    }
  }
}
