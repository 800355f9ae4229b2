import Basics
import Foundation
import PostgresClient
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

  @Test func `A database is reached as the URL and 'postgres' say`() throws {
    let text = """
      state: postgres://errand@db1:5433,db2/errand
      postgres: { password: "${{ secrets.A }}-${{ secrets.B }}", rootCertificate: ca.pem, answerWithin: 5s }
      worker: { name: Lab 3, queues: [default, nightly], capacity: 100 }
      """
    let (configuration, faults) = Configuration.read(
      Source(name: "errand.yaml", text: text), catalog: RecipeEnvironment.catalog)
    #expect(Diagnostics(faults).rendered() == "")
    #expect(configuration.state == nil)
    let database = try #require(configuration.database)
    #expect(database.url == "postgres://errand@db1:5433,db2/errand")
    #expect(database.hosts.map(\.description) == ["db1:5433", "db2:5432"])
    #expect(database.hosts.map(\.answerWithin) == [.seconds(5), .seconds(5)])
    #expect(database.rootCertificate == "ca.pem")
    #expect(database.secrets.map(\.name) == ["A", "B"])
    let password = try database.password?.evaluate(in: [.object(["A": .string("a"), "B": .string("b")])])
    #expect(password == .string("a-b"))
    #expect(configuration.worker.name == "Lab 3")
    #expect(configuration.worker.queues == ["default", "nightly"])
    #expect(configuration.worker.capacity == 100)
  }
}
