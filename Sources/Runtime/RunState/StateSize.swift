/// How much room a state takes on its disk, measured when someone asks, and at most once a minute.
import Basics
import Synchronization

final class StateSize: Sendable {
  private let folder: String
  private let fileSystem: any FileSystem
  private let time: any TimeSource
  private let content = Mutex<(bytes: Int, at: TimeSpan)?>(nil)

  private static let lifetime = TimeSpan.seconds(60)
  /// A folder of a state has few levels.
  private static let deepest = 8

  init(_ folder: String, _ fileSystem: any FileSystem, _ time: any TimeSource) {
    self.folder = folder
    self.fileSystem = fileSystem
    self.time = time
  }

  /// The latest measurement in bytes; nil if it is older than a minute, or there is none.
  var known: Int? {
    let now = time.elapsed()
    return content.withLock { $0.flatMap { now - $0.at < StateSize.lifetime ? $0.bytes : nil } }
  }

  /// The sizes of all files together; blocks.
  func measure() throws(StateError) -> Int {
    if let known { return known }
    let bytes = try onDisk { () throws(FileError) in try size(of: folder, depth: 0) }
    let now = time.elapsed()
    content.withLock { $0 = (bytes, now) }
    return bytes
  }

  private func size(of folder: String, depth: Int) throws(FileError) -> Int {
    var bytes = 0
    for name in try fileSystem.list(folder) {
      // One that is removed meanwhile takes no room.
      guard let status = try fileSystem.status("\(folder)/\(name)") else { continue }
      if !status.isFolder {
        bytes &+= status.size
      } else if depth < StateSize.deepest {
        bytes &+= try size(of: "\(folder)/\(name)", depth: depth + 1)
      }
    }
    return bytes
  }
}
