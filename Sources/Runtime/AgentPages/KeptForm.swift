import Basics
package import HTTPServer

/// A form that is kept, as fields of the login page, while there is no login.
///
/// Its page says which of its fields take the name of a secret, because nothing else is known of the form then. Another
/// text in such a field may be the secret itself. The agent would refuse it, so it isn't kept.
package enum KeptForm {
  /// The name of the fields of a form that name those fields.
  static let secret = "secret"
  /// The beginning of a text that names a secret.
  static let mark = "@secret:"

  /// The fields of a form that may be kept.
  package static func fields(of form: HTTPQuery) -> [HTTPQuery.Item] {
    let secrets = names(in: form.items)
    return form.items.filter { item in
      !secrets.contains { $0.hasSameScalars(as: item.name) } || item.value.hasPrefix(mark) || item.value.isEmpty
    }
  }

  /// The fields that a person filled in, each with its text; nil for one that wasn't kept.
  package static func filledIn(_ items: [HTTPQuery.Item]) -> [(name: String, text: String?)] {
    let hidden = ["key", "link", "question", secret, "step"]
    let filled = items.filter { !hidden.contains($0.name) && !$0.value.isEmpty }
    let lost = names(in: items).filter { name in !items.contains { $0.name.hasSameScalars(as: name) } }
    return filled.map { (shown($0.name), $0.value) } + lost.map { (shown($0), nil) }
  }

  private static func names(in items: [HTTPQuery.Item]) -> [String] {
    items.filter { $0.name == secret }.map(\.value)
  }

  /// The name of an input or a field as its form has it.
  private static func shown(_ name: String) -> String {
    for start in ["input.", "field."] where name.hasPrefix(start) { return String(name.dropFirst(start.utf8.count)) }
    return name
  }
}
