import Basics

// Keeps secrets that are written out in a file from being repeated in messages. If YAML can read the text, its readers
// tell which values are secrets. If it can't, a value is hidden if its key sounds like a secret's.

/// A secret in a text.
struct HiddenSecret {
  let range: Range<Int>
  let text: String
}

extension [Diagnostic] {
  /// The same about a text whose secrets are hidden.
  func hiding(_ secrets: [HiddenSecret], in source: Source) -> [Diagnostic] {
    guard !secrets.isEmpty else { return self }
    let displayed = source.hiding(secrets.map(\.range))
    func displayedLocation(_ location: Diagnostic.Location?) -> Diagnostic.Location? {
      location.map { $0.source === source ? Diagnostic.Location(displayed, $0.range) : $0 }
    }
    func displayedText(_ text: String) -> String {
      secrets.reduce(text) { $1.text.utf8.count < 4 ? $0 : $0.replacing($1.text, with: MaskedText.mark) }
    }
    /// Whether a fix neither changes nor repeats a secret, so that it can be shown.
    func isHarmless(_ fix: Diagnostic.Fix) -> Bool {
      let texts = [fix.title] + fix.edits.map(\.text)
      return texts.allSatisfy { displayedText($0) == $0 }
        && !fix.edits.contains { edit in secrets.contains { $0.range.overlaps(edit.range) } }
    }
    return map { finding in
      var finding = finding
      finding.message = displayedText(finding.message)
      finding.location = displayedLocation(finding.location)
      finding.fixes = finding.fixes.filter(isHarmless)
      finding.notes = finding.notes.map {
        Diagnostic.Note(displayedText($0.message), at: displayedLocation($0.location))
      }
      return finding
    }
  }
}

extension Diagnostics {
  /// The faults of a text that YAML can't read, with every likely secret hidden.
  func hidingLikelySecrets(of source: Source, _ observer: CheckObserver?) -> [Diagnostic] {
    let secrets = source.likelySecrets
    for secret in secrets { observer?.note(secret: Diagnostic.Location(source, secret.range)) }
    return list.hiding(secrets, in: source)
  }
}

extension Source {
  /// Values that may be secrets, judging by the keys before them: without YAML there is nothing else to judge by.
  var likelySecrets: [HiddenSecret] {
    var secrets: [HiddenSecret] = []
    var start = 0
    // Whether the value of such a key begins on the next line.
    var isBelow = false
    while start < bytes.count {
      let end = bytes[start...].firstIndex(of: ASCII.newline) ?? bytes.count
      let line = bytes[start..<end]
      let value = afterSecretKey(in: line)
      let isOther =
        line.last == ASCII.colon || zip(line, line.dropFirst()).contains { $0 == ASCII.colon && isBlank($1) }
      if let hidden = value.flatMap(secret) ?? (isBelow && !isOther ? secret(in: line) : nil) {
        let text = String(decoding: bytes[hidden], as: UTF8.self).withoutQuotes
        secrets.append(HiddenSecret(range: hidden, text: text))
      }
      isBelow = value.map { $0.allSatisfy(isBlank) } ?? (isBelow && line.allSatisfy(isBlank))
      start = end + 1
    }
    return secrets
  }

  /// The rest of a line after its first key that sounds like a secret's.
  private func afterSecretKey(in line: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    for colon in line.indices where line[colon] == ASCII.colon {
      let rest = line[(colon + 1)...]
      let key = line[..<colon].reversed().drop { $0 == ASCII.quote || $0 == ASCII.apostrophe }
        .prefix { ASCII.lowercase.contains($0 | 0x20) || ASCII.digits.contains($0) || "_-".utf8.contains($0) }
      if rest.first.map(isBlank) ?? true, Source.isLikelySecret(String(decoding: key.reversed(), as: UTF8.self)) {
        return rest
      }
    }
    return nil
  }

  /// The range of a value without the blanks around it; nil for a reference to a secret, and for a value that isn't a
  /// plain or quoted text.
  private func secret(in value: ArraySlice<UInt8>) -> Range<Int>? {
    let value = value.drop { isBlank($0) || $0 == ASCII.minus }
    guard let first = value.first, !"#|>{[&*".utf8.contains(first),
      !String(decoding: value, as: UTF8.self).contains("{{"), let last = value.lastIndex(where: { !isBlank($0) })
    else { return nil }
    return value.startIndex..<last + 1
  }

  private static func isLikelySecret(_ key: String) -> Bool {
    let key = key.lowercased()
    return ["key", "standard", "github", "stripe"].contains(key)
      || ["password", "passwort", "passwd", "passphrase", "secret", "token", "apikey", "api_key", "api-key"]
        .contains(where: key.hasSuffix)
  }

  private func isBlank(_ byte: UInt8) -> Bool { " \t\r".utf8.contains(byte) }
}

extension String {
  /// The text without the blanks and quotes around it.
  package var withoutQuotes: String {
    let isOutside: (UInt8) -> Bool = { " \t\"'".utf8.contains($0) }
    let start = utf8.drop(while: isOutside).startIndex
    return String(self[start..<(utf8[start...].lastIndex { !isOutside($0) }.map(utf8.index(after:)) ?? start)])
  }
}
