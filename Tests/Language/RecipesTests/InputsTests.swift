import Basics
import Foundation
import Testing

@testable import Recipes

@Suite struct `Giving inputs` {
  private static let recipe = """
    recipe: report
    inputs:
      count: { type: int, min: 1, max: 10, summary: How many there are. }
      share: { type: double, default: 0.5 }
      flag: { type: bool, default: false }
      name: { type: string, pattern: "[A-Z][a-z]*", default: Ada }
      kind: { type: string, choices: [fast, slow], default: fast }
      since: { type: timestamp, default: "2026-01-01T00:00:00Z" }
      pause: { type: duration, default: 90s }
      raw: { type: bytes, default: aGk= }
      marks: { type: list(double), default: [] }
      table: { type: "map(string, int)", default: {} }
      pupil: { type: { name: string, age: int? }, default: { name: Ada } }
      token: { type: string, secret: true }
    steps: [{ uses: desk.find }]
    """

  private func read(_ given: [(String, GivenInput)]) throws -> Result<ValueMap, Diagnostics> {
    let checked = Recipe.check(Source(name: "report.yaml", text: Self.recipe), in: .test())
    #expect(checked.diagnostics.isEmpty)
    return try #require(checked.recipe).inputs(from: given.map { (name: $0.0, input: $0.1) })
  }

  @Test func `Texts of the command line are read as the types want, and the rest has its default`() throws {
    let values = try read([
      ("count", .text("7")), ("share", .text("1")), ("flag", .text("true")), ("name", .text("Bob")),
      ("since", .text("2026-11-20T09:30:00+02:00")), ("pause", .text("1h30m")), ("raw", .text("aGkh")),
      ("marks", .text("[1, 2.5]")), ("table", .text(#"{"a": 1}"#)), ("pupil", .text(#"{"name": "7", "age": 12}"#)),
      ("token", .secret(name: "TOKEN")),
    ]).get()
    let text = try JSON.text(.map(values))
    #expect(
      text == #"{"count":7,"share":1.0,"flag":true,"name":"Bob","since":"2026-11-20T07:30:00Z","#
        + #""pause":"5400s","raw":"aGkh","marks":[1.0,2.5],"table":{"a":1},"pupil":{"name":"7","age":12},"#
        + #""token":{"secret":"TOKEN"},"kind":"fast"}"#)
    #expect(values["pause"] == .duration(.seconds(5400)))
    #expect(values["raw"] == .bytes(Array("hi!".utf8)))
  }

  @Test(arguments: [
    ("count", "seven", "error: 'inputs.count' must be an int, but found 'seven'"),
    ("count", "7.0", "error: 'inputs.count' must be an int, but found '7.0'"),
    ("count", "99999999999999999999", "error: 'inputs.count' must be an int, but found '99999999999999999999'"),
    ("count", "11", "error: 'inputs.count' must be at most 10, but is 11"),
    ("share", "nan", "error: 'inputs.share' must be finite, but is nan"),
    ("flag", "yes", "error: 'inputs.flag' must be a bool, but found 'yes'"),
    ("name", "bob", "error: 'inputs.name' must be of the form [A-Z][a-z]*, but is 'bob'"),
    ("kind", "slwo", "error: 'inputs.kind' must be 'fast' or 'slow', but found 'slwo'; did you mean 'slow'?"),
    (
      "since", "2026-11-20",
      "error: 'inputs.since' must be a timestamp such as 2026-11-20T09:30:00Z, but found '2026-11-20'"
    ),
    ("pause", "90", "error: 'inputs.pause' must be a duration such as 1h30m, but found '90'"),
    ("raw", "%", "error: 'inputs.raw' must be bytes in base64, but found '%'"),
    (
      "marks", "[1, \"x\"]",
      """
      -i marks:1:5: error: 'inputs.marks[1]' must be a double, but found a string
        [1, "x"]
            ^
      """
    ),
    (
      "marks", "[1,",
      """
      -i marks:1:4: error: 'inputs.marks' isn't valid JSON: a value is expected, but the text ends
        [1,
           ^
      """
    ),
    (
      "pupil", #"{"nme": "Ada"}"#,
      """
      -i pupil:1:2: error: 'inputs.pupil' has no field 'nme'; did you mean 'name'?
        {"nme": "Ada"}
         ^
      """
    ),
    ("token", "sesame", "error: input 'token' is secret; give the name of one, as @secret:NAME"),
    ("cuont", "1", "error: recipe 'report' has no input 'cuont'; did you mean 'count'?"),
    (
      "colour", "red",
      "error: recipe 'report' has no input 'colour'; it takes count, share, flag, name, kind, since, pause, raw, marks, "
        + "table, pupil, token"
    ),
  ])
  func `A faulty text is refused`(_ name: String, _ text: String, _ message: String) throws {
    let rest: [(String, GivenInput)] = [("count", .text("1")), ("token", .secret(name: "T"))].filter { $0.0 != name }
    let faults = try #require(throws: Diagnostics.self) { try read([(name, .text(text))] + rest).get() }
    #expect(faults.rendered() == message)
  }

  @Test func `All faults are told at once, those of a file at their places`() throws {
    let file = Source(name: "inputs.json", text: #"{"share": "half", "flag": 1, "count": null}"#)
    let members = try JSON.parse(file.bytes).map?.members ?? []
    let given = members.map { ($0.name ?? "", GivenInput.value($0.value, file)) } + [("name", .secret(name: "N"))]
    let faults = try #require(throws: Diagnostics.self) { try read(given).get() }
    #expect(
      faults.rendered() == """
        inputs.json:1:11: error: 'inputs.share' must be a double, but found a string
          {"share": "half", "flag": 1, "count": null}
                    ^
        inputs.json:1:27: error: 'inputs.flag' must be a bool, but found an int
          {"share": "half", "flag": 1, "count": null}
                                    ^
        inputs.json:1:39: error: 'inputs.count' is empty (int): How many there are
          {"share": "half", "flag": 1, "count": null}
                                                ^
        error: input 'name' isn't a secret; declare it with 'secret: true' to give it by @secret:
        error: input 'token' (secret) is missing; give it with -i token=@secret:NAME
        """)
  }

  @Test func `What a call gives is checked again when it is there`() throws {
    let checked = Recipe.check(Source(name: "report.yaml", text: Self.recipe), in: .test())
    let recipe = try #require(checked.recipe)
    let values = try recipe.inputs(ofCall: .object(["count": .int(2), "token": .string("x"), "pause": .string("1m")]))
    #expect(values["pause"] == .duration(.seconds(60)))
    #expect(values["kind"] == .string("fast"))
    let faults = #expect(throws: (any Error).self) {
      try recipe.inputs(ofCall: .object(["count": .int(20), "token": .string("x")]))
    }
    #expect("\(faults.map { "\($0)" } ?? "")" == "'with.count' must be at most 10, but is 20")
  }
}
