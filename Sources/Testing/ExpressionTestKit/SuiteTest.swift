package import Basics
import Expressions

/// One line of a suite in the form of google/cel-spec's, turned into JSON: an expression, the names that it may use,
/// and the expected result if the line has one.
///
/// The members that are read are `id`, `expr`, `container`, `disableCheck`, `checkOnly`, `typeEnv`, `bindings`, `tier`,
/// `refSkips` and `expect`; only `id` and `expr` are required.
package final class SuiteTest: Sendable {
  package let id: String
  package let expression: String
  /// The part of the suite that it belongs to.
  package let tier: String
  /// Whether the reference implementation skips it.
  package let isSkippedByReference: Bool
  /// The expected result; each is nil if the line doesn't say.
  package let expectedValue: Value?
  package let expectedType: String?
  package let expectsError: Bool

  private let scope: ExpressionScope
  private let bindings: [String: Value]
  private let isUnchecked: Bool
  private let isOnlyChecked: Bool

  /// Reads a line.
  package init(_ line: Value) throws(SuiteError) {
    guard let id = line["id"]?.string else { throw SuiteError("the line has no 'id'") }
    guard let expression = line["expr"]?.string else { throw SuiteError("the line has no 'expr'") }
    self.id = id
    self.expression = expression
    tier = line["tier"]?.string ?? ""
    isSkippedByReference = line["refSkips"] != nil
    isUnchecked = line["disableCheck"]?.bool == true
    isOnlyChecked = line["checkOnly"]?.bool == true
    expectedValue = try line["expect"]?["value"].map { form throws(SuiteError) in try Value(suiteForm: form) }
    expectedType = line["expect"]?["type"]?.string
    expectsError = line["expect"]?["error"] != nil

    var bindings: [String: Value] = [:]
    for member in line["bindings"]?.map?.members ?? [] {
      guard let name = member.key.string else { continue }
      bindings[name] = try Value(suiteForm: member.value)
    }
    self.bindings = bindings
    var functions: [FunctionDeclaration] = []
    var variables: [(String, ValueType)] = []
    for entry in line["typeEnv"]?.list ?? [] {
      guard let name = entry["name"]?.string else { throw SuiteError("an entry of 'typeEnv' has no name") }
      if let type = entry["type"]?.string { variables.append((name, try ValueType(suiteForm: type))) }
      for overload in entry["overloads"]?.list ?? [] { functions.append(try Self.declaration(name, overload)) }
    }
    var scope = ExpressionScope(
      functions: functions.isEmpty ? .standard : .standard.adding(functions),
      rules: isUnchecked ? .unchecked : .plain, container: line["container"]?.string ?? "")
    for (name, type) in variables { scope.declare(name, type) }
    for name in bindings.keys.sorted() where scope.type(of: name) == nil { scope.declare(name, .dyn) }
    self.scope = scope
  }

  /// A function that a test declares, for the checker alone.
  private static func declaration(_ name: String, _ form: Value) throws(SuiteError) -> FunctionDeclaration {
    var types: [ValueType] = []
    for item in form["params"]?.list ?? [] { types.append(try ValueType(suiteForm: item.string ?? "")) }
    let result = try ValueType(suiteForm: form["result"]?.string ?? "")
    let isMethod = form["receiver"]?.bool == true && !types.isEmpty
    return FunctionDeclaration(
      name, receiver: isMethod ? types[0] : nil, parameters: isMethod ? Array(types.dropFirst()) : types,
      result: result, summary: ""
    ) { _, _ throws(EvaluationError) in throw EvaluationError("'\(name)' is declared only") }
  }

  /// Evaluates the line.
  package func run() -> SuiteOutcome {
    let program: CompiledExpression
    switch CompiledExpression.compile(expression, in: scope) {
    case .success(let compiled): program = compiled
    case .failure(let faults):
      let message = faults.list.map(\.message).joined(separator: "; ")
      var unchecked = ExpressionScope(functions: scope.functions, rules: .unchecked)
      for name in scope.names { unchecked.declare(name, .dyn) }
      // A text that doesn't compile even without types isn't an expression.
      if case .success = CompiledExpression.compile(expression, in: unchecked) {
        return SuiteOutcome(failure: (.check, message))
      }
      return SuiteOutcome(failure: (.parse, message))
    }
    let type = isUnchecked ? nil : program.type.description
    if isOnlyChecked { return SuiteOutcome(type: type) }
    do throws(EvaluationError) {
      return SuiteOutcome(value: try program.evaluate { bindings[$0] }, type: type)
    } catch {
      return SuiteOutcome(failure: (.eval, error.message), type: type)
    }
  }

  /// Why an outcome is not the one that the line expects; nil if it is.
  ///
  /// Any error will do for an error, but one of the checker's.
  package func objection(to outcome: SuiteOutcome) -> String? {
    switch outcome.failure {
    case (.eval, _)? where expectsError: return nil
    case (let stage, let message)? where !(expectsError && isUnchecked && stage != .eval):
      return "\(stage) error: \(message)"
    default: break
    }
    if let expectedType, let type = outcome.type, type != expectedType { return "its type is \(type)" }
    guard let value = outcome.value else { return nil }
    guard let expectedValue else { return expectsError ? "no error, but \(value)" : nil }
    return value.isSame(as: expectedValue) ? nil : "its value is \(value)"
  }
}

/// The result of a line.
package struct SuiteOutcome: Sendable {
  package enum Stage: String, Sendable { case parse, check, eval }

  package var failure: (stage: Stage, message: String)?
  package var value: Value?
  /// The type, where the checker ran.
  package var type: String?

  /// The outcome as a line: `{id, value, type}` or `{id, error, stage, type}`.
  package func line(id: String) -> Value {
    var map = ValueMap([("id", .string(id))])
    map["value"] = value?.suiteForm
    map["error"] = failure.map { .string($0.message) }
    map["stage"] = failure.map { .string($0.stage.rawValue) }
    map["type"] = type.map { .string($0) }
    return .map(map)
  }
}

/// A line that is none of the suite's.
package struct SuiteError: Error {
  /// The fault.
  package let message: String

  package init(_ message: String) { self.message = message }
}
