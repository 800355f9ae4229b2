import ActionKit
import HTTPClient

extension TextPattern {
  /// A whole address, or a path or query to append to the service's address.
  static let webAddress = TextPattern(
    "an address such as https://example.org/items, or a path such as /items",
    regex: "^([hH][tT][tT][pP][sS]?://[^/?#]+([/?#].*)?|[/?].*)$",
    accepted: ["https://example.org", "http://127.0.0.1:8080/a?b=c", "/items", "/", "?page=2"],
    refused: ["items", "ftp://example.org/x", "https://", ""]
  ) { text in HTTPURL(text.hasPrefix("/") || text.hasPrefix("?") ? "https://a" + text : text) != nil }
}

/// An action on an address; a path needs a connection with a `baseURL`.
protocol AddressedAction: SettingsAction where Service == WebClient {}

extension AddressedAction {
  static func neededSettings(for input: Value) -> [String] {
    guard let url = input["url"]?.string, url.hasPrefix("/") || url.hasPrefix("?") else { return [] }
    return ["baseURL"]
  }
}
