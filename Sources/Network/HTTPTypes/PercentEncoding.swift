package import Basics

/// Percent-encoding as queries and form bodies need it.
public enum PercentEncoding {
  private static let digits = Array("0123456789ABCDEF".utf8)

  /// The UTF-8 of a text, everything percent-encoded except `A-Z a-z 0-9 - . _ ~` (RFC 3986's unreserved characters).
  ///
  /// The result is safe in a path segment, a query and a form body: `+`, `&`, `=`, `;` and the space are encoded.
  public static func encode(_ text: String) -> String { encode(text, but: isUnreserved) }

  /// The UTF-8 of a text, every byte percent-encoded except those allowed.
  package static func encode(_ text: String, but isLetThrough: (UInt8) -> Bool) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    for byte in text.utf8 {
      if isLetThrough(byte) {
        bytes.append(byte)
      } else {
        bytes.append(ASCII.percent)
        bytes.append(digits[Int(byte >> 4)])
        bytes.append(digits[Int(byte & 15)])
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The decoded text; an incomplete escape stays as it is, invalid UTF-8 becomes U+FFFD.
  ///
  /// - Parameter plusIsSpace: whether `+` means a space, as it does in queries and forms but not in paths.
  public static func decode(_ text: some StringProtocol, plusIsSpace: Bool) -> String {
    String(decoding: octets(of: text.utf8, plusIsSpace: plusIsSpace), as: UTF8.self)
  }

  /// The octets that percent-encoding stands for; an incomplete escape stays as it is.
  package static func octets(of bytes: some Collection<UInt8>, plusIsSpace: Bool) -> [UInt8] {
    let bytes = Array(bytes)
    guard bytes.contains(where: { $0 == ASCII.percent || plusIsSpace && $0 == ASCII.plus }) else { return bytes }
    var decoded: [UInt8] = []
    decoded.reserveCapacity(bytes.count)
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      if byte == ASCII.percent, index + 2 < bytes.count, let high = hexDigit(bytes[index + 1]),
        let low = hexDigit(bytes[index + 2])
      {
        decoded.append(high << 4 | low)
        index += 3
      } else {
        decoded.append(plusIsSpace && byte == ASCII.plus ? ASCII.space : byte)
        index += 1
      }
    }
    return decoded
  }

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case ASCII.digits, ASCII.uppercase, ASCII.lowercase, ASCII.minus, ASCII.dot, ASCII.underscore, ASCII.tilde: true
    default: false
    }
  }

  private static func hexDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case ASCII.digits: byte - ASCII.zero
    case 0x41...0x46: byte - 0x37
    case 0x61...0x66: byte - 0x57
    default: nil
    }
  }
}

/// The items of a query or a form body (`application/x-www-form-urlencoded`), in order, names repeated or not.
public struct HTTPQuery: Sendable {
  /// One item; one without `=` has an empty value.
  public struct Item: Sendable {
    /// The name, decoded.
    public var name: String
    /// The value, decoded.
    public var value: String

    /// Creates an item out of decoded texts.
    public init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }
  }

  /// The items in order.
  public var items: [Item]

  /// Creates a query out of decoded items.
  public init(_ items: [Item] = []) { self.items = items }

  /// Reads the text between `?` and `#`, or a form body: `&` separates, `+` is a space, `%2B` is a plus.
  public init(decoding text: some StringProtocol) {
    items = Substring(text).utf8.split(separator: ASCII.ampersand).map { piece in
      let name = piece.prefix { $0 != ASCII.equals }
      return Item(
        PercentEncoding.decode(Substring(name), plusIsSpace: true),
        PercentEncoding.decode(Substring(piece.dropFirst(name.count + 1)), plusIsSpace: true))
    }
  }

  /// Reads the body of a form (`application/x-www-form-urlencoded`) in the charset that its type names.
  ///
  /// Browsers send CR LF for each end of a line in a field, whatever was typed (HTML, "Constructing the entry list"); here
  /// it is LF, as in every other text.
  ///
  /// - Throws: Which field isn't in the charset; nothing of a form is replaced.
  package init(form body: [UInt8], _ type: ContentType) throws(CharsetError) {
    items = []
    var (body, type) = (body, type)
    // A mark says it, and UTF-16 isn't divided by bytes; percent escapes alone may be in it all the same.
    let wide = type.charset.flatMap(Charset.init(named:)).flatMap { !$0.holdsASCII && body.contains(0) ? $0 : nil }
    if let charset = Charset.marked(in: body) ?? wide {
      do throws(CharsetError) { body = try charset.utf8(of: body) } catch {
        var error = error
        error.message = "the form \(error.message)"
        throw error
      }
      type.charset = nil
    }
    for piece in body.split(separator: ASCII.ampersand) {
      let name = piece.prefix { $0 != ASCII.equals }
      let raw = PercentEncoding.octets(of: name, plusIsSpace: true)
      let octets = PercentEncoding.octets(of: piece.dropFirst(name.count + 1), plusIsSpace: true)
      func text(_ octets: [UInt8]) throws(CharsetError) -> String {
        do throws(CharsetError) { return String(decoding: try type.utf8(ofPart: octets), as: UTF8.self) } catch {
          var error = error
          error.message =
            "the field '\(Charset.utf8.displayedText(of: raw).shortened(to: 60))' of the form \(error.message)"
          throw error
        }
      }
      items.append(Item(try text(raw), try text(octets).withPlainLineEnds))
    }
  }

  /// The value of the first item of that name, which is compared by its scalars.
  public subscript(name: String) -> String? {
    items.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
  }

  /// The items as written in a URL or a form body.
  public var encoded: String {
    items.map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }.joined(separator: "&")
  }
}

extension HTTPQuery: ExpressibleByDictionaryLiteral {
  public init(dictionaryLiteral elements: (String, String)...) {
    self.init(elements.map { Item($0, $1) })
  }
}
