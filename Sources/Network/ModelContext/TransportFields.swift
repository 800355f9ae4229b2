/// The messages over HTTP (the transport "Streamable HTTP"): each request is a POST whose body is the message.
///
/// The response is the body of the answer: JSON, or events of a stream (`text/event-stream`). The last event is the
/// response, and the events before it are notifications, such as of progress. A notification is answered with 202.
///
/// Since 2026-07-28 header fields repeat parts of the body, for proxies that don't read bodies. A server has to refuse
/// a request whose fields differ from its body, or a proxy would let through a request that it was to stop. A value
/// that isn't printable ASCII is `=?base64?…?=`.
package import Basics

package enum TransportFields {
  package static let version = "MCP-Protocol-Version"
  package static let method = "Mcp-Method"
  package static let name = "Mcp-Name"

  /// The parameter that the field `Mcp-Name` repeats, by method.
  package static func named(by method: String) -> String? {
    switch method {
    case "tools/call", "prompts/get": "name"
    case "resources/read": "uri"
    default: nil
    }
  }

  /// The fields that a client sends with a request.
  package static func fields(_ version: ProtocolVersion, _ method: String, _ params: ValueMap) -> [(String, String)] {
    var fields = [(TransportFields.version, version.rawValue)]
    guard version.isStateless else { return fields }
    fields.append((TransportFields.method, method))
    if let name = named(by: method).flatMap({ params[$0]?.string }) {
      fields.append((TransportFields.name, encoded(name)))
    }
    return fields
  }

  /// Checks that the fields of a request say what its body does.
  ///
  /// - Parameter values: The values of all fields of a name.
  package static func check(
    _ method: String, _ params: ValueMap, _ values: (_ field: String) -> [String]
  ) throws(ModelContextError) {
    func value(_ field: String) throws(ModelContextError) -> String? {
      let all = values(field)
      // Which of several counts is for each reader to guess.
      guard all.count < 2 else {
        throw ModelContextError(.headerMismatch, "the field '\(field)' appears more than once")
      }
      return all.first
    }
    func mismatch(_ field: String, _ what: String) -> ModelContextError {
      ModelContextError(.headerMismatch, "the field '\(field)' must be \(what), as in the body")
    }
    let (version, named) = (try value(TransportFields.version), try value(TransportFields.name))
    guard let version, version == params["_meta"]?[RequestEnvelope.Key.version]?.string else {
      throw mismatch(TransportFields.version, "the version of the protocol")
    }
    guard try value(TransportFields.method) == method else { throw mismatch(TransportFields.method, "the method") }
    if let key = TransportFields.named(by: method), let name = params[key]?.string {
      guard named.flatMap(decoded)?.hasSameScalars(as: name) == true else {
        throw mismatch(TransportFields.name, "the parameter '\(key)'")
      }
    }
  }

  private static let opening = "=?base64?"
  private static let closing = "?="

  /// A text as the value of a header field.
  package static func encoded(_ text: String) -> String {
    let bytes = text.utf8
    let isPlain =
      bytes.allSatisfy { (ASCII.space..<0x7F).contains($0) } && bytes.first != ASCII.space
      && bytes.last != ASCII.space && !(text.hasPrefix(opening) && text.hasSuffix(closing))
    return isPlain ? text : opening + bytes.base64 + closing
  }

  /// The text that the value of a header field stands for; nil if it isn't one.
  package static func decoded(_ field: String) -> String? {
    guard field.hasPrefix(opening), field.hasSuffix(closing),
      field.utf8.count >= opening.utf8.count + closing.utf8.count
    else { return field }
    let inner = Substring(field.utf8.dropFirst(opening.utf8.count).dropLast(closing.utf8.count))
    return [UInt8](base64: String(inner)).flatMap { String(validating: $0, as: UTF8.self) }
  }
}
