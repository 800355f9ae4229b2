package import ActionKit
import Glibc

/// One file or folder of a listing.
package struct ListedFile: Sendable {
  /// The path relative to the listed folder.
  package var path: String
  package var status: LocatedFile.Status
}

extension LocatedFile {
  /// Lists the folder, sorted by the Unicode scalars of the paths, without errand's own files.
  ///
  /// - Parameters:
  ///   - pattern: The wanted names; `*` matches any text and `?` any character.
  ///   - isRecursive: Whether to list folders in it, too; symbolic links are never followed.
  ///   - limit: The maximum number of files; more are an error.
  package func list(
    matching pattern: String, isRecursive: Bool, limit: Int
  ) async throws(ActionError) -> (files: [ListedFile], unreadable: [String]) {
    let pattern = Array(pattern)
    return try await call { () throws(ActionError) in
      var found: [ListedFile] = []
      var unreadable: [String] = []
      var rest: [[String]] = [[]]
      var seen = 0
      while let below = rest.popLast() {
        let folder: OpenFolder
        do throws(ActionError) { folder = try self.folder(.list, names + below[...]) } catch {
          // A folder of errand's own inside the listed one.
          guard !below.isEmpty, error.kind == .validation else { throw error }
          continue
        }
        let (readable, others) = try Self.names(in: folder.descriptor, of: self)
        unreadable += others.map { (below + [$0]).joined(separator: "/") }
        for name in readable where rules.allowsHidden || !name.hasPrefix(".") {
          seen += 1
          if TemporaryFile.isOne(name) { continue }
          let child = LocatedFile(root: root, names: names + below + [name], rules: rules)
          guard let status = try child.found(in: folder, .list),
            folder.bounds.kind(of: [name], from: folder.descriptor) == nil,
            folder.bounds.kind(of: status.system, named: name, amongRecipes: folder.isAmongRecipes) == nil
          else { continue }
          if isRecursive, status.kind == .folder { rest.append(below + [name]) }
          guard name.isOfForm(pattern) else { continue }
          found.append(ListedFile(path: (below + [name]).joined(separator: "/"), status: status))
          guard found.count <= limit, seen <= 100 * limit else {
            throw ActionError(
              .validation, "'\(path)' holds more than \(limit) files that are wanted; narrow 'pattern'.")
          }
        }
      }
      return (found.sorted { $0.path.precedesByScalars($1.path) }, unreadable.sorted { $0.precedesByScalars($1) })
    }
  }

  /// The names in an open folder; in names that aren't valid UTF-8, each non-ASCII byte is written as `\xE9`.
  static func names(
    in folder: borrowing Descriptor, of file: LocatedFile
  ) throws(ActionError) -> (readable: [String], unreadable: [String]) {
    guard let entries = FileTree.entries(in: folder.number) else { throw file.failure(.list, errno) }
    var (readable, unreadable): ([String], [String]) = ([], [])
    for entry in entries {
      let bytes = entry.dropLast().map { UInt8(bitPattern: $0) }
      if let name = String(validating: bytes, as: UTF8.self) {
        readable.append(name)
      } else {
        unreadable.append(
          bytes.map { byte in
            (0x20..<0x7F).contains(byte)
              ? String(UnicodeScalar(byte)) : "\\x" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
          }.joined())
      }
    }
    return (readable, unreadable)
  }
}

extension String {
  /// Whether the name matches a pattern; `*` matches any text and `?` any character.
  func isOfForm(_ pattern: [Character]) -> Bool {
    // Greedy with one step of backtracking: if the rest after a star doesn't match, the star takes one more character.
    // Characters are equal in all their Unicode forms.
    let text = Array(self)
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
