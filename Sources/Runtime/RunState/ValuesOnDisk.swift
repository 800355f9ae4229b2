package import Basics

/// The values that outlive runs, for whoever only looks.
package enum ValuesOnDisk {
  /// Reads them from a folder that an agent may hold, and changes nothing there; a folder that is not there has none.
  package static func read(in path: String, program: String) throws(StateError) -> [String: Value] {
    guard Files.exists(path) else { return [:] }
    let disk = DiskFileSystem()
    let folder = StateFolder(path: path, fileSystem: disk, program: program)
    let blobs = Blobs(folder: "\(path)/blobs", fileSystem: disk)
    var last: StateError?
    // Files go and come while a generation begins.
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
