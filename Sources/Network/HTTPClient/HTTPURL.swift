import Basics
import HTTPTypes

/// An absolute `http` or `https` URL, parsed (RFC 3986).
///
/// Parsed strictly, so that what is decided here about origins is true of where libcurl connects: no white space,
/// control characters, backslashes or text beyond ASCII, no percent-encoding in the host, no empty host. A fragment is
/// dropped.
public struct HTTPURL: Sendable {
  /// `http` or `https`.
  public private(set) var scheme: String
  /// The user information before `@`, percent-encoded as it came.
  public private(set) var userInfo: String?
  /// The host in lowercase letters; an IPv6 address has its brackets.
  public private(set) var host: String
  /// The port, by default the scheme's.
  public private(set) var port: Int
  /// The path, percent-encoded, starting with `/`.
  public private(set) var path: String
  /// The part after `?`, percent-encoded.
  public private(set) var query: String?

  /// Parses a URL; nil if it isn't absolute HTTP.
  public init?(_ text: String) {
    guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != ASCII.backslash }) else { return nil }
    let parts = Reference(text)
    guard let scheme = parts.scheme?.lowercasedASCII, scheme == "http" || scheme == "https",
      let authority = parts.authority
    else { return nil }
    self.scheme = scheme
    path = parts.path.isEmpty ? "/" : parts.path
    query = parts.query
    port = scheme == "http" ? 80 : 443
    var location = Substring(authority).utf8
    if let at = location.lastIndex(of: ASCII.at) {
      userInfo = String(Substring(location[..<at]))
      location = location[location.index(after: at)...]
    }
    let name: Substring.UTF8View
    if location.first == ASCII.openBracket {
      guard let end = location.firstIndex(of: ASCII.closeBracket) else { return nil }
      name = location[...end]
      guard name.count > 2, name.dropFirst().dropLast().allSatisfy(HTTPURL.isAddressByte) else { return nil }
    } else {
      name = location.prefix { $0 != ASCII.colon }
      guard !name.isEmpty, name.allSatisfy(HTTPURL.isNameByte) else { return nil }
    }
    host = String(Substring(name)).lowercasedASCII
    let rest = location[name.endIndex...]
    guard rest.isEmpty || rest.first == ASCII.colon else { return nil }
    if rest.count > 1 {
      guard rest.count <= 6, rest.dropFirst().allSatisfy({ ASCII.digits.contains($0) }),
        let port = Int(Substring(rest.dropFirst())), (1...65_535).contains(port)
      else { return nil }
      self.port = port
    }
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case ASCII.digits, ASCII.uppercase, ASCII.lowercase, ASCII.minus, ASCII.dot, ASCII.underscore: true
    default: false
    }
  }

  private static func isAddressByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x3A, 0x41...0x46, 0x61...0x66, ASCII.dot: true
    default: false
    }
  }

  /// Scheme, host and port, which identify the server: `https://example.org:8443`.
  public var origin: String {
    port == (scheme == "http" ? 80 : 443) ? "\(scheme)://\(host)" : "\(scheme)://\(host):\(port)"
  }

  /// The URL in its normal form.
  public var text: String {
    let location = origin.dropFirst(scheme.count + 3)
    let user = userInfo.map { "\($0)@" } ?? ""
    return "\(scheme)://\(user)\(location)\(path)\(query.map { "?\($0)" } ?? "")"
  }

  /// Whether the host is this machine, which no proxy can reach.
  public var isLoopback: Bool {
    host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]"
      || host.hasPrefix("127.") && host.utf8.allSatisfy { ASCII.digits.contains($0) || $0 == ASCII.dot }
  }

  /// Resolves a reference in this URL's answer (section 5.2); nil if the result isn't absolute HTTP.
  ///
  /// Bytes that URLs can't contain, but servers send, are percent-encoded first. User information of this URL is kept
  /// within its origin.
  public func resolving(_ reference: String) -> HTTPURL? {
    guard var target = resolved(reference) else { return nil }
    if target.origin == origin { target.userInfo = target.userInfo ?? userInfo }
    return target
  }

  private func resolved(_ reference: String) -> HTTPURL? {
    let clean = PercentEncoding.encode(reference) { $0 <= 0x7E && $0 != ASCII.space }
    let parts = Reference(clean)
    if parts.scheme != nil { return HTTPURL(clean) }
    if parts.authority != nil { return HTTPURL("\(scheme):\(clean)") }
    var target = self
    guard clean.utf8.allSatisfy({ $0 > 0x20 && $0 != ASCII.backslash }) else { return nil }
    if parts.path.isEmpty {
      target.query = parts.query ?? query
      return target
    }
    let base = parts.path.hasPrefix("/") ? "" : path[...(path.lastIndex(of: "/") ?? path.startIndex)]
    target.path = HTTPURL.removingDotSegments(base + parts.path)
    target.query = parts.query
    return target
  }

  /// Section 5.2.4, for a path that starts with `/`.
  private static func removingDotSegments(_ path: String) -> String {
    var segments: [Substring] = []
    let pieces = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    for piece in pieces {
      switch piece {
      case ".": continue
      case "..": _ = segments.popLast()
      default: segments.append(piece)
      }
    }
    if pieces.last == "." || pieces.last == ".." { segments.append("") }
    return "/" + segments.joined(separator: "/")
  }
}

/// A reference cut at its separators (RFC 3986, appendix B), unchecked.
private struct Reference {
  var scheme: String?
  var authority: String?
  var path: String
  var query: String?

  init(_ text: String) {
    func upTo(_ ends: StaticString, in part: Substring.UTF8View) -> Substring.UTF8View {
      part.prefix { byte in !ends.withUTF8Buffer { $0.contains(byte) } }
    }
    var rest = upTo("#", in: Substring(text).utf8)
    let before = upTo(":/?", in: rest)
    if !before.isEmpty, rest[before.endIndex...].first == ASCII.colon {
      scheme = String(Substring(before))
      rest = rest[before.endIndex...].dropFirst()
    }
    if rest.starts(with: "//".utf8) {
      let authority = upTo("/?", in: rest.dropFirst(2))
      self.authority = String(Substring(authority))
      rest = rest[authority.endIndex...]
    }
    let path = upTo("?", in: rest)
    self.path = String(Substring(path))
    if path.endIndex < rest.endIndex { query = String(Substring(rest[path.endIndex...].dropFirst())) }
  }
}

extension String {
  /// The address without the slashes at its end.
  package var withoutSlashesAtEnd: String {
    var address = self[...]
    while address.hasSuffix("/") { address.removeLast() }
    return String(address)
  }
}
