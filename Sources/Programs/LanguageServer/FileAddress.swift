import Basics

/// Translates between paths and the `file:` addresses that clients use for files (RFC 8089).
enum FileAddress {
  /// Returns the full path; nil for an address of another kind, such as the address of a text that was never saved.
  static func path(_ address: String) -> String? {
    let scheme = "file://"
    guard address.utf8.count >= scheme.utf8.count,
      address.prefix(scheme.count).lowercased() == scheme,
      let slash = address.dropFirst(scheme.count).firstIndex(of: "/"),
      let path = String(address[slash...]).percentDecoded, !path.utf8.contains(0)
    else { return nil }
    return path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
  }

  static func address(_ path: String) -> String {
    "file://"
      + path.split(separator: "/", omittingEmptySubsequences: false)
      .map { String($0).percentEncoded }.joined(separator: "/")
  }

  /// The folder of a full path.
  static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
    return String(path[..<slash])
  }

  /// A path as a file of a folder names it, without `.` and `..`.
  static func resolve(_ path: String, in folder: String) -> String {
    var parts: [Substring] = []
    for part in (path.hasPrefix("/") ? path : "\(folder)/\(path)").split(separator: "/") where part != "." {
      if part == ".." { _ = parts.popLast() } else { parts.append(part) }
    }
    return "/" + parts.joined(separator: "/")
  }
}
