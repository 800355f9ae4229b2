import ActionKit

/// Links in header fields (RFC 8288): `<https://example.org/items?page=2>; rel="next"`.
enum WebLink {
  /// The target of the first link to the next page.
  static func next(in fields: [String]) -> String? {
    for field in fields {
      var rest = Array(field.utf8)[...]
      while let start = rest.firstIndex(of: ASCII.less) {
        guard let end = rest[start...].firstIndex(of: ASCII.greater) else { break }
        let target = String(decoding: rest[(start + 1)..<end], as: UTF8.self)
        rest = rest[(end + 1)...]
        let parameters = takeParameters(&rest)
        if parameters.contains(where: { $0.0 == "rel" && $0.1.split(separator: " ").contains("next") }) {
          return target
        }
      }
    }
    return nil
  }

  /// The parameters up to the comma before the next link, in lowercase.
  private static func takeParameters(_ rest: inout ArraySlice<UInt8>) -> [(String, String)] {
    var parameters: [(String, String)] = []
    while let byte = rest.first, byte != ASCII.comma {
      rest = rest.dropFirst()
      guard byte == ASCII.semicolon else { continue }
      let name = rest.prefix { !"=;,".utf8.contains($0) }
      rest = rest[name.endIndex...]
      var value: [UInt8] = []
      if rest.first == ASCII.equals {
        rest = rest.dropFirst()
        if rest.first == ASCII.quote {
          rest = rest.dropFirst()
          while let byte = rest.popFirst(), byte != ASCII.quote {
            if byte == ASCII.backslash, let escaped = rest.popFirst() {
              value.append(escaped)
            } else {
              value.append(byte)
            }
          }
        } else {
          let token = rest.prefix { !";,".utf8.contains($0) }
          value = Array(token)
          rest = rest[token.endIndex...]
        }
      }
      parameters.append(
        (
          String(decoding: name, as: UTF8.self).trimmed.lowercased(),
          String(decoding: value, as: UTF8.self).trimmed.lowercased()
        ))
    }
    return parameters
  }
}
