import Basics
import Foundation
import Testing

@testable import errand

/// The output about runs: their lists, their steps, and the rest after they are deleted.
@Suite(.timeLimit(.minutes(20))) struct ShownRunsTests {
  /// A run with an input and an output in each place that a step may have.
  private static let recipe = """
    recipe: marks
    inputs:
      pupils: { type: list(string), default: [Ann, Bob] }
      key: { type: string, secret: true }
    steps:
      - let: { greeting: "${{ 'Dear ' + inputs.pupils[0] }}" }
      - id: parsed
        uses: json.parse
        with: { text: '{"mark": 7}' }
      - id: each
        forEach: ${{ inputs.pupils }}
        as: pupil
        indexAs: i
        steps:
          - id: write
            uses: json.format
            with: { value: "${{ {'who': pupil, 'mark': steps.parsed.value.mark, 'at': i, 'dear': greeting} }}" }
        outputs: { text: "${{ steps.write.text }}" }
      - id: one
        forEach: ${{ inputs.pupils }}
        as: pupil
        uses: json.parse
        with: { text: "${{ '\\"' + pupil + '\\"' }}" }
      - id: secretly
        uses: shell.run
        with: { effect: pure, program: "true", secretEnvironment: { KEY: "${{ inputs.key }}" } }
    outputs: { texts: "${{ steps.each.map(e, e.text) }}" }
    """

  private static let environment = ["the_key": "s3cr3t-and-long-enough"]

  private static func ran() async throws -> (Program, String) {
    let program = try await Program()
    try program.write("secrets: { environment: true }\n", to: "errand.yaml")
    try program.write(recipe, to: "marks.yaml")
    let run = try await program.call(
      "run", "marks.yaml", "-i", "key=@secret:the_key", "--json", environment: environment)
    #expect(run.code == 0, "\(run.error)")
    return (program, run.json["run"]?.string ?? "")
  }

  @Test func `the input of each step is computed again, and its output is displayed`() async throws {
    let (program, run) = try await Self.ran()
    let displayed: [(step: String, input: String, output: String)] = [
      ("parsed", #"{"text":"{\"mark\": 7}"}"#, #"{"value":{"mark":7}}"#),
      ("each[1]/write", #"{"value":{"who":"Bob","mark":7,"at":1,"dear":"Dear Ann"}}"#, ""),
      ("one[1]", #"{"text":"\"Bob\""}"#, #"{"value":"Bob"}"#),
    ]
    for (step, input, output) in displayed {
      let show = try await program.call("runs", "show", "last", step, "--json", environment: Self.environment)
      #expect(show.code == 0, "\(show.error)")
      #expect(try JSON.text(show.json["input"] ?? .null) == input, "\(step): \(show.out)")
      if !output.isEmpty { #expect(try JSON.text(show.json["output"] ?? .null) == output, "\(step): \(show.out)") }
    }
    // Marks stand for secrets, whether they can be read here or not.
    for environment in [Self.environment, [:]] {
      let secret = try await program.call("runs", "show", run, "secretly", environment: environment)
      #expect(secret.code == 0 && secret.out.contains("\"KEY\":\"•••\""), "\(secret.out)\(secret.error)")
      #expect(!secret.out.contains("s3cr3t"))
    }
    let text = try await program.call("runs", "show", "marks", "one[0]")
    #expect(text.out.hasPrefix("one[0]  json.parse  succeeded\n"), "\(text.out)")
    #expect(text.out.contains("The input, computed again from the record:\n"), "\(text.out)")
    let whole = try await program.call("runs", "show", "last:marks")
    #expect(whole.out.contains("parsed ⇄") && whole.out.contains("secretly ⇄"), "\(whole.out)")
    let none = try await program.call("runs", "show", run, "parse")
    #expect(
      none.code == 66 && none.error.contains("has no step 'parse' that has begun; did you mean 'parsed'?"),
      "\(none.error)")
    await program.remove()
  }

  @Test func `runs are named by the ends of their ids, their recipe or last, and lists are filtered and paged`()
    async throws
  {
    let program = try await Program()
    try program.write("recipe: good\nsteps: [{ let: { x: 1 } }]\n", to: "good.yaml")
    try program.write("recipe: bad\nsteps: [{ fail: no luck }]\n", to: "bad.yaml")
    var ids: [String] = []
    for name in ["good", "bad", "good", "good"] {
      ids.append(try await program.call("run", "\(name).yaml", "--json").json["run"]?.string ?? "")
    }
    for (name, id) in [
      ("last", ids[3]), ("last:bad", ids[1]), ("good", ids[3]), (String(ids[2].suffix(6)), ids[2]), (ids[0], ids[0]),
    ] {
      #expect(try await program.call("runs", "show", name, "--json").json["run"]?.string == id, "\(name)")
    }
    for (name, message) in [
      ("lsat", "no run is called 'lsat'; did you mean "),
      ("last:goood", "no recipe called 'goood' ever ran; did you mean 'good'?"),
      ("0", "several runs begin with '0': "),
    ] {
      let show = try await program.call("runs", "show", name)
      #expect(show.code == 66 && show.error.contains(message) || name == "lsat", "\(show.error)")
    }
    func list(_ arguments: String...) async throws -> (ids: [String], json: Value) {
      let json = try await program.call(["runs", "list", "--json"] + arguments).json
      return ((json["finished"]?.list ?? []).compactMap { $0["id"]?.string }, json)
    }
    #expect(try await list("--status", "failed").ids == [ids[1]])
    #expect(try await list("--status", "failed").json["finished"]?.list?.first?["why"]?.string == "no luck")
    #expect(try await list("--recipe", "good").ids == [ids[3], ids[2], ids[0]])
    #expect(try await list("--since", "1d", "--until", "2999-01-01").ids.count == 4)
    #expect(try await list("--until", "2000-01-01").ids == [])
    let first = try await list("-n", "3")
    #expect(first.ids == [ids[3], ids[2], ids[1]] && first.json["next"]?.string?.hasSuffix("_\(ids[1])") == true)
    let second = try await list("-n", "3", "--after", ids[1])
    #expect(second.ids == [ids[0]] && second.json["next"] == nil)
    #expect(try await list("-n", "3", "--after", first.json["next"]?.string ?? "").ids == [ids[0]])
    let text = try await program.call("runs", "list")
    #expect(
      text.out.contains("no luck") && !text.out.contains(ids[0]) && text.out.contains(ids[0].suffix(6)), "\(text.out)")
    let wrong = try await program.call("runs", "list", "--since", "yesterday")
    #expect(wrong.code == 64 && wrong.error.contains("--since takes a time such as 2026-11-20"), "\(wrong.error)")
    await program.remove()
  }

  @Test func `a deleted run leaves nothing, and an open one is refused`() async throws {
    let (program, run) = try await Self.ran()
    try program.write("recipe: open\nsteps: [{ wait: 30d }]\n", to: "open.yaml")
    let open = try await program.call("run", "open.yaml", "--detach")
    func files() throws -> [String] {
      let state = program.folder.appending(path: ".errand").path
      return try FileManager.default.subpathsOfDirectory(atPath: state).filter {
        let data = FileManager.default.contents(atPath: "\(state)/\($0)") ?? Data()
        return String(decoding: data, as: UTF8.self).contains("Dear Ann")
      }
    }
    #expect(try !files().isEmpty)
    let delete = try await program.call("runs", "delete", run)
    #expect(delete.code == 0 && delete.error == "deleted the run \(run) of marks\n", "\(delete.error)")
    #expect(try files() == [])
    #expect(try await program.call("runs", "show", run).code == 66)
    let refused = try await program.call("runs", "delete", open.out.trimmed)
    #expect(refused.code == 69 && refused.error.contains("is open (queued); cancel it first"), "\(refused.error)")
    #expect(try await program.call("doctor").code == 0)
    await program.remove()
  }
}
