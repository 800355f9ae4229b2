import Basics
import Foundation
import Testing

@testable import errand

/// `--key` with a real binary: with an agent that serves, and without one.
@Suite(.timeLimit(.minutes(20))) struct RunKeyTests {
  private static let recipe = """
    recipe: invoices
    inputs: { month: string, fails: { type: bool, default: false } }
    steps:
      - if: inputs.fails
        fail: no paper
    outputs: { month: "${{ inputs.month }}" }
    """

  private func run(_ program: Program, _ arguments: String...) async throws -> (code: Int32, out: String, error: String)
  {
    let result = try await program.call(["run", "invoices.yaml"] + arguments)
    return (result.code, result.out, result.error)
  }

  @Test(arguments: [false, true])
  func `a run with a key starts once, and its end is displayed again`(_ isServed: Bool) async throws {
    let program = try await Program()
    try program.write(RunKeyTests.recipe, to: "invoices.yaml")
    let agent = isServed ? try program.serve("serve") : nil
    _ = await agent?.line(with: " serves ")
    let first = try await run(program, "-i", "month=2026-11", "--key", "2026-11", "--json")
    #expect(first.code == 0, "\(first.error)")
    let id = try #require(try JSON.parse(first.out)["run"]?.string)
    #expect(try JSON.parse(first.out)["key"]?.string == "2026-11")
    // The default is filled in before inputs are compared.
    let again = try await run(program, "-i", "month=2026-11", "-i", "fails=false", "--key", "2026-11")
    #expect(again.code == 0 && again.out.contains("2026-11"), "\(again)")
    #expect(again.error.contains("no run was started: \(id) has this key; it succeeded\n"), "\(again.error)")
    let detached = try await run(program, "-i", "month=2026-11", "--key", "2026-11", "--detach")
    #expect(detached.code == 0 && detached.out == "\(id)\n", "\(detached)")
    let other = try await run(program, "-i", "month=2026-12", "--key", "2026-11")
    #expect(other.code == 3)
    #expect(
      other.error
        == "error: the key '2026-11' belongs to the run \(id), which has other values of 'month'; use another key for a new run\n"
    )
    agent?.signal(SIGTERM)
    _ = await agent?.end()
  }

  @Test func `of a failed run the retry is named, and its exit code given`() async throws {
    let program = try await Program()
    try program.write(RunKeyTests.recipe, to: "invoices.yaml")
    let first = try await run(program, "-i", "month=1", "-i", "fails=true", "--key", "k", "--json")
    #expect(first.code == 1)
    let id = try #require(try JSON.parse(first.out)["run"]?.string)
    let again = try await run(program, "-i", "month=1", "-i", "fails=true", "--key", "k")
    #expect(again.code == 1)
    #expect(
      again.error.contains(
        "no run was started: \(id) has this key; it failed, and may have written; to keep what succeeded and do the rest: errand runs retry \(id)\n"
      ), "\(again.error)")
  }

  @Test func `clients at once make one run`() async throws {
    let program = try await Program()
    try program.write(RunKeyTests.recipe, to: "invoices.yaml")
    let codes = try await withThrowingTaskGroup(of: Int32.self) { group in
      for _ in 0..<6 { group.addTask { try await run(program, "-i", "month=1", "--key", "k").code } }
      return try await group.reduce(into: [Int32]()) { $0.append($1) }
    }
    #expect(codes == Array(repeating: 0, count: 6))
    let list = try JSON.parse(try await program.call("runs", "list", "--json").out)
    #expect(list["finished"]?.list?.count == 1)
  }

  @Test(arguments: [
    (["--sandbox"], "error: --key finds a run in the state; leave out --sandbox, --record and --replay\n"),
    (["--record", "x.json"], "error: --key finds a run in the state; leave out --sandbox, --record and --replay\n"),
  ])
  func `a key goes with no state of its own`(_ options: [String], _ message: String) async throws {
    let program = try await Program()
    try program.write(RunKeyTests.recipe, to: "invoices.yaml")
    let result = try await program.call(["run", "invoices.yaml", "-i", "month=1", "--key", "k"] + options)
    #expect(result.code == 64 && result.error.hasPrefix(message), "\(result)")
  }
}
