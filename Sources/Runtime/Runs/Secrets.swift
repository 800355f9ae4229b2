/// The secrets that a run knows, by name.
package struct Secrets: Sendable {
  private let values: [String: String]

  /// - Parameter environment: What each name stands for.
  package init(environment: [String: String]) { values = environment }

  package subscript(name: String) -> String? { values[name] }
}
