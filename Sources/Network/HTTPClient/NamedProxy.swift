import Basics
import Glibc

/// A proxy and who names it, for messages: libcurl doesn't tell whether it asked one, but names what it couldn't reach.
struct NamedProxy {
  /// Its address without credentials.
  private let origin: String
  private let host: String
  private let port: String
  /// The environment variable that names it, if one does.
  private let variable: String?

  init?(_ text: String, variable: String?) {
    let mark = text.firstIndex(of: ":").flatMap { text[$0...].hasPrefix("://") ? $0 : nil }
    let scheme = mark.map { text[..<$0].lowercased() } ?? "http"
    let last = mark.map { text[$0...].dropFirst(3) } ?? text[...]
    let location = last.prefix { $0 != "/" }.split(separator: "@").last ?? ""
    // An IPv6 address has colons of its own.
    let colon = location.lastIndex(of: ":").flatMap { location[$0...].contains("]") ? nil : $0 }
    host = String(location[..<(colon ?? location.endIndex)].filter { $0 != "[" && $0 != "]" })
    port = colon.map { String(location[$0...].dropFirst()) } ?? (scheme == "https" ? "443" : "1080")
    origin = "\(scheme)://\(location)"
    self.variable = variable
    if host.isEmpty { return nil }
  }

  /// The proxy that libcurl takes from the environment for a URL; `no_proxy` may except it.
  static func ofEnvironment(for url: HTTPURL) -> NamedProxy? {
    // In capitals, `HTTP_PROXY` is a header field of a CGI request.
    let names =
      (url.scheme == "http" ? ["http_proxy"] : ["https_proxy", "HTTPS_PROXY"]) + ["all_proxy", "ALL_PROXY"]
    for name in names {
      guard let value = getenv(name), case let text = String(cString: value), !text.isEmpty else { continue }
      return NamedProxy(text, variable: name)
    }
    return nil
  }

  /// Whether libcurl's words are of a connection to it.
  func isNamed(in detail: String) -> Bool {
    ["\(host) port \(port) ", "\(host):\(port) "].contains { detail.contains("onnect to \($0)") }
  }

  /// The proxy's name in messages.
  var displayed: String { variable.map { "\(origin) of $\($0)" } ?? origin }
}
