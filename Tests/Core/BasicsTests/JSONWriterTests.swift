import Basics
import Testing

@Suite struct JSONWriterTests {
  static let sample = Value.object([
    "b": .list([.int(.min), .uint(.max), .double(1), .bool(true)]), "a": .object([:]), "é": .list([]), "c": .null,
  ])

  @Test(arguments: [
    (JSON.Style.compact, #"{"b":[-9223372036854775808,18446744073709551615,1.0,true],"a":{},"é":[],"c":null}"#),
    (.sorted, #"{"a":{},"b":[-9223372036854775808,18446744073709551615,1.0,true],"c":null,"é":[]}"#),
    (
      .pretty,
      """
      {
        "b": [
          -9223372036854775808,
          18446744073709551615,
          1.0,
          true
        ],
        "a": {},
        "é": [],
        "c": null
      }
      """
    ),
    (
      .prettySorted,
      """
      {
        "a": {},
        "b": [
          -9223372036854775808,
          18446744073709551615,
          1.0,
          true
        ],
        "c": null,
        "é": []
      }
      """
    ),
  ])
  func `writes each style`(_ style: JSON.Style, _ text: String) throws {
    #expect(try JSON.text(JSONWriterTests.sample, style) == text)
    #expect(try JSON.write(JSONWriterTests.sample, style) == Array(text.utf8))
  }

  /// Values whose texts are longer than a piece, with escapes wherever a piece may end.
  static let long: [Value] = [
    .string(String(repeating: "plain text without escapes ", count: 20_000)),
    .string(String(repeating: "\n", count: 200_000)),
    .string(String(repeating: "seven\"é", count: 50_000)),
    .bytes((0..<500_001).map { UInt8(truncatingIfNeeded: $0 &* 7) }),
    .list((0..<40_000).map { .object(["n": .int($0), "empty": .list([]), "of it": .object([:]), "é\n": .null]) }),
    .list((0..<3).map { .string(String(repeating: "\($0)\\", count: 98_304 / 3)) }),
  ]

  @Test(arguments: JSONWriterTests.long.indices, [JSON.Style.compact, .prettySorted])
  func `a long text is the same in pieces`(_ index: Int, _ style: JSON.Style) throws {
    let value = JSONWriterTests.long[index]
    nonisolated(unsafe) var pieces: [[UInt8]] = []
    var writer = JSONWriter(style, inPieces: { pieces.append(Array($0)) })
    try writer.write(value)
    writer.finish()
    #expect(pieces.count > 1 && pieces.allSatisfy { $0.count < 1 << 20 })
    #expect(try Array(pieces.joined()) == JSON.write(value, style))
    if index != 3 { #expect(try JSON.parse(Array(pieces.joined())) == value) }
  }

  @Test(arguments: [
    (
      Value.string("\"\\/\u{8}\u{C}\n\r\t\0\u{1F}\u{7F}\u{2028}é😀"),
      #""\"\\/\b\f\n\r\t\u0000\u001f"# + "\u{7F}\u{2028}é😀\""
    ),
    (.string("plain text of more than eight bytes \" and more"), #""plain text of more than eight bytes \" and more""#),
    (.double(0.1), "0.1"), (.double(-0.0), "-0.0"), (.double(1e16), "1e+16"),
    (.double(.leastNonzeroMagnitude), "5e-324"),
    (.bytes([0xFB, 0xEF, 0xBE, 0x00]), #""++++AA==""#),
    (.timestamp(.latest), #""9999-12-31T23:59:59.999999999Z""#),
    (.duration(.seconds(90)), #""90s""#),
    (Value(.optional(.int(1))), "1"), (Value(.optional(nil)), "null"), (Value(.type("int")), #""int""#),
    (.map([(.int(-1), .int(1)), (.bool(true), .int(2)), (.uint(3), .int(3))]), #"{"-1":1,"true":2,"3":3}"#),
  ])
  func `writes what JSON knows and what it does not`(_ value: Value, _ text: String) throws {
    #expect(try JSON.text(value) == text)
  }

  @Test(arguments: [
    (Value.double(.nan), "the value cannot be written as JSON: it is not a number"),
    (
      .object(["a": .list([.int(1), .object(["b": .double(-.infinity)])])]),
      "'a[1].b' cannot be written as JSON: it is infinite"
    ),
    (
      .object(["a": .map([(.int(1), .null), (.string("1"), .null)])]),
      "'a' cannot be written as JSON: two of its keys are written '1'"
    ),
  ])
  func `refuses what no JSON text can hold`(_ value: Value, _ message: String) {
    do {
      _ = try JSON.text(value)
      Issue.record("written")
    } catch {
      #expect(error.description == message)
    }
  }

  @Test func `refuses what is nested too deep`() {
    let deep = (0..<JSON.deepest + 1).reduce(Value.null) { value, _ in .list([value]) }
    #expect(throws: JSONError.self) { try JSON.text(deep) }
    #expect(throws: Never.self) { try JSON.text(deep.list?[0] ?? .null) }
  }

  @Test func `reads back what it wrote`() throws {
    var random = SeededGenerator(seed: 7)
    for _ in 0..<2000 {
      let value = random.value(depth: 4)
      for style in [JSON.Style.compact, .sorted, .pretty] {
        #expect(try JSON.parse(JSON.write(value, style), limits: .init()) == value)
      }
    }
  }
}

extension Value {
  fileprivate static func map(_ members: [(Value, Value)]) -> Value {
    var map = ValueMap()
    for (key, value) in members { map[key] = value }
    return .map(map)
  }
}
