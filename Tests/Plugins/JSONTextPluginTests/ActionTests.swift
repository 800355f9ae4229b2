import ActionKit
import ActionTestKit
import Foundation
import LocalFiles
import Testing

@testable import JSONTextPlugin

private let catalog = ActionCatalog([JSONTextPlugin.self])

private func run(_ name: String, _ input: Value) async throws -> Value {
  let action = try #require(catalog.action("json.\(name)"))
  return try await withSandbox(of: JSONTextPlugin.self) { files, _ in
    try await action.run(input, on: files, in: .testing())
  }
}

@Suite struct ActionTests {
  @Test func `is well formed`() { expectWellFormed(JSONTextPlugin.self) }

  @Test func `does in the sandbox what its examples say`() async { await expectExamplesRun(of: JSONTextPlugin.self) }

  @Test(arguments: [
    ("read", #"{"path":"P"}"#), ("write", #"{"path":"P","value":1}"#),
  ])
  func `keeps to its folder`(_ name: String, _ input: String) async throws {
    try await expectKeptInside(
      catalog.action("json.\(name)"), on: LocalFiles(LocalFilesConfiguration()), input)
  }

  @Test(arguments: [
    ("", #"{"a":[1,{"b/c":2.0,"~":null,"":"x"}]}"#), ("/a/0", "1"), ("/a/1/b~1c", "2.0"), ("/a/1/~0", "null"),
    ("/a/1/", #""x""#), ("/a/01", "notFound: '/a' in the text has 2 items, and no '01'."),
    ("/a/2", "notFound: '/a' in the text has 2 items, and no '2'."),
    ("/a/-1", "notFound: '/a' in the text has 2 items, and no '-1'."),
    ("/aa", "notFound: the text has no 'aa'."),
    ("/zzzz", "notFound: the text has no 'zzzz'."),
    ("/a/0/x", "notFound: '/a/0' in the text is an int, which has no 'x'."),
    ("a", "validation: 'input.at' must be a JSON pointer such as /classes/0/name, but is 'a'"),
  ])
  func `picks by pointer`(_ pointer: String, _ result: String) async throws {
    let text = #"{"a":[1,{"b/c":2.0,"~":null,"":"x"}]}"#
    do {
      let output = try await run("parse", .object(["text": .string(text), "at": .string(pointer)]))
      #expect(try JSON.text(output["value"] ?? .string("absent")) == result)
    } catch let error as ActionError {
      #expect(error.description == result)
    }
  }

  @Test func `says where a text is no JSON`() async throws {
    let error = await #expect(throws: ActionError.self) {
      _ = try await run("parse", .object(["text": .string("{\n 1")]))
    }
    #expect(error?.kind == .validation)
    #expect(
      error?.message.hasPrefix("the text isn't valid JSON: line 2, column 2: ") == true, "\(String(describing: error))")
  }

  @Test(arguments: [
    ("pretty", false, "{\n  \"b\": 1,\n  \"a\": [\n    1.5\n  ]\n}\n"), ("compact", true, #"{"a":[1.5],"b":1}"#),
  ])
  func `writes JSON in two layouts`(_ layout: String, _ sorts: Bool, _ text: String) async throws {
    let value = Value.object(["b": .int(1), "a": .list([.double(1.5)])])
    let input = Value.object(["value": value, "layout": .string(layout), "sortKeys": .bool(sorts)])
    #expect(try await run("format", input)["text"]?.string == text)
  }

  @Test func `writes a file, and leaves it alone while it says the same`() async throws {
    let write = try #require(catalog.action("json.write"))
    let read = try #require(catalog.action("json.read"))
    try await withSandbox(of: JSONTextPlugin.self) { files, sandbox in
      let input = Value.object(["path": .string("a/b.json"), "value": .list([.int(1)])])
      let context = ActionContext.testing()
      let path = "\(sandbox.baseURL)/a/b.json"
      #expect(
        try await write.preview(input, on: files, in: context) == [
          Change("the file '\(path)'", from: nil, to: "8 bytes")
        ])
      #expect(
        try await write.run(input, on: files, in: context)
          == .object(["path": .string(path), "bytes": .int(8), "changed": .bool(true)]))
      #expect(try await write.preview(input, on: files, in: context) == [])
      #expect(try await write.run(input, on: files, in: context)["changed"]?.bool == false)
      let output = try await read.run(.object(["path": .string(path), "at": .string("/0")]), on: files, in: context)
      #expect(output["value"] == .int(1))
    }
  }
}
