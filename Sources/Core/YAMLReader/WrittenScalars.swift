import Basics

extension String {
  /// The text as a scalar or a key of a YAML file that a program writes: bare if it is a plain word, in quotes otherwise.
  ///
  /// `true`, `null`, `12` and `1e3` are values of their own to YAML 1.2, and `no` or `on` to other readers; a name that is
  /// one of these is quoted, so that it stays a text.
  package var asYAML: String {
    let words: Set<String> = ["true", "false", "null"]
    let isBare =
      utf8.first.map(ASCII.isLetter) ?? false
      && utf8.allSatisfy {
        ASCII.isLetter($0) || ASCII.digits.contains($0) || $0 == ASCII.minus || $0 == ASCII.underscore
      }
      && !words.contains(lowercased()) && !looksLikeYAML11Bool(self)
    return isBare ? self : JSON.quoted(self)
  }
}
