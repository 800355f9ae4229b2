import ActionKit
import Testing

enum Colour: String, Choice {
  case red
  case green
}

struct Mark: FieldSet {
  @Field("Who.") var student: String
  @Field("How many.", .min(0)) var points: Int
}

struct Sheet: FieldSet {
  @Field("Key of the sheet.") var key: Int
  @Field("How many to ask for at a time.", .range(1...500)) var pageSize = 50
  @Field("What was written about it.", .maxLength(20)) var comment: String?
  @Field("Its colour.") var colour: Colour = .red
  @Field("The marks on it.", .maxLength(2)) var marks: [Mark] = []
  @Field("The factor.", .max(10), aliases: ["scale"]) var factor = 1.0
  @Field("When it is due.", .max(Timestamp.latest)) var due: Timestamp?
  @Field("How long it takes.", .max(.seconds(3600))) var takes: TimeSpan?
  @Field("What opens it.", .minLength(4)) var token: Secret<String>?
  @Field("The picture of it.") var picture: [UInt8]?
  @Field("Words by language.", .each(.notEmpty)) var words: [String: String] = [:]
  @Field("The days it is on.", .each(.pattern(.date))) var days: [String] = []
  @Field("Whatever else there is.") var rest: Value?
  @Field("Whether it counts.", deprecated: "Give 'factor' as 0.") var counts: Bool?
}

struct Period: ValidatedFieldSet {
  @Field("The first day.") var from: String
  @Field("The last day.") var until: String

  func conflicts() -> [Conflict] { from <= until ? [] : [Conflict("must not be before 'from'", at: "until")] }
}

struct Report: FieldSet {
  @Field("The time it speaks of.") var period: Period
}

/// The faults in a JSON text, as `line:column: severity: message`.
func faults(_ schema: ObjectSchema, _ json: String) throws -> [String] {
  let source = Source(name: "", text: json)
  let found = schema.check(
    try JSON.parse(source.bytes), as: "with", isExpression: { value, _, _ in value.string?.hasPrefix("${{") == true },
    spelling: { value in value.place.offset.map { String(json.dropFirst($0).prefix { $0 != "," && $0 != "}" }) } })
  return found.map { fault in
    let position = source.position(at: fault.place.offset ?? 0)
    return "\(position.line):\(position.column): \(fault.severity.rawValue): \(fault.message)"
  }
}

@Suite struct FieldSetTests {
  @Test func `reads given, default and absent fields`() throws {
    let sheet = try Sheet(
      checking: JSON.parse(
        """
        {"key": 7, "colour": "green", "scale": 2, "due": "2026-11-20T09:30:00Z", "comment": null, "token": "abcd",
         "takes": "1h", "marks": [{"student": "Ann", "points": 3}], "picture": "AQI=", "rest": [null]}
        """))
    #expect(sheet.key == 7)
    #expect(sheet.pageSize == 50)
    #expect(sheet.comment == nil)
    #expect(sheet.colour == .green)
    #expect(sheet.factor == 2)
    #expect(sheet.due == Timestamp("2026-11-20T09:30:00Z"))
    #expect(sheet.takes == .seconds(3600))
    #expect(sheet.marks.map(\.student) == ["Ann"])
    #expect(sheet.token?.reveal() == "abcd")
    #expect(sheet.picture == [1, 2])
    #expect(sheet.rest == .list([.null]))
  }

  @Test func `writes defaults and leaves out what is absent`() throws {
    let sheet = try Sheet {
      $0.key = 7
      $0.marks = [
        try Mark {
          $0.student = "Ann"
          $0.points = 3
        }
      ]
      $0.words = ["z": "last", "é": "after ASCII", "a": "first"]
    }
    #expect(
      try JSON.text(sheet.encoded()) == """
        {"key":7,"pageSize":50,"colour":"red","marks":[{"student":"Ann","points":3}],"factor":1.0,\
        "words":{"a":"first","z":"last","é":"after ASCII"},"days":[]}
        """)
  }

  @Test func `what went through JSON gets its kinds back`() throws {
    let written = try Sheet {
      $0.key = 1
      $0.due = .latest
      $0.takes = .milliseconds(1500)
      $0.picture = [0, 255]
      $0.factor = 2
      $0.rest = .object(["due": .string("2026-11-20T09:30:00Z")])
    }.encoded()
    let read = try JSON.parse(JSON.write(written))
    #expect(read != written)
    #expect(Sheet.schema.restored(read) == written)
  }

  @Test func `cannot be made without a field that must be given`() {
    let error = #expect(throws: ValueError.self) { try Mark { $0.points = 3 } }
    #expect(error?.description == "Mark.student was never set")
  }

  @Test func `a set that was only declared cannot be written`() {
    let error = #expect(throws: ValueError.self) { try Mark().encoded() }
    #expect(error?.description == "Mark.student was never set")
  }

  @Test(
    arguments: [
      (#"{"key": 7}"#, []),
      (#"{"key": "${{ steps.find.key }}", "marks": "${{ all }}", "words": {"de": "${{ word }}"}}"#, []),
      (
        #"{"kye": 7}"#,
        [
          // The field that was probably meant is not missing as well.
          "1:2: error: 'with' has no field 'kye'; did you mean 'key'?"
        ]
      ),
      (
        #"{"key": "7", "comment": 007.50}"#.replacing("007.50", with: "7.50"),
        [
          "1:9: error: 'with.key' must be an int, but found a string; write it without quotes, 7",
          """
          1:25: error: 'with.comment' must be a string, but found a double; \
          write it in quotes, "7.50", if it is meant as text
          """,
        ]
      ),
      (#"{"key": 7.0}"#, ["1:9: error: 'with.key' must be an int, but found a double; write 7"]),
      (#"{"key": null}"#, ["1:9: error: 'with.key' is empty (int): Key of the sheet"]),
      (
        #"{"key": 7, "pageSize": null}"#,
        ["1:24: error: 'with.pageSize' is empty; leave it out to have 50"]
      ),
      (#"{"key": 7, "pageSize": 0}"#, ["1:24: error: 'with.pageSize' must be at least 1, but is 0"]),
      (#"{"key": 7, "pageSize": 501}"#, ["1:24: error: 'with.pageSize' must be at most 500, but is 501"]),
      (#"{"key": 7, "factor": 11}"#, ["1:22: error: 'with.factor' must be at most 10.0, but is 11.0"]),
      (
        #"{"key": 7, "colour": "gren"}"#,
        ["1:22: error: 'with.colour' must be 'red' or 'green', but found 'gren'; did you mean 'green'?"]
      ),
      (
        #"{"key": 7, "marks": [{"student": "Ann"}, {}, 3]}"#,
        [
          "1:21: error: 'with.marks' must have at most 2 items, but has 3",
          "1:22: error: 'with.marks[0]' needs 'points' (int): How many",
          "1:42: error: 'with.marks[1]' needs 'student' (string): Who",
          "1:42: error: 'with.marks[1]' needs 'points' (int): How many",
          "1:46: error: 'with.marks[2]' takes a map of fields, but found an int",
        ]
      ),
      (
        #"{"key": 7, "comment": "Twenty-one letters ü."}"#,
        ["1:23: error: 'with.comment' must have at most 20 characters, but has 21"]
      ),
      (
        #"{"key": 7, "due": "tomorrow", "takes": 90, "picture": "!"}"#,
        [
          "1:19: error: 'with.due' must be a timestamp such as 2026-11-20T09:30:00Z, but found 'tomorrow'",
          "1:40: error: 'with.takes' must be a duration such as 1h30m, but found an int; say the unit, such as 90s",
          "1:55: error: 'with.picture' must be bytes in base64, but found '!'",
        ]
      ),
      (#"{"key": 7, "takes": "2h"}"#, ["1:21: error: 'with.takes' must be at most 1h, but is 2h"]),
      (#"{"key": 7, "token": "abc"}"#, ["1:21: error: 'with.token' must have at least 4 characters"]),
      (#"{"key": 7, "token": 12345}"#, ["1:21: error: 'with.token' must be a string"]),
      (
        #"{"key": 7, "words": {"de": "", "pt-br": 3}}"#,
        [
          "1:28: error: 'with.words.de' must not be empty",
          """
          1:41: error: 'with.words["pt-br"]' must be a string, but found an int; \
          write it in quotes, "3", if it is meant as text
          """,
        ]
      ),
      (
        #"{"key": 7, "days": ["2026-02-29"]}"#,
        ["1:21: error: 'with.days[0]' must be a date such as 2026-11-20, but is '2026-02-29'"]
      ),
      (
        #"{"key": 7, "days": "2026-02-28"}"#,
        ["1:20: error: 'with.days' must be a list of string, but found a string; write it as a list, ['2026-02-28']"]
      ),
      (
        #"{"key": 7, "scale": 2, "counts": true}"#,
        [
          "1:12: warning: 'with.scale' is now called 'factor'",
          "1:24: warning: 'with.counts' should not be given any more: Give 'factor' as 0",
        ]
      ),
      (
        #"{"key": 7, "counts": "yes"}"#,
        [
          "1:12: warning: 'with.counts' should not be given any more: Give 'factor' as 0",
          "1:22: error: 'with.counts' must be a bool, but found a string; YAML reads 'yes' as text, write true",
        ]
      ),
      (
        #"{"key": 7, "factor": 1, "scale": 2}"#,
        ["1:25: error: 'with' has both 'factor' and its former name 'scale'"]
      ),
      ("[7]", ["1:1: error: 'with' takes a map of fields, but found a list"]),
    ] as [(String, [String])])
  func `says all that is wrong, and where`(json: String, expected: [String]) throws {
    #expect(try faults(Sheet.schema, json) == expected)
  }

  @Test func `tells of each expression what is wanted in its place`() throws {
    let json = """
      {"key": "${{ a }}", "marks": [{"student": "${{ b }}", "points": 1}, "${{ c }}"], "token": "${{ d }}",
       "comment": "${{ e }}", "rest": {"deep": [1, "${{ f }}"]}, "words": {"a-b": "${{ g }}"}, "days": "${{ h }}"}
      """
    var met: [String] = []
    let found = Sheet.schema.check(try JSON.parse(json), as: "with") { value, type, path in
      guard let text = value.string, text.hasPrefix("${{") else { return false }
      met.append("\(path): \(type.inputType)")
      return true
    }
    #expect(found.isEmpty)
    #expect(
      met == [
        "with.key: int", "with.marks[0].student: string", "with.marks[1]: object", "with.token: secret(string)",
        "with.comment: string", "with.rest.deep[1]: dyn", "with.words[\"a-b\"]: string", "with.days: list(string)",
      ])
  }

  @Test func `shows nothing of a secret, however it is made up`() throws {
    let schema = ObjectSchema(fields: [
      FieldSchema("pins", .secret(.list(.choice(["1234", "5678"]))), "The pins.", limits: [.maxLength(1)])
    ])
    let found = try faults(schema, #"{"pins": ["4321", 9]}"#)
    #expect(
      found == [
        "1:10: error: 'with.pins' must have at most 1 item",
        "1:11: error: 'with.pins[0]' must be '1234' or '5678'",
        "1:19: error: 'with.pins[1]' must be '1234' or '5678'",
      ])
  }

  @Test(
    arguments: [
      (#"{"period": {"from": "1", "until": "2"}}"#, []),
      (#"{"period": {"from": "2", "until": "1"}}"#, ["1:35: error: 'with.period.until' must not be before 'from'"]),
      (#"{"period": {"from": "2", "until": "${{ day }}"}}"#, []),
      (
        #"{"period": {"from": 2, "until": "1"}}"#,
        [
          """
          1:21: error: 'with.period.from' must be a string, but found an int; \
          write it in quotes, "2", if it is meant as text
          """
        ]
      ),
    ] as [(String, [String])])
  func `asks for rules between fields once all of them are literal and right`(json: String, expected: [String]) throws {
    #expect(try faults(Report.schema, json) == expected)
  }

  @Test func `inputs may leave out what has a default, outputs only what is optional`() throws {
    guard case .object(let given) = Sheet.schema.inputType, case .object(let got) = Sheet.schema.outputType else {
      throw ValueError("a set is an object")
    }
    #expect(given.fields.filter { !$0.isOptional }.map(\.name) == ["key"])
    #expect(
      got.fields.filter { !$0.isOptional }.map(\.name)
        == ["key", "pageSize", "colour", "marks", "factor", "words", "days"])
    #expect(given["token"]?.type == .secret(.string))
    #expect(given["colour"]?.type == .choice(["red", "green"]))
    #expect(given["picture"]?.type == .bytes)
    #expect(given["rest"]?.type == .dyn)
    #expect(given["words"]?.type == .map(.string, .string))
    #expect(given["marks"]?.summary == "The marks on it.")
    #expect(given["marks"]?.type.description == "list(object)")
  }

  @Test func `a secret is not printed, dumped or described`() {
    let secret = Secret("hunter2")
    var dumped = ""
    dump(["key": secret], to: &dumped)
    #expect("\(secret) \(String(reflecting: secret)) \([secret]) \(dumped)".contains("hunter2") == false)
    #expect("\(secret)" == "•••")
    #expect(secret.reveal() == "hunter2")
  }

  @Test func `keys that only Swift takes for one are refused, not merged`() throws {
    let value = Value.map(ValueMap([("é", .int(1)), ("e\u{301}", .int(2))]))
    let error = #expect(throws: ValueError.self) { try [String: Int](reading: value) }
    #expect(error?.description == "two keys look the same, 'e\u{301}', and differ in their Unicode scalars")
  }

  @Test func `null is a value where anything is, and the absence of one elsewhere`() throws {
    struct Anything: FieldSet {
      @Field("Anything.") var it: Value
      @Field("Something with a default.") var number: Int? = 3
    }
    let read = try Anything(checking: .object(["it": .null]))
    #expect(read.it == .null)
    #expect(read.number == 3)
    #expect(try read.encoded() == .object(["it": .null, "number": .int(3)]))
  }

  @Test func `a property without @Field is found, and ends no process`() {
    struct Odd: FieldSet {
      @Field("A field.") var good: Int
      var bad = 3
      let apart = Field<Int>("A field without its wrapper.")
    }
    let bad = "the property 'bad' is not declared with @Field"
    #expect(Odd.schema.declarationFaults == [bad, "the property 'apart' is not declared with @Field"])
    let error = #expect(throws: ValueError.self) { try Odd(reading: .object(["good": .int(1), "bad": .int(2)])) }
    #expect(error?.description == "Odd: \(bad)")
    #expect(throws: ValueError.self) { try Odd { $0.good = 1 } }
  }

  @Test func `fields of every size and alignment are read, written and left as declared`() throws {
    struct Part: FieldSet {
      @Field("A flag.") var flag = true
      @Field("Texts.") var texts: [String]
    }
    struct Mixed: FieldSet {
      @Field("A flag.") var first: Bool
      @Field("A day's length.") var length: TimeSpan?
      @Included var part: Part
      @Field("Octets.") var bytes: [UInt8] = [1]
      @Field("Numbers.") var numbers: [String: Double] = ["a": 0.5]
      @Field("Parts.") var parts: [Part] = []
      @Field("A flag that may be left out.") var last: Bool?
    }
    let text = #"{"first":false,"length":"1h","flag":false,"texts":["x"],"parts":[{"texts":[]}],"last":true}"#
    let read = try Mixed(checking: JSON.parse(text))
    #expect((read.first, read.length, read.part.flag) == (false, TimeSpan("1h"), false))
    #expect((read.part.texts, read.bytes, read.numbers, read.last) == (["x"], [1], ["a": 0.5], true))
    #expect(read.parts.map(\.flag) == [true])
    var copy = read
    copy.part.texts = []
    #expect(read.part.texts == ["x"])
    #expect(try Mixed(reading: read.encoded()).encoded() == read.encoded())
    // The next value holds nothing of the previous one.
    let bare = try Mixed(checking: JSON.parse(#"{"first":true,"texts":[]}"#))
    #expect((bare.length, bare.part.flag, bare.last, bare.parts.count) == (nil, true, nil, 0))
  }

  @Test func `a set that is no struct is found, and nothing of it is lost silently`() {
    enum Odd: FieldSet {
      case only
      init() { self = .only }
    }
    #expect(Odd.schema.declarationFaults == ["it is not a struct"])
    let error = #expect(throws: ValueError.self) { try Odd.only.encoded() }
    #expect(error?.description == "Odd: it is not a struct")
  }

  @Test func `an included set stands flat among the fields`() throws {
    struct Inner: FieldSet {
      @Field("A name.") var name: String
      @Field("How many.") var count = 2
      @Field("A comment.") var comment: String?
    }
    struct Outer: FieldSet {
      @Field("Key of it.") var key: Int
      @Included var inner: Inner
      @Field("The end.") var end: Int?
    }
    #expect(Outer.schema.fields.map(\.name) == ["key", "name", "count", "comment", "end"])
    #expect(Outer.schema.declarationFaults == [])
    #expect(try faults(Outer.schema, #"{"key":1}"#) == ["1:1: error: 'with' needs 'name' (string): A name"])
    let read = try Outer(checking: JSON.parse(#"{"key":1,"name":"n"}"#))
    #expect((read.inner.name, read.inner.count, read.inner.comment) == ("n", 2, nil))
    #expect(try read.encoded() == .object(["key": .int(1), "name": .string("n"), "count": .int(2)]))
    let made = try Outer {
      $0.key = 1
      $0.inner.name = "n"
    }
    #expect(try made.encoded() == read.encoded())
    let error = #expect(throws: ValueError.self) { try Outer { $0.key = 1 } }
    #expect(error?.description == "Outer.name was never set")
  }

  @Test func `a default that lacks something is no default`() throws {
    struct Outer: FieldSet {
      @Field("A mark.") var mark = Mark()
    }
    #expect(try faults(Outer.schema, "{}") == ["1:1: error: 'with' needs 'mark' (object): A mark"])
    let error = #expect(throws: ValueError.self) { try Outer(reading: .object([:])) }
    #expect(error?.description == "Mark.student was never set")
  }

  @Test func `what differs from one answer to the next is left out, however deep it is`() throws {
    struct Copy: FieldSet {
      @Field("What it says.") var text: String
      @Field("When it came.", .volatile) var cachedAt: Timestamp
    }
    struct Answer: FieldSet {
      @Field("One.") var one: Copy?
      @Field("Many.") var many: [Copy] = []
      @Field("By name.", .volatile) var headers: [String: String] = [:]
      @Field("By key.") var copies: [String: Copy] = [:]
      @Field("Anything.") var rest: Value?
    }
    #expect(Answer.schema.fields.map(\.isVolatile) == [false, false, true, false, false])
    let copy = #"{"text":"a","cachedAt":"2026-01-05T09:00:00Z"}"#
    let answer = try JSON.parse(
      #"{"one":\#(copy),"many":[\#(copy),\#(copy)],"headers":{"date":"x"},"copies":{"b":\#(copy)},"#
        + #""rest":{"cachedAt":1}}"#)
    #expect(
      try JSON.text(Answer.schema.withoutVolatile(answer))
        == #"{"one":{"text":"a"},"many":[{"text":"a"},{"text":"a"}],"copies":{"b":{"text":"a"}},"#
        + #""rest":{"cachedAt":1}}"#)
  }

  @Test func `a double is finite`() throws {
    let value = Value.object(["key": .int(1), "factor": .double(.nan)])
    #expect(Sheet.schema.check(value, as: "with").map(\.message) == ["'with.factor' must be finite, but is nan"])
    let sheet = try Sheet {
      $0.key = 1
      $0.factor = .infinity
    }
    let error = #expect(throws: ValueError.self) { try sheet.encoded() }
    #expect(error?.description == "a double must be finite, but is inf")
  }
}
