import ActionKit
import Basics
import Recipes
import YAMLReader

/// A recipe to start from, whose name and inputs a person chooses.
struct StarterRecipe {
  private(set) var text: String

  init(_ text: String) { self.text = text }

  /// Creates a copy of a template under another name, which its stored values get too.
  init(template: (name: String, text: String), name: String) {
    let old = template.name
    text = template.text
    // A name alone is quoted where it would be another value; beside more text it isn't one.
    for (before, new, after) in [
      ("recipe: ", name.asYAML, "\n"), ("name: ", name, "/"), ("name: ", name.asYAML, ","), ("recipes/", name, ".yaml"),
    ] {
      text = text.replacing(before + old + after, with: before + new + after)
    }
  }

  /// Gives an input a default, in the place of the one it has, and the entries of `on` the same value.
  mutating func set(_ input: Recipe.Input, to answer: String) {
    guard let document = try? YAMLReader.read(Source(name: "recipe", text: text)),
      let declaration = document.root["inputs"]?[input.name]
    else { return }
    let written = input.isText ? JSON.quoted(answer) : answer
    var edits: [(range: Range<Int>, text: String)] = []
    if let fallback = declaration["default"] {
      edits.append((document.range(of: fallback), written))
    } else if let start = document.range(of: declaration).first {
      // After the brace; templates write each input on one line.
      edits.append((start + 1..<start + 1, " default: \(written),"))
    }
    for entry in document.root["on"]?.list ?? [] {
      guard let value = entry["inputs"]?[input.name], value.string?.contains("${{") != true else { continue }
      edits.append((document.range(of: value), written))
    }
    var bytes = Array(text.utf8)
    for edit in edits.sorted(by: { $0.range.lowerBound > $1.range.lowerBound })
    where edit.range.lowerBound >= 0 && edit.range.upperBound <= bytes.count {
      bytes.replaceSubrange(edit.range, with: Array(edit.text.utf8))
    }
    text = String(decoding: bytes, as: UTF8.self)
  }
}

extension Recipe.Input {
  /// Whether its values are written as texts.
  fileprivate var isText: Bool {
    switch declaration.type {
    case .string, .choice, .date, .timestamp, .duration, .bytes: true
    default: false
    }
  }
}
