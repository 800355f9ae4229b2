import AgentRuntime
import Basics
import Glibc

/// A file that `errand new` writes; one that is there already is never overwritten.
enum NewFile {
  /// Writes a new file, and the folders that it lies in.
  ///
  /// - Parameter advice: The user's remedy if the file exists already.
  static func write(_ text: String, to path: String, orElse advice: String) throws(RuntimeError) {
    try RuntimeError.creating { () throws(FileError) in try Files.makeFolder(Workspace.folder(of: path)) }
    do throws(FileError) {
      let file = try Descriptor(.write, path, O_WRONLY | O_CREAT | O_EXCL, mode: 0o644)
      do throws(FileError) { try file.write(Array(text.utf8), path) } catch {
        unlink(path)
        throw error
      }
    } catch {
      throw RuntimeError(
        .cannotCreate,
        error.code == EEXIST ? "'\(path)' already exists and was left unchanged; \(advice)" : error.description)
    }
  }
}
