import Foundation
import ActionTestKit
import ProcessTestKit
import Testing

@testable import errand_dev

@Suite struct NewPluginTests {
  /// A folder with the two files that change, as the package has them.
  private func package() throws -> URL {
    let folder = FileManager.default.temporaryDirectory.appending(path: "errand-dev-tests-\(UUID())")
    for path in ["Package.swift", "Sources/Programs/PluginList/PluginList.swift"] {
      try folder.appending(path: path).write(packageFolder.appending(path: path).text())
    }
    return folder
  }

  @Test func `writes a plugin, its tests, its line in the manifest and its line in the list`() throws {
    let folder = try package()
    defer { try? FileManager.default.removeItem(at: folder) }
    #expect(
      try NewPlugin("Weather2", in: folder).write() == [
        "Package.swift", "Sources/Programs/PluginList/PluginList.swift", "Plugins/Weather2/Weather2Plugin.swift",
        "Plugins/Weather2/Weather2Client.swift", "Plugins/Weather2/Client/Weather2Error.swift",
        "Plugins/Weather2/Actions/GetItem.swift", "Plugins/Weather2/Sandbox.swift",
        "Tests/Plugins/Weather2PluginTests/Weather2PluginTests.swift",
      ])
    let manifest = try folder.appending(path: "Package.swift").text()
    #expect(
      manifest.contains(
        "\n  plugin(\"Weather2\", using: [\"HTTPClient\", \"SandboxKit\"], tests: [\"HTTPClient\"]),\n]\n"))
    let list = try folder.appending(path: "Sources/Programs/PluginList/PluginList.swift").text()
    #expect(list.contains("import Weather2Plugin\n\n///"))
    #expect(list.contains("Plugin.self,\n  Weather2Plugin.self,\n]\n"))
    let plugin = try folder.appending(path: "Plugins/Weather2/Weather2Plugin.swift").text()
    #expect(plugin.contains("static let name = \"weather2\""))
  }

  /// The tests of a made plugin take a build of their own, so here the compiler only reads its sources, against the
  /// modules that this test was built with.
  @Test func `what it writes is Swift that the compiler accepts without a warning`() throws {
    let build = packageFolder.appending(path: ".build/debug")
    let modules = build.appending(path: "Modules").path
    guard FileManager.default.fileExists(atPath: "\(modules)/ActionKit.swiftmodule") else {
      return print("The test of a made plugin's sources is skipped: there are no modules in \(modules)")
    }
    let folder = try package()
    defer { try? FileManager.default.removeItem(at: folder) }
    let sources = try NewPlugin("Weather2", in: folder).write().filter { $0.hasPrefix("Plugins/") }
    var maps = try FileManager.default.contentsOfDirectory(atPath: build.path).filter { $0.hasSuffix(".build") }
      .map { build.appending(path: "\($0)/module.modulemap").path }
    let libraries = packageFolder.appending(path: "Sources/CLibraries")
    for library in try FileManager.default.contentsOfDirectory(atPath: libraries.path) {
      maps += ["", "include/"].map { libraries.appending(path: "\(library)/\($0)module.modulemap").path }
    }
    let features = [
      "ExistentialAny", "ImmutableWeakCaptures", "InferIsolatedConformances", "InternalImportsByDefault",
      "MemberImportVisibility", "NonisolatedNonsendingByDefault",
    ]
    var command = ["swiftc", "-typecheck", "-warnings-as-errors", "-swift-version", "6"]
    // SwiftPM names the package after its folder.
    command += ["-package-name", packageFolder.lastPathComponent.lowercased()]
    command += ["-module-name", "Weather2Plugin", "-I", modules]
    command += features.flatMap { ["-enable-upcoming-feature", $0] }
    command += maps.filter { FileManager.default.fileExists(atPath: $0) }
      .flatMap { ["-Xcc", "-fmodule-map-file=\($0)"] }
    #expect(succeeds(command + sources.map { folder.appending(path: $0).path }))
  }

  @Test(arguments: [
    ("weather", "'weather' isn't a plugin name: write it like Timetable, with letters and digits only"),
    ("WeatherPlugin", "'WeatherPlugin' isn't a plugin name: write it like Timetable, with letters and digits only"),
    ("../Weather", "'../Weather' isn't a plugin name: write it like Timetable, with letters and digits only"),
    ("Markbook", "Plugins/Markbook is there already"),
  ])
  func `refuses names that are none or taken`(name: String, message: String) {
    let failure = #expect(throws: ToolError.self) { try NewPlugin(name, in: packageFolder) }
    #expect(failure?.message == message)
  }
}
