import Basics
import ExpressionTestKit
import Testing

@Suite struct SuiteTestTests {
  @Test(arguments: [
    (
      #"{"id":"a","expr":"[1, 2]"}"#,
      #"{"id":"a","value":{"t":"list","v":[{"t":"int","v":"1"},{"t":"int","v":"2"}]},"type":"list(int)"}"#
    ),
    (#"{"id":"a","expr":"1 +"}"#, #""stage":"parse"}"#),
    (#"{"id":"a","expr":"1 + 'a'"}"#, #""stage":"check"}"#),
    (#"{"id":"a","expr":"1 / 0"}"#, #""stage":"eval","type":"int"}"#),
    (#"{"id":"a","expr":"1 / 0","checkOnly":true}"#, #"{"id":"a","type":"int"}"#),
    (
      #"{"id":"a","expr":"x.y","container":"","bindings":{"x.y":{"t":"uint","v":"7"}},"typeEnv":[{"name":"x.y","type":"uint"}]}"#,
      #"{"id":"a","value":{"t":"uint","v":"7"},"type":"uint"}"#
    ),
    (#"{"id":"a","expr":"1 + 1.0","disableCheck":true}"#, #""stage":"eval"}"#),
    (
      #"{"id":"a","expr":"f(1)","typeEnv":[{"name":"f","overloads":[{"params":["A"],"result":"list(A)","receiver":false}]}],"checkOnly":true}"#,
      #"{"id":"a","type":"list(int)"}"#
    ),
    (#"{"id":"a","expr":"optional.none()"}"#, #"{"id":"a","value":{"t":"optional"},"type":"optional_type(dyn)"}"#),
    (#"{"id":"a","expr":"0.0 / 0.0"}"#, #"{"id":"a","value":{"t":"double","v":"NaN"},"type":"double"}"#),
    (
      #"{"id":"a","expr":"duration('-1.5s')"}"#,
      #"{"id":"a","value":{"t":"duration","s":"-1","n":-500000000},"type":"duration"}"#
    ),
  ])
  func `says what comes of a line`(line: String, end: String) throws {
    let test = try SuiteTest(JSON.parse(line))
    #expect(try JSON.text(test.run().line(id: test.id)).hasSuffix(end))
  }

  @Test(arguments: [
    "null", "true", "-9223372036854775808", "18446744073709551615u", "1e300", "'añb'", "b'\\xff\\x00'", "[1, 'a']",
    "{1: {'a': []}, true: 2.5}", "timestamp('2026-11-20T09:30:00.000000001Z')", "duration('-1ns')", "string",
    "optional.of(1)",
  ])
  func `reads the values that it writes`(expression: String) throws {
    let line = Value.object(["id": .string("a"), "expr": .string(expression)])
    let value = try #require(try SuiteTest(line).run().value)
    #expect(try Value(suiteForm: value.suiteForm).isSame(as: value))
  }

  @Test(arguments: [
    (#"{"expr":"1"}"#, "the line has no 'id'"),
    (#"{"id":"a"}"#, "the line has no 'expr'"),
    (#"{"id":"a","expr":"x","bindings":{"x":{"t":"complex"}}}"#, "there are no values of kind 'complex'"),
    (#"{"id":"a","expr":"x","bindings":{"x":{"t":"int","v":"1.5"}}}"#, "a value of kind 'int' is malformed"),
    (
      #"{"id":"a","expr":"x","bindings":{"x":{"t":"duration","s":"9223372036854775807","n":0}}}"#,
      "a value of kind 'duration' is malformed"
    ),
    (#"{"id":"a","expr":"x","typeEnv":[{"name":"x","type":"list(int"}]}"#, "a type has no ')' at its end"),
  ])
  func `refuses what is no line`(line: String, message: String) throws {
    let value = try JSON.parse(line)
    let fault = #expect(throws: SuiteError.self) { try SuiteTest(value) }
    #expect(fault?.message == message)
  }
}
