import Foundation
import Testing

/// Which files `errand lsp` looks into for a name.
@Suite(.timeLimit(.minutes(20))) struct EditorFilesTests {
  @Test func `renames beside the file that declares a name and beside open files`() async throws {
    let program = try await Program()
    for folder in ["recipes/sub", "shared/tests"] {
      try FileManager.default.createDirectory(
        at: program.folder.appending(path: folder), withIntermediateDirectories: true)
    }
    try program.write("zone: UTC\n", to: "errand.yaml")
    try program.write("inputs: { day: string }\nsteps: [{ wait: 1s }]\n", to: "shared/lib.yaml")
    let test = "inputs: { day: a }\ncases: [{ case: a, do: [run] }]\n"
    try program.write("recipe: lib.yaml\n\(test)", to: "shared/lib.test.yaml")
    try program.write("recipe: ../lib.yaml\n\(test)", to: "shared/tests/other.test.yaml")
    try program.write("steps: [{ call: ../shared/lib.yaml, with: { day: a } }]\n", to: "recipes/a.yaml")
    let nested = "steps: [{ call: ../../shared/lib.yaml, with: { day: a } }]\n"
    try program.write(nested, to: "recipes/sub/b.yaml")
    try program.write(nested, to: "recipes/sub/c.yaml")

    let root = "file://\(program.folder.path)"
    let document = "\"textDocument\":{\"uri\":\"\(root)/recipes/sub/b.yaml\""
    let messages = [
      "\"id\":1,\"method\":\"initialize\",\"params\":{\"rootUri\":\"\(root)\",\"capabilities\":{}}",
      "\"method\":\"initialized\",\"params\":{}",
      "\"method\":\"textDocument/didOpen\",\"params\":{\(document),\"languageId\":\"yaml\",\"version\":1,\"text\":\"\(nested.dropLast())\"}}",
      "\"id\":2,\"method\":\"textDocument/rename\",\"params\":{\(document)},\"position\":{\"line\":0,\"character\":48},\"newName\":\"date\"}",
      "\"id\":3,\"method\":\"shutdown\"", "\"method\":\"exit\"",
    ].map { "{\"jsonrpc\":\"2.0\",\($0)}" }
    try program.write(
      messages.map { "Content-Length: \($0.utf8.count)\r\n\r\n\($0)" }.joined(), to: "messages")
    let outcome = try await program.shell("'\(Program.binary.path)' lsp < messages")
    let answer = outcome.out.split(separator: "Content-Length").first { $0.contains("\"id\":2") } ?? ""
    let edited = answer.matches(of: /"file:\/\/[^"]+\/(recipes|shared)\/([^"]+)":/).map { "\($0.1)/\($0.2)" }.sorted()
    #expect(
      edited == [
        "recipes/a.yaml", "recipes/sub/b.yaml", "recipes/sub/c.yaml", "shared/lib.test.yaml", "shared/lib.yaml",
        "shared/tests/other.test.yaml",
      ], "\(outcome.out) \(outcome.error)")
    await program.remove()
  }
}
