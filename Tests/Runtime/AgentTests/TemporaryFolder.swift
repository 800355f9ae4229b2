import Basics
import Foundation

/// A folder that is removed after the test.
final class TemporaryFolder: Sendable {
  let path = NSTemporaryDirectory() + "errand-agent-" + UUID().uuidString

  init() throws { try Files.makeFolder(path) }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}
