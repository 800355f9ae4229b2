import Basics
import HTTPTypes

/// How a body of a media type is handled.
enum MediaForm: Int {
  // In the order of preference, where there are several.
  case json, urlencoded, multipart, text, bytes

  /// Nil if the text isn't a media type.
  ///
  /// A type's parameters are ignored, as they don't change the type (RFC 9110, section 8.3.1).
  init?(_ type: String) {
    let name = MediaForm.bare(type)
    guard MediaType.fault(of: name.replacing("*", with: "x")) == nil else { return nil }
    self =
      switch name {
      case "application/json", "text/json", "*/*", "application/*": .json
      case "application/x-www-form-urlencoded": .urlencoded
      case "multipart/form-data", "multipart/*": .multipart
      case "application/xml", "application/yaml", "application/x-yaml", "application/x-ndjson", "application/jsonl":
        .text
      case _ where name.hasSuffix("+json"): .json
      case _ where name.hasSuffix("+xml") || name.hasSuffix("+yaml") || name.hasPrefix("text/"): .text
      default: .bytes
      }
  }

  /// The type without its parameters.
  private static func bare(_ type: String) -> String { String(type.prefix { $0 != ";" }).trimmed.lowercased() }

  /// The type to send: one type of a range, without parameters for preference or format.
  private func sent(_ type: String) -> String {
    let name = MediaForm.bare(type)
    guard !name.contains("*") else {
      return switch self {
      case .json: "application/json"
      case .urlencoded: name
      case .multipart: "multipart/form-data"
      case .text: "text/plain"
      case .bytes: "application/octet-stream"
      }
    }
    if self == .urlencoded || self == .multipart { return name }
    let parameters = ContentType.parts(of: type).dropFirst().filter { text in
      let isOther = !["charset", "q", "boundary"].contains(text.prefix { $0 != "=" }.lowercased())
      return !text.isEmpty && isOther && text.utf8.allSatisfy(ASCII.printable.contains)
    }
    return ([name] + parameters).joined(separator: "; ")
  }

  /// The type of some that is preferred; JSON if there is none.
  static func preferred(_ types: [String]) -> (form: MediaForm, type: String, index: Int)? {
    var best: (form: MediaForm, type: String, index: Int)?
    for (index, type) in types.prefix(100).enumerated() {
      guard let form = MediaForm(type) else { continue }
      if let best, best.form.rawValue <= form.rawValue { continue }
      best = (form, form.sent(type), index)
    }
    return best
  }
}
