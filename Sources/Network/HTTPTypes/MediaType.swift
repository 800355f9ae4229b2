import Basics

/// The media types of files that are often sent.
package enum MediaType {
  /// The type that a file name's extension implies.
  package static func named(after name: String) -> String {
    let ending = name.utf8.split(separator: ASCII.dot).dropFirst().last.map {
      String(decoding: $0, as: UTF8.self)
    }
    return switch ending?.lowercased() {
    case "csv": "text/csv"
    case "gif": "image/gif"
    case "htm", "html": "text/html"
    case "ics": "text/calendar"
    case "jpeg", "jpg": "image/jpeg"
    case "json": "application/json"
    case "md": "text/markdown"
    case "pdf": "application/pdf"
    case "png": "image/png"
    case "svg": "image/svg+xml"
    case "txt": "text/plain"
    case "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
    case "xml": "application/xml"
    case "zip": "application/zip"
    default: "application/octet-stream"
    }
  }

  /// Whether a text is a type and a subtype (RFC 6838, section 4.2).
  package static func isOne(_ text: String) -> Bool {
    let parts = text.utf8.split(separator: ASCII.slash, omittingEmptySubsequences: false)
    return parts.count == 2
      && parts.allSatisfy { part in
        (1...127).contains(part.count)
          && part.allSatisfy { octet in
            switch octet {
            case ASCII.digits, ASCII.uppercase, ASCII.lowercase: true
            default: "!#$&-^_.+".utf8.contains(octet)
            }
          }
      }
  }

  /// The fault of a text that isn't a media type, in a sentence.
  package static func fault(of text: String) -> String? {
    isOne(text) ? nil : "'\(text)' isn't a media type such as application/pdf."
  }
}
