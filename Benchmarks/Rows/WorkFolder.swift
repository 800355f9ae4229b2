import Foundation

/// A folder for the files of one run, beside the program and so on a real disk, where `/tmp` may be in memory.
struct WorkFolder {
  let url: URL

  init() throws {
    url = Self.programs.appending(path: "benchmarks-\(ProcessInfo.processInfo.processIdentifier)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  /// The folder of this program, which also holds `errand`.
  static var programs: URL {
    URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
  }

  func path(_ name: String) -> String { url.appending(path: name).path }

  func write(_ text: String, to name: String) throws -> String {
    try Data(text.utf8).write(to: url.appending(path: name))
    return path(name)
  }

  /// Removes all that is in it.
  func empty() throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: url.path) {
      try FileManager.default.removeItem(at: url.appending(path: name))
    }
  }

  func remove() { try? FileManager.default.removeItem(at: url) }
}
