import Basics
import Testing
import YAMLReader

@Suite struct CoreSchemaTests {
  @Test(arguments: [
    ("null", Value.null), ("Null", .null), ("NULL", .null), ("~", .null), ("nULL", .string("nULL")),
    ("true", .bool(true)), ("True", .bool(true)), ("TRUE", .bool(true)), ("tRUE", .string("tRUE")),
    ("false", .bool(false)), ("False", .bool(false)), ("FALSE", .bool(false)), ("falsey", .string("falsey")),
    ("yes", .string("yes")), ("no", .string("no")), ("on", .string("on")), ("off", .string("off")),
    ("y", .string("y")), ("n", .string("n")),
    ("0", .int(0)), ("-0", .int(0)), ("+12", .int(12)), ("-7", .int(-7)), ("0644", .int(644)),
    ("0o17", .int(15)), ("0o8", .string("0o8")), ("-0o7", .string("-0o7")), ("0O7", .string("0O7")),
    ("0x1F", .int(31)), ("0xff", .int(255)), ("0x", .string("0x")), ("0xG", .string("0xG")), ("0X1", .string("0X1")),
    ("9223372036854775807", .int(.max)), ("-9223372036854775808", .int(.min)), ("0x7FFFFFFFFFFFFFFF", .int(.max)),
    ("1.", .double(1)), (".5", .double(0.5)), ("-.5", .double(-0.5)), ("+1.5", .double(1.5)), ("1.10", .double(1.1)),
    ("1e3", .double(1000)), ("1.e3", .double(1000)), (".5E-1", .double(0.05)), ("1e+2", .double(100)),
    ("1e", .string("1e")), ("e3", .string("e3")), (".", .string(".")), (".e1", .string(".e1")),
    ("1.2.3", .string("1.2.3")),
    ("-", .string("-")), ("+", .string("+")), ("--1", .string("--1")), ("1 2", .string("1 2")),
    (".inf", .double(.infinity)), ("-.Inf", .double(-.infinity)), ("+.INF", .double(.infinity)),
    (".iNF", .string(".iNF")), ("inf", .string("inf")), ("nan", .string("nan")), ("-.nan", .string("-.nan")),
    ("1e-400", .double(0)), ("5e-324", .double(.leastNonzeroMagnitude)),
    ("1.7976931348623157e308", .double(.greatestFiniteMagnitude)),
    ("1:30", .string("1:30")), ("1_000", .string("1_000")), ("0b1", .string("0b1")),
    ("2026-11-20", .string("2026-11-20")), ("1h", .string("1h")), ("é", .string("é")),
    ("!!str 12", .string("12")), ("!!int \"12\"", .int(12)), ("!!float 3", .double(3)), ("!!bool 'true'", .bool(true)),
    ("!!null ''", .null), ("\"12\"", .string("12")), ("'~'", .string("~")), ("''", .string("")),
    ("&a 12", .int(12)), ("&a !!str 12", .string("12")), ("!!str &a 12", .string("12")),
  ])
  func `types scalars by YAML 1.2`(_ text: String, _ value: Value) throws {
    // A dash and a space go before each scalar, because a `-` alone would be a list's dash.
    #expect(try read("- [\(text)]\n").at(["0", "0"]) == value)
  }

  @Test(arguments: [".nan", ".NaN", ".NAN"])
  func `reads NaN`(_ text: String) throws {
    guard case .double(let number)? = try read("x: \(text)")["x"]?.content else {
      Issue.record("\(text) isn't a double")
      return
    }
    #expect(number.isNaN)
  }

  @Test func `keeps the key on a string, and ints and bools as keys`() throws {
    let map = try #require(try read("on: 1\n2: x\ntrue: y\n\"3\": z\n").map)
    #expect(map.members.map(\.key) == [.string("on"), .int(2), .bool(true), .string("3")])
  }

  @Test func `tells texts that were bools in YAML 1.1`() {
    #expect(["y", "Yes", "NO", "on", "Off"].allSatisfy(looksLikeYAML11Bool))
    #expect(!["true", "yEs", "", "onn", "1"].contains(where: looksLikeYAML11Bool))
  }
}

/// Reads a text that must be without fault.
func read(_ text: String, limits: YAMLLimits = .recipe) throws -> Value {
  try YAMLReader.read(Source(name: "test.yaml", text: text), limits: limits).root
}

extension Value {
  /// The value behind a path of names and indexes.
  func at(_ path: [String]) -> Value? {
    path.reduce(Optional(self)) { value, step in
      guard let list = value?.list else { return value?[step] }
      guard let index = Int(step), list.indices.contains(index) else { return nil }
      return list[index]
    }
  }
}
