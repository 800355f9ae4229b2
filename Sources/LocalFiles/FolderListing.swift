package import ActionKit
import Glibc

/// One file or folder of a listing.
package struct ListedFile: Sendable {
  /// The path beneath the folder that is listed.
  package var path: String
  package var status: LocatedFile.Status
}

extension LocatedFile {
  /// What is in the folder, in the order of its paths' scalars.
  ///
  /// - Parameters:
  ///   - pattern: The form of the names that are wanted, in which `*` is any text and `?` any character.
  ///   - isRecursive: Whether folders are looked into; symbolic links never are.
  ///   - limit: The most files that are wanted; more are an error.
  package func list(matching pattern: String, isRecursive: Bool, limit: Int) async throws(ActionError) -> [ListedFile] {
    let pattern = Array(pattern.unicodeScalars)
    return try await call { () throws(ActionError) in
      var found: [ListedFile] = []
      var rest: [[String]] = [[]]
      var seen = 0
      while let below = rest.popLast() {
        let folder = try folder(.list, names + below[...])
        for name in try Self.names(in: folder, of: self) where rules.allowsHidden || !name.hasPrefix(".") {
          seen += 1
          let child = LocatedFile(root: root, names: names + below + [name], rules: rules)
          guard let status = try child.status(in: folder, .list) else { continue }
          if isRecursive, status.kind == .folder { rest.append(below + [name]) }
          guard name.isOfForm(pattern) else { continue }
          found.append(ListedFile(path: (below + [name]).joined(separator: "/"), status: status))
          guard found.count <= limit, seen <= 100 * limit else {
            throw ActionError(
              .validation, "'\(path)' holds more than \(limit) files that are wanted; narrow 'pattern'.",
              effect: ActionError.Effect.none)
          }
        }
      }
      return found.sorted { $0.path.precedesByScalars($1.path) }
    }
  }

  /// The names in an open folder; those that are no UTF-8 are left out.
  private static func names(in folder: borrowing Descriptor, of file: LocatedFile) throws(ActionError) -> [String] {
    // The stream closes what it is given.
    let copy = openat(folder.number, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0 else { throw file.failure(.list, errno) }
    guard let stream = fdopendir(copy) else {
      let code = errno
      close(copy)
      throw file.failure(.list, code)
    }
    defer { closedir(stream) }
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = readdir(stream) else {
        guard errno == 0 else { throw file.failure(.list, errno) }
        return names
      }
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(validating: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if let name, name != ".", name != ".." { names.append(name) }
    }
  }
}

extension String {
  /// Whether the name is of a form in which `*` is any text and `?` any character.
  func isOfForm(_ pattern: [Unicode.Scalar]) -> Bool {
    // Greedy with one step back: a star that was followed in vain takes one scalar more.
    let text = Array(unicodeScalars)
    var (at, wanted) = (0, 0)
    var star: (at: Int, wanted: Int)?
    while at < text.count {
      if wanted < pattern.count, pattern[wanted] == "*" {
        star = (at, wanted + 1)
        wanted += 1
      } else if wanted < pattern.count, pattern[wanted] == "?" || pattern[wanted] == text[at] {
        at += 1
        wanted += 1
      } else if let last = star {
        star = (last.at + 1, last.wanted)
        (at, wanted) = (last.at + 1, last.wanted)
      } else {
        return false
      }
    }
    return pattern[wanted...].allSatisfy { $0 == "*" }
  }
}
