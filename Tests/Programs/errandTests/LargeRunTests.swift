import Basics
import Foundation
import Testing

/// Shows a run of thousands of items while an agent has it.
@Suite(.timeLimit(.minutes(20))) struct LargeRunTests {
  private static let recipe = """
    recipe: large
    steps:
      - id: items
        forEach: ${{ lists.range(4000) }}
        as: i
        maxParallel: 8
        steps:
          - id: one
            uses: json.format
            with: { value: "${{ {'item': i} }}" }
      - { id: gate, wait: { event: go } }
    outputs:
      count: ${{ steps.items.size() }}
    """

  /// The peak memory of a process, in KiB.
  private static func peak(of process: Int32) throws -> Int {
    let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
    let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
    return try #require(Int(line.filter(\.isNumber)))
  }

  /// Resets the peak to the current memory.
  private static func forgetPeak(of process: Int32) throws {
    try Data("5".utf8).write(to: URL(filePath: "/proc/\(process)/clear_refs"))
  }

  @Test func `showing a large run costs the agent one page`() async throws {
    let program = try await ServeTests.program(["large.yaml": LargeRunTests.recipe])
    let serve = try program.serve("serve")
    await serve.line(with: "serves")
    let id = try await program.call("run", "recipes/large.yaml", "--detach").out.trimmingCharacters(in: .newlines)
    await serve.line(with: "large \(id) waits")
    func look(_ status: String) async throws {
      try LargeRunTests.forgetPeak(of: serve.pid)
      let before = try LargeRunTests.peak(of: serve.pid)
      let show = try await program.call("runs", "show", id, "--json")
      #expect(show.json["steps"]?.list?.count == 8_002, "\(show.error)")
      #expect(show.json["status"]?.string == status)
      let logs = try await program.call("runs", "logs", id)
      #expect(logs.out.split(separator: "\n").count { $0.contains("succeeded") } == 4000, "\(logs.error)")
      let why = try await program.call("why", id)
      #expect(why.out.contains("'items' went through 4000 items: 4000 succeeded."), "\(why.out)\(why.error)")
      #expect(try await program.call("runs", "list").out.contains(id.suffix(6)))
      let grown = try LargeRunTests.peak(of: serve.pid) - before
      #expect(grown < 12 << 10, "\(status): the agent grew by \(grown) KiB")
    }
    try await look("waiting")
    #expect(try await program.call("runs", "signal", id, "go").code == 0)
    await serve.line(with: "large \(id) succeeded")
    // The run has ended, so its end is all there is to follow.
    let end = try await program.call("runs", "follow", id)
    #expect(end.code == 0 && end.out.contains("count: 4000"), "\(end.error)")
    serve.signal(SIGTERM)
    #expect(await serve.end() == 0)
    let again = try program.serve("serve")
    await again.line(with: "serves")
    let before = try LargeRunTests.peak(of: again.pid)
    #expect(try await program.call("runs", "show", id, "--json").json["steps"]?.list?.count == 8_002)
    #expect(try LargeRunTests.peak(of: again.pid) - before < 12 << 10)
    again.signal(SIGTERM)
    #expect(await again.end() == 0)
    await program.remove()
  }
}
