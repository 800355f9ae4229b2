import Foundation

/// A folder that is removed after the test.
public final class TemporaryFolder: Sendable {
  private let root: String
  public let path: String

  /// - Parameter pathLength: The least length of its path, in bytes.
  public init(pathLength: Int = 0) throws {
    root = FileManager.default.temporaryDirectory.appending(path: "errand-\(UUID().uuidString)").path
    var path = root
    while path.utf8.count < pathLength { path += "/" + String(repeating: "x", count: 60) }
    self.path = path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: root) }

  /// The names in it, in order.
  public var names: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() } }
}
