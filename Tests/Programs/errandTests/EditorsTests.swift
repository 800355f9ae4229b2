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

  /// Every word of the language, the service and the recipe itself is chosen from the offered completions.
  @Test func `Neovim writes a recipe from an empty buffer with completion alone`() async throws {
    let program = try await Program()
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
    let (code, output) = try await Clients.run(
      "neovim_writes.lua", [], with: Clients.neovim.program, Clients.neovim.options,
      environment: [
        "ERRAND": Program.binary.path, "FOLDER": program.folder.path, "FILE": "recipes/averages.yaml",
      ])
    #expect(code == 0, "\(output)")
    let written = try program.read("recipes/averages.yaml")
    #expect(written.hasPrefix("summary: Puts the average of each student into one task of a markbook.\n"))
    let check = try await program.call("check", "recipes/averages.yaml")
    #expect(check.code == 0, "\(check.error)")
    await program.remove()
  }
}
