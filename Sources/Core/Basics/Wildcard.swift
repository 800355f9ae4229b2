extension String {
  /// Whether the text matches a pattern with `*` for any text and no other special characters.
  package func isOfForm(_ pattern: String) -> Bool {
    let (pattern, text) = (Array(pattern.utf8), Array(utf8))
    var (at, read) = (0, 0)
    /// The pattern after the last star, and where it was tried; a later star replaces an earlier one.
    var retry: (at: Int, read: Int)?
    while read < text.count {
      if at < pattern.count, pattern[at] == ASCII.asterisk {
        at += 1
        retry = (at, read)
      } else if at < pattern.count, pattern[at] == text[read] {
        (at, read) = (at + 1, read + 1)
      } else if let again = retry {
        retry = (again.at, again.read + 1)
        (at, read) = (again.at, again.read + 1)
      } else {
        return false
      }
    }
    return pattern[at...].allSatisfy { $0 == ASCII.asterisk }
  }
}
