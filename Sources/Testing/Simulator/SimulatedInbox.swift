import Agent
import Basics
import Recipes
import RunState
import Scheduler
import Synchronization

/// A folder into which people put files, and which the program watches.
final class SimulatedInbox: Sendable {
  private let content = Mutex<[String: FileVersion]>([:])

  /// The pattern of the recipes that watch it, and how long a file must have stayed unchanged.
  static let pattern = "in/*"
  static let settle = TimeSpan.seconds(5)

  var files: [FoundFile] {
    content.withLock { $0 }.map { FoundFile($0.key, $0.value) }.sorted { $0.path.precedesByScalars($1.path) }
  }

  /// Changes a file; removes it if the size is nil.
  func put(_ bytes: Int?, at path: String, now: Timestamp) {
    content.withLock { $0[path] = bytes.map { FileVersion(bytes: $0, modifiedAt: now) } }
  }

  var watched: WatchedFolder {
    WatchedFolder { [self] patterns in
      var listing = FileListing()
      listing.files = files
      return Dictionary(uniqueKeysWithValues: patterns.map { ($0, listing) })
    }
  }
}
