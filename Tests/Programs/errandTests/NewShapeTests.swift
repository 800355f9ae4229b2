import Basics
import Foundation
import Testing

@testable import errand

@Suite(.timeLimit(.minutes(20))) struct NewShapeTests {
  /// The type of samples, in YAML.
  private static func shape(_ samples: [String]) throws -> String {
    let types = try samples.map { SampledType(try JSON.parse(Array($0.utf8))) }
    return types.dropFirst().reduce(types[0]) { $0.merged(with: $1) }.lines.joined(separator: "\n")
  }

  @Test(arguments: [
    (["1"], "int"), (["1.5"], "double"), (["true"], "bool"), (["\"\""], "string"), (["null"], "dyn"),
    (["\"2026-11-22\""], "date"), (["\"2026-11-22T10:00:00Z\""], "timestamp"),
    (["\"2026-11-22\"", "\"soon\""], "string"), (["\"2026-11-22\"", "\"2026-11-22T10:00:00Z\""], "string"),
    (["1", "2.5"], "double"), (["1", "\"a\""], "dyn"), (["[]"], "list(dyn)"), (["[1, 2]"], "list(int)"),
    (["[1, null]"], "list(dyn)"), (["[null]", "[1]"], "list(dyn)"), (["[]", "[1]"], "list(int)"),
    (["[[1], [2.5]]"], "list(list(double))"), (["{}"], "map(string, dyn)"),
    (["{\"a\": 1}", "{}"], "a: int?"), (["{\"a\": 1}", "{\"a\": null}"], "a: int?"),
    (["{\"a\": null}", "{\"a\": null}"], "a: dyn?"), (["{\"a\": null}", "{\"a\": \"x\"}", "{}"], "a: string?"),
    (["{\"a\": {\"b\": 1}}", "{\"a\": null}"], "a?:\n  b: int"),
    (["{\"a\": [{\"b\": 1}]}", "{}"], "a?:\n  - b: int"),
    (["[{\"a\": 1, \"b\": [{\"c\": true}]}, {\"a\": 2.5}]"], "- a: double\n  b?:\n    - c: bool"),
    (["{\"a?\": 1}"], "\"a??\": int"), (["{\"a?\": {\"b\": 1}, \"?\": 2}"], "\"a??\":\n  b: int\n\"?\": int"),
    (["{\"a\": 18446744073709551615}"], "a: double"),
    (["{\"on\": 1, \"a b\": 2, \"é\": 3, \"7\": 4}"], "\"on\": int\n\"a b\": int\n\"é\": int\n\"7\": int"),
  ])
  func `samples have a shape`(_ samples: [String], _ shape: String) throws {
    #expect(try Self.shape(samples) == shape)
  }

  @Test func `what is printed checks as a shape, and the samples fit it`() async throws {
    let program = try await Program()
    let sample = #"{"id": 7, "state": "ready", "at": "2026-11-22T10:00:00Z", "on": null, "lines": [{"sku": "a"}]}"#
    try program.write(sample, to: "one.json")
    try program.write(#"{"id": 7, "state": "done", "at": "2026-11-22T10:00:00Z", "lines": []}"#, to: "two.json")
    let made = try await program.call("new", "shape", "one.json", "two.json")
    #expect(made.code == 0, "\(made.error)")
    #expect(made.out == "id: int\nstate: string\nat: timestamp\n\"on\": dyn?\nlines:\n  - sku: string\n")
    let shape = made.out.split(separator: "\n").map { "        \($0)" }.joined(separator: "\n")
    try program.write(
      """
      steps:
        - id: a
          uses: json.read
          with: { path: one.json }
          shape:
            value:
      \(shape)
      outputs: { later: "${{ steps.a.value.at + duration('1h') }}", sku: "${{ steps.a.value.lines[0].sku }}" }

      """, to: "shaped.yaml")
    let run = try await program.call("run", "shaped.yaml", "--json")
    #expect(
      run.json["outputs"] == .object(["later": .string("2026-11-22T11:00:00Z"), "sku": .string("a")]), "\(run.error)")
    try program.write(#"{"ids": [{"id": 18446744073709551615}, {"id": 18446744073709551614}]}"#, to: "large.json")
    let large = try await program.call("new", "shape", "large.json")
    #expect(large.error.hasPrefix("'ids[].id' is beyond an int in a sample"), "\(large.error)")
    #expect(large.error.split(separator: "\n").count == 2)
    try program.write("{\"a\": 1,}\n", to: "bad.json")
    let bad = try await program.call("new", "shape", "bad.json")
    #expect(
      bad.error == """
        bad.json:1:8: error: a comma before '}' is not allowed in JSON; remove it
          {"a": 1,}
                 ^
        error: 'bad.json' isn't JSON

        """)
    #expect(try await program.shell("echo '[1]' | '\(Program.binary.path)' new shape -").out == "list(int)\n")
    await program.remove()
  }

  @Test func `tests among the recipes are checked as tests, and are no recipes`() async throws {
    let program = try await Program()
    try program.write("recipes: mine\n", to: "errand.yaml")
    _ = try await program.shell("mkdir mine")
    try program.write("steps: [{ let: { x: 1 } }]\n", to: "mine/a.yaml")
    let test = "recipe: a.yaml\ncases:\n  - { case: it ends, do: [{ run: {} }, { expect: { status: succeeded } }] }\n"
    try program.write(test, to: "mine/a.test.yaml")
    let checked = try await program.call("check")
    #expect(checked.code == 0 && checked.error == "1 recipe checked, no faults\n", "\(checked.out)\(checked.error)")
    let tested = try await program.call("test")
    #expect(tested.code == 0 && tested.out.contains("it ends"), "\(tested.out)\(tested.error)")
    try program.write(test.replacingOccurrences(of: "status", with: "state"), to: "mine/a.test.yaml")
    let faulty = try await program.call("check")
    #expect(faulty.code != 0 && faulty.error.contains("a.test.yaml:3:"), "\(faulty.error)")
    await program.remove()
  }
}
