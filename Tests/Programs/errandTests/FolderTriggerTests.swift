import Basics
import Foundation
import Glibc
import Testing

/// `errand serve` as a process that watches a folder.
@Suite(.timeLimit(.minutes(20))) struct FolderTriggerTests {
  @Test func `files that are dropped start one run each, over kills and restarts`() async throws {
    let text = """
      inputs: { path: string }
      on:
        - file: { path: "inbox/*.csv", settle: 300ms }
          inputs: { path: "${{ event.path }}" }
      steps: [{ uses: file.append, with: { path: came.txt, text: "${{ inputs.path }}\\n" } }]

      """
    let program = try await ServeTests.program(["hear.yaml": text])
    try program.write("", to: "errand.yaml")
    let check = try await program.call("check", "recipes/hear.yaml")
    #expect(check.error.contains("there is no folder \"inbox\" beside errand.yaml yet"), "\(check.error)")
    let inbox = program.folder.appending(path: "inbox")
    func drop(_ name: String, _ text: String = "1") throws { try program.write(text, to: "inbox/\(name)") }
    func came() throws -> [String] {
      let text = (try? String(contentsOf: program.folder.appending(path: "came.txt"), encoding: .utf8)) ?? ""
      return text.split(separator: "\n").map { String($0.dropFirst("inbox/".count)) }
    }
    var serve = try program.serve("serve")
    #expect(await serve.line(with: "there is no folder 'inbox'") != nil, "\(serve.before)")
    await serve.line(with: "serves")
    // The folder appears with files in it: one is a link, and one is hidden.
    try FileManager.default.createDirectory(at: inbox, withIntermediateDirectories: true)
    try drop("note.txt")
    try drop(".hidden.csv")
    try FileManager.default.createSymbolicLink(
      atPath: inbox.appending(path: "l.csv").path, withDestinationPath: "note.txt")
    try drop("a.csv")
    #expect(await serve.line(with: "succeeded") != nil, "\(serve.before)")
    // One that is written in pieces is one version when it is done.
    let piecemeal = inbox.appending(path: "b.csv")
    try drop("b.csv", "")
    let slow = try FileHandle(forWritingTo: piecemeal)
    for _ in 0..<5 { try slow.write(contentsOf: Data("more\n".utf8)) }
    try slow.close()
    #expect(await serve.line(with: "succeeded") != nil, "\(serve.before)")
    serve.signal(SIGKILL)
    _ = await serve.end()
    try drop("c.csv")
    serve = try program.serve("serve")
    #expect(await serve.line(with: "succeeded") != nil, "\(serve.before)")
    try drop("a.csv", "22")
    #expect(await serve.line(with: "succeeded") != nil, "\(serve.before)")
    serve.signal(SIGTERM)
    _ = await serve.end()
    #expect(try came() == ["a.csv", "b.csv", "c.csv", "a.csv"])
    let log = try await program.call("schedule", "log", "hear")
    #expect(log.out.contains("file"), "\(log.out)")
    let why = try await program.call("why", "last:hear")
    #expect(
      why.out.contains("The file 'inbox/a.csv' came or changed, which the schedule 'hear' watches."),
      "\(why.out)\(why.error)")
    let list = try await program.call("schedule")
    #expect(list.out.contains("on files inbox/*.csv"), "\(list.out)")
    await program.remove()
  }
}
