import Basics
import Foundation

/// A folder that is removed after the test, with a path of a given length.
final class TemporaryFolder: Sendable {
  let root: String
  let path: String

  init(pathLength: Int = 0) throws {
    root = NSTemporaryDirectory() + "errand-client-" + UUID().uuidString
    var path = root
    while path.utf8.count < pathLength { path += "/" + String(repeating: "x", count: 60) }
    self.path = path
    try Files.makeFolder(path)
  }

  deinit { try? FileManager.default.removeItem(atPath: root) }
}
