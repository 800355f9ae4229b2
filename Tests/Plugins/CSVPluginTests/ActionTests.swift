import ActionKit
import ActionTestKit
import Foundation
import LocalFiles
import Testing

@testable import CSVPlugin

private let catalog = ActionCatalog([CSVPlugin.self])

private func action(_ name: String) throws -> ActionDescriptor { try #require(catalog.action("csv.\(name)")) }

private func run(_ name: String, _ input: Value) async throws -> Value {
  let action = try action(name)
  return try await withSandbox(of: CSVPlugin.self) { files, _ in
    let output = try await action.run(input, on: files, in: .testing())
    #expect(action.output.check(output, as: "output").map(\.message) == [])
    return output
  }
}

/// The rows of a text as JSON, or the error's message.
private func rows(_ text: String, _ settings: String) async throws -> String {
  var input = try #require(JSON.parse(settings).map)
  input["text"] = .string(text)
  do { return try JSON.text(await run("parse", .map(input))["rows"] ?? .null) } catch let error as ActionError {
    return error.message
  }
}

@Suite struct ActionTests {
  @Test func `is well formed`() { expectWellFormed(CSVPlugin.self) }

  @Test func `does in the sandbox what its examples say`() async { await expectExamplesRun(of: CSVPlugin.self) }

  @Test(arguments: [
    ("read", #"{"path":"P"}"#), ("write", #"{"path":"P","rows":[]}"#),
  ])
  func `keeps to its folder`(_ name: String, _ input: String) async throws {
    try await expectKeptInside(
      catalog.action("csv.\(name)"), on: LocalFiles(LocalFilesConfiguration()), input)
  }

  @Test(arguments: [
    ("a,b\r\n1,\"x\ny\"\r\n", "{}", #"[{"a":"1","b":"x\ny"}]"#),
    ("a;b\n007;1,5\n", #"{"separator":";","decimal":",","columns":{"a":"int","b":"double"}}"#, #"[{"a":7,"b":1.5}]"#),
    (
      "n,i,d,b,t\n x ,-1, 2.5e3 ,YES,2024-02-29\n,,,,\n",
      #"{"columns":{"n":"string","i":"int?","d":"double?","b":"bool?","t":"date?"}}"#,
      #"[{"n":" x ","i":-1,"d":2500.0,"b":true,"t":"2024-02-29"},{"n":""}]"#
    ),
    ("a,b\n1,2\n", #"{"columns":{"b":"string?"}}"#, #"[{"b":"2"}]"#),
    ("1,2\n3,4\n", #"{"names":["x","y"],"columns":{"y":"int"}}"#, #"[{"y":2},{"y":4}]"#),
    ("1,2\n3\n", #"{"names":["x","y"]}"#, "the text cannot be read: line 2 has 1 fields, and 'names' 2."),
    ("", "{}", "[]"), ("a,b\n", #"{"columns":{"a":"int"}}"#, "[]"),
    ("", #"{"columns":{"a":"int"}}"#, "the text cannot be read: it has no column 'a', for it is empty."),
    (
      "a,mark\n1,2\n", #"{"columns":{"mrak":"int","q":"int"}}"#,
      "the text cannot be read: it has no column 'mrak'; did you mean 'mark'?; it has no column 'q'; it has a, mark."
    ),
    (
      "mark\n1\n\"1\n2\"\n0x10\n\n", #"{"columns":{"mark":"double"}}"#,
      "the text cannot be read: line 3, column 'mark': '1\n2' is not a number; line 5, column 'mark': '0x10' is not a "
        + "number."
    ),
    (
      "a,b,c,d\n,nan,maybe,2023-02-29\n", #"{"columns":{"a":"int","b":"double","c":"bool","d":"date"}}"#,
      "the text cannot be read: line 2, column 'a': it is empty; write int? if it may be; line 2, column 'b': 'nan' is not "
        + "a number; line 2, column 'c': 'maybe' is not true or false; line 2, column 'd': '2023-02-29' is not a date such "
        + "as 2026-11-20."
    ),
    (
      "a\n1e999\n", #"{"columns":{"a":"double"}}"#,
      "the text cannot be read: line 2, column 'a': '1e999' is not a number."
    ),
    (
      "a\n9223372036854775808\n", #"{"columns":{"a":"int"}}"#,
      "the text cannot be read: line 2, column 'a': '9223372036854775808' is not an int."
    ),
    (
      "a\n1\n2\n3\n", #"{"limit":2}"#,
      "the text cannot be read: it has more than 2 rows; raise 'limit' if they are wanted."
    ),
    ("a\n1,2\n", "{}", "the text cannot be read: line 2 of the CSV has 2 fields and the first 1."),
    (
      "a\n1\n", #"{"separator":";;"}"#,
      "'input.separator' must be one ASCII character such as ';' or a tab, no quote and no line break, but is ';;'"
    ),
    (
      "a\n1\n", #"{"columns":{"a":"integer"}}"#,
      "'input.columns.a' must be 'string' or 'int' or 'double' or 'bool' or 'date' or 'string?' or 'int?' or 'double?' or "
        + "'bool?' or 'date?', but found 'integer'"
    ),
  ])
  func `reads rows`(_ text: String, _ settings: String, _ result: String) async throws {
    #expect(try await rows(text, settings) == result)
  }

  @Test(arguments: [
    ("{}", "list(map(string, string))", ""), (#"{"columns":null}"#, "list(map(string, string))", ""),
    (#"{"columns":"${{ x }}"}"#, "list(map(string, dyn))", ""),
    (
      #"{"columns":{"a":"int?","b":"date","c":"${{ x }}","d":"wrong"}}"#, "list(object)",
      "a: int optional, b: string, c: dyn optional, d: dyn optional"
    ),
  ])
  func `tells the checker what rows there will be`(_ input: String, _ type: String, _ fields: String) throws {
    guard case .object(let output) = try action("parse").outputType(for: try JSON.parse(input)),
      let rows = output["rows"]?.type
    else { throw Unexpected() }
    #expect(rows.description == type)
    guard case .list(.object(let row)) = rows else { return #expect(fields == "") }
    #expect(
      row.fields.map { "\($0.name): \($0.type)\($0.isOptional ? " optional" : "")" }.joined(separator: ", ") == fields)
  }

  private struct Unexpected: Error {}

  @Test(arguments: [
    (#"{"rows":[{"b":"x,y","a":1},{"a":2.0,"c":null}]}"#, "b,a,c\n\"x,y\",1,\n,2,\n"),
    (#"{"rows":[{"b":1,"a":true}],"columns":["a"],"lineBreak":"crlf","byteOrderMark":true}"#, "\u{FEFF}a\r\ntrue\r\n"),
    (#"{"rows":[{"a":"x;\"y\""}],"separator":";","header":false}"#, "\"x;\"\"y\"\"\"\n"), (#"{"rows":[]}"#, ""),
    (#"{"rows":[],"columns":["a","b"]}"#, "a,b\n"),
    (#"{"rows":[{},{"a":1e21}]}"#, "a\n\"\"\n1e+21\n"),
    (
      #"{"rows":[{"a":1},{"a":[1]}]}"#,
      "'a' of row 2 is a list, which no field can hold; write json.format(x) for it."
    ),
  ])
  func `writes rows`(_ input: String, _ result: String) async throws {
    do {
      #expect(try await run("format", JSON.parse(input))["text"] == .string(result))
    } catch let error as ActionError {
      #expect(error.message == result)
    }
  }

  @Test func `writes a file, and leaves it alone while it says the same`() async throws {
    let write = try action("write")
    try await withSandbox(of: CSVPlugin.self) { files, sandbox in
      let input = try JSON.parse(#"{"path":"a/b.csv","rows":[{"a":1}]}"#)
      let path = "\(sandbox.baseURL)/a/b.csv"
      let context = ActionContext.testing()
      #expect(
        try await write.preview(input, on: files, in: context) == [
          Change("the file '\(path)'", from: nil, to: "1 rows, 4 bytes")
        ])
      #expect(
        try await write.run(input, on: files, in: context)
          == .object(["path": .string(path), "rows": .int(1), "changed": .bool(true)]))
      #expect(try await write.preview(input, on: files, in: context) == [])
      let back = try await action("read").run(try JSON.parse(#"{"path":"a/b.csv"}"#), on: files, in: context)
      #expect(back["rows"] == .list([.object(["a": .string("1")])]))
    }
  }

  @Test func `names the file, the line and the column of a fault`() async throws {
    let error = await #expect(throws: ActionError.self) {
      _ = try await run("read", try JSON.parse(#"{"path":"marks.csv","columns":{"mark":"double"}}"#))
    }
    #expect(error?.kind == .validation)
    #expect(
      error?.message.hasSuffix(
        "/marks.csv' cannot be read: line 4, column 'mark': it is empty; write double? if it may be.") == true)
  }

  private static let bom: [UInt8] = [0xEF, 0xBB, 0xBF]

  @Test(
    arguments: [
      (ReadEncoding.auto, Array("ő".utf8), "ő"), (.auto, bom + Array("ő".utf8), "ő"),
      (.auto, [0xFF, 0xFE, 0x51, 0x01, 0x3D, 0xD8, 0x00, 0xDE], "ő😀"), (.auto, [0xFE, 0xFF, 0x01, 0x51], "ő"),
      (.utf16, [0xFE, 0xFF, 0x01, 0x51], "ő"), (.utf16LE, [0x51, 0x01], "ő"), (.utf16BE, [0x01, 0x51], "ő"),
      (.utf16LE, [0xFF, 0xFE, 0x51, 0x01], "ő"), (.latin1, [0x41, 0xE9, 0x85], "Aé\u{85}"),
      (.windows1252, [0x41, 0xE9, 0x80, 0x85, 0x9F], "Aé€…Ÿ"), (.utf8, [], ""),
      (
        .auto, Array("a\nb".utf8) + [0xE9, 0x0A],
        "'f' is not in UTF-8: line 2, byte 4 (0xE9) fits no character; say as its 'encoding' what it is, such as windows-1252."
      ),
      (
        .utf8, bom + [0x0A, 0x61, 0xC3],
        "'f' is not in UTF-8: line 2, byte 6 (0xC3) fits no character; say as its 'encoding' what it is, such as windows-1252."
      ),
      (
        .windows1252, [0x0A, 0x0A, 0x81],
        "'f' is not in windows-1252: line 3, byte 3 (0x81) fits no character; say as its 'encoding' what it is, such as "
          + "windows-1252."
      ),
      (
        .utf16, [0x51, 0x01], "'f' has no byte order mark; say utf-16le or utf-16be as its 'encoding', whichever it is."
      ),
      (.utf16LE, [0x51], "'f' is not in utf-16le: it has an odd number of bytes."),
      (
        .auto, [0xFF, 0xFE, 0x0A, 0x00, 0x00, 0xD8, 0x41, 0x00],
        "'f' is not in utf-16le: line 2, byte 5 begins half a character."
      ),
      (.utf16BE, [0xDC, 0x00], "'f' is not in utf-16be: line 1, byte 1 begins half a character."),
    ] as [(ReadEncoding, [UInt8], String)])
  func `reads characters however they are written`(_ encoding: ReadEncoding, _ bytes: [UInt8], _ result: String) {
    do throws(ActionError) { #expect(try encoding.text(of: bytes, called: "'f'") == result) } catch {
      #expect(error.message == result && error.kind == .validation)
    }
    do throws(ActionError) { #expect(try encoding.utf8(of: bytes, called: "'f'") == Array(result.utf8)) } catch {
      #expect(error.message == result && error.kind == .validation)
    }
  }

  @Test(
    arguments: [
      (WriteEncoding.utf8, "é€😀", Array("é€😀".utf8)), (.utf16, "é😀", [0xFF, 0xFE, 0xE9, 0x00, 0x3D, 0xD8, 0x00, 0xDE]),
      (.latin1, "é\u{85}", [0xE9, 0x85]), (.windows1252, "é€Ÿ", [0xE9, 0x80, 0x9F]),
    ] as [(WriteEncoding, String, [UInt8])])
  func `writes characters as they are wanted`(_ encoding: WriteEncoding, _ text: String, _ bytes: [UInt8]) throws {
    #expect(try encoding.bytes(of: Array(text.utf8), hasMark: false) == bytes)
  }

  @Test(arguments: [
    (WriteEncoding.latin1, "a\n€", "'€' (U+20AC) on line 2, byte 3 of the file has no place in latin-1"),
    (.windows1252, "ő", "'ő' (U+151) on line 1, byte 1 of the file has no place in windows-1252"),
    (.windows1252, "\u{85}", "'\u{85}' (U+85) on line 1, byte 1 of the file has no place in windows-1252"),
  ])
  func `says which character cannot be written`(_ encoding: WriteEncoding, _ text: String, _ message: String) {
    let error = #expect(throws: ActionError.self) { try encoding.bytes(of: Array(text.utf8), hasMark: false) }
    #expect(error?.message == message + "; write it in utf-8 or utf-16.")
  }

  @Test func `a table comes back from a file in any encoding, which Python reads likewise`() async throws {
    try await withSandbox(of: CSVPlugin.self) { files, sandbox in
      for (encoding, name) in [
        ("utf-8", "utf-8"), ("utf-16", "utf-16"), ("latin-1", "latin-1"), ("windows-1252", "cp1252"),
      ] {
        let place = encoding == "latin-1" ? "Zürich" : encoding == "windows-1252" ? "Zürich €" : "Zürich ő 😀"
        let rows = Value.list([.object(["place": .string(place)])])
        let path = "\(encoding).csv"
        _ = try await action("write").run(
          .object(["path": .string(path), "rows": rows, "encoding": .string(encoding)]), on: files, in: .testing())
        let input = Value.object([
          "path": .string(path), "encoding": .string(encoding.hasPrefix("utf") ? "auto" : encoding),
        ])
        let back = try await action("read").run(input, on: files, in: .testing())
        #expect(back["rows"] == rows)
        let program = "import json, sys; p, e = json.load(sys.stdin); json.dump(open(p, encoding=e).read(), sys.stdout)"
        guard
          let text = try await python(
            on: "encodings", program, input: JSON.write(.list([.string("\(sandbox.baseURL)/\(path)"), .string(name)])))
        else { return }
        #expect(try JSON.parse(text) == .string("place\n\(place)\n"))
      }
    }
    await #expect {
      try await run(
        "write", JSON.parse(#"{"path":"x","rows":[],"encoding":"latin-1","byteOrderMark":true}"#))
    } throws: {
      ActionError($0).message == "'input.byteOrderMark' goes with utf-8 alone"
    }
  }

  /// Python's `csv` is the oracle, both ways; without Python there is none.
  @Test func `agrees with another implementation`() async throws {
    let program = """
      import csv, io, json, sys
      asked = json.load(sys.stdin)
      read = [list(csv.reader(io.StringIO(t, newline=''), strict=True)) for t in asked['texts']]
      written = []
      for records in asked['records']:
        out = io.StringIO()
        csv.writer(out, lineterminator='\\n').writerows(records)
        written.append(out.getvalue())
      json.dump({'read': read, 'written': written}, sys.stdout)
      """
    var chance = Chance(state: 42)
    let alphabet = ["a", "é", ",", "\"", "\n", "\r\n", " ", "0", "", "日", "\t"]
    let records = (0..<200).map { _ in
      let width = chance.next(4) + 1
      return (0...chance.next(4)).map { _ in
        (0..<width).map { _ in (0..<chance.next(5)).map { _ in alphabet[chance.next(alphabet.count)] }.joined() }
      }
    }
    let texts = records.map { records in
      var writer = CSVWriter(separator: UInt8(ascii: ","))
      for record in records { writer.append(record) }
      return String(decoding: writer.bytes, as: UTF8.self)
    }
    let asked = Value.object([
      "texts": .list(texts.map { .string($0) }),
      "records": .list(records.map { .list($0.map { .list($0.map { .string($0) }) }) }),
    ])
    guard let answer = try await python(on: "CSV", program, input: JSON.write(asked)) else { return }
    let told = try JSON.parse(answer)
    #expect(told["read"]?.list?.map { $0 } == asked["records"]?.list)
    for (index, text) in (told["written"]?.list ?? []).enumerated() {
      var reader = CSVReader(Array((text.string ?? "").utf8), separator: UInt8(ascii: ","))
      var read: [[String]] = []
      while let record = try reader.next() { read.append(record) }
      #expect(read == records[index])
    }
  }

  /// The same numbers each time (xorshift).
  private struct Chance {
    var state: UInt64

    mutating func next(_ bound: Int) -> Int {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      return Int(state % UInt64(bound))
    }
  }

  @Test(arguments: [
    ("sep=;\na;b\n1;2\n", "{}", #"[{"a":"1","b":"2"}]"#),
    ("SEP=\t\r\na\tb\r\n1\t2\r\n", #"{"separator":";"}"#, #"[{"a":"1","b":"2"}]"#),
    ("sep=;\n1;2\n", #"{"names":["x","y"]}"#, #"[{"x":"1","y":"2"}]"#),
    (
      "sep=;\na;b\n1;2\nx;3\n", #"{"columns":{"a":"int"}}"#,
      "the text cannot be read: line 4, column 'a': 'x' is not an int."
    ),
    ("sep\n;\n", "{}", #"[{"sep":";"}]"#),
  ])
  func `a first line says what stands between two fields`(
    _ text: String, _ settings: String, _ result: String
  ) async throws {
    let found = try await rows(text, settings)
    #expect(result.hasPrefix("the text") ? found.hasPrefix(result) : found == result)
  }

  @Test func `texts that a spreadsheet program would run are guarded where that is asked for`() async throws {
    let rows = try JSON.parse(
      #"[{"a":"=1+1","b":"+2","c":"-3","d":"@x","e":"\ty","f":"a=b","g":-4,"h":"","i":"=\"q\""}]"#)
    let plain = try await run("format", .object(["rows": rows, "header": .bool(false)]))
    #expect(plain["text"]?.string == "=1+1,+2,-3,@x,\ty,a=b,-4,,\"=\"\"q\"\"\"\n")
    let guarded = try await run(
      "format", .object(["rows": rows, "header": .bool(false), "guardFormulas": .bool(true)]))
    #expect(guarded["text"]?.string == "'=1+1,'+2,'-3,'@x,'\ty,a=b,-4,,\"'=\"\"q\"\"\"\n")
  }
}
