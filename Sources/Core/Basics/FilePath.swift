extension String {
  /// The part of a path below a folder: empty for the folder itself, else a slash and the rest; nil for a path that
  /// isn't in the folder.
  ///
  /// Paths are compared as they are written, by their bytes, as file systems do.
  package func rest(in folder: String) -> Substring? {
    let isRoot = folder == "/"
    guard utf8.starts(with: folder.utf8) else { return nil }
    let rest = Substring(utf8.dropFirst(isRoot ? 0 : folder.utf8.count))
    return rest.isEmpty || rest.utf8.first == ASCII.slash ? rest : nil
  }
}
