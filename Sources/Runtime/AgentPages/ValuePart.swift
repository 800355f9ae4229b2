// How values are shown: lists of records as tables, records as names with values, everything else as JSON.
import Agent
import Operations
import Basics
import RunState

extension Part {
  /// A value as people read it; nil if there is nothing in it.
  ///
  /// - Parameter room: About the most bytes of the markup; the rest is left out, and that is said.
  static func value(_ value: Value?, _ clock: WallClock, within room: Int = mostBytes / 2) -> Markup? {
    guard let value, !value.isNull, value.map?.isEmpty != true else { return nil }
    var shown = ShownValue(clock: clock, left: room)
    let content = shown.displayed(value, "Values", depth: 0)
    let note: Markup =
      shown.isCut
      ? .element("p", ["class": "quiet small"], "The rest is left out here; the command line shows all.") : .nothing
    return .element("div", ["class": "card"], content, note)
  }

  /// A value that holds no others, as a cell of a table shows it; nil for a list or an object.
  static func scalar(_ value: Value, _ clock: WallClock) -> Markup? {
    var shown = ShownValue(clock: clock, left: mostBytes / 2)
    return shown.scalar(value)
  }
}

/// A value on a page, as far as there is room.
private struct ShownValue {
  let clock: WallClock
  /// The bytes that are left.
  var left: Int
  /// Whether something was left out for want of room.
  var isCut = false

  /// The most rows of a table and the most bytes of a text.
  private static let (mostRows, longest) = (50, 20_000)
  /// A longer text has a box of its own, which scrolls.
  private static let longestUnboxed = 2000
  /// About the bytes of the elements around a text.
  private static let elements = 40

  mutating func displayed(_ value: Value, _ name: String, depth: Int) -> Markup {
    if let text = scalar(value) { return text }
    if depth < 3, let map = value.map, !map.isEmpty, map.members.count <= ShownValue.mostRows {
      var facts: [(String, Markup?)] = []
      for member in map.members {
        guard hasRoom else { break }
        let name = member.key.string ?? JSON.displayed(member.key)
        facts.append((name.shortened(to: 200), displayed(member.value, name, depth: depth + 1)))
      }
      return Part.facts(facts)
    }
    if let list = value.list {
      if list.isEmpty { return .element("span", ["class": "quiet"], "none") }
      if let table = records(list, name) { return table }
      if list.count <= 12,
        list.allSatisfy({ $0.string.map { $0.utf8.count < 80 } ?? ($0.list == nil && $0.map == nil) })
      {
        return fitting(list.map(words).joined(separator: ", "))
      }
    }
    return json(value)
  }

  private mutating func json(_ value: Value) -> Markup {
    .element("pre", ["tabindex": "0"], fitting(JSON.displayed(value.asPlainJSON, .pretty)))
  }

  /// Whether there is room for more.
  private var hasRoom: Bool {
    mutating get {
      if left <= 0 { isCut = true }
      return left > 0
    }
  }

  /// A text, cut to the room that is left.
  private mutating func fitting(_ text: String) -> Markup {
    let most = min(ShownValue.longest, max(0, left))
    var markup = Markup(text.shortened(to: most))
    let size = markup.text.utf8.count
    // Escaped it is longer.
    if size > left, size > 0 {
      isCut = true
      markup = Markup(text.shortened(to: max(0, most * max(0, left) / size)))
    }
    left -= markup.text.utf8.count + ShownValue.elements
    return markup
  }

  /// A value that holds no others, in one line.
  private func words(_ value: Value) -> String {
    switch value.content {
    case .timestamp(let instant): clock.date(instant)
    case .duration(let span): span.inShort
    default: value.string ?? JSON.displayed(value.asPlainJSON)
    }
  }

  mutating func scalar(_ value: Value) -> Markup? {
    switch value.content {
    // The exact value is shown to people who point at it.
    case .timestamp(let instant):
      return .element("time", ["datetime": "\(instant)", "title": "\(instant)"], fitting(words(value)))
    case .duration(let span): return .element("span", ["title": "\(span)"], fitting(words(value)))
    default: break
    }
    if let text = value.string {
      if text.isEmpty { return .element("span", ["class": "quiet"], "empty") }
      if text.isWebLink { return .element("a", ["href": text, "rel": "noreferrer"], fitting(text)) }
      let displayed = fitting(text)
      if text.utf8.count > ShownValue.longestUnboxed {
        return .element(
          "div", ["class": "lines-kept tall", "tabindex": "0", "role": "region", "aria-label": "Text"], displayed)
      }
      return text.utf8.contains(ASCII.newline) ? .element("span", ["class": "lines-kept"], displayed) : displayed
    }
    if value.isNull { return .element("span", ["class": "quiet"], "none") }
    return value.list == nil && value.map == nil ? fitting(words(value)) : nil
  }

  /// A table of objects that hold no others; nil if they are something else.
  private mutating func records(_ list: [Value], _ name: String) -> Markup? {
    var headings: [String] = []
    for item in list {
      guard let map = item.map, !map.isEmpty else { return nil }
      for member in map.members {
        guard let key = member.key.string, member.value.list == nil, member.value.map == nil else { return nil }
        if !headings.contains(key) { headings.append(key) }
      }
      if headings.count > 8 { return nil }
    }
    var rows: [[Markup]] = []
    for item in list.prefix(ShownValue.mostRows) {
      guard hasRoom else { break }
      rows.append(headings.map { heading in item[heading].flatMap { scalar($0) } ?? .nothing })
      left -= ShownValue.elements
    }
    let rest: Markup =
      list.count > rows.count
      ? .element("p", ["class": "quiet small"], "and \(list.count - rows.count) more") : .nothing
    return Part.table(name, headings.map { $0.shortened(to: 200) }, rows, isPlain: true) + rest
  }
}

extension String {
  /// Whether it is an address of a page elsewhere, in characters that can't be taken for others.
  fileprivate var isWebLink: Bool {
    utf8.starts(with: "https://".utf8) && utf8.count > 8 && utf8.count <= 2000
      && utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }
}
