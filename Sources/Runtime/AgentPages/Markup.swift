/// HTML that cannot hold a text from outside unescaped: every text becomes markup by being escaped, names are constants
/// of the code, and there is no way to make markup of a text as it is.
import Basics
import HTTPServer

package struct Markup: ExpressibleByStringInterpolation, Sendable {
  private(set) var text: String

  /// Escaped text, as a terminal would leave it.
  package init(_ content: String) { text = Markup.escaped(content.linesAsPrinted) }
  package init(stringLiteral value: String) { text = Markup.escaped(value) }
  package init(stringInterpolation: Interpolation) { text = Markup.escaped(stringInterpolation.text.linesAsPrinted) }
  /// The content of a field; the form sends it back unchanged.
  init(field content: String) { text = Markup.escaped(content) }
  package init(_ parts: [Markup]) { text = parts.map(\.text).joined() }

  private init(trusted: String) { text = trusted }

  package struct Interpolation: StringInterpolationProtocol {
    fileprivate var text = ""

    package init(literalCapacity: Int, interpolationCount: Int) {}
    package mutating func appendLiteral(_ literal: String) { text += literal }
    package mutating func appendInterpolation(_ value: String) { text += value }
    package mutating func appendInterpolation(_ value: Int) { text += "\(value)" }
  }

  package static let nothing = Markup([])

  package static func + (left: Markup, right: Markup) -> Markup { Markup([left, right]) }

  /// An element; an attribute that is nil is left out, one that is empty has no value.
  package static func element(
    _ name: StaticString, _ attributes: KeyValuePairs<StaticString, String?> = [:], _ content: Markup...
  ) -> Markup {
    let name = name.description
    var text = "<" + name
    for case (let attribute, let value?) in attributes {
      text += " " + attribute.description
      if !value.isEmpty { text += "=\"" + escaped(value) + "\"" }
    }
    text += ">"
    // Elements that have no content and no end (HTML, "Void elements").
    if ["br", "hr", "img", "input", "link", "meta"].contains(name) { return Markup(trusted: text) }
    for part in content { text += part.text }
    return Markup(trusted: text + "</" + name + ">")
  }

  /// The whole document.
  static func document(_ content: Markup) -> String { "<!doctype html>\n" + content.text }

  private static func escaped(_ text: String) -> String {
    // Most texts hold nothing but letters.
    if text.utf8.allSatisfy(isPlain) { return text }
    var escaped = ""
    escaped.reserveCapacity(text.utf8.count)
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "'": escaped += "&#39;"
      // As it is, a browser would make a line end of it.
      case "\r": escaped += "&#13;"
      // A browser would replace NUL by that; it keeps other control characters.
      case "\u{0}": escaped += "\u{FFFD}"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "&"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\""), UInt8(ascii: "'"), 0x7F: false
    default: byte >= ASCII.space
    }
  }
}

/// The path of a page, each part percent-encoded.
package func pagePath(_ parts: String..., query: HTTPQueryItems = []) -> String {
  let path = "/" + parts.map(PercentEncoding.encode).joined(separator: "/")
  let items = query.filter { !$0.1.isEmpty }.map { "\(PercentEncoding.encode($0.0))=\(PercentEncoding.encode($0.1))" }
  return items.isEmpty ? path : path + "?" + items.joined(separator: "&")
}

package typealias HTTPQueryItems = [(String, String)]
