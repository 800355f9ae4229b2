extension String {
  /// The text without the white space at its ends (Unicode's property `White_Space`).
  public var trimmed: String {
    let scalars = unicodeScalars
    guard let first = scalars.firstIndex(where: { !$0.properties.isWhitespace }),
      let last = scalars.lastIndex(where: { !$0.properties.isWhitespace })
    else { return "" }
    return String(scalars[first...last])
  }

  /// The text with every octet of its UTF-8 but the unreserved characters (RFC 3986, section 2.3) as `%XX`.
  ///
  /// Right for one segment of a path or one name or value of a query; not for a whole URL.
  public var percentEncoded: String {
    var encoded = ""
    for byte in utf8 {
      switch byte {
      case ASCII.lowercase, ASCII.uppercase,
        ASCII.digits, ASCII.minus, ASCII.dot, ASCII.underscore,
        ASCII.tilde:
        encoded.unicodeScalars.append(Unicode.Scalar(byte))
      default: encoded += "%" + hex(byte)
      }
    }
    return encoded
  }

  /// The text with every `%XX` as the octet it stands for; nil if a `%` comes before anything else, or the octets
  /// aren't valid UTF-8.
  ///
  /// A plus sign stays one: that it means a blank is a custom of forms, not of RFC 3986.
  public var percentDecoded: String? {
    let encoded = Array(utf8)
    var octets: [UInt8] = []
    octets.reserveCapacity(encoded.count)
    var index = 0
    while index < encoded.count {
      if encoded[index] == ASCII.percent {
        guard index + 2 < encoded.count, let high = hexDigit(encoded[index + 1]), let low = hexDigit(encoded[index + 2])
        else { return nil }
        octets.append(high << 4 | low)
        index += 3
      } else {
        octets.append(encoded[index])
        index += 1
      }
    }
    return String(validating: octets, as: UTF8.self)
  }

  /// The text as a part of a JSON pointer (RFC 6901, section 3).
  package var asPointerPart: String { replacing("~", with: "~0").replacing("/", with: "~1") }

  /// The text that a part of a JSON pointer stands for.
  package var ofPointerPart: String { replacing("~1", with: "/").replacing("~0", with: "~") }

  /// The text with LF for each CR LF.
  package var withPlainLineEnds: String {
    guard utf8.contains(ASCII.carriageReturn) else { return self }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(utf8.count)
    for byte in utf8 {
      if byte == ASCII.newline, bytes.last == ASCII.carriageReturn { bytes.removeLast() }
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
