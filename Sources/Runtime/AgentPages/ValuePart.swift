// How values are shown: lists of records as tables, records as names with values, everything else as JSON.
import Agent
import Operations
import Basics
import RunState

extension Part {
  /// The most rows of a table and the most characters of a text; the command line shows all.
  private static let (mostRows, longest) = (50, 20_000)
  /// A longer text has a box of its own, which scrolls.
  private static let longestUnboxed = 2000

  /// A value as people read it; nil if there is nothing in it.
  static func value(_ value: Value?) -> Markup? {
    guard let value, !value.isNull, value.map?.isEmpty != true else { return nil }
    return .element("div", ["class": "card"], displayed(value.asPlainJSON, "Values", depth: 0))
  }

  private static func displayed(_ value: Value, _ name: String, depth: Int) -> Markup {
    if let text = scalar(value) { return text }
    if depth < 3, let map = value.map, !map.isEmpty, map.members.count <= mostRows {
      return facts(
        map.members.map { member in
          let name = member.key.string ?? JSON.displayed(member.key)
          return (name, displayed(member.value, name, depth: depth + 1))
        })
    }
    if let list = value.list {
      if list.isEmpty { return .element("span", ["class": "quiet"], "none") }
      if let table = records(list, name) { return table }
      if list.count <= 12,
        list.allSatisfy({ $0.string.map { $0.utf8.count < 80 } ?? ($0.list == nil && $0.map == nil) })
      {
        return Markup(list.map { $0.string ?? JSON.displayed($0) }.joined(separator: ", "))
      }
    }
    return json(value)
  }

  static func json(_ value: Value) -> Markup {
    let text = JSON.displayed(value, .pretty)
    let displayed = text.utf8.count > longest ? text.shortened(to: longest) : text
    return .element("pre", ["tabindex": "0"], Markup(displayed))
  }

  static func scalar(_ value: Value) -> Markup? {
    if let text = value.string {
      if text.isEmpty { return .element("span", ["class": "quiet"], "empty") }
      if text.isWebLink { return .element("a", ["href": text, "rel": "noreferrer"], Markup(text)) }
      let displayed = text.shortened(to: longest)
      if text.utf8.count > longestUnboxed {
        return .element(
          "div", ["class": "lines-kept tall", "tabindex": "0", "role": "region", "aria-label": "Text"],
          Markup(displayed))
      }
      return text.utf8.contains(ASCII.newline)
        ? .element("span", ["class": "lines-kept"], Markup(displayed)) : Markup(displayed)
    }
    if value.isNull { return .element("span", ["class": "quiet"], "none") }
    return value.list == nil && value.map == nil ? Markup(JSON.displayed(value)) : nil
  }

  /// A table of objects that hold no others; nil if they are something else.
  private static func records(_ list: [Value], _ name: String) -> Markup? {
    var headings: [String] = []
    for item in list {
      guard let map = item.map, !map.isEmpty else { return nil }
      for member in map.members {
        guard let key = member.key.string, scalar(member.value) != nil else { return nil }
        if !headings.contains(key) { headings.append(key) }
      }
      if headings.count > 8 { return nil }
    }
    let rows = list.prefix(mostRows).map { item in
      headings.map { heading in item[heading].flatMap { scalar($0) } ?? .nothing }
    }
    let rest: Markup =
      list.count > mostRows
      ? .element("p", ["class": "quiet small"], "and \(list.count - mostRows) more") : .nothing
    return table(name, headings, rows, isPlain: true) + rest
  }
}

extension String {
  /// Whether it is an address of a page elsewhere, in characters that can't be taken for others.
  fileprivate var isWebLink: Bool {
    utf8.starts(with: "https://".utf8) && utf8.count > 8 && utf8.count <= 2000
      && utf8.allSatisfy { (0x21...0x7E).contains($0) }
  }
}
