import ActionKit

/// Links in header fields (RFC 8288): `<https://example.org/items?page=2>; rel="next"`.
enum WebLink {
  /// The target of the first link to the next page.
  static func next(in fields: [String]) -> String? {
    for field in fields {
      var rest = Array(field.utf8)[...]
      while let start = rest.firstIndex(of: UInt8(ascii: "<")) {
        guard let end = rest[start...].firstIndex(of: UInt8(ascii: ">")) else { break }
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

  /// The parameters up to the comma before the next link, in small letters.
  private static func takeParameters(_ rest: inout ArraySlice<UInt8>) -> [(String, String)] {
    var parameters: [(String, String)] = []
    while let byte = rest.first, byte != UInt8(ascii: ",") {
      rest = rest.dropFirst()
      guard byte == UInt8(ascii: ";") else { continue }
      let name = rest.prefix { !"=;,".utf8.contains($0) }
      rest = rest[name.endIndex...]
      var value: [UInt8] = []
      if rest.first == UInt8(ascii: "=") {
        rest = rest.dropFirst()
        if rest.first == UInt8(ascii: "\"") {
          rest = rest.dropFirst()
          while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
            if byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() {
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
