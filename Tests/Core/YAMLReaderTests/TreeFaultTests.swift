import Basics
import Testing
import YAMLReader

@Suite struct TreeFaultTests {
  @Test(arguments: [
    (
      "a: 1\nb: 2\na: 3",
      [
        "3:1: error: the key `a` is in this map twice; remove or rename one [a]",
        "1:1: note: the first is here [a]",
      ]
    ),
    (
      "{x: 1, \"x\": 2}",
      [
        "1:8: error: the key `\"x\"` is in this map twice; remove or rename one [\"x\"]",
        "1:2: note: the first is here [x]",
      ]
    ),
    (
      "1: a\n0x1: b",
      [
        "2:1: error: the key `0x1` is in this map twice; remove or rename one [0x1]",
        "1:1: note: the first is here [1]",
      ]
    ),
    ("1: a\n'1': b", []),
    ("\"e\\u0301\": a\né: b", []),
    (
      "a: {b: 1}\n<<: {c: 1}",
      ["2:1: error: `<<` merges nothing: YAML 1.2 has no merge keys; write the keys out, or quote it: `\"<<\"` [<<]"]
    ),
    ("\"<<\": a", []),
    ("1.10: a", ["1:1: error: a double cannot be a key; quote it if it is a text [1.10]"]),
    ("~: a", ["1:1: error: null cannot be a key; quote it if it is a text [~]"]),
    (
      "[a, b]: c",
      ["1:1: error: a list cannot be a key; quote the whole value: `\"${{ … }}\"` if it is a text [[a, b]]"]
    ),
    (
      "? {a: b}\n: c",
      ["1:3: error: a map cannot be a key; quote the whole value: `\"${{ … }}\"` if it is a text [{a: b}]"]
    ),
    (
      "a: 18446744073709551616",
      ["1:4: error: this int does not fit into 64 bits; quote it if it is a text [18446744073709551616]"]
    ),
    (
      "a: -9223372036854775809",
      ["1:4: error: this int does not fit into 64 bits; quote it if it is a text [-9223372036854775809]"]
    ),
    (
      "a: 0x10000000000000000",
      ["1:4: error: this int does not fit into 64 bits; quote it if it is a text [0x10000000000000000]"]
    ),
    ("a: 1e309", ["1:4: error: this number is too large for a double; quote it if it is a text [1e309]"]),
    ("a: !!int b", ["1:10: error: this is not what `!!int` before it says [b]"]),
    (
      "a: !!map [b]",
      [
        "1:4: error: `!` begins a tag in YAML, and only core tags such as `!!str` are known; quote the whole value: `\"!!map [b]\"` [!!map]"
      ]
    ),
    (
      "a: &x !foo b\nc: *x",
      [
        "1:7: error: `!` begins a tag in YAML, and only core tags such as `!!str` are known; quote the whole value: `\"${{ … }}\"` [!foo]"
      ]
    ),
    (
      "a: &x\n  b: *x",
      ["2:6: error: `*x` is inside its own anchor; remove it [*x]", "1:4: note: the anchor is here [&x]"]
    ),
    (
      "a: &x 1\nb: &x 2\nc: *x",
      [
        "1:4: warning: `&` begins an anchor in YAML, and no alias uses this one; remove it, or quote the whole value: `\"&x 1\"` [&x]"
      ]
    ),
    ("a: !!seq [1]\nb: !!map {}\nc: !!str 1", []),
  ])
  func `refuses what a recipe must not hold`(_ text: String, _ expected: [String]) {
    #expect(faults(in: text) == expected)
  }

  @Test(arguments: [
    ("9223372036854775808", Value.uint(1 << 63)), ("0xFFFFFFFFFFFFFFFF", .uint(.max)),
    ("18446744073709551615", .uint(.max)),
    ("18446744073709551616", .double(0x1p64)), ("-9223372036854775809", .double(-0x1p63)),
    ("-9223372036854776000", .double(-0x1p63)), ("0x10000000000000000", .double(0x1p64)), ("1e309", .double(.infinity)),
    ("-1e309", .double(-.infinity)),
  ])
  func `a document of others may hold any number`(_ text: String, _ value: Value) throws {
    var limits = YAMLLimits.recipe
    limits.isOfOthers = true
    #expect(try YAMLReader.read(Source(name: "d", text: "a: \(text)"), limits: limits).root["a"] == value)
  }

  @Test(
    arguments: [
      ("b: &b { x: 1, y: 2 }\na: { <<: *b, y: 3, z: 4 }", #"{"y":3,"z":4,"x":1}"#, []),
      ("b: &b { x: 1 }\nc: &c { x: 2, y: 2 }\na: { <<: [*b, *c] }", #"{"x":1,"y":2}"#, []),
      ("a: { <<: 1, x: 2 }", #"{"x":2}"#, ["1:10 `<<` merges maps alone"]),
      ("a: { '<<': { x: 1 } }", #"{"<<":{"x":1}}"#, []),
      (
        "a: { x: 1, y: 2, x: 3 }", #"{"x":3,"y":2}"#, ["1:18 the key `x` is in this map twice, and the last one counts"]
      ),
      (
        "a: { x: !mine 1, y: !mine [1], z: !!timestamp 2020-01-01, i: !!int one, s: !!set {} }",
        #"{"x":1,"y":[1],"z":"2020-01-01","i":"one","s":{}}"#, ["1:68 this is not what `!!int` before it says"]
      ),
      (
        "a: { 1.0: x, 2.50: y, null: z, ~: n, 18446744073709551615: u }",
        #"{"1.0":"x","2.50":"y","null":"z","~":"n","18446744073709551615":"u"}"#, []
      ),
      ("a: { [1]: x, y: 1 }", #"{"y":1}"#, nil),
      ("a: { x: *none, y: 1 }", #"{"x":null,"y":1}"#, nil),
      ("a: &unused { x: ${{ y # z }\n}", nil, nil),
      ("a: [1]\n--- \nb: [2]", "[1]", nil),
      (#"a: { x: "\ud83d!", y: "\ud83d\ude00" }"#, #"{"x":"\#u{FFFD}!","y":"😀"}"#, []),
      ("a: { x: \"a\u{2028}b\u{7F}\u{85}c\" }", #"{"x":"a\#u{FFFD}b\#u{FFFD}\#u{FFFD}c"}"#, nil),
    ] as [(String, String?, [String]?)])
  func `a detail costs nothing but itself in a document of others`(
    _ text: String, _ value: String?, _ warnings: [String]?
  ) throws {
    var limits = YAMLLimits.recipe
    limits.isOfOthers = true
    guard let value else {
      #expect(throws: Diagnostics.self) { try YAMLReader.read(Source(name: "d", text: text), limits: limits) }
      return
    }
    let document = try YAMLReader.read(Source(name: "d", text: text), limits: limits)
    #expect(try JSON.text(try #require(document.root["a"])) == value)
    #expect(document.diagnostics.allSatisfy { $0.severity == .warning })
    let told = document.diagnostics.map { diagnostic in
      let position = diagnostic.location.map { $0.source.position(at: $0.range.lowerBound) }
      return "\(position?.line ?? 0):\(position?.column ?? 0) \(diagnostic.message)"
    }
    if let warnings { #expect(told == warnings) } else { #expect(!told.isEmpty) }
  }

  @Test func `a byte that is no text costs nothing but itself in a document of others`() throws {
    var limits = YAMLLimits.recipe
    limits.isOfOthers = true
    let bytes = Array("a: caf".utf8) + [0xE9] + Array("\nb: 1".utf8)
    let document = try YAMLReader.read(Source(name: "d", bytes: bytes), limits: limits)
    #expect(document.root["a"] == .string("caf\u{FFFD}") && document.root["b"] == .int(1))
    #expect(document.diagnostics.map(\.message) == ["the byte E9 isn't valid UTF-8; save the file as UTF-8"])
  }

  @Test func `reports all faults at once, in the order of the text`() {
    let text = """
      a: 1
      b: !has(x)
      a: 99999999999999999999
      c: [*y, 1.5: 2]
      d: ${{ x #z }}
      e: 'f' + g
      """
    #expect(
      faults(in: text) == [
        "2:4: error: `!` begins a tag in YAML, and only core tags such as `!!str` are known; quote the whole value: `\"!has(x)\"` [!has(x)]",
        "3:1: error: the key `a` is in this map twice; remove or rename one [a]",
        "1:1: note: the first is here [a]",
        "3:4: error: this int does not fit into 64 bits; quote it if it is a text [99999999999999999999]",
        "4:5: error: `*` begins an alias in YAML, but no anchor `&y` comes before it; quote the whole value: `\"*y\"` [*y]",
        "4:9: error: a double cannot be a key; quote it if it is a text [1.5]",
        "5:10: error: ` #` begins a comment, even inside `${{`; quote the whole value: `\"${{ x #z }}\"` [#]",
        "6:4: error: a value that begins with a quote ends at the next one; quote the whole value: `\"'f' + g\"` ['f' + g]",
      ])
  }

  @Test func `expands aliases, the nearest anchor before them counting`() throws {
    let value = try read("a: &x [1]\nb: *x\nc: &y {d: *x}\ne: *y\n&x g: *x\n? &k key\n: v\nf: *k")
    #expect(value["b"] == .list([.int(1)]))
    #expect(value["e"] == value["c"])
    #expect(value.at(["e", "d", "0"]) == .int(1))
    #expect(value["g"] == .string("g"))
    #expect(value["f"] == .string("key"))
  }

  @Test(arguments: [
    ([0x61, 0xFF, 0x0A], ["1:2: error: the byte FF isn't valid UTF-8; save the file as UTF-8"]),
    ([0x61, 0xC3], ["1:2: error: the byte C3 isn't valid UTF-8; save the file as UTF-8"]),
    (
      [0xC0, 0xAF],
      [
        "1:1: error: the byte C0 isn't valid UTF-8; save the file as UTF-8",
        "1:2: error: the byte AF isn't valid UTF-8; save the file as UTF-8",
      ]
    ),
    (
      [0x0A, 0xED, 0xA0, 0x80],
      [
        "2:1: error: the byte ED isn't valid UTF-8; save the file as UTF-8",
        "2:2: error: the byte A0 isn't valid UTF-8; save the file as UTF-8",
        "2:2: error: the byte 80 isn't valid UTF-8; save the file as UTF-8",
      ]
    ),
    ([0xF4, 0x90, 0x80, 0x80], ["1:1: error: the byte F4 isn't valid UTF-8; save the file as UTF-8"]),
    ([0xFF, 0xFE, 0x61, 0x00], ["1:1: error: the file is UTF-16; save it as UTF-8"]),
  ])
  func `refuses bytes that are no UTF-8`(_ bytes: [UInt8], _ expected: [String]) {
    let first = faults(in: bytes).prefix(expected.count).map { $0.prefix { $0 != "[" }.trimmed }
    #expect(first == expected)
  }

  @Test(arguments: [
    (
      "a: b\u{7}",
      "1:5: error: a control character (U+0007) is in the text; in double quotes write it as \\u0007 [\u{7}]"
    ),
    ("é\0", "1:2: error: a control character (U+0000) is in the text; in double quotes write it as \\u0000 [\0]"),
    (
      "a\u{7F}",
      "1:2: error: a control character (U+007F) is in the text; in double quotes write it as \\u007F [\u{7F}]"
    ),
    (
      "a\u{9F}",
      "1:2: error: a control character (U+009F) is in the text; in double quotes write it as \\u009F [\u{9F}]"
    ),
    ("a: b\n\u{FEFF}c: d", "2:1: error: a byte order mark (U+FEFF) is inside the text; remove it [\u{FEFF}]"),
    (
      "a: b\u{85}c",
      "1:5: error: an invisible next line (U+0085) is in the text; remove it, or in double quotes write \\N [\u{85}]"
    ),
    (
      "a: b\u{2028}c",
      "1:5: error: an invisible line separator (U+2028) is in the text; remove it, or in double quotes write \\L [\u{2028}]"
    ),
    (
      "a: b\u{2029}c",
      "1:5: error: an invisible paragraph separator (U+2029) is in the text; remove it, or in double quotes write \\P [\u{2029}]"
    ),
    (
      "a: b\u{202E}c",
      "1:5: warning: an invisible control (U+202E) lets text look different from what it says; in double quotes write it as \\u202E [\u{202E}]"
    ),
  ])
  func `refuses what cannot be seen`(_ text: String, _ fault: String) {
    #expect(faults(in: text) == [fault])
  }

  @Test func `does not go on at length about a binary file`() {
    let list = faults(in: [UInt8](repeating: 0, count: 5000))
    #expect(list.count == 11)
    #expect(list.last == "1:11: error: this and what follows isn't text either; is this the right file? [\0]")
  }
}

extension Substring {
  fileprivate var trimmed: String { String(self.last == " " ? self.dropLast() : self) }
}
