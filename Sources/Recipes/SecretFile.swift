package import Basics
import Glibc
import YAMLReader

/// Why a file of secrets is not used.
package struct SecretFileFault: Error, Sendable {
  package var message: String
}

/// Files of secrets: a YAML mapping from names to texts that nobody but its owner may read.
package enum SecretFile {
  /// Reads a file; one that others can read or write is refused.
  package static func read(_ path: String) throws(SecretFileFault) -> ValueMap {
    var status = stat()
    if stat(path, &status) == 0, status.st_mode & 0o077 != 0 {
      throw SecretFileFault(message: "'\(path)' can be read by others; make it private with: chmod 600 \(path)")
    }
    let source: Source
    do throws(FileError) {
      source = Source(name: path, bytes: try Files.read(path, limit: 1 << 20))
    } catch {
      throw SecretFileFault(message: error.description)
    }
    do throws(Diagnostics) {
      if let map = try YAMLReader.read(source).root.map { return map }
    } catch {
      // Without the lines themselves, which hold secrets.
      throw SecretFileFault(message: error.list.map(\.headline).joined(separator: "\n"))
    }
    throw SecretFileFault(message: "'\(path)' must be a mapping from names to secrets")
  }
}
