import Basics
import Foundation
import Testing

@testable import errand

/// The recipe that `onFailure` of errand.yaml names, in a real binary.
@Suite(.timeLimit(.minutes(20))) struct FailureRunTests {
  private static let teller = """
    recipe: teller
    inputs:
      runID: string
      recipe: string
      status: { type: string, choices: [failed, timedOut, uncertain] }
      message: string
      step: string
      link: string
      file: { type: string, default: told.txt }
    steps:
      - uses: file.append
        with:
          path: ${{ inputs.file }}
          text: "${{ inputs.recipe }} ${{ inputs.status }} at '${{ inputs.step }}': ${{ inputs.message }}; ${{ inputs.link }}\\n"
    """

  private static func program(_ teller: String = teller, as file: String = "teller.yaml") async throws -> Program {
    let program = try await Program()
    try program.write("onFailure: \(file)\n", to: "errand.yaml")
    try program.write(teller, to: "teller.yaml")
    try program.write(
      """
      recipe: broken
      inputs: { zero: { type: int, default: 0 } }
      steps:
        - id: divide
          let: { x: "${{ 1 / inputs.zero }}" }
      """, to: "broken.yaml")
    return program
  }

  private static func runs(_ program: Program) async throws -> [(recipe: String, status: String, id: String)] {
    let list = try await program.call("runs", "list", "--json").json["finished"]?.list ?? []
    return list.map { ($0["recipe"]?.string ?? "", $0["status"]?.string ?? "", $0["id"]?.string ?? "") }
  }

  @Test func `a run that fails is told of once, by a run of its own`() async throws {
    let program = try await Self.program()
    let run = try await program.call("run", "broken.yaml")
    #expect(run.code == 1)
    #expect(run.error.contains("onFailure of errand.yaml starts the run "), "\(run.error)")
    let runs = try await Self.runs(program)
    #expect(runs.map(\.recipe).sorted() == ["broken", "teller"])
    let failed = try #require(runs.first { $0.recipe == "broken" })
    let told = try #require(runs.first { $0.recipe == "teller" })
    #expect(failed.status == "failed" && told.status == "succeeded")
    #expect(
      try program.read("told.txt")
        == "broken failed at 'divide': 1 cannot be divided by zero; errand runs show \(failed.id)\n")
    let why = try await program.call("why", told.id)
    #expect(
      why.out.contains("because the run \(failed.id) of broken did not succeed, as onFailure in errand.yaml says."),
      "\(why.out)")
    // A successful run isn't reported, and neither is one in a sandbox.
    #expect(try await program.call("run", "broken.yaml", "-i", "zero=1").code == 0)
    #expect(try await program.call("run", "broken.yaml", "--sandbox").code == 1)
    #expect(try await Self.runs(program).filter { $0.recipe == "teller" }.count == 1)
    await program.remove()
  }

  @Test func `what a command wrote to its standard error is told`() async throws {
    let program = try await Self.program(
      """
      recipe: teller
      inputs: { message: string, detail: string }
      steps: [{ uses: file.write, with: { path: told.txt, text: "${{ inputs.message }}|${{ inputs.detail }}" } }]
      """)
    try program.write(
      "steps: [{ uses: shell.run, with: { effect: pure, script: 'echo no disk >&2; exit 3' }, retry: { maxAttempts: 1 } }]\n",
      to: "command.yaml")
    #expect(try await program.call("run", "command.yaml").code == 1)
    let told = try program.read("told.txt")
    #expect(told.contains("|no disk"), "\(told)")
    #expect(try await program.call("run", "broken.yaml").code == 1)
    #expect(try program.read("told.txt").hasPrefix("1 cannot be divided by zero|"))
    await program.remove()
  }

  @Test func `a failure of the run that tells starts nothing more, and is displayed`() async throws {
    let program = try await Self.program("recipe: teller\nsteps: [{ fail: no luck }]\n")
    let run = try await program.call("run", "broken.yaml")
    #expect(run.code == 1)
    #expect(
      run.error.contains("The run that tells of the failure, of 'teller', is failed: no luck; see: errand runs show "),
      "\(run.error)")
    #expect(try await Self.runs(program).map(\.recipe).sorted() == ["broken", "teller"])
    let doctor = try await program.call("doctor")
    #expect(
      doctor.out.contains("warning: the last run of 'teller', which onFailure names, is failed: "), "\(doctor.out)")
    await program.remove()
  }

  @Test func `an agent tells of the failures of its runs, also of one that is uncertain`() async throws {
    let program = try await Self.program()
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
    let agent = try program.serve("serve")
    _ = await agent.line(with: " serves ")
    #expect(try await program.call("run", "broken.yaml").code == 1)
    while try await Self.runs(program).count < 2 {}
    #expect(try await Self.runs(program).contains { $0.recipe == "teller" && $0.status == "succeeded" })
    agent.signal(SIGTERM)
    #expect(await agent.end() == 0)
    await program.remove()
  }

  @Test(arguments: [
    (
      "recipe: teller\ninputs: { what: string }\nsteps: [{ let: { x: 1 } }]\n", "teller.yaml",
      "it needs the input 'what', which a failed run doesn't give"
    ),
    (
      "recipe: teller\ninputs: { status: int }\nsteps: [{ let: { x: 1 } }]\n", "teller.yaml",
      "its inputs must take texts"
    ),
    ("recipe: teller\nsteps: 1\n", "teller.yaml", "'steps'"),
    ("", "gone.yaml", "no such file"),
  ])
  func `a recipe that cannot tell is refused by check, doctor and when it is needed`(
    _ teller: String, _ file: String, _ fault: String
  ) async throws {
    let program = try await Self.program(teller, as: file)
    let folder = program.folder.appending(path: "recipes")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try FileManager.default.moveItem(
      at: program.folder.appending(path: "broken.yaml"), to: folder.appending(path: "broken.yaml"))
    let check = try await program.call("check")
    #expect(check.code == 3)
    #expect(
      check.error.contains("errand.yaml:1:12: error: the recipe '\(file)', which 'onFailure' names, can't be used: "))
    #expect(check.error.contains(fault), "\(check.error)")
    #expect(try await program.call("doctor").out.contains("'onFailure' names, can't be used"))
    let run = try await program.call("run", "recipes/broken.yaml")
    #expect(run.code == 1 && run.error.contains("onFailure of errand.yaml starts nothing: "), "\(run.error)")
    await program.remove()
  }
}
