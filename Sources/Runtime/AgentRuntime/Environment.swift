import Glibc

extension String {
  /// The value of an environment variable.
  package init?(environment name: String) {
    guard let value = getenv(name) else { return nil }
    self.init(cString: value)
  }
}
