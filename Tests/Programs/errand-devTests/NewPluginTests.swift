import ActionTestKit
import Foundation
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
        "Plugins/Weather2/Weather2Client.swift", "Plugins/Weather2/Actions/GetStatus.swift",
        "Tests/Plugins/Weather2PluginTests/Weather2PluginTests.swift",
      ])
    let manifest = try folder.appending(path: "Package.swift").text()
    #expect(manifest.contains("\n  plugin(\"Weather2\", using: [\"HTTPClient\"], tests: [\"HTTPClient\"]),\n]\n"))
    let list = try folder.appending(path: "Sources/Programs/PluginList/PluginList.swift").text()
    #expect(list.contains("import Weather2Plugin\n\n///"))
    #expect(list.hasSuffix("Plugin.self,\n  Weather2Plugin.self,\n]\n"))
    let plugin = try folder.appending(path: "Plugins/Weather2/Weather2Plugin.swift").text()
    #expect(plugin.contains("static let name = \"weather2\""))
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
