import ActionKit
import Basics
import Testing

@testable import OpenAPIPlugins

/// How parameters are written.
@Suite struct ParameterStyleTests {
  typealias Style = OperationCall.Style

  @Test(arguments: [
    (Style.form, #""blue & co""#, "c=blue%20%26%20co"), (.form, #"["a,b","c"]"#, "c=a%2Cb&c=c"), (.form, "[]", ""),
    (.form, #"{"R":100,"G":null}"#, "R=100"), (.form, "1.5", "c=1.5"), (.form, "true", "c=true"), (.form, #""""#, "c="),
    (Style(word: .form, explodes: false), #"["a,b","c"]"#, "c=a%2Cb,c"),
    (Style(word: .form, explodes: false), #"{"R":100,"G":2}"#, "c=R,100,G,2"),
    (Style(word: .spaceDelimited, explodes: false), #"["a b","c"]"#, "c=a%20b%20c"),
    (Style(word: .pipeDelimited, explodes: false), #"["a","c"]"#, "c=a%7Cc"),
    (Style(word: .tabDelimited, explodes: false), #"["a","c"]"#, "c=a%09c"),
    (
      Style(word: .deepObject, explodes: true), #"{"a":{"b":1},"d":[1,{"e":"x y"}]}"#,
      "c[a][b]=1&c[d][0]=1&c[d][1][e]=x%20y"
    ),
    (Style(word: .json, explodes: true), #"{"a":[1]}"#, "c=%7B%22a%22%3A%5B1%5D%7D"),
    (
      Style(word: .form, explodes: true, allowsReserved: true), #""a/b:c?d=e;(f)@,*'é &#+[x]% %2F""#,
      "c=a/b:c?d=e;(f)@,*'%C3%A9%20%26%23%2B%5Bx%5D%25%20%2F"
    ),
    (Style(word: .form, explodes: false, allowsReserved: true), #"["a:b","c/d"]"#, "c=a:b,c/d"),
    (Style(word: .deepObject, explodes: true, allowsReserved: true), #"{"a":"b/c"}"#, "c[a]=b/c"),
  ])
  func `a query has each style`(_ style: Style, _ value: String, _ expected: String) throws {
    #expect(try ParameterText.items("c", JSON.parse(value), style).map(\.text).joined(separator: "&") == expected)
  }

  private static func call(_ path: String, _ style: Style = .simple) -> OperationCall {
    var call = OperationCall(method: "GET", path: path)
    call.parameters = [.init(place: .path, name: "p", input: "p", style: style)]
    return call
  }

  @Test(arguments: [
    (#""a/b c?#%""#, "/x/a%2Fb%20c%3F%23%25/y"), (#""ä""#, "/x/%C3%A4/y"), ("17", "/x/17/y"),
    (#"["a,b","c"]"#, "/x/a%2Cb,c/y"),
    (#"{"a":1,"b":2}"#, "/x/a,1,b,2/y"), (#""..a""#, "/x/..a/y"), (#""../x""#, "/x/..%2Fx/y"),
  ])
  func `a part of a path stays one`(_ value: String, _ expected: String) throws {
    #expect(try ParameterText.address(Self.call("/x/{p}/y"), .object(["p": JSON.parse(value)])) == expected)
  }

  @Test func `maps in paths explode`() throws {
    let call = Self.call("/x/{p}", Style(word: .simple, explodes: true))
    #expect(try ParameterText.address(call, .object(["p": .object(["a": .int(1), "b": .int(2)])])) == "/x/a=1,b=2")
  }

  @Test(arguments: [
    ("/x/{p}", #"".""#, "'p' can't be '.', which would lead to another address."),
    ("/x/{p}", #""..""#, "'p' can't be '..', which would lead to another address."),
    ("/x/{p}", #""""#, "'p' is empty, and is a part of the address."),
    ("/x/{p}", "[]", "'p' is empty, and is a part of the address."),
    ("/x/{p}", "null", "'p' is missing, which is a part of the address."),
    ("/x/{p}", "[[1]]", "'p' holds a list, which it can't."),
    ("/x/.{p}", #"".""#, "'p' can't be '.', which would lead to another address."),
    ("/x/{q}", #""a""#, "'q' is missing, which is a part of the address."),
  ])
  func `a value that would lead elsewhere is refused`(_ path: String, _ value: String, _ message: String) throws {
    let error = #expect(throws: ActionError.self) {
      try ParameterText.address(Self.call(path), .object(["p": JSON.parse(value)]))
    }
    #expect(error?.message == message)
    #expect(error?.kind == .validation)
  }

  @Test func `header fields hold lists, and no line ends`() throws {
    var call = OperationCall(method: "GET", path: "/")
    call.parameters = [.init(place: .header, name: "X-A", input: "a", style: .simple)]
    #expect(try ParameterText.headers(call, .object(["a": .list([.int(1), .string("b")])])) == ["X-A": "1,b"])
    let error = #expect(throws: ActionError.self) {
      try ParameterText.headers(call, .object(["a": .string("x\r\nY: z")]))
    }
    #expect(error?.message == "the header X-A holds a line break or another control character.")
  }
}
