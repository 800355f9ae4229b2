import Basics
import Expressions
import Foundation

/// What the inputs are made from: every function's example, every expression of the checker's table, and a few shapes
/// that neither has.
struct Seeds {
  private let texts: [String]

  init(_ target: FuzzTarget) throws {
    let table = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Tests/ExpressionsTests/Snapshots/Checked.txt")
    let expressions =
      try String(contentsOf: table, encoding: .utf8).split(separator: "\n").filter { !$0.hasPrefix("    ") }
      .map { String($0) } + FunctionLibrary.standard.declarations.map(\.example) + [
        "items.filter(i, has(i.mark)).map(i, i.mark)[0] + d", "[n, u, d].map(x, [x].map(x, x))", "r'\\d' + '\\u00e4'",
        "any.exists(a, a == null) || counts.all(k, v, v > 0)", "b'\\xff' + y", "((((((((n))))))))",
        "-9223372036854775808",
        "cel.bind(t, s + s, cel.bind(t, t + t, t + t))", "{'a': [n], ?'b': item.?mark}.?b.orValue(0.0)",
      ]
    texts = target == .template ? expressions.map { "a ${{ \($0) }} b" } + expressions : expressions
  }

  /// Writes each into a file of the folder, and the words of the language into the dictionary.
  func write(to folder: URL, dictionary: URL) throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for (index, text) in texts.enumerated() where !text.isEmpty {
      try Data(text.utf8).write(to: folder.appending(path: "seed-\(index)"))
    }
    let names = Set(FunctionLibrary.standard.declarations.map { "\($0.name)(" })
    let words =
      [
        "all(x, ", "exists(x, ", "exists_one(x, ", "filter(x, ", "map(x, ", "transformMap(k, v, ",
        "transformList(i, x, ",
        "cel.bind(v, ", "optMap(x, ", "has(item.", "sortBy(x, ", ".?", "[?", "{?", "&&", "||", "==", "!=", " in ",
        " ? ",
        " : ", "null", "true", "'''", "r'", "b'", "0x", "1e9", "${{", "}}", "items", "item", "counts", "any", "now",
      ] + names.sorted()
    let lines = words.map { "\"\($0.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\"\n" }
    try Data(lines.joined().utf8).write(to: dictionary)
  }
}
