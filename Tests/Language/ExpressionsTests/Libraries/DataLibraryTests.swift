import Basics
import Expressions
import Testing

@Suite struct DataLibraryTests {
  @Test(arguments: [
    ("name,mark\nAda,93\n", "[{'name': 'Ada', 'mark': '93'}]"), ("a\r\n1\r\n\r\n2", "[{'a': '1'}, {'a': '2'}]"),
    ("a,b\n\"x,\"\"y\"\"\nz\",\n", "[{'a': 'x,\"y\"\nz', 'b': ''}]"), ("\u{FEFF}a\n1", "[{'a': '1'}]"), ("", "[]"),
    ("a,b", "[]"), ("a\n\"\"\n", "[{'a': ''}]"), ("a\nx\"y\n", "[{'a': 'x\"y'}]"), ("a\n007\n", "[{'a': '007'}]"),
    ("a,b\n1\n", "ran: line 2 of the CSV has 1 field and the first 2"),
    ("a\n\"x\ny\"\n1,2\n", "ran: line 4 of the CSV has 2 fields and the first 1"),
    ("a\n\"x", "ran: a quoted field of the CSV that begins on line 2 has no end"),
    ("a\n\"x\"y\n", "ran: line 2 of the CSV has text after a closing quote; a quote inside a field is written twice"),
    ("a,a\n", "ran: the column 'a' is there twice in the first line of the CSV"),
  ])
  func `reads CSV`(_ text: String, _ result: String) {
    #expect(outcome("csv.parse(s)", ["s": text]) == result)
  }

  @Test(arguments: [
    ("csv.format([{'a': 'x'}, {'b': 1.5}])", "'a,b\nx,\n,1.5\n'"), ("csv.format([{'a': ''}])", "'a\n\"\"\n'"),
    ("csv.format([{'a': 'x;y', 'b': true}], ';')", "'a;b\n\"x;y\";true\n'"),
    ("csv.format([{'a': 'say \"hi\"\\n'}])", "'a\n\"say \"\"hi\"\"\n\"\n'"),
    (
      "csv.format([{'a': json.parse('[1]')}].map(x, x))",
      "ran: 'a' is a list, which no field of a CSV can hold; write json.format(x) for it"
    ),
    ("csv.parse('a', ';;')", "checked: ';;' isn't a separator; give one ASCII character such as ';' or '\\t'"),
    ("csv.parse(csv.format([{'a': '1,\\n\"', 'b': ' '}])) == [{'a': '1,\\n\"', 'b': ' '}]", "true"),
  ])
  func `writes CSV`(_ text: String, _ result: String) {
    #expect(outcome(text) == result)
  }

  @Test(arguments: [
    ("json.parse(s).x", "{\"x\": [1, 2.0, \"e\u{301}\"]}", "[1, 2.0, 'e\u{301}']"),
    ("json.parse(s)", "-9223372036854775808", "-9223372036854775808"),
    ("json.format(json.parse(s))", "{\"b\":1,\"a\":[true,null,1.5]}", "'{\"b\":1,\"a\":[true,null,1.5]}'"),
  ])
  func `reads and writes JSON`(_ text: String, _ json: String, _ result: String) {
    #expect(outcome(text, ["s": json]) == result)
  }

  @Test func `says where a text is no JSON`() {
    #expect(outcome("json.parse(s)", ["s": "{\n  \"a\": }"]).hasPrefix("ran: the text isn't JSON: line 2, column 8: "))
    #expect(outcome("json.parse('[1')").hasPrefix("checked: the text isn't JSON: line 1, column 3: "))
    #expect(outcome("json.format(0.0 / 0.0)").contains("the value cannot be JSON: "))
  }

  @Test(arguments: [
    ("text.truncate('e\\u0301te', 3)", "'e\u{301}…'"), ("text.truncate('abc', 3)", "'abc'"),
    ("text.truncate('abc', 1)", "'…'"),
    ("text.padLeft('1234', 3, '0')", "'1234'"), ("text.padLeft('é', 3, '·')", "'··é'"),
    ("text.padRight('a', -5, ' ')", "'a'"),
    ("text.slug('  Ærøskøbing — Łódź: Straße 7b  ')", "'aeroskobing-lodz-strasse-7b'"),
    ("text.slug('e\\u0301tude')", "'etude'"),
    ("text.slug(\"teacher's\")", "'teachers'"), ("text.slug('日本 2026')", "'日本-2026'"), ("text.slug('!!!')", "''"),
    ("text.lines('a\\n\\nb')", "['a', '', 'b']"), ("text.lines('a\\rb\\r\\n')", "['a', 'b']"), ("text.lines('')", "[]"),
    ("text.padLeft('a', 3, '--')", "checked: text.padLeft() fills up with one character, and '--' was given"),
  ])
  func `shapes texts`(_ text: String, _ result: String) {
    #expect(outcome(text) == result)
  }
}
