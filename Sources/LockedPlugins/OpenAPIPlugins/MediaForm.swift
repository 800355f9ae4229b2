import Basics
import HTTPTypes

/// What is done with a body of a media type.
enum MediaForm: Int {
  // In the order of preference, where there are several.
  case json, urlencoded, multipart, text, bytes

  /// nil for what isn't a media type.
  init?(_ type: String) {
    guard MediaType.fault(of: type) == nil || type == "*/*" else { return nil }
    let name = MediaForm.bare(type)
    self =
      switch name {
      case "application/json", "text/json", "*/*": .json
      case "application/x-www-form-urlencoded": .urlencoded
      case "multipart/form-data": .multipart
      case "application/xml", "application/yaml", "application/x-yaml", "application/x-ndjson", "application/jsonl":
        .text
      case _ where name.hasSuffix("+json"): .json
      case _ where name.hasSuffix("+xml") || name.hasSuffix("+yaml") || name.hasPrefix("text/"): .text
      default: .bytes
      }
  }

  /// The type without its parameters.
  static func bare(_ type: String) -> String { String(type.prefix { $0 != ";" }).trimmed.lowercased() }

  /// The type of some that is preferred; JSON if there is none.
  static func preferred(_ types: [String]) -> (form: MediaForm, type: String, index: Int)? {
    var best: (form: MediaForm, type: String, index: Int)?
    for (index, type) in types.prefix(100).enumerated() {
      guard let form = MediaForm(type) else { continue }
      if let best, best.form.rawValue <= form.rawValue { continue }
      best = (form, type == "*/*" ? "application/json" : bare(type), index)
    }
    return best
  }
}
