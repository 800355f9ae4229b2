/// The secrets that a run knows, by name.
package struct Secrets: Sendable {
  private let values: [String: String]

  /// - Parameter environment: The text of each secret, by name.
  package init(environment: [String: String]) { values = environment }

  package subscript(name: String) -> String? { values[name] }
}
