import Basics
import Testing

@Suite struct JSONReaderTests {
  @Test(arguments: [
    ("null", Value.null), ("true", .bool(true)), (" false\n", .bool(false)), ("\"\"", .string("")),
    ("0", .int(0)), ("-0", .int(0)), ("-12", .int(-12)),
    ("9223372036854775807", .int(.max)), ("-9223372036854775808", .int(.min)),
    ("1.0", .double(1)), ("1e3", .double(1000)), ("-0.0", .double(-0.0)), ("1E-2", .double(0.01)),
    ("0.1", .double(0.1)), ("1.3640371821656152", .double(1.3640371821656152)),
    ("1.7976931348623157e308", .double(.greatestFiniteMagnitude)), ("5e-324", .double(.leastNonzeroMagnitude)),
    ("1e-400", .double(0)), ("0e999999999999999999999", .double(0)),
    ("100000000000000000000.0", .double(1e20)), ("9007199254740993.0", .double(9007199254740992)),
    ("900719925474099.3000", .double(900719925474099.25)),
    // Halfway between two doubles, just below, and just above.
    ("9007199254740995.0", .double(9007199254740996)), ("9007199254740994.999", .double(9007199254740994)),
    ("9007199254740993.001", .double(9007199254740994)), ("0.9999999999999999999", .double(1)),
    ("[]", .list([])), ("[1,[2,{}]]", .list([.int(1), .list([.int(2), .map(ValueMap())])])),
    (#"{"a":1,"":[null]}"#, .object(["a": .int(1), "": .list([.null])])),
    (#""\"\\\/\b\f\n\r\t\u0041\u00e9\u20AC\uD83D\uDE00\u0000""#, .string("\"\\/\u{8}\u{C}\n\r\tAé€😀\0")),
    ("\"é and 名前 and \u{7F}\u{2028}\"", .string("é and 名前 and \u{7F}\u{2028}")),
    // Canonically equivalent keys are two keys.
    ("{\"é\":1,\"e\u{301}\":2}", .object(["é": .int(1), "e\u{301}": .int(2)])),
  ])
  func `reads values`(_ text: String, _ value: Value) throws {
    #expect(try JSON.parse(text) == value)
  }

  @Test func `keeps the sign of a negative zero only in a double`() throws {
    #expect(try JSON.parse("-0.0").content.isNegativeZero)
  }

  @Test func `knows the byte offset of each value and key`() throws {
    let value = try JSON.parse(#" {"é": [1, true], "b" :"x"}"#)
    #expect(value.place.offset == 1)
    #expect(value["é"]?.list?.map(\.place.offset) == [9, 12])
    #expect(value.map?.members.map(\.key.place.offset) == [2, 19])
    #expect(value["b"]?.place.offset == 24)
  }

  @Test(arguments: [
    ("", "line 1, column 1: a value is expected, but the text ends"),
    ("[1,\n 2", "line 2, column 3: the text ends inside a list; ']' is missing (the list begins at line 1, column 1)"),
    ("\n{\"a\":{  ", "line 2, column 9: a key in double quotes is expected, but the text ends"),
    ("{\"a\":1", "line 1, column 7: the text ends inside a map; '}' is missing (the map begins at line 1, column 1)"),
    (
      "\"ab", "line 1, column 4: the text ends inside a string; '\"' is missing (the string begins at line 1, column 1)"
    ),
    (
      #""ab\"#,
      "line 1, column 5: the text ends inside a string; '\"' is missing (the string begins at line 1, column 1)"
    ),
    ("[1 2]", "line 1, column 4: ',' or ']' is expected, but '2' was found"),
    ("{\"a\" 1}", "line 1, column 6: ':' is expected after a key, but '1' was found"),
    ("{a:1}", "line 1, column 2: a key in double quotes is expected, but 'a' was found"),
    ("[1,]", "line 1, column 3: a comma before ']' is not allowed in JSON; remove it"),
    ("{\"a\":1, }", "line 1, column 7: a comma before '}' is not allowed in JSON; remove it"),
    ("[,1]", "line 1, column 2: a value is expected, but ',' was found"),
    ("1 2", "line 1, column 3: nothing may follow the value, but '2' was found"),
    ("True", "line 1, column 1: 'True' isn't a JSON value; did you mean 'true'?"),
    ("NaN", "line 1, column 1: 'NaN' isn't a JSON value"),
    ("nullx", "line 1, column 1: 'nullx' isn't a JSON value; did you mean 'null'?"),
    ("'a'", "line 1, column 1: a value is expected, but ''' was found; strings need double quotes"),
    ("// a", "line 1, column 1: a value is expected, but '/' was found; JSON has no comments"),
    (".5", "line 1, column 1: a value is expected, but '.' was found; a number begins with a digit or '-'"),
    ("01", "line 1, column 1: a number may not begin with a zero"),
    ("-", "line 1, column 2: a digit is expected after '-', but the text ends"),
    ("1.", "line 1, column 3: a digit is expected after the point, but the text ends"),
    ("1.e3", "line 1, column 3: a digit is expected after the point, but 'e' was found"),
    ("1e+", "line 1, column 4: a digit is expected in the exponent, but the text ends"),
    ("\"a\nb\"", #"line 1, column 3: a string may hold no bare control character; write \n"#),
    ("\"01234567\u{1}\"", #"line 1, column 10: a string may hold no bare control character; write \u0001"#),
    (#""\x""#, #"line 1, column 2: a backslash may be followed by one of "\/bfnrtu only; write \\ for a backslash"#),
    (#""a\u12G4""#, #"line 1, column 3: four hexadecimal digits are expected after \u"#),
    (#""\uD800""#, "line 1, column 2: this is half of a surrogate pair; the other half is missing"),
    (#""\uDC00\uD800""#, "line 1, column 2: this is half of a surrogate pair; the other half is missing"),
    (#""\uD800\u0041""#, "line 1, column 2: this is half of a surrogate pair; the other half is missing"),
    (#"{"a":1,"b":2,"\u0061":3}"#, "line 1, column 14: the key 'a' is given twice (first given at line 1, column 2)"),
    ("1\u{FEFF}", "line 1, column 2: nothing may follow the value, but '\u{FEFF}' was found"),
    ("\u{FEFF}\u{FEFF}1", "line 1, column 2: a value is expected, but '\u{FEFF}' was found"),
    ("\u{0}", "line 1, column 1: a value is expected, but the control character U+0000 was found"),
    ("\u{A0}1", "line 1, column 1: a value is expected, but '\u{A0}' was found"),
  ])
  func `says what is wrong, and where`(_ text: String, _ message: String) {
    #expect(throws: JSONError.self) { try JSON.parse(text) }
    do { _ = try JSON.parse(text) } catch { #expect(error.description == message) }
  }

  @Test(arguments: [
    ("18446744073709551616", 0x1p64), ("-9223372036854775809", -0x1p63), ("-9223372036854776000", -0x1p63),
    ("123456789012345678901234567890", 123456789012345678901234567890.0), (String(repeating: "9", count: 50), 1e50),
    ("-1e309", -.infinity), ("1e400", .infinity), ("1" + String(repeating: "0", count: 400), .infinity),
  ])
  func `a number beyond 64 bits is the nearest double`(_ text: String, _ number: Double) throws {
    #expect(try JSON.parse("[\(text), 1]").list?.first == .double(number))
  }

  @Test(arguments: [
    (#""a\uD800""#, "a\u{FFFD}"), (#""\uDC00\uD800b""#, "\u{FFFD}\u{FFFD}b"), (#""\uD800\u0041""#, "\u{FFFD}A"),
    (#""\uD800\uD83D\uDE00""#, "\u{FFFD}😀"),
  ])
  func `reads half of a surrogate pair where it is told to`(_ text: String, _ value: String) throws {
    #expect(throws: JSONError.self) { try JSON.parse(text) }
    #expect(try JSON.parse(Array(text.utf8), allowing: .halfPairs).string == value)
  }

  @Test(arguments: [
    ([0x22, 0x61, 0xFF, 0x22], 2), ([0x22, 0xC3, 0x22], 1), ([0x22, 0xED, 0xA0, 0x80, 0x22], 1),
    ([0x22, 0xC0, 0x80, 0x22], 1), ([0x22, 0x5C, 0x6E, 0xF5, 0x80, 0x80, 0x80, 0x22], 3),
    ([0x7B, 0x22, 0x80, 0x22, 0x3A, 0x31, 0x7D], 2),
  ])
  func `refuses what is no UTF-8`(_ bytes: [UInt8], _ offset: Int) {
    do {
      _ = try JSON.parse(bytes)
      Issue.record("read")
    } catch {
      #expect(error.message == "the text is not valid UTF-8 here")
      #expect(error.spot?.offset == offset)
    }
  }

  @Test(arguments: [2, 8, 9, 40, 500])
  func `finds a key that is given twice among many`(_ count: Int) throws {
    let members = (0..<count).map { #""key number \#($0)":\#($0)"# }
    #expect(try JSON.parse("{\(members.joined(separator: ","))}").map?.count == count)
    let text = "{\((members + [#""key number 1":0"#]).joined(separator: ","))}"
    do {
      _ = try JSON.parse(text)
      Issue.record("read")
    } catch {
      #expect(error.message == "the key 'key number 1' is given twice")
      #expect(error.note?.spot.offset == members[0].utf8.count + 2)
      let source = Source(name: "a.json", text: text)
      #expect(error.diagnostic(in: source).description.hasSuffix("\na.json:1:19: note: first given"))
    }
  }

  @Test func `tells apart keys that look alike to a cache`() throws {
    let keys = ["abcdefgh1ijklmnop", "abcdefgh2ijklmnop", "abcdefgh", "abcdefghabcdefgh", "a", "\0a", "aa"]
    let text = try JSON.text(.list((0..<3).flatMap { _ in keys.map { .object([$0: .string($0)]) } }))
    for item in try #require(try JSON.parse(text).list) {
      let member = try #require(item.map?.members.first)
      #expect(member.key == member.value)
    }
  }

  @Test(arguments: [
    ("[1,]", "[1]"), (#"{"a":[1,2 , ] , }"#, #"{"a":[1,2]}"#), (#"[",]",",}"]"#, #"[",]",",}"]"#),
  ])
  func `tolerates trailing commas when asked`(_ text: String, _ meant: String) throws {
    #expect(try JSON.parse(text, allowing: .trailingCommas) == JSON.parse(meant))
  }

  @Test(arguments: [
    (#"{"a":1,"b":2,"a":3}"#, #"{"a":3,"b":2}"#), (#"{"a":{"b":1,"b":2},"a":{"c":3,"c":4}}"#, #"{"a":{"c":4}}"#),
    (
      #"{"0":0,"1":0,"2":0,"3":0,"4":0,"5":0,"6":0,"7":0,"8":0,"9":0,"0":1}"#,
      #"{"0":1,"1":0,"2":0,"3":0,"4":0,"5":0,"6":0,"7":0,"8":0,"9":0}"#
    ),
    (#"{"a":1,"\u0061":2}"#, #"{"a":2}"#),
  ])
  func `takes the last of doubled keys when asked`(_ text: String, _ meant: String) throws {
    #expect(try JSON.text(JSON.parse(text, allowing: .doubledKeys)) == meant)
    #expect(throws: JSONError.self) { try JSON.parse(text) }
  }

  @Test(arguments: ["[,]", "[1,,]", "{,}", "1,", "[1],"])
  func `tolerates no other commas`(_ text: String) {
    #expect(throws: JSONError.self) { try JSON.parse(text, allowing: .trailingCommas) }
  }

  @Test func `limits depth and size`() throws {
    func nested(_ depth: Int) -> String {
      String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }
    _ = try JSON.parse(nested(128))
    #expect(throws: JSONError.self) { try JSON.parse(nested(129)) }
    _ = try JSON.parse(nested(JSON.deepest), limits: .init(depth: 100_000))
    do {
      _ = try JSON.parse(String(repeating: "[{\"a\":", count: 100_000), limits: .init(depth: 100_000))
      Issue.record("read")
    } catch {
      #expect(error.message == "the text is nested deeper than the 512 levels allowed")
    }
    do {
      _ = try JSON.parse("[1, 2]", limits: .init(bytes: 5))
      Issue.record("read")
    } catch {
      #expect(error.description == "line 1, column 1: the text has 6 bytes, more than the 5 that are allowed")
    }
  }

  @Test(arguments: ["9223372036854775808", "18446744073709551615"])
  func `an integer that only an unsigned one holds is one`(_ text: String) throws {
    let value = try JSON.parse(text)
    #expect(try value == .uint(#require(UInt(text))))
    #expect(try JSON.text(value) == text)
  }
}

extension Value.Content {
  fileprivate var isNegativeZero: Bool {
    if case .double(let number) = self { number == 0 && number.sign == .minus } else { false }
  }
}
