// Finds the operation for a method and a path, from the declarations.
import Agent
import AgentPages
import Operations
import RunState
import ActionKit
import Basics
import HTTPServer

/// An operation that was found for a path, with the parameters in the path.
struct RoutedOperation {
  var operation: any Operation.Type
  var route: Route
  /// The parameters in the path, decoded.
  var parts: [(name: String, text: String)]
}

enum Routes {
  /// The operations that HTTP has, with the segments of their paths.
  private static let all: [(operation: any Operation.Type, route: Route, segments: [String])] =
    OperationList.all.compactMap { operation in
      operation.route.map { (operation, $0, segments(of: $0.path)) }
    }

  /// Finds the operation of a request below the API's root.
  static func operation(_ method: String, _ path: String) throws(Problem) -> RoutedOperation {
    let wanted = segments(of: path)
    // A path that is declared word for word isn't a parameter's value, such as 'count' a run's name.
    let isLiteral = all.contains { $0.segments == wanted }
    var methods: Set<String> = []
    for (operation, route, segments) in all
    where segments.count == wanted.count && (!isLiteral || segments == wanted) {
      var parts: [(name: String, text: String)] = []
      let isSame = zip(segments, wanted).allSatisfy { segment, text in
        guard let name = parameter(in: segment) else { return segment == text }
        let suffix = suffix(of: segment)
        guard text.hasSuffix(suffix), text.utf8.count > suffix.utf8.count else { return false }
        let value = String(Substring(text.utf8.dropLast(suffix.utf8.count)))
        parts.append((name, PercentEncoding.decode(value, plusIsSpace: false)))
        return true
      }
      guard isSame else { continue }
      // The library answers HEAD with the head alone.
      if route.method.rawValue == method || (method == "HEAD" && route.method == .get) {
        return RoutedOperation(operation: operation, route: route, parts: parts)
      }
      methods.insert(route.method.rawValue)
      if route.method == .get { methods.insert("HEAD") }
    }
    guard !methods.isEmpty else {
      throw Problem(.noSuchPath, "there is nothing at \(apiRoot)\(path); see \(apiRoot)/openapi.json")
    }
    let allowed = methods.sorted().joined(separator: ", ")
    throw Problem(.method, "this path takes \(allowed)", headers: ["Allow": allowed])
  }

  /// The name of the parameter that a segment of a declared path stands for.
  static func parameter(in segment: String) -> String? {
    segment.hasPrefix("{") ? String(segment.dropFirst().prefix { $0 != "}" }) : nil
  }

  /// The end of a segment of a declared path, after its parameter, such as `.csv`.
  static func suffix(of segment: String) -> String {
    segment.firstIndex(of: "}").map { String(segment[$0...].dropFirst()) } ?? ""
  }

  static func segments(of path: String) -> [String] {
    path.utf8.dropFirst().split(separator: ASCII.slash, omittingEmptySubsequences: false).map {
      String(decoding: $0, as: UTF8.self)
    }
  }
}

extension RoutedOperation {
  /// The parameters that are in the query or the body, and not in the path.
  var others: [OperationInput] {
    let inPath = Set(parts.map(\.name))
    return operation.parameters.filter { !inPath.contains($0.name) && !RoutedOperation.isHidden($0) }
  }

  /// Whether a parameter is decided here and not by the caller: lists come in pages, and keys come in a field of the
  /// head.
  static func isHidden(_ parameter: OperationInput) -> Bool {
    ["key", "paged"].contains(parameter.name)
  }

  /// The request that an HTTP request makes.
  func request(_ http: HTTPServerRequest) throws(Problem) -> any Operation {
    var line = ValueMap()
    for (name, text) in parts { line[name] = .string(text) }
    if route.method == .get {
      try readQuery(http.query, into: &line)
    } else {
      if let item = http.query.items.first {
        throw Problem(.refusal(.request), "the query takes nothing here; '\(item.name)' belongs in the body")
      }
      try readBody(http, into: &line)
    }
    for parameter in operation.parameters where RoutedOperation.isHidden(parameter) && parameter.name != "key" {
      line[parameter.name] = .bool(true)
    }
    if let key = http.headers["Idempotency-Key"] {
      let use = operation.repeats
      guard use != .refused else {
        throw Problem(
          .refusal(.request), "this request takes no Idempotency-Key: repeating it changes nothing, or is refused")
      }
      guard !key.isEmpty, key.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
        throw Problem(.refusal(.request), "an Idempotency-Key consists of visible ASCII characters without spaces")
      }
      if let fault = use.member == nil ? RunKey.fault(of: key) : nil { throw Problem(.refusal(.request), fault) }
      if let name = use.member {
        let key = Value.string(RoutedOperation.unquoted(key))
        if let given = line[name], given != key {
          throw Problem(
            .refusal(.request), "the body's '\(name)' and the Idempotency-Key differ; leave one of them out")
        }
        line[name] = key
      }
    }
    do throws(RequestRefusedError) {
      return try operation.init(inputs: line, isExact: false)
    } catch { throw Problem(error) }
  }

  /// The description of the Idempotency-Key, for the document of the API; nil if a key is refused.
  var keySummary: String? {
    switch operation.repeats {
    case .key: operation.parameters.first { $0.name == "key" }?.summary
    case .eventID: "The event's id, if the body has none."
    case .harmless(let reason), .once(let reason): "Needs no key, and takes one: \(reason)."
    case .refused: nil
    }
  }

  /// The text of a key, which the header's draft puts in quotes.
  private static func unquoted(_ text: String) -> String {
    text.count > 1 && text.hasPrefix("\"") && text.hasSuffix("\"") ? String(text.dropFirst().dropLast()) : text
  }

  /// The message about an undeclared name.
  private func stray(_ name: String, _ what: String) -> String {
    let names = others.map(\.name)
    let guess = name.nearest(among: names).map { "did you mean '\($0)'?" }
    let rest = guess ?? (names.isEmpty ? "there are none here" : "there are \(names.joined(separator: ", "))")
    return "there is no \(what) '\(name.shortened)'; \(rest)"
  }

  private func readQuery(_ query: HTTPQuery, into line: inout ValueMap) throws(Problem) {
    for item in query.items {
      guard let parameter = others.first(where: { $0.name.hasSameScalars(as: item.name) }) else {
        throw Problem(.refusal(.request), stray(item.name, "parameter"))
      }
      let value = try parameter.value(of: item.value)
      if case .list = parameter.type {
        line[parameter.name] = .list((line[parameter.name]?.list ?? []) + (value.list ?? []))
      } else if line[parameter.name] != nil {
        throw Problem(.refusal(.request), "the parameter '\(item.name)' is given twice")
      } else {
        line[parameter.name] = value
      }
    }
  }

  private func readBody(_ http: HTTPServerRequest, into line: inout ValueMap) throws(Problem) {
    guard !http.body.isEmpty else { return }
    let type = http.contentType
    let name = type.name
    let isCloudEvent = operation is SendEvent.Type && name == "application/cloudevents+json"
    guard name == "application/json" || isCloudEvent else {
      throw Problem(.mediaType, "the body is \(name.isEmpty ? "of no type" : "'\(name)'"); send application/json")
    }
    let body: Value
    let text: [UInt8]
    do throws(CharsetError) { text = try type.utf8(of: http.body) } catch {
      throw Problem(.refusal(.request), "the body \(error.message)")
    }
    do throws(JSONError) { body = try JSON.parse(text) } catch {
      let place = error.spot.map { " in line \($0.position.line), column \($0.position.column)" } ?? ""
      throw Problem(.refusal(.request), "the body isn't valid JSON\(place): \(error.message)")
    }
    guard let map = body.map else {
      throw Problem(
        .refusal(.request), "the body has to be a JSON object, not \(body.kindName)",
        faults: [.init(message: "expected an object", pointer: "")])
    }
    if isCloudEvent { return try readCloudEvent(map, into: &line) }
    for member in map.members {
      guard let name = member.name else { continue }
      guard others.contains(where: { $0.name.hasSameScalars(as: name) }) else {
        throw Problem(
          .refusal(.request), stray(name, "member"),
          faults: [.init(message: "not known", pointer: "/\(name.asPointerPart)")])
      }
      line[name] = member.value
    }
  }
}

extension RoutedOperation {
  /// Reads an event in the JSON format of CloudEvents 1.0, whose other attributes are left out.
  private func readCloudEvent(_ map: ValueMap, into line: inout ValueMap) throws(Problem) {
    func fault(_ detail: String, _ name: String) -> Problem {
      Problem(.refusal(.request), detail, faults: [.init(message: detail, pointer: "/\(name)")])
    }
    guard map["specversion"]?.string == "1.0" else { throw fault("'specversion' has to be \"1.0\"", "specversion") }
    guard map["data_base64"] == nil else {
      throw fault("the data of the event has to be JSON, in 'data'; 'data_base64' isn't read", "data_base64")
    }
    for (attribute, name) in [("id", "id"), ("type", "name"), ("source", "source")] {
      guard let text = map[attribute]?.string, !text.isEmpty else {
        throw fault("'\(attribute)' has to be a text that isn't empty", attribute)
      }
      line[name] = .string(text)
    }
    line["data"] = map["data"]
    // An extension attribute.
    line["run"] = map["run"]
  }
}

extension OperationInput {
  /// How many items a list over HTTP has at most.
  static let mostItems = 200

  /// The bounds of a number in a query.
  var bounds: ClosedRange<Int>? {
    guard case .int = type else { return nil }
    return name == "limit" ? 1...OperationInput.mostItems : 0...Int.max
  }

  /// The value of a text in a query.
  fileprivate func value(of text: String) throws(Problem) -> Value {
    func fault(_ wanted: String, _ hint: String = "") -> Problem {
      Problem(.refusal(.request), "the parameter '\(name)' takes \(wanted), not '\(text.shortened)'\(hint)")
    }
    switch type {
    case .int:
      guard let number = Int(text), bounds?.contains(number) ?? true else {
        throw fault(name == "limit" ? "a number from 1 to \(OperationInput.mostItems)" : "a whole number from 0")
      }
      return .int(number)
    case .bool:
      guard text == "true" || text == "false" else { throw fault("true or false") }
      return .bool(text == "true")
    case .timestamp:
      guard Timestamp(text) != nil else {
        // A plus sign in a query means a blank.
        let isPlus = Timestamp(text.replacing(" ", with: "+")) != nil
        throw fault("an instant such as 2026-11-20T09:00:00Z", isPlus ? "; write its '+' as %2B" : "")
      }
      return .string(text)
    case .list(let element):
      if case .choice(let words) = element, !words.contains(where: { $0.hasSameScalars(as: text) }) {
        throw fault(words.joined(separator: ", "))
      }
      return .list([.string(text)])
    default: return .string(text)
    }
  }
}

extension Repeats {
  /// The input that takes the key.
  fileprivate var member: String? {
    switch self {
    case .key: "key"
    case .eventID: "id"
    case .harmless, .once, .refused: nil
    }
  }
}
