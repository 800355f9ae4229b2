// Guesses from names how the pages of a list follow each other, because documents have no words for it:
//
// 1. An answer with a Link header names the next page there.
// 2. A parameter such as `cursor` or `page_token` takes what the answer has as `next_cursor`, `next_page_token` or `next`,
//    also within `meta` or `pagination`.
// 3. `next` beside `previous` is the address of the next page.
// 4. A number `page` counts pages, a number `offset` items.
//
// The list is the answer, or the only list in it; among several it is the one called `items`, `data` or such. The guess
// is stored in the lock and makes an action of its own, `listPetsAll`, so that a wrong guess spoils nothing.

import ActionKit
import Basics
import HTTPPlugin
import PluginLocks

enum PageGuess {
  private static let cursors: Set = [
    "cursor", "pagetoken", "after", "nexttoken", "continuationtoken", "continuation", "continue", "marker",
    "pagecursor",
    "nextcursor", "next", "startkey",
  ]
  private static let nexts: Set = [
    "nextcursor", "nextpagetoken", "nexttoken", "next", "continuationtoken", "continuation", "continue", "nextmarker",
    "endcursor", "nextpagecursor", "nextkey",
  ]
  private static let surroundings: Set = [
    "meta", "metadata", "pagination", "paging", "pageinfo", "links", "responsemetadata", "cursor", "cursors",
  ]
  private static let counters: Set = ["page", "pagenumber", "pageno", "pagenum", "pageindex"]
  private static let offsets: Set = ["offset", "skip", "startat"]
  private static let lists = ["items", "data", "results", "values", "entries", "records", "value"]

  /// The action that reads the whole list; nil if the operation doesn't return pages of a list.
  static func action(named name: String, of read: OperationReader.Read) -> LockedAction? {
    guard read.call.method == "GET", read.effect == .read, read.call.answer == .json, let body = read.body,
      let (place, element) = list(in: body.type)
    else { return nil }
    let query = read.call.parameters.filter { $0.place == .query }
    func parameter(_ names: Set<String>, isNumber: Bool) -> OperationCall.Parameter? {
      query.first { parameter in
        guard names.contains(plain(parameter.name)), let field = read.input.first(where: { $0.name == parameter.input })
        else { return false }
        if case .int = field.type { return true }
        if isNumber { return false }
        return switch field.type {
        case .string, .dyn: true
        default: false
        }
      }
    }
    let order: PageOrder
    var replaced: OperationCall.Parameter?
    if read.answerHeaders.contains("link") {
      order = .links
    } else if let cursor = parameter(cursors, isNumber: false), let at = next(in: body.type) {
      order = .cursor(at: at, parameter: cursor.name)
      replaced = cursor
    } else if case .object(let object) = body.type, let next = object.field(named: "next"), next.type.isText,
      object.field(named: "previous") != nil
    {
      order = .cursor(at: "/next", parameter: nil)
    } else if let counter = parameter(counters, isNumber: true) {
      order = .numbers(parameter: counter.name, first: first(of: read.querySchemas[counter.input]))
      replaced = counter
    } else if let offset = parameter(offsets, isNumber: true) {
      order = .offsets(parameter: offset.name)
      replaced = offset
    } else {
      return nil
    }
    var call = read.call
    call.parameters.removeAll { $0.place == .query && $0.name == replaced?.name }
    call.pages = .init(order: order, items: place)
    let limits = [
      FieldSchema(
        "maxPages", .int, "The most pages to request.", fallback: .int(100),
        limits: [.atLeast(.int(1)), .atMost(.int(10_000))]),
      FieldSchema(
        "maxItems", .int, "The most items to return.", fallback: .int(10_000),
        limits: [.atLeast(.int(1)), .atMost(.int(1_000_000))]),
    ]
    let input = read.input.filter { $0.name != replaced?.input }
    guard !input.contains(where: { field in limits.contains { $0.name == field.name } }) else { return nil }
    return LockedAction(
      name: name, summary: "\(read.summary.withoutStop), page by page.", effect: .read, from: read.effectSource,
      input: ObjectSchema(fields: input + limits),
      output: ObjectSchema(fields: [
        FieldSchema("items", .list(element), "The items of all pages, in their order."),
        FieldSchema("pages", .int, "The number of pages that were requested."),
        FieldSchema("isComplete", .bool, "Whether the list was read to its end; false if a limit was reached first."),
      ]), call: call.written)
  }

  /// The place of the list, and the type of its items.
  private static func list(in type: FieldType) -> (String, FieldType)? {
    switch type {
    case .list(let element): return ("", element)
    case .object(let object):
      let found = object.fields.compactMap { field -> (name: String, element: FieldType)? in
        if case .list(let element) = field.type { (field.name, element) } else { nil }
      }
      let named = lists.lazy.compactMap { name in found.first { plain($0.name) == name } }.first
      guard let list = found.count == 1 ? found.first : named else { return nil }
      return (pointer(list.name), list.element)
    default: return nil
    }
  }

  /// The place in a page that refers to the next one, as a JSON pointer.
  private static func next(in type: FieldType) -> String? {
    guard case .object(let object) = type else { return nil }
    if let field = object.fields.first(where: { nexts.contains(plain($0.name)) && $0.type.isText }) {
      return pointer(field.name)
    }
    for field in object.fields where surroundings.contains(plain(field.name)) {
      guard case .object(let inner) = field.type,
        let next = inner.fields.first(where: { (nexts.union(["after"])).contains(plain($0.name)) && $0.type.isText })
      else { continue }
      return pointer(field.name) + pointer(next.name)
    }
    return nil
  }

  /// The number of the first page.
  private static func first(of schema: Value?) -> Int {
    if let number = schema?["default"]?.int { return number == 0 ? 0 : 1 }
    return schema?["minimum"]?.int == 0 ? 0 : 1
  }

  private static func pointer(_ name: String) -> String { "/" + name.asPointerPart }

  /// A name as names are compared here: `next_page-token` is `nextpagetoken`.
  private static func plain(_ name: String) -> String {
    String(decoding: name.lowercased().utf8.filter { $0 != ASCII.underscore && $0 != ASCII.minus }, as: UTF8.self)
  }
}

extension FieldType {
  /// Whether it may be a cursor or an address.
  fileprivate var isText: Bool {
    switch self {
    case .string, .int: true
    default: false
    }
  }
}

extension String {
  fileprivate var withoutStop: String { hasSuffix(".") || hasSuffix("…") ? String(dropLast()) : self }
}
