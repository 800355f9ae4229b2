import ActionTestKit
import Foundation
import Testing

@testable import errand_dev

@Suite struct VerificationTests {
  private let verification = Verification(root: packageFolder)

  @Test func `the package is as the tool wants it`() async throws {
    #expect(try await verification.faults().joined(separator: "\n") == "")
  }

  // MARK: Generated files

  @Test func `says by which command a file is made again that is out of date, missing, or cut short`() throws {
    let page = "recipes/recipe.schema.json"
    let text = try packageFolder.appending(path: page).text()
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

  private func target(_ name: String, in floor: String, _ dependencies: String...) -> Manifest.Target {
    Manifest.Target(
      name: name, kind: .library,
      folder: floor == "Plugins" ? "Plugins/\(name.dropLast(6))" : "Sources/\(floor)/\(name)",
      dependencies: dependencies)
  }

  @Test func `the table of floors has each target once, on its floor, and no other`() {
    let manifest = Manifest(targets: [
      target("Basics", in: "Core"), target("Threads", in: "Core"), target("Agent", in: "Runtime"),
      target("Runs", in: "Runtime"),
    ])
    let page = """
      | Floor | Targets | Purpose |
      |---|---|---|
      | Runtime | `Agent`, `Threads` | the agent of `Runs` |
      | Runtime | `Agent` | again |
      | Core | `Basics`, `Strings` | values |
      | Runs | `Runs` | not a floor |
      """
    #expect(
      verification.floors(of: manifest, on: page) == [
        "docs/architecture.md: error: name 'Threads' once in the table of floors, on the floor Core",
        "docs/architecture.md: error: name 'Agent' once in the table of floors, on the floor Runtime",
        "docs/architecture.md: error: name 'Runs' once in the table of floors, on the floor Runtime",
        "docs/architecture.md: error: the table of floors names 'Strings', which isn't a target",
      ])
  }

  @Test func `finds arrows that go upward, and plugins and C libraries where they may not be seen`() {
    let manifest = Manifest(targets: [
      target("Basics", in: "Core", "ActionKit"), target("ActionKit", in: "PluginKit", "Basics"),
      target("Runs", in: "Runtime", "ActionKit", "APlugin", "Agent"), target("Agent", in: "Runtime"),
      target("APlugin", in: "Plugins", "ActionKit", "Runs", "BPlugin"),
      target("BPlugin", in: "Plugins", "HTTPClient", "CCurl"), target("HTTPClient", in: "Network", "CCurl"),
      target("PluginList", in: "Programs", "APlugin", "BPlugin"), target("CCurl", in: "CLibraries"),
      target("Novelty", in: "Elsewhere"),
      Manifest.Target(name: "BasicsTests", kind: .test, folder: "Tests/Core/BasicsTests", dependencies: ["APlugin"]),
    ])
    #expect(
      verification.arrows(manifest) == [
        "Package.swift: error: 'Basics' uses 'ActionKit', which lies on a higher floor",
        "Package.swift: error: 'Runs' must not see the plugin 'APlugin'; only the list does",
        "Package.swift: error: 'APlugin' uses 'Runs', which lies on a higher floor",
        "Package.swift: error: 'APlugin' must not see the plugin 'BPlugin'; only the list does",
        "Package.swift: error: the plugin 'BPlugin' must not see the C library 'CCurl'",
        "Package.swift: error: 'Novelty' lies in 'Sources/Elsewhere/Novelty', which isn't a floor; name it in Verification.floors",
      ])
    #expect(
      verification.unlistedPlugins(
        Manifest(targets: [target("APlugin", in: "Plugins"), target("PluginList", in: "Programs")])) == [
          "Sources/Programs/PluginList/PluginList.swift: error: 'APlugin' is not in the list of plugins"
        ])
  }

  @Test func `finds imports that are not declared, dependencies that are not imported, and Foundation`() {
    let manifest = Manifest(targets: [
      target("Recipes", in: "Language", "Basics", "YAMLReader"), target("Basics", in: "Core"),
      target("YAMLReader", in: "Core"), target("errand-dev", in: "Programs"),
    ])
    let file = SourceFile(
      path: "Sources/Language/Recipes/A.swift",
      imports: Import.all(in: "import Basics\nimport Glibc\nimport Calendars\nimport FoundationEssentials\n"))
    #expect(
      verification.imports(of: manifest.targets[0], in: [file], manifest) == [
        "Sources/Language/Recipes/A.swift:3: error: 'Calendars' isn't a direct dependency of 'Recipes'; name it in Package.swift",
        "Sources/Language/Recipes/A.swift:4: error: 'Recipes' is shipped, so it must not import FoundationEssentials",
        "Package.swift: error: no file of 'Recipes' imports 'YAMLReader'; remove it from its dependencies",
      ])
    let own = SourceFile(path: "Sources/Programs/errand-dev/A.swift", imports: Import.all(in: "import Foundation"))
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
