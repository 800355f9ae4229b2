import Basics

// Reads a service's error message.
//
// It knows the members of RFC 9457 (problem details) and OAuth (RFC 6749), and others that services use instead: a text
// or an object in `error`, a text, an object or a list in `errors` and `detail`, as JSON:API, GitHub, Rails and FastAPI
// write them, and `error` beside `code` as Slack and ntfy do. A body that is neither JSON nor a web page is the message
// itself.

extension HTTPResponse {
  /// The error message in the body, on one line; nil if it has none that people can read.
  public var reason: String? {
    guard body.count <= 1 << 16 else { return nil }
    if let value = try? JSON.parse(body) {
      return value.reasons(0) { cleaned($0) }.joined(separator: ": ").onOneLine
    }
    guard let text = String(validating: body, as: UTF8.self), !text.trimmed.hasPrefix("<") else { return nil }
    return cleaned(text).onOneLine
  }

  /// A text of the body without secrets, and without its query if it is an address.
  private func cleaned(_ text: String) -> String {
    var text = text.withoutSecrets
    guard hidesQuery, let query = HTTPURL(url)?.query, !query.isEmpty else { return text }
    // As it was sent, and each value alone, also decoded.
    var hidden = [query]
    for pair in query.split(separator: "&") {
      guard let value = pair.split(separator: "=", maxSplits: 1).dropFirst().first, value.utf8.count >= 4 else {
        continue
      }
      hidden += [String(value), PercentEncoding.decode(value, plusIsSpace: true)]
    }
    for part in hidden { text = text.replacing(part, with: Redaction.mark) }
    return text
  }
}

extension Value {
  private static let texts = ["title", "detail", "message", "msg", "error", "error_description", "details", "reason"]
  private static let lists = ["errors", "detail", "details", "error", "fault"]

  /// The texts in the usual members, each once.
  fileprivate func reasons(_ depth: Int, _ cleaned: (String) -> String) -> [String] {
    guard depth < 4 else { return [] }
    if let text = string {
      let words = cleaned(text).trimmed
      return words.isEmpty ? [] : [words]
    }
    var words: [String] = []
    func add(_ more: [String]) {
      for word in more where !words.contains(where: { $0.hasSameScalars(as: word) }) { words.append(word) }
    }
    if let items = list {
      for item in items.prefix(5) {
        let reason = item.reasons(depth + 1, cleaned).joined(separator: ": ")
        if !reason.isEmpty { add([reason]) }
      }
      return words.count > 1 ? [words.joined(separator: "; ")] : words
    }
    guard let map else { return [] }
    for name in Self.texts { if map[name]?.string != nil { add(map[name]?.reasons(depth + 1, cleaned) ?? []) } }
    for name in Self.lists {
      guard let member = map[name], member.string == nil else { continue }
      if name == "errors", let fields = member.map {
        // By field name, as in Rails.
        let reasons = fields.members.prefix(5).compactMap { field -> String? in
          let words = field.value.reasons(depth + 1, cleaned).joined(separator: "; ")
          return words.isEmpty ? nil : "\(cleaned(field.name ?? "")): \(words)"
        }
        if !reasons.isEmpty { add([reasons.joined(separator: "; ")]) }
      } else {
        add(member.reasons(depth + 1, cleaned))
      }
    }
    let place = cleaned(map["loc"].map(Self.place) ?? "")
    if !place.isEmpty, !words.isEmpty { words = ["\(place): \(words.joined(separator: ": "))"] }
    return words
  }

  /// The place in the input that a validator names: `body.items.3`.
  private static func place(_ location: Value) -> String {
    var parts: [String] = []
    for part in location.list ?? [] {
      switch part.content {
      case .string(let text): parts.append(text)
      case .int(let number): parts.append(String(number))
      default: break
      }
    }
    return parts.joined(separator: ".")
  }
}

extension String {
  /// The text without line breaks, and with control characters made harmless; nil if nothing is left.
  fileprivate var onOneLine: String? {
    let parts = unicodeScalars.split { $0 == " " || $0 == "\n" || $0 == "\r" || $0 == "\t" }
    return parts.isEmpty ? nil : parts.map { String(String.UnicodeScalarView($0)) }.joined(separator: " ").safe
  }
}
