package import Basics

extension Value {
  /// The value as JSON on one line, shortened to the size of a message.
  ///
  /// Secrets in its texts are masked before they are shortened, because a secret that is cut would no longer be
  /// recognised.
  package func shortened(_ limit: Int = 160) -> String {
    var text = ""
    write(into: &text, limit, depth: 0)
    return text.shortened(into: limit)
  }

  private func write(into text: inout String, _ limit: Int, depth: Int) {
    guard text.utf8.count <= 4 * limit else { return }
    switch content {
    case .list(let items) where depth < 8:
      text += "["
      for (index, item) in items.prefix(limit).enumerated() {
        if index > 0 { text += ", " }
        item.write(into: &text, limit, depth: depth + 1)
      }
      text += "]"
    case .map(let map) where depth < 8:
      text += "{"
      for (index, member) in map.members.prefix(limit).enumerated() {
        if index > 0 { text += ", " }
        text += "\(member.key.string?.withoutSecrets ?? member.key.kindName): "
        member.value.write(into: &text, limit, depth: depth + 1)
      }
      text += "}"
    case .list, .map: text += "…"
    case .optional(let value):
      if let value { value.write(into: &text, limit, depth: depth + 1) } else { text += "absent" }
    case .string(let string):
      text += JSON.quoted(String(String.UnicodeScalarView(string.withoutSecrets.unicodeScalars.prefix(limit))))
    case .timestamp(let instant): text += "\(instant)"
    case .duration(let span): text += "\(span)"
    case .double(let number): text += "\(number)"
    default: text += (try? JSON.text(self)) ?? kindName
    }
  }
}
