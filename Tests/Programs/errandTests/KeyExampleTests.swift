import ActionKit
import Basics
import Foundation
import PluginList
import Recipes
import Testing

@Suite struct KeyExampleTests {
  private static let catalog = ActionCatalog(everyPlugin)
  private static let reference = KeyReference.all(catalog)

  @Test(arguments: reference.map(\.title)) func `every key has an example that shows it`(_ title: String) throws {
    let part = try #require(Self.reference.first { $0.title == title })
    let displayed = Set(part.examples.flatMap(\.keys))
    for key in part.keys where !displayed.contains(key.name) {
      Issue.record("\(title): declare an example of '\(key.name)' in KeyExamples.swift")
    }
    for example in part.examples {
      for key in example.keys {
        #expect(part.keys.contains { $0.name == key }, "\(title) has no key '\(key)'")
        let word = key.split(separator: ".").last.map(String.init) ?? key
        let isThere = example.text.contains("\(word):") || example.text.contains("- \(word)")
        #expect(isThere, "the example of '\(key)' doesn't show it")
      }
    }
  }

  @Test func `examples are of parts that exist`() {
    #expect(Set(KeyExample.all.map(\.part)).subtracting(Self.reference.map(\.title)) == [])
  }

  @Test(arguments: KeyExample.all.map(\.text)) func `every example checks`(_ text: String) throws {
    let part = try #require(KeyExample.all.first { $0.text == text }?.part)
    let schema = try #require(Self.reference.first { $0.title == part }?.schema)
    var environment = RecipeEnvironment(catalog: Self.catalog) { path throws(FileError) in
      if path.hasSuffix(".json") { throw FileError(.read, path, .system(2)) }
      return try Self.source(path)
    }
    environment.zone = "UTC"
    switch schema {
    case .recipe:
      let steps = text.contains("\nsteps:") || text.hasPrefix("steps:") ? "" : "\nsteps: [{ wait: 1s }]\n"
      let checked = Recipe.check(Source(name: "example.yaml", text: text + steps), in: environment)
      // A webhook that verifies nothing is warned of, also in its example.
      let faults = checked.diagnostics.filter { !(text.contains("none: true") && $0.severity == .warning) }
      #expect(Diagnostics(faults).rendered() == "")
    case .test:
      let source = Source(name: "recipes/tests/example.test.yaml", text: text)
      let faults = RecipeTestFile.check(source, in: environment).diagnostics
      // The content of a recording isn't part of the example.
      #expect(Diagnostics(faults.filter { !$0.message.contains("exchanges.json") }).rendered() == "")
    case .errand:
      let faults = Configuration.read(Source(name: "errand.yaml", text: text), catalog: Self.catalog).diagnostics
      #expect(Diagnostics(faults).rendered() == "")
    }
  }

  /// A recipe of the repository, or the one that an example calls.
  private static func source(_ path: String) throws(FileError) -> Source {
    if path.hasSuffix("averages.yaml"), !path.contains("-") {
      return Source(name: path, text: "inputs: { class: string }\nsteps: [{ let: { a: \"${{ inputs.class }}\" } }]\n")
    }
    let name = path.split(separator: "/").last.map(String.init) ?? ""
    return Source(
      name: path, bytes: try Files.read(Program.root.appending(path: "recipes/\(name)").path))
  }
}
