import ActionTestKit
import Foundation
import Testing

/// `errand lsp` as editors of others see it.
@Suite(.timeLimit(.minutes(Clients.minutes + 1))) struct EditorsTests {
  @Test(.enabled(if: Clients.python != nil, Clients.reason))
  func `the client of pytest-lsp gets answers about all recipes`() async throws {
    let (code, output) = try await Clients.run(
      "lsp.py", [Program.binary.path], with: try #require(Clients.python))
    #expect(code == 0, "\(output)")
  }

  @Test func `Neovim shows faults, mends them, completes and renames`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "errand-neovim-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try FileManager.default.copyItem(
      at: packageFolder.appending(path: "recipes"), to: folder.appending(path: "recipes"))
    let (code, output) = try await Clients.run(
      "lsp.lua", [], with: Clients.neovim.program, Clients.neovim.options,
      environment: ["ERRAND": Program.binary.path, "FOLDER": folder.path])
    #expect(code == 0, "\(output)")
  }
}
