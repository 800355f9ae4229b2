/// The type that a message says its body has (RFC 9110, section 8.3).
package struct ContentType: Sendable, Hashable {
  /// `type/subtype`, in small letters; empty if nothing says it.
  package var name: String
  /// The text of its parameter `charset`; nil if it has none.
  package var charset: String?

  /// Reads the value of `Content-Type`.
  package init(_ field: String?) {
    let parts = ContentType.parts(of: field ?? "")
    name = parts.first?.lowercased() ?? ""
    for part in parts.dropFirst() where charset == nil {
      let key = part.prefix { $0 != "=" }
      guard String(key).trimmed.lowercased() == "charset" else { continue }
      charset = String(part.dropFirst(key.count + 1)).trimmed.filter { $0 != "\"" && $0 != "'" }
    }
  }

  /// Splits a field at its semicolons: the type, then its parameters as they are written.
  ///
  /// A semicolon within quotes doesn't split.
  package static func parts(of field: String) -> [String] {
    var parts: [String] = []
    var rest = field.utf8[...]
    while true {
      var (isQuoted, isEscaped) = (false, false)
      let part = rest.prefix { byte in
        defer { isEscaped = isQuoted && !isEscaped && byte == ASCII.backslash }
        if byte == ASCII.quote, !isEscaped { isQuoted.toggle() }
        return byte != ASCII.semicolon || isQuoted
      }
      parts.append(String(Substring(part)).trimmed)
      guard part.endIndex < rest.endIndex else { return parts }
      rest = rest[part.endIndex...].dropFirst()
    }
  }

  /// Whether the body is JSON (RFC 6839, section 3.1).
  package var isJSON: Bool { name == "application/json" || name.hasSuffix("+json") }

  /// Whether the body is a form, as browsers send one.
  package var isForm: Bool { name == "application/x-www-form-urlencoded" }

  /// A body in UTF-8: by its byte order mark, else by the charset that is named, else as it is.
  package func utf8(of body: [UInt8]) throws(CharsetError) -> [UInt8] {
    if let marked = Charset.marked(in: body) { return try marked.utf8(of: body) }
    return try utf8(ofPart: body)
  }

  /// A part of a body in UTF-8, such as a field of a form, which has no mark of its own.
  package func utf8(ofPart body: [UInt8]) throws(CharsetError) -> [UInt8] {
    guard let charset, !charset.isEmpty else { return try Charset.utf8.utf8(of: body) }
    if let known = Charset(named: charset) { return try known.utf8(of: body) }
    do throws(CharsetError) { return try Charset.utf8.utf8(of: body) } catch {
      throw CharsetError(
        message: "is in the charset '\(charset.shortened(to: 40))', which isn't known", charset: .utf8, isMisfit: true)
    }
  }
}
