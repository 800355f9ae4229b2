import Basics
import Expressions
import Foundation

/// The seeds of the inputs: every function's example, every expression of the checker's table, and a few shapes that
/// neither has.
struct Seeds {
  private let texts: [String]

  init(_ target: FuzzTarget) throws {
    let table = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Language/ExpressionsTests/Snapshots/Checked.txt")
    let expressions =
      try String(contentsOf: table, encoding: .utf8).split(separator: "\n").filter { !$0.hasPrefix("    ") }
      .map { String($0) } + FunctionLibrary.standard.declarations.map(\.example) + [
        "items.filter(i, has(i.mark)).map(i, i.mark)[0] + d", "[n, u, d].map(x, [x].map(x, x))", "r'\\d' + '\\u00e4'",
        "any.exists(a, a == null) || counts.all(k, v, v > 0)", "b'\\xff' + y", "((((((((n))))))))",
        "-9223372036854775808",
        "cel.bind(t, s + s, cel.bind(t, t + t, t + t))", "{'a': [n], ?'b': item.?mark}.?b.orValue(0.0)",
      ]
    let recipes = try Seeds.files(in: "recipes", ending: ".yaml")
    texts =
      switch target {
      case .check, .evaluate: expressions
      case .template: expressions.map { "a ${{ \($0) }} b" } + expressions
      case .recipe: recipes
      case .yaml:
        recipes + [
          "a: 'it''s'\nb: \"x\\u00e4\\n\\\n  y\"\nc: |+\n  text\n\nd: >-\n  folded\n  text\n", "&a [*a, !!str 1]",
          "{? a : b}",
        ]
      case .json: [#"{"a": [1, -2.5e3, "\u00e4\ud83e\udd80", null, true, {}]}"#, "18446744073709551615", "[[[[]]]]"]
      case .cron:
        ["30 17 * * FRI", "*/15 1-5,7 L * MON#2", "0 0 29 2 ?", "@daily", "5/10 * W,15W JAN-MAR 0-7", "* * * * *"]
      case .answer:
        [
          "200\nContent-Type: application/json\nCache-Control: max-age=60, no-cache\nETag: \"x\"\nVary: *\n\n{\"a\": 1}",
          "304\nDate: Sun, 22 Nov 2026 10:00:00 GMT\nExpires: 0\nAge: 5\n\n",
          "302\nLocation: ../x?y=%20#z\nRetry-After: Sunday, 22-Nov-26 10:00:00 GMT\n\n<html>",
        ]
      case .document:
        [
          ##"{"openapi":"3.1.0","paths":{"/a/{b}":{"get":{"parameters":[{"$ref":"#/c"}],"responses":{"200":{"content":{"application/json":{"schema":{"$ref":"#/d"}}}}}}}},"c":{"in":"path","name":"b"},"d":{"type":"array"}}"##,
          "swagger: 2.0\nhost: a.example\npaths:\n  /a:\n    put:\n      consumes: [multipart/form-data]\n      parameters: [{ in: formData, name: f, type: file }]\n      responses: { 200: { schema: { enum: [a] } } }\n",
        ] + (try Seeds.files(in: "Tests/LockedPlugins/OpenAPIPluginsTests/Fixtures", ending: ""))
      }
  }

  /// The texts of a folder of the project.
  private static func files(in folder: String, ending: String) throws -> [String] {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../\(folder)")
    return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
      .filter { $0.path.hasSuffix(ending) }.map { try String(contentsOf: $0, encoding: .utf8) }
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
