import Basics
import HTTPTypes
import Testing

@Suite struct HTTPTypesTests {
  @Test func `finds headers regardless of case, the first of several`() {
    var headers: HTTPHeaders = ["Content-Type": "a", "X": "1", "x": "2"]
    #expect(headers["CONTENT-TYPE"] == "a")
    #expect(headers["x"] == "1")
    #expect(headers.values("X") == ["1", "2"])
    headers["X"] = "3"
    #expect(headers.values("x") == ["3"])
    headers["X"] = nil
    #expect(headers["x"] == nil)
    // No ASCII letter, though its lower case is one.
    #expect(HTTPHeaders([.init("\u{212A}", "kelvin")])["k"] == nil)
  }

  @Test(arguments: [
    ("abc-._~", "abc-._~"), ("A+ &=;/?:@#%", "A%2B%20%26%3D%3B%2F%3F%3A%40%23%25"),
    ("é€😀", "%C3%A9%E2%82%AC%F0%9F%98%80"),
    ("\r\n\0", "%0D%0A%00"), ("", ""),
  ])
  func `encodes everything but the unreserved, and back`(_ text: String, _ encoded: String) {
    #expect(PercentEncoding.encode(text) == encoded)
    #expect(PercentEncoding.decode(encoded, plusIsSpace: true) == text)
    #expect(PercentEncoding.decode(encoded, plusIsSpace: false) == text)
  }

  @Test(arguments: [
    ("a+b", true, "a b"), ("a+b", false, "a+b"), ("%2b%2B", true, "++"), ("%", true, "%"), ("%4", true, "%4"),
    ("%zz%41", true, "%zzA"), ("%%41", true, "%A"), ("%E2%82", true, "\u{FFFD}"), ("é%C3%A9", false, "éé"),
  ])
  func `decodes what others encode`(_ text: String, _ plusIsSpace: Bool, _ decoded: String) {
    #expect(PercentEncoding.decode(text, plusIsSpace: plusIsSpace) == decoded)
  }

  @Test(
    arguments: [
      ("a=1&b=M%C3%BCller", nil, "a=1 b=Müller"), ("a=one%0D%0Atwo%0D%0A", nil, "a=one\ntwo\n"),
      ("a=%0D%0A%0Dx", nil, "a=\n\rx"), ("name=M%FCller", "windows-1252", "name=Müller"),
      ("n%E4me=%80", "ISO-8859-1", "näme=€"), ("a=%A4", "iso-8859-15", "a=€"), ("a=%EF%BB%BFx", "utf-8", "a=x"),
      ("a=b+c&&=d", "\"utf-8\"", "a=b c =d"),
    ] as [(String, String?, String)])
  func `reads a form in its charset, with plain line ends`(_ body: String, _ charset: String?, _ items: String) throws {
    let type = "application/x-www-form-urlencoded" + (charset.map { "; charset=\($0)" } ?? "")
    let form = try HTTPQuery(form: Array(body.utf8), ContentType(type))
    #expect(form.items.map { "\($0.name)=\($0.value)" }.joined(separator: " ") == items)
  }

  @Test(arguments: [
    (
      "a=1&name=M%FCller", "utf-8",
      "the field 'name' of the form is not in UTF-8: line 1, byte 2 (0xFC) fits no character"
    ),
    (
      "a=%81", "windows-1252",
      "the field 'a' of the form is not in windows-1252: line 1, byte 1 (0x81) fits no character"
    ),
    ("a=%FC", "x-own", "the field 'a' of the form is in the charset 'x-own', which isn't known"),
  ])
  func `refuses a form with the name of the field`(_ body: String, _ charset: String, _ message: String) throws {
    let type = ContentType("application/x-www-form-urlencoded; charset=\(charset)")
    let fault = try #require(throws: CharsetError.self) { try HTTPQuery(form: Array(body.utf8), type) }
    #expect(fault.message == message)
  }

  @Test func `keeps the items of a query in order`() {
    let query = HTTPQuery(decoding: "a=1&&b&a=%3D=2&c%3d=&=d")
    #expect(query.items.map { "\($0.name)|\($0.value)" } == ["a|1", "b|", "a|==2", "c=|", "|d"])
    #expect(query["a"] == "1")
    #expect(query["x"] == nil)
    #expect(query.encoded == "a=1&b=&a=%3D%3D2&c%3D=&=d")
    #expect((["grade": "A+", "n": "é"] as HTTPQuery).encoded == "grade=A%2B&n=%C3%A9")
    // Composed and decomposed, equal to Swift and different to servers.
    #expect(HTTPQuery([.init("e\u{301}", "x")])["\u{E9}"] == nil)
  }

  @Test(arguments: [
    ("Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37Z"),
    ("Sunday, 06-Nov-94 08:49:37 GMT", "1994-11-06T08:49:37Z"),
    ("Sun Nov  6 08:49:37 1994", "1994-11-06T08:49:37Z"), ("Sunday, 06-Nov-26 08:49:37 GMT", "2026-11-06T08:49:37Z"),
    ("Sat, 31 Dec 2016 23:59:60 GMT", "2016-12-31T23:59:59Z"), ("Mon, 29 Feb 2027 00:00:00 GMT", nil),
    ("Sun, 06 Nov 1994 24:00:00 GMT", nil), ("Sun, 06 Nov 1994 08:49 GMT", nil), ("Sun, 06 Nov 1994 08:49:37 CET", nil),
    ("Sun, 06 Nov 994 08:49:37 GMT", nil), ("Sun, 6 Nov 0000 08:49:37 GMT", nil), ("", nil), ("::", nil),
  ])
  func `reads dates`(_ text: String, _ instant: String?) {
    #expect(HTTPDate.read(text)?.description == instant)
  }

  @Test(arguments: [
    ("1994-11-06T08:49:37.9Z", "Sun, 06 Nov 1994 08:49:37 GMT"),
    ("2026-02-28T23:59:59Z", "Sat, 28 Feb 2026 23:59:59 GMT"),
    ("0999-12-31T00:00:00Z", "Tue, 31 Dec 0999 00:00:00 GMT"),
  ])
  func `writes dates`(_ instant: String, _ text: String) throws {
    #expect(HTTPDate.text(try #require(Timestamp(instant))) == text)
  }
}
