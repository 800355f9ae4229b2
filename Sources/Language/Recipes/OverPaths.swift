/// The finished paths of a run's records, relative to a block; nothing there runs again.
struct OverPaths: Sendable {
  private let isOver: @Sendable (_ path: String) -> Bool
  private let prefix: String

  /// Nothing is over.
  static let none = OverPaths { _ in false }

  init(_ isOver: @escaping @Sendable (_ path: String) -> Bool) { self.init(isOver, "") }

  private init(_ isOver: @escaping @Sendable (_ path: String) -> Bool, _ prefix: String) {
    self.isOver = isOver
    self.prefix = prefix
  }

  /// Whether a path, counted from the block, is over.
  func contains(_ path: String) -> Bool { isOver(prefix + path) }

  /// The paths seen from further in.
  func inside(_ part: String) -> OverPaths { OverPaths(isOver, prefix + part) }
}
