import Basics

/// Takes known secrets out of texts before they are shown or kept, in plain, base64 and percent-encoded form.
///
/// The types keep secrets away from outputs and messages; this is for what services send back.
package struct Redactor: Sendable {
  private let forms: [String]

  /// Secrets of fewer than four characters are left alone: they would take half of every text with them.
  package init(_ secrets: [String]) {
    forms = secrets.filter { $0.utf8.count >= 4 }
      .flatMap { [$0, $0.percentEncoded, [UInt8]($0.utf8).base64] }
      .sorted { $0.utf8.count > $1.utf8.count }
  }

  package func redact(_ text: String) -> String {
    var text = text
    for form in forms where text.contains(form) { text = text.split(separator: form, omittingEmptySubsequences: false).joined(separator: "•••") }
    return text
  }
}
