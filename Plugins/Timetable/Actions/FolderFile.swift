import ActionKit
import HTTPClient

/// Files that actions write where a recipe says.
enum FolderFile {
  /// Replaces a file, and makes its folder if it is missing.
  static func write(_ bytes: [UInt8], to path: String) async throws(ActionError) {
    let result: Result<Void, FileError> = await onThread {
      Result { () throws(FileError) in
        if let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash > path.startIndex {
          try Files.makeFolder(String(path[..<slash]))
        }
        try Files.write(bytes, to: path)
      }
    }
    do throws(FileError) { try result.get() } catch { throw ActionError(error, at: path) }
  }
}

extension ActionError {
  /// A file that cannot be read or written, after which it is as it was.
  init(_ error: FileError, at path: String) {
    self.init(.configuration, "\(error.description).", effect: ActionError.Effect.none, cause: error)
  }
}
