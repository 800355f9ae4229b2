import Basics

/// The folders that an agent knows, whose paths are kept from callers on other machines and in browsers.
///
/// Such a caller can't use them, and they name people and other software of the machine. A file below the folder of
/// `errand.yaml` is named from there, and a file of another folder by its name below that folder.
package struct ServerPaths: Sendable, Equatable {
  /// The folders with an end, the longest first: a folder may be inside another.
  private let folders: [String]
  private let root: String

  /// - Parameters:
  ///   - root: The folder of `errand.yaml`; empty if there is none.
  ///   - others: Absolute paths of other folders, such as the state's.
  package init(root: String = "", others: [String] = []) {
    self.root = root
    // A folder below the root is named from there, as all that is in it.
    let outside = others.filter { root.isEmpty || $0.rest(in: root) == nil }
    let all = Set([root] + outside).filter { $0.hasPrefix("/") && $0.utf8.count > 1 }
    folders = all.sorted { $0.utf8.count > $1.utf8.count || $0.utf8.count == $1.utf8.count && $0 < $1 }
  }

  /// A text without these paths.
  package func told(_ text: String) -> String {
    // Most texts have no path.
    guard text.utf8.contains(ASCII.slash) else { return text }
    var told = text
    for folder in folders { told = without(folder, told) }
    return told
  }

  /// A text without the path of one folder.
  private func without(_ folder: String, _ text: String) -> String {
    let (bytes, path) = (Array(text.utf8), Array(folder.utf8))
    guard let first = path.first else { return text }
    var told: [UInt8] = []
    var place = 0
    while let start = bytes[place...].firstIndex(of: first) {
      told += bytes[place..<start]
      let end = start + path.count
      // A path within a longer one, or before more of a name, is another folder's.
      let isWhole = start == 0 || !ServerPaths.isOfName(bytes[start - 1])
      guard isWhole, end <= bytes.count, bytes[start..<end].elementsEqual(path), ServerPaths.ends(bytes, end) else {
        told.append(bytes[start])
        place = start + 1
        continue
      }
      let isAbove =
        end + 1 < bytes.count && bytes[end] == ASCII.slash
        && (ServerPaths.isOfName(bytes[end + 1]) || bytes[end + 1] == ASCII.dot)
      if !isAbove { told += (folder == root ? "the folder" : folder.split(separator: "/").last ?? "").utf8 }
      place = end + (isAbove || end < bytes.count && bytes[end] == ASCII.slash ? 1 : 0)
    }
    told += bytes[place...]
    return String(decoding: told, as: UTF8.self)
  }

  /// Whether a name in a path ends at a place; a full stop may be of a name, or may end a sentence.
  private static func ends(_ bytes: [UInt8], _ end: Int) -> Bool {
    guard end < bytes.count else { return true }
    if bytes[end] == ASCII.dot { return end + 1 == bytes.count || !isOfName(bytes[end + 1]) }
    return bytes[end] == ASCII.slash || !isOfName(bytes[end])
  }

  /// Whether a byte may be part of a path's name, or is the slash before one.
  private static func isOfName(_ byte: UInt8) -> Bool {
    byte >= 0x80 || byte == ASCII.slash || byte == UInt8(ascii: "-") || byte == ASCII.underscore
      || ASCII.digits.contains(byte) || ASCII.lowercase.contains(byte | 0x20) || byte == UInt8(ascii: "~")
  }
}
