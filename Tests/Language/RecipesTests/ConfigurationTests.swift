import Basics
import Foundation
import Testing

@testable import Recipes

@Suite struct `Reading errand.yaml` {
  @Test func `Each fault is said once, at its place`() throws {
    try CaseFile("configuration").expect { one in
      let source = Source(name: "errand.yaml", text: one.files[CaseFile.main] ?? "")
      return Diagnostics(Configuration.read(source, catalog: RecipeEnvironment.catalog).diagnostics).rendered()
    }
  }

  @Test func `What it says is what the program gets`() throws {
    let text = """
      state: var/errand
      zone: Europe/Bucharest
      recipes: [recipes, more]
      secrets:
        environment: false
        files: [secrets.yaml]
        age: { files: secrets.age, identity: ~/.config/age/key.txt }
        commands:
          DESK_KEY: [pass, show, desk/key]
          OTHER: { run: [op, read, "op://desk/other"], timeout: 2m }
      history: { keepRuns: 10000, keepFor: forever, keepSlotsFor: 30d }
      connections:
        desk: { key: "${{ secrets.DESK_KEY }}", drawers: 12 }
        archive: { plugin: desk, baseURL: "http://127.0.0.1:8081", key: "${{ secrets.DESK_KEY }}-${{ secrets.B }}" }
      """
    let (configuration, faults) = Configuration.read(
      Source(name: "errand.yaml", text: text), catalog: RecipeEnvironment.catalog)
    #expect(Diagnostics(faults).rendered() == "")
    #expect(configuration.state == "var/errand")
    #expect(configuration.zone == "Europe/Bucharest")
    #expect(configuration.recipeFolders == ["recipes", "more"])
    var secrets = SecretSettings()
    secrets.environment = false
    secrets.files = ["secrets.yaml"]
    secrets.ageFiles = ["secrets.age"]
    secrets.ageIdentity = "~/.config/age/key.txt"
    secrets.commands = [
      "DESK_KEY": SecretSettings.Command(["pass", "show", "desk/key"]),
      "OTHER": SecretSettings.Command(["op", "read", "op://desk/other"], timeout: .seconds(120)),
    ]
    #expect(configuration.secrets == secrets)
    #expect(
      configuration.history
        == Configuration.HistoryLimits(keepRuns: 10_000, keepFor: nil, keepSlotsFor: .seconds(30 * 86_400)))
    #expect(configuration.plugins == ["desk": "desk", "archive": "desk"])
    let archive = try #require(configuration.connections.last)
    #expect(archive.secrets.map(\.name) == ["DESK_KEY", "B"])
    let settings = try archive.settings.evaluate(in: [.object(["DESK_KEY": .string("k"), "B": .string("b")])])
    #expect(try JSON.text(settings) == #"{"baseURL":"http://127.0.0.1:8081","key":"k-b"}"#)
  }
}
