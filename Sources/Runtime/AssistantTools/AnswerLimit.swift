import Basics
import ModelContext

/// Limits the size of an answer to an assistant.
///
/// The outputs of a run may have megabytes, which no model reads and many clients refuse. A text is cut at the limit
/// and ends with the call that gives the rest. In the structured part, lists and texts are shortened until it fits, so
/// that it still matches its schema. Both are done after secrets were masked, because the rest of a secret that was cut
/// isn't found any more.
enum AnswerLimit {
  /// The most bytes of a text, and of the structured part.
  static let most = 64 << 10
  /// The most characters of a description, or of a line of progress.
  static let mostOfSentence = 1000
  /// The most characters of an error, which may list faults.
  static let mostOfMessage = 8000

  /// - Parameters:
  ///   - start: The first byte of the text.
  ///   - required: The members that the structured part must have.
  ///   - rest: The call that gives the text from a byte on.
  static func fitted(
    _ result: ToolResult, from start: Int, required: Set<String>, rest: (_ from: Int) -> String
  ) -> ToolResult {
    var result = result
    let structured = result.structured.map { fitted($0, required) }
    let isShort = structured.map { $0.isShort } ?? false
    let text = result.texts.joined(separator: "\n")
    let (part, end) = text.part(from: start, upTo: most)
    if start > 0 || end < text.utf8.count {
      var content = part
      if start >= text.utf8.count {
        content = "the answer has \(text.utf8.count) bytes, so none are left from \(start) on"
      } else if end < text.utf8.count {
        content +=
          "\n\n… cut here: the answer has \(text.utf8.count) bytes, and those from \(end) on are left out. \(rest(end))"
        if isShort { content += " The structured content is shortened likewise." }
      }
      result.setText(content)
    }
    result.structured = structured?.value
    return result
  }

  private static func fitted(_ value: Value, _ required: Set<String>) -> (value: Value, isShort: Bool) {
    func fits(_ value: Value) -> Bool { JSON.displayed(value).utf8.count <= most }
    if fits(value) { return (value, false) }
    var (short, items) = (value, most)
    repeat {
      items /= 2
      short = shortened(short, to: items)
      if fits(short) { return (short, true) }
    } while items > 0
    guard var map = short.map else { return (.null, true) }
    for member in map.members where !required.contains(member.name ?? "") { map[member.key] = nil }
    return (.map(map), true)
  }

  private static func shortened(_ value: Value, to items: Int) -> Value {
    switch value.content {
    case .string(let text):
      // Instants and words of a choice stay whole.
      let most = max(items, 128)
      return text.utf8.count > most ? .string(text.part(from: 0, upTo: most).text + "…") : value
    case .list(let list): return .list(list.prefix(items).map { shortened($0, to: items) })
    case .map(let map):
      var kept = ValueMap()
      // The fields of a type aren't so many; what has more is a map, whose members may be any.
      for member in map.members.prefix(max(items, 256)) { kept[member.key] = shortened(member.value, to: items) }
      return .map(kept)
    default: return value
    }
  }

  /// A schema whose descriptions have no more characters than are read.
  static func describedBriefly(_ schema: Value) -> Value {
    switch schema.content {
    case .list(let items): return .list(items.map(describedBriefly))
    case .map(let map):
      var shortened = map
      for member in map.members {
        switch (member.name, member.value.string) {
        case ("description", let text?): shortened[member.key] = .string(text.shortened(to: mostOfSentence))
        case ("default", _), ("const", _), ("enum", _), ("examples", _): break
        default: shortened[member.key] = describedBriefly(member.value)
        }
      }
      return .map(shortened)
    default: return schema
    }
  }
}

extension String {
  /// The text from a byte on, up to a number of bytes, without partial characters; and the position of its end.
  fileprivate func part(from start: Int, upTo most: Int) -> (text: String, end: Int) {
    let bytes = Array(utf8)
    func boundary(_ offset: Int) -> Int {
      var offset = min(max(0, offset), bytes.count)
      while offset > 0, offset < bytes.count, bytes[offset] & 0xC0 == 0x80 { offset -= 1 }
      return offset
    }
    let first = boundary(start)
    let (wanted, isFar) = first.addingReportingOverflow(most)
    let end = boundary(isFar ? bytes.count : wanted)
    return (String(decoding: bytes[first..<max(first, end)], as: UTF8.self), max(first, end))
  }
}
