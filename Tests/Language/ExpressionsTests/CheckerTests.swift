import Basics
import Expressions
import Foundation
import Testing

/// The checker's results: every expression of `Snapshots/Checked.txt` with its type, or its faults with their places.
///
/// `RECORD_SNAPSHOTS=1 swift test --filter CheckerTests` records the results; read the difference before you keep it.
@Suite struct CheckerTests {
  /// A scope as a recipe's step has it.
  static let scope: ExpressionScope = {
    let result = ObjectType(
      "result",
      fields: [.init("taskKey", .int), .init("percent", .double, isOptional: true), .init("raw", .string)])
    let student = ObjectType(
      "student",
      fields: [
        .init("key", .int), .init("familyName", .string), .init("givenName", .string, isOptional: true),
        .init("results", .list(.object(result))),
      ])
    let task = ObjectType("task", fields: [.init("name", .string), .init("key", .int)])
    let book = ObjectType(
      "steps.book", fields: [.init("tasks", .list(.object(task))), .init("students", .list(.object(student)))])
    let backup = ObjectType(
      "steps.backup",
      fields: [
        .init("path", .string, isOptional: true), .init("bytes", .int, isOptional: true),
        .init("state", .choice(["pending", "ready", "failed"])),
      ])
    let inputs = ObjectType(
      "inputs",
      fields: [
        .init("markbook", .int), .init("into", .string), .init("limit", .double), .init("dry", .bool),
        .init("day", .timestamp), .init("every", .duration), .init("tags", .list(.string)),
        .init("counts", .map(.string, .int)),
      ])
    let secrets = ObjectType("secrets", fields: [.init("token", .secret(.string)), .init("pin", .secret(.int))])
    var scope = ExpressionScope()
    scope.declare("inputs", .object(inputs))
    scope.declare(
      "steps",
      .object(
        ObjectType("steps", fields: [.init("book", .object(book)), .init("backup", .object(backup), isOptional: true)]))
    )
    scope.declare("student", .object(student))
    scope.declare("n", .int)
    scope.declare("now", .timestamp)
    scope.declare("any", .dyn)
    scope.declare("secrets", .object(secrets))
    return scope
  }()

  @Test func `every expression has the type or the faults that are recorded`() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Snapshots/Checked.txt")
    let recorded = try String(contentsOf: file, encoding: .utf8)
    var found = ""
    for line in recorded.split(separator: "\n") where !line.hasPrefix("    ") {
      found += "\(line)\n"
      switch CompiledExpression.compile(String(line), in: Self.scope) {
      case .success(let program): found += "    : \(program.type)\n"
      case .failure(let faults):
        for fault in faults.list {
          found += "    \(fault.range.lowerBound)..<\(fault.range.upperBound) \(fault.message)\n"
        }
      }
    }
    if ProcessInfo.processInfo.environment["RECORD_SNAPSHOTS"] != nil {
      try found.write(to: file, atomically: true, encoding: .utf8)
      Issue.record("recorded \(file.lastPathComponent)")
    }
    let pairs = zip(found.split(separator: "\n"), recorded.split(separator: "\n"))
    #expect(found == recorded, "first difference: \(String(describing: pairs.first { $0 != $1 }))")
  }

  @Test(arguments: [
    ("n", ValueType.string, "a string is expected here, but this is an int; write `string(n)`"),
    ("n", .double, "a double is expected here, but this is an int; write `double(n)`"),
    ("1 + 2", .double, "a double is expected here, but this is an int; write `double(1 + 2)`"),
    ("n", .bool, "what is wanted here is a bool, and this is an int; compare it, as in `n != 0`"),
    ("inputs.tags", .list(.int), "a list(int) is expected here, but this is a list(string)"),
    (
      "inputs.into", .list(.string),
      "a list(string) is expected here, but this is a string; a list of one is `[inputs.into]`"
    ),
    (
      "student.?givenName", .string,
      "a string is expected here, but this is an optional string; write `student.?givenName.orValue(…)`"
    ),
    ("'redy'", .choice(["ready", "failed"]), "'redy' is not 'ready' or 'failed'; did you mean 'ready'?"),
    ("inputs.into", .choice(["ready", "failed"]), "'ready' or 'failed' is expected here, but this is a string"),
    ("secrets.token", .string, "this is made with a secret, which can be given only to a field that takes a secret"),
    (
      "'Bearer ' + secrets.token", .string,
      "this is made with a secret, which can be given only to a field that takes a secret"
    ),
    (
      "secrets.token == 'x'", .bool,
      "this is made with a secret, which can be given only to a field that takes a secret"
    ),
    (
      "{'nme': 'x'}", .object(ObjectType(fields: [.init("name", .string)])),
      "the object expected here has no field `nme`; did you mean `name`?"
    ),
    (
      "{'key': 1}", .object(ObjectType(fields: [.init("name", .string), .init("key", .int)])),
      "the object expected here has a field `name`, which is missing"
    ),
    (
      "{'key': '1'}", .object(ObjectType(fields: [.init("key", .int)])),
      "the field `key` is a string, but should be an int"
    ),
    (
      "{?'key': optional.of(1)}", .object(ObjectType(fields: [.init("key", .int)])),
      "the field `key` is expected here, but it may be absent"
    ),
  ])
  func `says what the place wants`(_ text: String, _ type: ValueType, _ message: String) {
    guard case .failure(let faults) = CompiledExpression.compile(text, in: Self.scope, expecting: type) else {
      Issue.record("\(text) was taken for \(type)")
      return
    }
    #expect(faults.list.map(\.message) == [message])
  }

  @Test(arguments: [
    ("secrets.token", ValueType.secret(.string)), ("inputs.into", .secret(.string)), ("'ready'", .choice(["ready"])),
    ("n", .wrapper(.int)), ("n > 3 ? n : null", .wrapper(.int)), ("any", .int), ("[]", .list(.int)),
    ("{}", .map(.string, .int)),
    ("inputs.counts", .map(.string, .dyn)), ("{'a': 1}", .map(.string, .int)),
    ("{'a': 1}", .object(ObjectType(fields: [.init("a", .int), .init("b", .int, isOptional: true)]))),
    ("{}", .object(ObjectType(fields: [.init("b", .int, isOptional: true)]))),
    ("{'b': n > 3 ? n : null}", .object(ObjectType(fields: [.init("b", .int, isOptional: true)]))),
    ("has(steps.backup) ? steps.backup.state : 'ready'", .string),
  ])
  func `takes what fits the place`(_ text: String, _ type: ValueType) {
    if case .failure(let faults) = CompiledExpression.compile(text, in: Self.scope, expecting: type) {
      Issue.record("\(text): \(faults.list.map(\.message))")
    }
  }
}
