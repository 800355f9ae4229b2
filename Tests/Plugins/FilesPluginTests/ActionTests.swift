import ActionKit
import ActionTestKit
import Foundation
import LocalFiles
import Testing

@testable import FilesPlugin

private let catalog = ActionCatalog([FilesPlugin.self])

/// A folder that is removed after the test, and the actions that run in it.
private final class Bench: Sendable {
  let path = FileManager.default.temporaryDirectory.appending(path: "file-\(UUID().uuidString)").path
  private let files: LocalFiles

  init() throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    files = LocalFiles(try LocalFilesConfiguration(checking: .object([:])))
  }
  deinit { try? FileManager.default.removeItem(atPath: path) }

  var context: ActionContext { .testing(folder: path) }

  private func action(_ name: String) throws -> ActionDescriptor { try #require(catalog.action("file.\(name)")) }

  func run(_ name: String, _ input: String) async throws -> Value {
    let action = try action(name)
    let output = try await action.run(try JSON.parse(input), on: files, in: context)
    #expect(action.output.check(output, as: "output").map(\.message) == [])
    return output
  }

  func preview(_ name: String, _ input: String) async throws -> [String] {
    let changes = try await action(name).preview(try JSON.parse(input), on: files, in: context) ?? []
    return changes.map {
      "\($0.subject): \($0.before ?? "-") → \($0.after ?? "-")".replacingOccurrences(of: path, with: "F")
    }
  }

  func baseline(_ name: String, _ input: String) async throws -> Value {
    try #require(try await action(name).baseline(try JSON.parse(input), on: files, in: context))
  }

  func reconcile(_ name: String, _ input: String, _ baseline: Value) async throws -> String {
    let outcome = try await action(name).reconcile(
      try JSON.parse(input), with: baseline, startedAt: context.now, on: files, in: context)
    return switch outcome {
    case .done(let output): "done \(try JSON.text(output))".replacingOccurrences(of: path, with: "F")
    case .notDone: "notDone"
    case .unknown(let look): "unknown: \(look)".replacingOccurrences(of: path, with: "F")
    }
  }
}

@Suite struct ActionTests {
  @Test func `is well formed`() { expectWellFormed(FilesPlugin.self) }

  @Test func `does in the sandbox what its examples say`() async { await expectExamplesRun(of: FilesPlugin.self) }

  @Test func `declares for each action what may be done twice`() {
    #expect(
      catalog.actionIDs.compactMap { catalog.action($0) }.map { "\($0.id) \($0.effect.name)" } == [
        "file.read read", "file.readBytes read", "file.list read", "file.exists read", "file.write idempotentWrite",
        "file.append write", "file.move write", "file.delete idempotentWrite",
      ])
  }

  @Test func `writes, looks, reads and removes`() async throws {
    let bench = try Bench()
    let write = #"{"path":"a/x.txt","text":"one\ntwo"}"#
    #expect(try await bench.preview("write", write) == ["the file 'F/a/x.txt': - → 2 lines, 7 bytes"])
    #expect(try await bench.run("write", write)["changed"]?.bool == true)
    #expect(try await bench.preview("write", write) == [])
    #expect(try await bench.run("write", write)["changed"]?.bool == false)
    #expect(
      try await bench.preview("write", #"{"path":"a/x.txt","bytes":"AP8="}"#)
        == ["the file 'F/a/x.txt': 2 lines, 7 bytes → 2 bytes"])
    #expect(try await bench.run("read", #"{"path":"a/x.txt"}"#)["text"]?.string == "one\ntwo")
    #expect(try await bench.run("readBytes", #"{"path":"a/x.txt"}"#)["bytes"] == .bytes(Array("one\ntwo".utf8)))
    let there = try await bench.run("exists", #"{"path":"a/x.txt"}"#)
    #expect(there["exists"]?.bool == true && there["kind"]?.string == "file" && there["bytes"]?.int == 7)
    #expect(try await bench.run("exists", #"{"path":"a"}"#)["bytes"] == nil)
    let gone = try await bench.run("exists", #"{"path":"b"}"#)
    #expect(gone == .object(["exists": .bool(false), "path": .string("\(bench.path)/b")]))
    let entries = try await bench.run("list", #"{"folder":"a"}"#)["entries"]?.list
    #expect(entries?.map { $0["path"]?.string } == ["a/x.txt"])
    #expect(entries?.map { $0["name"]?.string } == ["x.txt"])
    #expect(
      try await bench.preview("delete", #"{"path":"a/x.txt"}"#) == ["the file 'F/a/x.txt': 7 bytes → -"])
    #expect(try await bench.run("delete", #"{"path":"a/x.txt"}"#)["deleted"]?.bool == true)
    #expect(try await bench.run("delete", #"{"path":"a/x.txt"}"#)["deleted"]?.bool == false)
    #expect(try await bench.preview("delete", #"{"path":"a/x.txt"}"#) == [])
  }

  @Test(arguments: [
    (#"{"path":"x"}"#, "'input' needs 'text' or 'bytes'"),
    (#"{"path":"x","text":"a","bytes":"YQ=="}"#, "'input.bytes' must not be given beside 'text'"),
    (#"{"path":"","text":"a"}"#, "'input.path' must not be empty"),
  ])
  func `wants a text or bytes`(_ input: String, _ message: String) async throws {
    let bench = try Bench()
    let error = await #expect(throws: ActionError.self) { _ = try await bench.run("write", input) }
    #expect(error?.message == message)
    #expect(error?.kind == .validation)
  }

  @Test(arguments: [
    ("read", #"{"path":"P"}"#), ("readBytes", #"{"path":"P"}"#), ("list", #"{"folder":"P"}"#),
    ("write", #"{"path":"P","text":"x"}"#), ("append", #"{"path":"P","text":"x"}"#), ("delete", #"{"path":"P"}"#),
    ("move", #"{"from":"P","to":"y"}"#), ("exists", #"{"path":"P"}"#),
  ])
  func `keeps to its folder`(_ name: String, _ input: String) async throws {
    try await expectKeptInside(
      catalog.action("file.\(name)"), on: LocalFiles(LocalFilesConfiguration()), input)
  }

  @Test func `knows after a lost answer whether something was added`() async throws {
    let bench = try Bench()
    let input = #"{"path":"log","text":"line\n"}"#
    #expect(try await bench.preview("append", input) == ["the file 'F/log': - → 5 bytes"])
    let none = try await bench.baseline("append", input)
    #expect(try await bench.reconcile("append", input, none) == "notDone")
    #expect(try await bench.run("append", input)["bytes"]?.int == 5)
    #expect(try await bench.reconcile("append", input, none) == #"done {"path":"F/log","bytes":5}"#)
    let five = try await bench.baseline("append", input)
    #expect(try await bench.reconcile("append", input, five) == "notDone")
    #expect(try await bench.preview("append", input) == ["the file 'F/log': 5 bytes → 10 bytes"])
    _ = try await bench.run("append", #"{"path":"log","text":"other\n"}"#)
    #expect(
      try await bench.reconcile("append", input, five)
        == "unknown: look at 'F/log' from byte 5 on, where it ended before the step")
    _ = try await bench.run("write", #"{"path":"log","text":"lin"}"#)
    #expect(
      try await bench.reconcile("append", input, none)
        == "unknown: look at 'F/log' from byte 0 on, where it ended before the step")
  }

  @Test func `knows after a lost answer whether something was moved`() async throws {
    let bench = try Bench()
    let input = #"{"from":"a","to":"b/c"}"#
    #expect(try await bench.preview("move", input) == [])
    _ = try await bench.run("write", #"{"path":"a","text":"x"}"#)
    #expect(
      try await bench.preview("move", input) == [
        "the file 'F/a': there → -", "the file 'F/b/c': - → the one from 'F/a'",
      ])
    let before = try await bench.baseline("move", input)
    #expect(try await bench.reconcile("move", input, before) == "notDone")
    #expect(try await bench.run("move", input)["path"]?.string == "\(bench.path)/b/c")
    #expect(try await bench.reconcile("move", input, before) == #"done {"path":"F/b/c"}"#)
    // Another file is at the old path by now.
    _ = try await bench.run("write", #"{"path":"a","text":"y"}"#)
    #expect(try await bench.reconcile("move", input, before) == #"done {"path":"F/b/c"}"#)
    _ = try await bench.run("delete", #"{"path":"b/c"}"#)
    #expect(
      try await bench.reconcile("move", input, before) == "unknown: look whether 'F/b/c' is what 'F/a' was")
  }
}
