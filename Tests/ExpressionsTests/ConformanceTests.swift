import Basics
import Expressions
import Foundation
import Testing

/// Runs the suite of google/cel-spec where it lies beside the package; it is not part of the project.
@Suite struct ConformanceTests {
  struct Case: Decodable, Sendable {
    struct Variable: Decodable, Sendable {
      struct Overload: Decodable, Sendable {
        var params: [String]
        var result: String
        var receiver: Bool
      }
      var name: String
      var type: String?
      var overloads: [Overload]?
    }
    struct Expectation: Decodable, Sendable {
      var value: Form?
      var error: String?
      var type: String?
    }
    var id: String
    var tier: String
    var expr: String
    var expect: Expectation
    var container: String?
    var disableCheck: Bool?
    var checkOnly: Bool?
    var typeEnv: [Variable]?
    var bindings: [String: Form]?
    var refSkips: [String]?
  }

  /// A value as the suite's files write it.
  struct Form: Decodable, Sendable {
    let value: Value

    private enum Key: String, CodingKey { case t, v, b64, s, n }

    init(from decoder: any Decoder) throws {
      let object = try decoder.container(keyedBy: Key.self)
      let kind = try object.decode(String.self, forKey: .t)
      func text() throws -> String { try object.decode(String.self, forKey: .v) }
      func unreadable() -> DecodingError {
        .dataCorruptedError(forKey: .t, in: object, debugDescription: "no value of kind \(kind)")
      }
      switch kind {
      case "null": value = .null
      case "bool": value = .bool(try object.decode(Bool.self, forKey: .v))
      case "int": value = .int(try Int(text()) ?? { throw unreadable() }())
      case "uint": value = .uint(try UInt(text()) ?? { throw unreadable() }())
      case "double": value = .double(try Double(text()) ?? { throw unreadable() }())
      case "string": value = .string(try text())
      case "type": value = Value(.type(try text()))
      case "bytes":
        value = .bytes(
          Array(try Data(base64Encoded: object.decode(String.self, forKey: .b64)) ?? { throw unreadable() }()))
      case "list": value = .list(try object.decode([Form].self, forKey: .v).map(\.value))
      case "map":
        var map = ValueMap()
        for pair in try object.decode([[Form]].self, forKey: .v) { map[pair[0].value] = pair[1].value }
        value = .map(map)
      case "timestamp", "duration":
        let seconds = try Int(object.decode(String.self, forKey: .s)) ?? { throw unreadable() }()
        let nanoseconds = try object.decode(Int.self, forKey: .n)
        value =
          kind == "duration"
          ? .duration(TimeSpan(nanoseconds: seconds * 1_000_000_000 + nanoseconds))
          : .timestamp(try Timestamp(seconds: seconds, nanoseconds: nanoseconds) ?? { throw unreadable() }())
      default: throw unreadable()
      }
    }
  }

  @Test func `the suite's tests pass, but for the optimizer's and those of networks`() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let file = root.appending(path: "../shared/conformance/cel/cel-pure.jsonl").standardizedFileURL
    let other = root.appending(path: "../../shared/conformance/cel/cel-pure.jsonl").standardizedFileURL
    guard let data = (try? Data(contentsOf: file)) ?? (try? Data(contentsOf: other)) else {
      print("The CEL suite is skipped: there is no file \(file.path())")
      return
    }
    var passed: [String: Int] = [:]
    var failed: [String: [String]] = [:]
    for line in data.split(separator: 0x0A) {
      let test = try JSONDecoder().decode(Case.self, from: Data(line))
      if test.tier == "internal:block" || test.tier == "ext:network" { continue }
      if let problem = problem(of: test) {
        if test.refSkips != nil { continue }
        failed[test.tier, default: []].append("\(test.id): \(test.expr) — \(problem)")
      } else {
        passed[test.tier, default: 0] += 1
      }
    }
    for tier in Set(passed.keys).union(failed.keys).sorted() {
      print("CEL suite, \(tier): \(passed[tier] ?? 0) passed, \(failed[tier]?.count ?? 0) failed")
    }
    let shown = ProcessInfo.processInfo.environment["CEL_FAILURES"] != nil
    for list in failed.values where shown { for text in list { print(text) } }
    #expect(failed.isEmpty)
  }

  private func problem(of test: Case) -> String? {
    var functions = FunctionLibrary.standard
    for variable in test.typeEnv ?? [] {
      functions = functions.adding(
        (variable.overloads ?? []).map { overload in
          let types = overload.params.map(parse)
          return FunctionDeclaration(
            variable.name, receiver: overload.receiver ? types[0] : nil,
            parameters: overload.receiver ? Array(types.dropFirst()) : types, result: parse(overload.result),
            summary: ""
          ) { _, _ throws(EvaluationError) in throw EvaluationError("declared only") }
        })
    }
    var scope = ExpressionScope(
      functions: functions, rules: test.disableCheck == true ? .unchecked : .plain, container: test.container ?? "")
    for variable in test.typeEnv ?? [] {
      if let type = variable.type { scope.declare(variable.name, parse(type)) }
    }
    for name in (test.bindings ?? [:]).keys.sorted() where scope.type(of: name) == nil { scope.declare(name, .dyn) }

    let program: Program
    switch Program.compile(test.expr, in: scope) {
    case .failure(let faults):
      return test.disableCheck == true && test.expect.error != nil
        ? nil : "does not compile: \(faults.list.map(\.message))"
    case .success(let compiled): program = compiled
    }
    if let type = test.expect.type, program.type.description != type { return "type \(program.type)" }
    if test.checkOnly == true { return nil }
    do throws(EvaluationError) {
      let value = try program.evaluate { test.bindings?[$0]?.value }
      guard let expected = test.expect.value?.value else {
        return test.expect.error == nil ? nil : "gives \(value) instead of an error"
      }
      return isSame(value, expected) ? nil : "gives \(value)"
    } catch {
      return test.expect.error == nil ? "fails: \(error.message)" : nil
    }
  }

  /// Equality of kind and content, where NaN is NaN.
  private func isSame(_ left: Value, _ right: Value) -> Bool {
    switch (left.content, right.content) {
    case (.double(let left), .double(let right)): left == right || left.isNaN && right.isNaN
    case (.list(let left), .list(let right)):
      left.count == right.count && zip(left, right).allSatisfy { isSame($0, $1) }
    case (.map(let left), .map(let right)):
      left.count == right.count
        && left.members.allSatisfy { member in right[member.key].map { isSame(member.value, $0) } ?? false }
    default: left == right
    }
  }

  /// Reads a type as the suite writes it.
  private func parse(_ text: String) -> ValueType {
    var rest = text[...]
    return parse(&rest)
  }

  private func parse(_ text: inout Substring) -> ValueType {
    let name = String(text.prefix { $0 != "(" && $0 != ")" && $0 != "," })
    text = text.dropFirst(name.count)
    var arguments: [ValueType] = []
    if text.first == "(" {
      repeat {
        text = text.dropFirst()
        text = text.drop { $0 == " " }
        arguments.append(parse(&text))
      } while text.first == ","
      text = text.dropFirst()
    }
    switch (name.trimmingCharacters(in: .whitespaces), arguments.count) {
    case ("int", _): return .int
    case ("uint", _): return .uint
    case ("double", _): return .double
    case ("bool", _): return .bool
    case ("string", _): return .string
    case ("bytes", _): return .bytes
    case ("null_type", _): return .null
    case ("dyn", _): return .dyn
    case ("timestamp", _): return .timestamp
    case ("duration", _): return .duration
    case ("type", 0): return .type(.dyn)
    case ("type", _): return .type(arguments[0])
    case ("list", 1): return .list(arguments[0])
    case ("map", 2): return .map(arguments[0], arguments[1])
    case ("wrapper", 1): return .wrapper(arguments[0])
    case ("optional_type", 1): return .optional(arguments[0])
    case (let name, _) where name.count == 1: return .parameter(name)
    case (let name, _): return .opaque(name, arguments)
    }
  }
}
