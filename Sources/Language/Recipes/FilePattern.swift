import Basics

/// The files that an entry of `on:` watches, such as `inbox/*.csv`, from the folder of errand.yaml.
///
/// `*` stands for any part of one name, but not for the dot that begins a hidden one. Nothing else is special.
package struct FilePattern: Sendable, Hashable {
  /// The names from the outermost folder to the file.
  package let parts: [String]

  /// How many names a pattern has at most, so that a look opens few folders at once.
  static let mostParts = 20

  package var text: String { parts.joined(separator: "/") }
  /// The folders that are written out, which lie around all files.
  package var folder: String { parts.dropLast().prefix { !$0.contains("*") }.joined(separator: "/") }

  /// Reads a pattern, or returns its fault.
  package static func read(_ text: String) -> Result<FilePattern, Fault> {
    let parts = text.split(separator: "/", omittingEmptySubsequences: true).map(String.init).filter { $0 != "." }
    let displayed = JSON.quoted(text)
    if text.hasPrefix("/") || text.hasPrefix("~") || parts.contains("..") {
      return .failure(
        Fault(
          "'path' must be inside the folder of errand.yaml, but \(displayed) isn't; write it from there, such as inbox/*.csv"
        ))
    }
    if text.contains("**") {
      return .failure(
        Fault("'**' isn't supported, because '*' takes no '/'; write one for each folder, such as inbox/*/*.csv"))
    }
    if let sign = text.first(where: { "{}[]?".contains($0) }) {
      return .failure(
        Fault("'\(sign)' isn't supported, only '*' stands for other characters; write an entry for each kind of name"))
    }
    guard !parts.isEmpty, !text.hasSuffix("/"), !text.hasSuffix("/.") else {
      return .failure(Fault("'path' must name files, but \(displayed) names a folder; add them, such as inbox/*.csv"))
    }
    if parts.count > mostParts {
      return .failure(Fault("'path' takes at most \(mostParts) names, but has \(parts.count)"))
    }
    if text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
      return .failure(Fault("'path' takes no control characters"))
    }
    return .success(FilePattern(parts: parts))
  }

  /// A placeholder for a faulty pattern.
  static let any = FilePattern(parts: ["*"])

  private init(parts: [String]) { self.parts = parts }

  /// Whether a part of the pattern stands for more than the name that it is.
  package static func isOpen(_ part: String) -> Bool { part.utf8.contains(0x2A) }

  /// Whether a name in a folder matches a part of a pattern.
  package static func part(_ part: String, matches name: String) -> Bool {
    if name == "." || name == ".." { return false }
    if name.utf8.first == ASCII.dot, part.utf8.first != ASCII.dot { return false }
    return name.isOfForm(part)
  }

  package struct Fault: Error, Equatable {
    package var message: String

    init(_ message: String) { self.message = message }
  }
}
