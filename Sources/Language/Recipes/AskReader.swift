import ActionKit
package import Basics
import Expressions
import YAMLReader

// Reads `ask`: the keys of a question, and `fields`, and the fields that the record of a question keeps.

extension StepReader {
  /// Reads a question for values; the step's value may be absent if the run may continue without an answer.
  func ask(
    _ value: Value, scope: Scope, over: OverPaths, timeout: inout TimeLimits?
  ) -> (Step.Kind?, ValueType, mayBeAbsent: Bool) {
    guard let fields = Fields(value, of: "'ask'", .ask, findings) else { return (nil, .dyn, false) }
    let question = question(fields, scope: scope, over: over, timeout: &timeout)
    let given = fields.require("fields", "the values to give, such as { room: string }")
    let (asked, declared) = given.map { self.fields($0, in: scope) } ?? ([], .dyn)
    let type = ValueType.object(RecipeTypes.answer(declared))
    return (question.map { .ask(Ask(question: $0, fields: asked, type: type)) }, type, mayTimeOut(question, fields))
  }

  private func fields(_ value: Value, in scope: Scope) -> ([AskedField], ValueType) {
    guard let map = value.map else {
      findings.error("'fields' takes a mapping from names to {type, …}, but found \(value.written)", at: value)
      return ([], .dyn)
    }
    if !(1...Ask.mostFields).contains(map.count) {
      findings.error("a question has from 1 to \(Ask.mostFields) fields, but this has \(map.count)", at: value)
    }
    var fields: [AskedField] = []
    for member in map.members {
      let name = findings.name(member.key, of: "the field") ?? member.key.plainText
      var fallback: ValueTemplate?
      let reader = InputReader(findings: findings, compiler: compiler, word: .field) { given, declaration in
        guard given.holdsExpression else { return nil }
        let wanted = FieldSchema("default", declaration.type, "", limits: declaration.limits)
        fallback =
          compiler.fields(
            .object(["default": given]), of: ObjectSchema(fields: [wanted]), path: "fields.\(name)", in: scope
          ).template
        return .null
      }
      let input = reader.input(name, member.value)
      var written = member.value
      if fallback != nil, var map = written.map {
        map["default"] = nil
        written = .map(map)
      }
      fields.append(AskedField(input: input, written: written, fallback: fallback))
    }
    guard case .object(let type) = ObjectSchema(fields: fields.map(\.input.declaration)).outputType else {
      return (fields, .dyn)
    }
    return (fields, .object(ObjectType("fields", fields: type.fields)))
  }
}

extension Ask {
  /// The fields as the record of a question keeps them: as the recipe declares them, in JSON, with computed defaults.
  ///
  /// - Parameter evaluate: Evaluates a default where the step is reached.
  package func asked<Failure: Error>(
    _ evaluate: (ValueTemplate) throws(Failure) -> Value
  ) throws(Failure) -> Value {
    var asked = ValueMap()
    for field in fields {
      var written = field.written
      if let template = field.fallback, var map = written.map {
        map["default"] = try evaluate(template)["default"]
        written = .map(map)
      }
      asked[field.name] = written
    }
    return (try? JSON.parse(JSON.text(.map(asked)))) ?? .null
  }
}

extension Recipe.Input {
  /// Reads the fields that the record of a question keeps, or says what is wrong with their defaults.
  package static func asked(_ asked: Value) -> Result<[Recipe.Input], Diagnostics> {
    let document: YAMLDocument
    do throws(Diagnostics) { document = try YAMLReader.read(Source(name: "fields", text: "{}")) } catch {
      return .failure(error)
    }
    let findings = Findings(document)
    let reader = InputReader(findings: findings, compiler: ExpressionCompiler(findings: findings), word: .field)
    let fields = (asked.map?.members ?? []).map { reader.input($0.key.plainText, $0.value) }
    let faults = Diagnostics(findings.list)
    return faults.hasErrors ? .failure(faults) : .success(fields)
  }

  /// A person's answer to some fields, in their order and with their defaults, and each fault with the name of its
  /// field.
  package static func answer(
    _ given: [(name: String, input: GivenInput)], to fields: [Recipe.Input], of step: String
  ) -> (values: ValueMap, faults: [(name: String, fault: Diagnostic)]) {
    let (values, faults) = read(given, for: fields, of: "step '\(step)'") { $0.isMissing }
    var answer = ValueMap()
    for field in fields {
      let value = values[field.name].flatMap { $0.isNull && field.declaration.isOptional ? nil : $0 }
      answer[field.name] = value ?? field.fallback
    }
    return (answer, faults)
  }

  /// The JSON Schema of an answer to the fields that the record of a question keeps.
  package static func schema(asked: Value) -> Value? {
    guard case .success(let fields) = self.asked(asked) else { return nil }
    let schema = ObjectSchema(fields: fields.map(\.declaration)).jsonSchema(allowsExpressions: false)
    return try? JSON.parse(JSON.text(.map(schema)))
  }
}
