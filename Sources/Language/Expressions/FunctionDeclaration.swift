package import Basics

/// One form of one function: its types, its documentation and its implementation.
///
/// The checker, the evaluator, the reference page and the tests all read this one declaration. A function with several
/// forms (overloads) is declared several times under one name; if several forms fit equally, the first declared one
/// applies. A namespace is part of the name, before a dot: `stats.mean`.
///
/// It is a class because a declaration has many parts and is passed around far more often than made.
package final class FunctionDeclaration: Sendable {
  /// The name as it is written, with its namespace if it has one.
  package let name: String
  /// The type of the value before the dot, for a method; nil for a free function.
  package let receiver: ValueType?
  /// The types of the arguments.
  ///
  /// `ValueType.parameter` stands for any type, the same one wherever its name occurs.
  package let parameters: [ValueType]
  /// Whether the last parameter accepts one or more arguments.
  package let isVariadic: Bool
  /// The type of the result.
  package let result: ValueType
  /// One sentence for the reference page.
  package let summary: String
  /// An expression that is true and shows the use; empty for a form that the example of another form covers.
  package let example: String
  let literalCheck: LiteralCheck?
  let typeCheck: TypeCheck?
  let resultType: ResultType?
  /// Whether the zone of the scope is passed after the arguments.
  let takesZone: Bool
  let body: Body
  /// Receiver and parameters, in the order that the body receives them.
  let allParameters: [ValueType]
  /// Whether any of the types contains a type parameter.
  let isGeneric: Bool

  /// The implementation of the function.
  ///
  /// It is called only with values of the declared kinds, the receiver first. Elements of lists are an exception: in a
  /// list of `dyn`, only the first element's kind has been checked.
  package typealias Body =
    @Sendable (_ arguments: Arguments, _ context: inout EvaluationContext) throws(EvaluationError) -> Value

  /// Checks the constant arguments (nil for the others; the receiver first) when the expression is checked, and returns
  /// a fault of one of them.
  package typealias LiteralCheck = @Sendable (_ constants: [Value?]) -> LiteralFault?

  /// Checks the types of the arguments (the receiver first) when the expression is checked, after the declaration's own
  /// types, and returns a fault that a declaration can't express.
  package typealias TypeCheck = @Sendable (_ types: [ValueType]) -> LiteralFault?

  /// Computes the type of the result from the types and constants of the arguments (the receiver first), where it
  /// depends on them; nil if the declared type applies.
  package typealias ResultType = @Sendable (_ types: [ValueType], _ constants: [Value?]) -> ValueType?

  package init(
    _ name: String, receiver: ValueType? = nil, parameters: [ValueType], isVariadic: Bool = false, result: ValueType,
    summary: String, example: String = "", literalCheck: LiteralCheck? = nil, typeCheck: TypeCheck? = nil,
    resultType: ResultType? = nil, takesZone: Bool = false, body: @escaping Body
  ) {
    self.name = name
    self.receiver = receiver
    self.parameters = parameters
    self.isVariadic = isVariadic
    self.result = result
    self.summary = summary
    self.example = example
    self.literalCheck = literalCheck
    self.typeCheck = typeCheck
    self.resultType = resultType
    self.takesZone = takesZone
    self.body = body
    allParameters = receiver.map { [$0] + parameters } ?? parameters
    isGeneric = result.hasParameter || allParameters.contains { $0.hasParameter }
  }

  /// The same form without its last argument, a zone: the zone of the scope is passed instead.
  var withoutZone: FunctionDeclaration {
    FunctionDeclaration(
      name, parameters: parameters.dropLast(), result: result,
      summary: summary.replacing(" in a zone", with: " in the recipe's zone"),
      literalCheck: literalCheck, takesZone: true, body: body)
  }

  /// Whether the form accepts this number of arguments, the receiver included.
  func accepts(count: Int) -> Bool { isVariadic ? count >= allParameters.count : count == allParameters.count }

  /// The form as pages and messages write it: `string.substring(int, int) -> string`.
  package var signature: String {
    let list = parameters.map(\.description).joined(separator: ", ") + (isVariadic ? "…" : "")
    return "\(receiver.map { "\($0)." } ?? "")\(name)(\(list)) -> \(result)"
  }
}

/// An argument that the function would reject, found before anything runs.
package struct LiteralFault {
  /// The argument's index; the receiver of a method has index 0.
  package let argument: Int
  /// The problem and the correct form.
  package let message: String

  package init(argument: Int, _ message: String) {
    self.argument = argument
    self.message = message
  }
}

/// The arguments of one call, the receiver first.
///
/// Up to three are held without allocation.
package struct Arguments {
  package let count: Int
  private let first: Value
  private let second: Value
  private let third: Value
  private let rest: [Value]

  init(_ first: Value) {
    (count, self.first, second, third, rest) = (1, first, .null, .null, [])
  }

  init(_ first: Value, _ second: Value) {
    (count, self.first, self.second, third, rest) = (2, first, second, .null, [])
  }

  init(_ all: [Value]) {
    count = all.count
    first = all.count > 0 ? all[0] : .null
    second = all.count > 1 ? all[1] : .null
    third = all.count > 2 ? all[2] : .null
    rest = all.count > 3 ? Array(all[3...]) : []
  }

  /// The argument at an index, or null beyond the last.
  package subscript(index: Int) -> Value {
    switch index {
    case 0: first
    case 1: second
    case 2: third
    default: index >= 3 && index - 3 < rest.count ? rest[index - 3] : .null
    }
  }

  /// The arguments from an index on, for a function that takes any number.
  package func dropping(_ count: Int = 0) -> [Value] { (count..<max(count, self.count)).map { self[$0] } }

  package func bool(_ index: Int) throws(EvaluationError) -> Bool {
    if case .bool(let value) = self[index].content { return value }
    throw mismatch(index, "a bool")
  }

  package func int(_ index: Int) throws(EvaluationError) -> Int {
    if case .int(let value) = self[index].content { return value }
    throw mismatch(index, "an int")
  }

  package func uint(_ index: Int) throws(EvaluationError) -> UInt {
    if case .uint(let value) = self[index].content { return value }
    throw mismatch(index, "a uint")
  }

  package func double(_ index: Int) throws(EvaluationError) -> Double {
    if case .double(let value) = self[index].content { return value }
    throw mismatch(index, "a double")
  }

  package func string(_ index: Int) throws(EvaluationError) -> String {
    if case .string(let value) = self[index].content { return value }
    throw mismatch(index, "a string")
  }

  package func bytes(_ index: Int) throws(EvaluationError) -> [UInt8] {
    if case .bytes(let value) = self[index].content { return value }
    throw mismatch(index, "bytes")
  }

  package func timestamp(_ index: Int) throws(EvaluationError) -> Timestamp {
    if case .timestamp(let value) = self[index].content { return value }
    throw mismatch(index, "a timestamp")
  }

  package func duration(_ index: Int) throws(EvaluationError) -> TimeSpan {
    if case .duration(let value) = self[index].content { return value }
    throw mismatch(index, "a duration")
  }

  package func list(_ index: Int) throws(EvaluationError) -> [Value] {
    if case .list(let value) = self[index].content { return value }
    throw mismatch(index, "a list")
  }

  package func map(_ index: Int) throws(EvaluationError) -> ValueMap {
    if case .map(let value) = self[index].content { return value }
    throw mismatch(index, "a map")
  }

  private func mismatch(_ index: Int, _ wanted: String) -> EvaluationError {
    EvaluationError("\(wanted) is needed here, and \(self[index].kindName) was given")
  }
}
