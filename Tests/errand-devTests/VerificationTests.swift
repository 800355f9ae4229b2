import Foundation
import Testing

@testable import errand_dev

@Suite struct VerificationTests {
  static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()
  private let verification = Verification(root: root)

  @Test func `the package is as the tool wants it`() async throws {
    #expect(try await verification.faults().joined(separator: "\n") == "")
  }

  // MARK: Generated files

  @Test func `says by which command a file is made again that is out of date, missing, or cut short`() throws {
    let page = "recipes/recipe.schema.json"
    let text = try Self.root.appending(path: page).text()
    let changed = GeneratedFile(path: page, text: text.replacing("\"A recipe of errand,", with: "\"A recipe,"))
    let longer = GeneratedFile(path: page, text: text + "\n")
    let missing = GeneratedFile(path: "Plugins/Nowhere/README.md", text: "")
    #expect(
      verification.staleFiles([changed, missing]) == [
        "recipes/recipe.schema.json:4: error: the file is out of date; run 'make generate'",
        "Plugins/Nowhere/README.md:1: error: the file is missing; run 'make generate'",
      ])
    #expect(verification.staleFiles([longer]).count == 1)
    #expect(verification.staleFiles([GeneratedFile(path: page, text: text)]) == [])
  }

  // MARK: Targets

  private func target(_ name: String, _ dependencies: String..., kind: Manifest.Target.Kind = .library)
    -> Manifest.Target
  {
    Manifest.Target(
      name: name, kind: kind, folder: name.hasSuffix("Plugin") ? "Plugins/\(name.dropLast(6))" : "Sources/\(name)",
      dependencies: dependencies)
  }

  @Test func `finds arrows that go upward or sideways, and plugins where none may be seen`() {
    let manifest = Manifest(targets: [
      target("Basics", "ActionKit"), target("ActionKit", "Basics"), target("Runs", "ActionKit", "APlugin"),
      target("APlugin", "ActionKit", "Runs", "BPlugin"), target("BPlugin", "HTTPClient"), target("HTTPClient", "CCurl"),
      target("PluginList", "APlugin", "BPlugin"), target("CCurl"), target("Novelty"),
      target("BasicsTests", "APlugin", kind: .test),
    ])
    #expect(
      verification.arrows(manifest) == [
        "Package.swift: error: 'Basics' uses 'ActionKit', which does not stand below it",
        "Package.swift: error: 'Runs' must not see the plugin 'APlugin'; only the list does",
        "Package.swift: error: 'APlugin' uses 'Runs', which does not stand below it",
        "Package.swift: error: 'APlugin' must not see the plugin 'BPlugin'; only the list does",
        "Package.swift: error: 'Novelty' has no layer; give it one in Verification.layers",
      ])
    #expect(
      verification.unlistedPlugins(Manifest(targets: [target("APlugin"), target("PluginList")])) == [
        "Sources/PluginList/PluginList.swift: error: 'APlugin' is not in the list of plugins"
      ])
  }

  @Test func `finds imports that are not declared, dependencies that are not imported, and Foundation`() {
    let manifest = Manifest(targets: [
      target("Recipes", "Basics", "YAMLReader"), target("Basics"), target("YAMLReader"), target("errand-dev"),
    ])
    let file = SourceFile(
      path: "Sources/Recipes/A.swift",
      imports: Import.all(in: "import Basics\nimport Glibc\nimport Calendars\nimport FoundationEssentials\n"))
    #expect(
      verification.imports(of: manifest.targets[0], in: [file], manifest) == [
        "Sources/Recipes/A.swift:3: error: 'Calendars' is no direct dependency of 'Recipes'; name it in Package.swift",
        "Sources/Recipes/A.swift:4: error: 'Recipes' is shipped, and so imports no FoundationEssentials",
        "Package.swift: error: no file of 'Recipes' imports 'YAMLReader'; take it from its dependencies",
      ])
    let own = SourceFile(path: "Sources/errand-dev/A.swift", imports: Import.all(in: "import Foundation"))
    #expect(verification.imports(of: manifest.targets[3], in: [own], manifest) == [])
  }

  @Test(arguments: [
    ("import Basics", "Basics"), ("  public import Basics", "Basics"), ("@testable import errand_dev", "errand_dev"),
    ("@_exported public import Basics // hands it on", "Basics"), ("import struct Basics.Value", "Basics"),
    ("import Basics; let a = 1", "Basics"), ("import Basics.Sub", "Basics"), ("// import Basics", ""),
    ("let important = 1", ""), ("/*\nimport Basics\n*/\nimport Recipes", "Recipes"),
    ("let a = \"\"\"\n  import Basics\n  \"\"\"\nimport Recipes", "Recipes"),
  ])
  func `reads imports and nothing that looks like one`(text: String, modules: String) {
    #expect(Import.all(in: text).map(\.module).joined(separator: " ") == modules)
  }
}
