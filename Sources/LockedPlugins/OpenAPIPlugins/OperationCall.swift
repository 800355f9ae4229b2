// How an action is called, as a lock has it under `call`:
//
//     {
//       "method": "PUT",
//       "path": "/dags/{dag_id}",
//       "parameters": [{"in": "path", "name": "dag_id"}, …],
//       "body": {"form": "json", "type": "application/json", …},
//       "answer": "json",                   json, text or bytes; left out where none is expected
//       "accept": "text/csv",               the media type to ask for, if it isn't JSON's
//       "also": [304],                      statuses that mean success beside 200 to 299
//       "key": "Idempotency-Key",           the header field that takes the step's key
//       "hasGet": true,                     whether GET at the path tells what is there
//       "pages": {"order": "cursor", "at": "/next", "parameter": "cursor", "items": "/data"}
//     }
//
// A parameter has `input`, its name in recipes, if that differs from its name in the request; `style` and `explode`
// where they differ from the defaults of its place; and `reserved` where reserved characters aren't encoded. The
// defaults are `simple` in paths and header fields, and `form` with `explode` in queries. `json` is the style of a
// parameter that is JSON. A body has the form json, urlencoded, multipart, text or file; `input` (left out: `body`);
// `files`, the members that name files; `styles`, the styles of members written as in queries; `filled`, the places
// that are null where they are left out; and `kept`, the places where a given null is sent.

import ActionKit
import Basics
import HTTPPlugin

struct OperationCall {
  var method: String
  var path: String
  var parameters: [Parameter] = []
  var body: Body?
  var answer: Answer?
  var accept: String?
  var alsoDone: [Int] = []
  var keyHeader: String?
  var hasGet = false
  var pages: Pages?

  struct Parameter {
    var place: Place
    var name: String
    /// The parameter's name in recipes.
    var input: String
    var style: Style

    enum Place: String {
      case path, query, header
    }
  }

  /// How a list or a map is a text.
  struct Style: Hashable {
    var word: Word
    /// Whether each item or member is one of its own.
    var explodes: Bool
    /// Whether reserved characters, and sequences that are percent-encoded already, are sent unchanged
    /// (`allowReserved`).
    var allowsReserved = false

    enum Word: String {
      case simple, form, deepObject, spaceDelimited, pipeDelimited, tabDelimited, json
    }

    static let simple = Style(word: .simple, explodes: false)
    static let form = Style(word: .form, explodes: true)

    static func standard(in place: Parameter.Place) -> Style { place == .query ? form : simple }
  }

  struct Body {
    var form: Form
    var type: String
    var input = "body"
    var files: Set<String> = []
    var styles: [String: Style] = [:]
    var filled: Set<String> = []
    var kept: Set<String> = []

    enum Form: String {
      case json, urlencoded, multipart, text, file
    }
  }

  enum Answer: String {
    case json, text, bytes
  }

  struct Pages {
    var order: PageOrder
    /// Place of the list in a page.
    var items: String
  }
}

// MARK: Writing and reading

extension OperationCall {
  var written: Value {
    var map = ValueMap([("method", .string(method)), ("path", .string(path))])
    if !parameters.isEmpty { map["parameters"] = .list(parameters.map(\.written)) }
    if let body { map["body"] = body.written }
    if let answer { map["answer"] = .string(answer.rawValue) }
    if let accept { map["accept"] = .string(accept) }
    if !alsoDone.isEmpty { map["also"] = .list(alsoDone.map(Value.int)) }
    if let keyHeader { map["key"] = .string(keyHeader) }
    if hasGet { map["hasGet"] = .bool(true) }
    if let pages { map["pages"] = pages.written }
    return .map(map)
  }

  /// Reads the `call` of a lock; nil if it doesn't have the form of `written`.
  init?(_ value: Value) {
    guard let method = value["method"]?.string, let path = value["path"]?.string, path.hasPrefix("/") else {
      return nil
    }
    self.method = method
    self.path = path
    for part in value["parameters"]?.list ?? [] {
      guard let parameter = Parameter(part) else { return nil }
      parameters.append(parameter)
    }
    if let part = value["body"] {
      guard let body = Body(part) else { return nil }
      self.body = body
    }
    answer = value["answer"]?.string.flatMap(Answer.init)
    accept = value["accept"]?.string
    alsoDone = (value["also"]?.list ?? []).compactMap(\.int)
    keyHeader = value["key"]?.string
    hasGet = value["hasGet"]?.bool ?? false
    if let part = value["pages"] {
      guard let pages = Pages(part) else { return nil }
      self.pages = pages
    }
  }
}

extension OperationCall.Parameter {
  fileprivate var written: Value {
    var map = ValueMap([("in", .string(place.rawValue)), ("name", .string(name))])
    if !input.hasSameScalars(as: name) { map["input"] = .string(input) }
    style.write(into: &map, unless: .standard(in: place))
    return .map(map)
  }

  fileprivate init?(_ value: Value) {
    guard let place = value["in"]?.string.flatMap(Place.init), let name = value["name"]?.string,
      let style = OperationCall.Style(value, otherwise: .standard(in: place))
    else { return nil }
    self.init(place: place, name: name, input: value["input"]?.string ?? name, style: style)
  }
}

extension OperationCall.Style {
  fileprivate func write(into map: inout ValueMap, unless standard: OperationCall.Style) {
    if word != standard.word { map["style"] = .string(word.rawValue) }
    if explodes != standard.explodes { map["explode"] = .bool(explodes) }
    if allowsReserved { map["reserved"] = .bool(true) }
  }

  fileprivate init?(_ value: Value, otherwise standard: OperationCall.Style) {
    let written = value["style"]?.string
    guard let word = written.map(Word.init) ?? standard.word else { return nil }
    self.init(
      word: word, explodes: value["explode"]?.bool ?? standard.explodes,
      allowsReserved: value["reserved"]?.bool ?? false)
  }
}

extension OperationCall.Body {
  fileprivate var written: Value {
    var map = ValueMap([("form", .string(form.rawValue)), ("type", .string(type))])
    if input != "body" { map["input"] = .string(input) }
    func list(_ name: String, _ names: Set<String>) {
      if !names.isEmpty { map[name] = .list(names.sorted { $0.precedesByScalars($1) }.map(Value.string)) }
    }
    list("files", files)
    list("filled", filled)
    list("kept", kept)
    if !styles.isEmpty {
      var written = ValueMap()
      for (name, style) in styles.sorted(by: { $0.key.precedesByScalars($1.key) }) {
        var map = ValueMap()
        style.write(into: &map, unless: .form)
        written[name] = .map(map)
      }
      map["styles"] = .map(written)
    }
    return .map(map)
  }

  fileprivate init?(_ value: Value) {
    guard let form = value["form"]?.string.flatMap(Form.init), let type = value["type"]?.string else { return nil }
    self.init(form: form, type: type, input: value["input"]?.string ?? "body")
    func list(_ name: String) -> Set<String> { Set((value[name]?.list ?? []).compactMap(\.string)) }
    files = list("files")
    filled = list("filled")
    kept = list("kept")
    for member in value["styles"]?.map?.members ?? [] {
      guard let name = member.name, let style = OperationCall.Style(member.value, otherwise: .form) else { return nil }
      styles[name] = style
    }
  }
}

extension OperationCall.Pages {
  fileprivate var written: Value {
    var map = ValueMap([("items", .string(items))])
    switch order {
    case .links: map["order"] = .string("links")
    case .cursor(let place, let parameter):
      map["order"] = .string("cursor")
      map["at"] = .string(place)
      if let parameter { map["parameter"] = .string(parameter) }
    case .numbers(let parameter, let first):
      map["order"] = .string("numbers")
      map["parameter"] = .string(parameter)
      map["first"] = .int(first)
    case .offsets(let parameter):
      map["order"] = .string("offsets")
      map["parameter"] = .string(parameter)
    }
    return .map(map)
  }

  fileprivate init?(_ value: Value) {
    items = value["items"]?.string ?? ""
    let parameter = value["parameter"]?.string
    switch (value["order"]?.string, parameter) {
    case ("links", _): order = .links
    case ("cursor", _):
      guard let place = value["at"]?.string else { return nil }
      order = .cursor(at: place, parameter: parameter)
    case ("numbers", let parameter?):
      let first = value["first"]?.int ?? 1
      order = .numbers(parameter: parameter, first: (0...1_000_000).contains(first) ? first : 1)
    case ("offsets", let parameter?): order = .offsets(parameter: parameter)
    default: return nil
    }
  }
}
