// Makes the actions' names for operations, and chooses operations by name.
//
// A name is made of `operationId` (`ActionName`); without one, of the method and the path, without `api` and `v1` at
// its beginning: `GET /api/contents/{path}` is `getContentsByPath`. Equal names get numbers in the document's order,
// whichever of the operations are chosen later.

import Basics
import PluginLocks

enum ActionNames {
  /// The names of operations, in their order.
  static func of(_ operations: [OpenAPIDocument.Operation]) -> [String] {
    var taken: Set<String> = []
    return operations.map { operation in
      var name = operation.id.map { ActionName.of($0) } ?? ""
      if name.isEmpty { name = self.name(ofPath: operation) }
      return name.free(among: &taken)
    }
  }

  /// The name of the action that reads the whole list of an action that returns one page.
  static func whole(_ name: String) -> String { "\(name)All" }

  private static func name(ofPath operation: OpenAPIDocument.Operation) -> String {
    var parts = operation.path.split(separator: "/").map(String.init)[...]
    while let first = parts.first?.lowercased(), parts.count > 1,
      first == "api" || first.hasPrefix("v") && first.utf8.count > 1 && first.utf8.dropFirst().allSatisfy({ $0 < 0x3A })
    { parts.removeFirst() }
    let words = parts.map { part in
      part.hasPrefix("{") ? "by \(part)" : part.percentDecoded ?? part
    }
    return ActionName.of(([operation.method.lowercased()] + words).joined(separator: " "))
  }
}

/// Chooses the operations that a person wants.
struct OperationFilter {
  private let patterns: [String]

  init(_ patterns: [String]) { self.patterns = patterns }

  /// Which pattern an operation is chosen by.
  func index(of operation: OpenAPIDocument.Operation, named name: String) -> Int? {
    patterns.firstIndex { pattern in
      if pattern.hasPrefix("tag:") {
        let pattern = String(pattern.dropFirst("tag:".count))
        return operation.tags.contains { $0.isOfForm(pattern) }
      }
      if pattern.hasPrefix("/") { return operation.path.isOfForm(pattern) }
      return name.isOfForm(pattern) || pattern == ActionNames.whole(name)
        || operation.id.map { $0.isOfForm(pattern) } ?? false || operation.name.isOfForm(pattern)
    }
  }

  /// Operations that some pattern chooses; a pattern that chooses none is an error.
  func choose(
    _ operations: [OpenAPIDocument.Operation], named names: [String], of document: String
  ) throws(PluginLockError) -> [(operation: OpenAPIDocument.Operation, name: String)] {
    let all = zip(operations, names).map { (operation: $0.0, name: $0.1) }
    guard !patterns.isEmpty else { return all }
    for pattern in patterns {
      let only = OperationFilter([pattern])
      if all.contains(where: { only.index(of: $0.operation, named: $0.name) != nil }) { continue }
      let tags = Set(operations.flatMap(\.tags)).sorted { $0.precedesByScalars($1) }
      let isTag = pattern.hasPrefix("tag:")
      let known = isTag ? tags.map { "tag:\($0)" } : names + operations.compactMap(\.id)
      let guess = pattern.nearest(among: known).map { "; did you mean '\($0.safe)'?" }
      let list = tags.prefix(20).map(\.safe).joined(separator: ", ")
      throw PluginLockError(
        "'\(pattern.safe)' matches no operation of \(document)"
          + (guess ?? (isTag ? tags.isEmpty ? ", which has no tags" : "; its tags are \(list)" : "")))
    }
    return all.filter { index(of: $0.operation, named: $0.name) != nil }
  }
}
