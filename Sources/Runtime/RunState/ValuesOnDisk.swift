package import Basics

/// Reads stored values without changing the state.
package enum ValuesOnDisk {
  /// Reads the values from a folder that an agent may hold; a missing folder has none.
  package static func read(in path: String, program: String) throws(StateError) -> [String: Value] {
    guard Files.exists(path) else { return [:] }
    let disk = DiskFileSystem()
    let folder = StateFolder(path: path, fileSystem: disk, program: program)
    let blobs = Blobs(folder: "\(path)/blobs", fileSystem: disk)
    var last: StateError?
    // Files come and go while a generation begins.
    for _ in 0..<10 {
      do throws(StateError) {
        var values: [String: Value] = [:]
        for (name, stored) in try folder.read().state.values {
          switch stored {
          case .inline(let value): values[name] = value
          case .blob(let reference): values[name] = try decodedValue(of: blobs.get(reference), reference)
          }
        }
        return values
      } catch {
        last = error
      }
    }
    throw last ?? StateError(.unavailable, "the state in '\(path)' changes too quickly to be read; try again")
  }
}
