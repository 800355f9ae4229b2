import ActionKit
import AgentRuntime
import Basics
import Foundation
import PluginList
import PostgresClient
import Recipes
import RunState
import SecretSources
import Testing

/// The needs of runs, and the offers of machines.
@Suite struct SharedWorkspaceTests {
  private static let connections = """
    connections:
      http: { baseURL: "https://shop.example/api", token: "${{ secrets.SHOP }}" }
      archive: { plugin: http, baseURL: "https://archive.example", token: "written out here" }

    """

  /// The surroundings in a folder of its own, which is removed afterwards.
  private static func workspace(_ text: String, recipe: String, _ body: (Workspace, String) async throws -> Void)
    async throws
  {
    let folder = FileManager.default.temporaryDirectory.appending(path: "errand-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try Data((text + connections).utf8).write(to: folder.appending(path: "errand.yaml"))
    try Data(recipe.utf8).write(to: folder.appending(path: "recipe.yaml"))
    let workspace = try Workspace(
      catalog: ActionCatalog(everyPlugin), configurationPath: folder.appending(path: "errand.yaml").path,
      stateFolder: nil
    ) { _ in }
    try await body(workspace, folder.appending(path: "recipe.yaml").path)
  }

  private static let database = "state: postgres://errand@db1/errand\n"

  private static let recipe = """
    queue: nightly
    inputs: { token: { type: string, secret: true } }
    steps:
      - uses: http.get
        connection: archive
        with: { url: /items }
      - uses: markbook.getMarkbook
        with: { markbookKey: 1 }
      - uses: file.write
        with: { path: note.txt, text: done }
      - uses: shell.run
        with: { effect: pure, script: "true", secretEnvironment: { A: "${{ secrets.OWN }}", B: "${{ inputs.token }}" } }
    """

  @Test func `a run needs plugins, connections, secrets and the format`() async throws {
    try await SharedWorkspaceTests.workspace(SharedWorkspaceTests.database, recipe: SharedWorkspaceTests.recipe) {
      workspace, path in
      let recipe = try workspace.recipe(at: path) { Issue.record("\($0.rendered())") }
      let inputs = Value.object(["token": .object(["secret": .string("GIVEN")])])
      let format = "format:\(StateFormat.version)"
      // The plugin 'markbook' has settings without defaults, and 'file' has none.
      #expect(
        workspace.needs(of: recipe, inputs: inputs) == [
          "connection:archive", "connection:markbook", format, "plugin:file", "plugin:http", "plugin:markbook",
          "plugin:shell", "secret:GIVEN", "secret:OWN",
        ])
      #expect(
        workspace.environment.needs?(recipe, inputs) == workspace.needs(of: recipe, inputs: inputs))
      var run = RunCreated(
        run: "r", at: .latest, recipe: "r", file: "r", texts: .inline(.null), inputs: inputs, program: "1")
      for name in ["baseURL", "apiKey", "username", "password"] {
        run.overrides["connections.markbook.\(name)"] = .string("given")
      }
      workspace.place(&run, of: recipe)
      #expect(run.queue == "nightly")
      #expect(!run.needs.contains("connection:markbook"), "\(run.needs)")
      #expect(run.needs.contains("plugin:markbook"))
    }
  }

  @Test func `nothing is needed where a state is in a folder`() async throws {
    try await SharedWorkspaceTests.workspace("", recipe: SharedWorkspaceTests.recipe) { workspace, path in
      let recipe = try workspace.recipe(at: path) { Issue.record("\($0.rendered())") }
      var run = RunCreated(
        run: "r", at: .latest, recipe: "r", file: "r", texts: .inline(.null), inputs: .null, program: "1")
      workspace.place(&run, of: recipe)
      #expect(run.needs == [] && run.queue == nil)
      #expect(workspace.environment.needs == nil)
    }
  }

  @Test func `servers are reached with the password and the certificate that errand.yaml names`() async throws {
    let text = """
      state: postgres://errand@db1,db2/errand
      postgres: { password: "${{ secrets.A }}-${{ secrets.B }}", rootCertificate: ca.pem }

      """
    try await SharedWorkspaceTests.workspace(text, recipe: "") { workspace, _ in
      let database = try #require(workspace.database)
      let failure = await #expect(throws: RuntimeError.self) {
        try await workspace.servers(of: database, secrets: SecretSources(["A": "a", "B": "b"]))
      }
      let missing = "there is no file '\(workspace.root)/ca.pem', which 'postgres.rootCertificate' in errand.yaml names"
      #expect(failure?.message == missing)
      try Data().write(to: URL(filePath: "\(workspace.root)/ca.pem"))
      let servers = try await workspace.servers(of: database, secrets: SecretSources(["A": "a", "B": "b"]))
      #expect(servers.map(\.password) == ["a-b", "a-b"])
      #expect(servers.map(\.rootCertificate) == ["\(workspace.root)/ca.pem", "\(workspace.root)/ca.pem"])
      let failed = await #expect(throws: RuntimeError.self) {
        try await workspace.servers(of: database, secrets: SecretSources(["A": "a"]))
      }
      #expect(failed?.kind == .configuration)
      #expect(failed?.message.hasPrefix("missing secret: B (") == true, "\(failed?.message ?? "")")
      #expect(workspace.stateName == "postgres://errand@db1,db2/errand")
      #expect(workspace.stateFolder == "\(workspace.root)/.errand")
    }
  }

  @Test func `a machine offers its plugins, connections, secrets and formats`() async throws {
    try await SharedWorkspaceTests.workspace(SharedWorkspaceTests.database, recipe: "") { workspace, _ in
      let offers = await workspace.offers(SecretSources(["SHOP": "a secret of the shop"]))
      #expect(
        offers.filter { !$0.hasPrefix("plugin:") }
          == Set(
            ["connection:http", "connection:archive", "secret:SHOP"]
              + (1...StateFormat.version).map { "format:\($0)" }))
      #expect(offers.filter { $0.hasPrefix("plugin:") }.count == everyPlugin.count)
    }
  }
}
