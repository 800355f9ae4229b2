import Basics

/// Takes known secrets out of texts before they are shown or kept: plain, as JSON, in base64 and percent-encoded.
///
/// The types keep secrets away from outputs and messages; this is for what services send back.
package struct Redactor: Sendable {
  private let forms: [[UInt8]]

  /// Secrets of fewer than four bytes are left alone: they would take half of every text with them.
  package init(_ secrets: [String]) { self.init(secrets, and: []) }

  private init(_ secrets: [String], and others: [[UInt8]]) {
    let forms = others + secrets.filter { $0.utf8.count >= 4 }.flatMap(Redactor.forms)
    // The longest first, so that no form that holds another leaves a part of itself.
    self.forms = Set(forms).sorted { $0.count > $1.count }
  }

  /// One that takes out more secrets.
  func adding(_ secrets: [String]) -> Redactor { secrets.isEmpty ? self : Redactor(secrets, and: forms) }

  private static func forms(of secret: String) -> [[UInt8]] {
    let encoded = secret.percentEncoded
    let quoted = (try? JSON.text(.string(secret))) ?? ""
    return [
      Array(secret.utf8), Array(encoded.utf8), Array(encoded.lowercased().utf8),
      // As forms write it.
      Array(encoded.split(separator: "%20", omittingEmptySubsequences: false).joined(separator: "+").utf8),
      Array(quoted.utf8.dropFirst().dropLast()), Array([UInt8](secret.utf8).base64.utf8),
    ]
  }

  /// The text with each secret as `•••`; compared by bytes, because what follows a secret may combine with it.
  package func redact(_ text: String) -> String {
    var bytes = Array(text.utf8)
    var isChanged = false
    for form in forms {
      guard let first = form.first, bytes.count >= form.count else { continue }
      var kept: [UInt8] = []
      var copied = 0
      var index = 0
      while index <= bytes.count - form.count {
        if bytes[index] == first, bytes[index..<index + form.count].elementsEqual(form) {
          kept += bytes[copied..<index]
          kept += Redactor.mark
          index += form.count
          copied = index
        } else {
          index += 1
        }
      }
      if copied > 0 {
        bytes = kept + bytes[copied...]
        isChanged = true
      }
    }
    return isChanged ? String(decoding: bytes, as: UTF8.self) : text
  }

  private static let mark = Array("•••".utf8)
}
