package import Basics
import Recipes

/// Where secrets come from: the environment, and files that nobody else can read.
///
/// Looked up by name when needed.
package struct Secrets: Sendable {
  private let environment: [String: String]
  private let files: ValueMap

  /// Creates a set of secrets; `files` are the members of the secret files, the first file counting first.
  package init(environment: [String: String], files: ValueMap = ValueMap()) {
    self.environment = environment
    self.files = files
  }

  package subscript(name: String) -> String? { files[name]?.plainText ?? environment[name] }
}
