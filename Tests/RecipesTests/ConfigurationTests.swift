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
      secrets: { environment: false, files: [secrets.yaml] }
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
    #expect(!configuration.readsSecretsFromEnvironment)
    #expect(configuration.secretFiles == ["secrets.yaml"])
    #expect(configuration.plugins == ["desk": "desk", "archive": "desk"])
    let archive = try #require(configuration.connections.last)
    #expect(archive.secrets.map(\.name) == ["DESK_KEY", "B"])
    let settings = try archive.settings.evaluate(in: [.object(["DESK_KEY": .string("k"), "B": .string("b")])])
    #expect(try JSON.text(settings) == #"{"baseURL":"http://127.0.0.1:8081","key":"k-b"}"#)
  }

  @Test(arguments: [(0o600, true), (0o400, true), (0o640, false), (0o604, false), (0o622, false)])
  func `A file of secrets is read only if nobody else may`(_ mode: Int, _ isRead: Bool) throws {
    let path = NSTemporaryDirectory() + "secrets-\(UUID().uuidString).yaml"
    defer { try? FileManager.default.removeItem(atPath: path) }
    try "A: one\nB: 'two'\n".write(toFile: path, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    guard isRead else {
      let fault = #expect(throws: SecretFileFault.self) { try SecretFile.read(path) }
      #expect(fault?.message == "'\(path)' can be read by others; make it private with: chmod 600 \(path)")
      return
    }
    #expect(try JSON.text(.map(try SecretFile.read(path))) == #"{"A":"one","B":"two"}"#)
  }

  @Test(arguments: [
    ("- a", "'PATH' must be a mapping from names to secrets"),
    ("A: [sesame\n", "PATH:1:4: error: this `[` is never closed; add `]`"),
  ])
  func `No message about a file of secrets shows a line of it`(_ text: String, _ message: String) throws {
    let path = NSTemporaryDirectory() + "secrets-\(UUID().uuidString).yaml"
    defer { try? FileManager.default.removeItem(atPath: path) }
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    let fault = #expect(throws: SecretFileFault.self) { try SecretFile.read(path) }
    #expect(fault?.message.replacingOccurrences(of: path, with: "PATH") == message)
  }
}
