// How parameters are written (OpenAPI 3.1, "Style Values"; 2.0's `collectionFormat`).
//
// Items and names are percent-encoded one by one, but the separators between them aren't: a comma in an item is `%2C`,
// and one between items is `,`. Null is written as nothing, also in a list.

import ActionKit
import Basics
import HTTPClient

enum ParameterText {
  /// One of a query's or form's items, both encoded.
  struct Item {
    var name: String
    var value: String
    var text: String { "\(name)=\(value)" }
  }

  /// The path with its parameters, and the query.
  static func address(_ call: OperationCall, _ input: Value) throws(ActionError) -> String {
    var path = ""
    // A document's query after the path is part of each request.
    let fixed = call.path.drop { $0 != "?" }.dropFirst()
    var rest = call.path.prefix { $0 != "?" }
    while let start = rest.firstIndex(of: "{"), let end = rest[start...].firstIndex(of: "}") {
      let name = String(rest[rest.index(after: start)..<end])
      path += encodedLiteral(rest[..<start])
      rest = rest[rest.index(after: end)...]
      guard let parameter = call.parameters.first(where: { $0.place == .path && $0.name.hasSameScalars(as: name) }),
        let value = input[parameter.input], !value.isNull
      else { throw fault("'\(name)' is missing, which is a part of the address.") }
      path += try segment(parameter, value)
    }
    path += encodedLiteral(rest)
    // Several parameters in a segment, or one beside letters, may together form `.` or `..`.
    if path.split(separator: "/").contains(where: { $0 == "." || $0 == ".." }) {
      throw fault("The path '\(path)' leads elsewhere.")
    }
    var items: [Item] = []
    for parameter in call.parameters where parameter.place == .query {
      guard let value = input[parameter.input], !value.isNull else { continue }
      items += try self.items(parameter.name, value, parameter.style)
    }
    let query = (fixed.isEmpty ? [] : [encodedLiteral(fixed)]) + items.map(\.text)
    return query.isEmpty ? path : "\(path)?\(query.joined(separator: "&"))"
  }

  static func headers(_ call: OperationCall, _ input: Value) throws(ActionError) -> [String: String] {
    var headers: [String: String] = [:]
    for parameter in call.parameters where parameter.place == .header {
      guard let value = input[parameter.input], !value.isNull else { continue }
      headers[parameter.name] = try header(parameter, value)
    }
    return headers
  }

  /// Refuses a value that the parameter can't hold.
  static func check(_ parameter: OperationCall.Parameter, _ value: Value) throws(ActionError) {
    switch parameter.place {
    case .path: _ = try segment(parameter, value)
    case .query: _ = try items(parameter.name, value, parameter.style)
    case .header: _ = try header(parameter, value)
    }
  }

  private static func segment(_ parameter: OperationCall.Parameter, _ value: Value) throws(ActionError) -> String {
    let text = try joined(parameter.name, value, parameter.style) { $0.percentEncoded }
    guard !text.isEmpty else { throw fault("'\(parameter.input)' is empty, and is a part of the address.") }
    guard text != ".", text != ".." else {
      throw fault("'\(parameter.input)' can't be '\(text)', which would lead to another address.")
    }
    return text
  }

  private static func header(_ parameter: OperationCall.Parameter, _ value: Value) throws(ActionError) -> String {
    let text = try joined(parameter.name, value, parameter.style) { $0 }
    if let fault = HTTPRequest.fault(ofHeader: parameter.name, text) { throw self.fault(fault.message) }
    return text
  }

  /// The items of a query or form that a value is.
  static func items(
    _ name: String, _ value: Value, _ style: OperationCall.Style
  ) throws(ActionError) -> [Item] {
    let encoded = name.percentEncoded
    let encode: (String) -> String = { style.allowsReserved ? reserved($0) : $0.percentEncoded }
    if style.word == .deepObject {
      var items: [Item] = []
      try nest(encoded, value, of: name, encode, into: &items)
      return items
    }
    if style.word == .json { return [Item(name: encoded, value: encode(try json(name, value)))] }
    if style.explodes {
      if let list = value.list {
        var items: [Item] = []
        for item in list where !item.isNull {
          items.append(Item(name: encoded, value: encode(try text(name, item))))
        }
        return items
      }
      if let map = value.map {
        var items: [Item] = []
        for member in map.members where !member.value.isNull {
          items.append(
            Item(
              name: try text(name, member.key).percentEncoded, value: encode(try text(name, member.value))))
        }
        return items
      }
    }
    if value.isNull { return [] }
    return [Item(name: encoded, value: try joined(name, value, style, encode: encode))]
  }

  /// Reserved expansion (RFC 6570, section 3.2.3), except for characters that would end the item, the query or a
  /// decoded text: OpenAPI 3.1.1 leaves those to the sender.
  private static func reserved(_ text: String) -> String {
    let bytes = Array(text.utf8)
    var index = -1
    return PercentEncoding.encode(text) { byte in
      index += 1
      if byte == ASCII.percent {
        return index + 2 < bytes.count
          && bytes[(index + 1)...(index + 2)].allSatisfy { Character(Unicode.Scalar($0)).isHexDigit }
      }
      return "-._~:/?@!$'()*,;=".utf8.contains(byte) || ASCII.digits.contains(byte) || ASCII.lowercase.contains(byte)
        || ASCII.uppercase.contains(byte)
    }
  }

  /// `filter[a][b]=…`, and `filter[0]=…` for items of a list.
  private static func nest(
    _ path: String, _ value: Value, of name: String, _ encode: (String) -> String, into items: inout [Item]
  ) throws(ActionError) {
    switch value.content {
    case .null: break
    case .map(let map):
      for member in map.members {
        try nest("\(path)[\(text(name, member.key).percentEncoded)]", member.value, of: name, encode, into: &items)
      }
    case .list(let list):
      for (index, item) in list.enumerated() { try nest("\(path)[\(index)]", item, of: name, encode, into: &items) }
    default: items.append(Item(name: path, value: encode(try text(name, value))))
    }
  }

  /// All of a value as one text.
  private static func joined(
    _ name: String, _ value: Value, _ style: OperationCall.Style, encode: (String) -> String
  ) throws(ActionError) -> String {
    if style.word == .json { return encode(try json(name, value)) }
    let between =
      switch style.word {
      case .spaceDelimited: "%20"
      case .pipeDelimited: "%7C"
      case .tabDelimited: "%09"
      case .simple, .form, .deepObject, .json: ","
      }
    var parts: [String] = []
    if let list = value.list {
      for item in list where !item.isNull { parts.append(encode(try text(name, item))) }
    } else if let map = value.map {
      for member in map.members where !member.value.isNull {
        let (key, value) = (encode(try text(name, member.key)), encode(try text(name, member.value)))
        parts += style.explodes ? ["\(key)=\(value)"] : [key, value]
      }
    } else {
      return encode(try text(name, value))
    }
    return parts.joined(separator: between)
  }

  private static func json(_ name: String, _ value: Value) throws(ActionError) -> String {
    do throws(JSONError) { return String(decoding: try JSON.write(value), as: UTF8.self) } catch {
      throw fault("'\(name)' can't be JSON: \(error.description).")
    }
  }

  /// A value without parts as a text.
  private static func text(_ name: String, _ value: Value) throws(ActionError) -> String {
    if case .bytes(let bytes) = value.content { return bytes.base64 }
    guard let text = value.csvField else {
      throw fault("'\(name)' holds \(value.kindName), which it can't.")
    }
    return text
  }

  /// The parts of a path that aren't parameters.
  private static func encodedLiteral(_ text: Substring) -> String {
    PercentEncoding.encode(String(text)) { byte in
      (0x21...0x7E).contains(byte) && !"\"<>\\^`{}|?#".utf8.contains(byte)
    }
  }

  private static func fault(_ message: String) -> ActionError { ActionError(.validation, message) }
}
