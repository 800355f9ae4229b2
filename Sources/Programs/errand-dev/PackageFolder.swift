import Foundation

/// An error of the tool, as a sentence that says what to do.
struct ToolError: Error {
  let message: String

  init(_ message: String) { self.message = message }
}

/// The package that the tool works on.
enum Package {
  /// Its folder, found upward from the working folder.
  static func root() throws(ToolError) -> URL {
    var folder = URL(filePath: FileManager.default.currentDirectoryPath, directoryHint: .isDirectory)
    while !FileManager.default.fileExists(atPath: folder.appending(path: "Sources/Programs/errand-dev").path) {
      if folder.path == "/" { throw ToolError("there is no package of errand here or above; go to its folder") }
      folder = folder.deletingLastPathComponent()
    }
    return folder
  }
}

extension URL {
  /// The paths of the files below the folder, in order, from the folder on; without a folder none.
  var pathsBelow: [String] {
    (FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []).sorted()
  }

  /// The file's text.
  func text() throws(ToolError) -> String {
    do { return try String(contentsOf: self, encoding: .utf8) } catch {
      throw ToolError("cannot read \(path): \(error.localizedDescription)")
    }
  }

  /// Writes the file, and makes the folders that it needs.
  func write(_ text: String) throws(ToolError) {
    do {
      try FileManager.default.createDirectory(at: deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(text.utf8).write(to: self)
    } catch {
      throw ToolError("cannot write \(path): \(error.localizedDescription)")
    }
  }
}
