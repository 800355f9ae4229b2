import Basics
import Foundation
import ModelContext
import RunState
import Testing

@testable import Agent
@testable import AssistantTools

/// Limits of answers to an assistant: names that every model API accepts, and answers small enough to read.
@Suite struct AnswerLimitTests {
  @Test func `every recipe has a name of its own that model APIs take`() {
    let long = String(repeating: "x", count: 63)
    let recipes = [
      "short", "With-Capitals_1", long + "a", long + "ab", long + "ac", long + "b", "errand_runs", "errand.runs",
      "größe",
      "grüße", "a b", "a/b", "a_b", "", String(repeating: "ö", count: 300),
    ]
    let names = ToolNames(of: recipes)
    let tools = recipes.compactMap(names.tool)
    #expect(tools.count == recipes.count && Set(tools).count == recipes.count, "\(tools)")
    #expect(tools.allSatisfy(Tool.isName), "\(tools)")
    #expect(Set(tools).isDisjoint(with: LookingTool.allCases.map(\.rawValue)))
    for name in ["short", "With-Capitals_1", "a_b", long + "a", long + "b"] { #expect(names.tool(of: name) == name) }
    // A recipe keeps its tool whatever comes beside it, and is found by both names.
    for name in recipes {
      #expect(ToolNames(of: [name]).tool(of: name) == names.tool(of: name))
      #expect(names.recipe(of: names.tool(of: name) ?? "") == name)
    }
    #expect(names.recipe(of: long + "ab") == long + "ab")
    #expect(names.recipe(of: "nothing") == nil)
    #expect(names.tool(of: long + "ab")?.hasPrefix("xxxxxxxxxx") == true)
  }

  @Test func `the tools that look have names that every model takes, and no others`() {
    for tool in LookingTool.allCases { #expect(Tool.isName(tool.tool.name) && tool.tool.name == tool.rawValue) }
    #expect(LookingTool(rawValue: "errand.runs") == nil)
  }

  private static let large: [(String, Value)] = [
    ("a list", .list((0..<10_000).map { .string("item \($0)") })),
    ("a text", .string(String(repeating: "ü€🎉\"\n", count: 20_000))),
    ("a map", .map(ValueMap((0..<8_000).map { ("key\($0)", .int($0)) }))),
    ("a table", .list((0..<3_000).map { .object(["a": .int($0), "b": .string("text of \($0)")]) })),
    ("a list of texts", .list((0..<50).map { _ in .string(String(repeating: "long ", count: 1_000)) })),
    (
      "a deep one",
      (0..<200).reduce(Value.string(String(repeating: "x", count: 80_000))) { value, _ in .list([value]) }
    ),
  ]

  @Test(arguments: large) func `a large answer is cut, says so, and can be read on`(_ what: String, _ value: Value)
    throws
  {
    let structured = Value.object(["status": .string("succeeded"), "outputs": value])
    let whole = JSON.displayed(structured, .pretty)
    var (text, start, rounds) = ("", 0, 0)
    while rounds < 1000 {
      rounds += 1
      let result = AnswerLimit.fitted(
        ToolResult(whole, structured: rounds == 1 ? structured : nil), from: start, required: ["status"],
        rest: { "Call errand_run: \($0)." })
      let part = try #require(result.texts.first)
      #expect(part.utf8.count < AnswerLimit.most + 500)
      if rounds == 1 {
        #expect(JSON.displayed(try #require(result.structured)).utf8.count <= AnswerLimit.most)
        #expect(result.structured?["status"]?.string == "succeeded")
      }
      guard let cut = part.range(of: "\n\n… cut here: the answer has \(whole.utf8.count) bytes, and those from ") else {
        text += part
        break
      }
      text += part[..<cut.lowerBound]
      let next = try #require(Int(part[cut.upperBound...].prefix { $0.isNumber }))
      #expect(next > start)
      let more = rounds == 1 ? " The structured content is shortened likewise." : ""
      #expect(part.hasSuffix("Call errand_run: \(next).\(more)"))
      start = next
    }
    #expect(text == whole, "\(what) in \(rounds) rounds")
  }

  @Test func `the structured part holds what fits`() throws {
    for (what, value) in Self.large {
      let result = AnswerLimit.fitted(
        ToolResult("", structured: .object(["status": .string("s"), "outputs": value])), from: 0, required: ["status"],
        rest: { _ in "" })
      let size = JSON.displayed(try #require(result.structured)).utf8.count
      #expect(what == "a map" || size > AnswerLimit.most / 5, "\(what): \(size)")
    }
    let small = Value.object(["status": .string("s"), "outputs": .list([.int(1)])])
    let result = AnswerLimit.fitted(ToolResult("x", structured: small), from: 0, required: [], rest: { _ in "" })
    #expect(result.structured == small && result.texts == ["x"])
  }

  @Test func `descriptions are as long as is read, and values that look like one are left alone`() throws {
    let long = String(repeating: "w", count: 5000)
    let schema = try JSON.parse(
      #"{"description":"\#(long)","properties":{"description":{"type":"string","description":"\#(long)","default":{"description":"\#(long)"}}}}"#
    )
    let shortened = AnswerLimit.describedBriefly(schema)
    #expect(shortened["description"]?.string?.count == 1001)
    #expect(shortened["properties"]?["description"]?["description"]?.string?.count == 1001)
    #expect(shortened["properties"]?["description"]?["default"]?["description"]?.string == long)
  }
}
