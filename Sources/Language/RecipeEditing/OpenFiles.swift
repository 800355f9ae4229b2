package import Basics
import Synchronization

/// The texts that are open in the editor, by path; they are read in place of the files on disk.
package final class OpenFiles: Sendable {
  private struct State {
    var sources: [String: Source] = [:]
    var read: Set<String> = []
  }

  private let state = Mutex(State())
  private static let largest = 4 << 20

  package init() {}

  /// Reads a file as it is in the editor, or on disk if it isn't open.
  package func read(_ path: String) throws(FileError) -> Source {
    let open = state.withLock { state in
      state.read.insert(path)
      return state.sources[path]
    }
    if let open { return open }
    return Source(name: path, bytes: try Files.read(path, limit: Self.largest))
  }

  /// Whether there is such a file, in the editor or on disk.
  package func exists(_ path: String) -> Bool { state.withLock { $0.sources[path] != nil } || Files.exists(path) }

  /// The paths of the open files.
  package var paths: [String] { state.withLock { Array($0.sources.keys) } }

  /// Opens, changes or, with nil, closes a file.
  package func set(_ path: String, to source: Source?) { state.withLock { $0.sources[path] = source } }

  /// Returns the paths that were read or looked for since the last call.
  package func takeReads() -> Set<String> {
    state.withLock { state in
      defer { state.read = [] }
      return state.read
    }
  }
}
