package import Basics
import YAMLReader

/// The facts that can be read from a recipe whose file has faults.
package struct BrokenRecipe {
  package private(set) var name: String
  /// Whether it says that assistants may run it.
  package private(set) var isTool: Bool

  /// - Parameters:
  ///   - source: The file.
  ///   - stem: Its name, unless it declares another.
  package init(_ source: Source, else stem: String) {
    (name, isTool) = (stem, false)
    if let document = try? YAMLReader.read(source).root {
      if let given = document["recipe"]?.string { name = given }
      isTool = document["mcp"]?.bool == true
      return
    }
    // A file that isn't YAML at all may still have these keys on lines of their own.
    for line in String(decoding: source.bytes, as: UTF8.self).split(whereSeparator: \.isNewline) {
      let words = line.prefix { $0 != "#" }.split(separator: ":", maxSplits: 1).map { String($0).trimmed }
      guard words.count == 2, line.first?.isWhitespace == false else { continue }
      if words[0] == "mcp" { isTool = words[1] == "true" }
      if words[0] == "recipe", Recipe.isName(words[1]) { name = words[1] }
    }
  }
}
