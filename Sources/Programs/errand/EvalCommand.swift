import AgentRuntime
import Basics
import CommandLineParser
import Expressions
import Recipes
import YAMLReader

extension Dispatch {
  /// `errand eval`: shows the value and type of an expression.
  func evaluate() throws(RuntimeError) -> ExitCode {
    var scope = ExpressionScope()
    scope.zone = try workspace().configuration.zone ?? scope.zone
    var values: [Value] = []
    if let path = parsed["with"].text {
      for member in try document(at: path).map?.members ?? [] {
        guard let name = member.name else { continue }
        scope.declare(name, .dyn)
        values.append(member.value)
      }
    }
    if !scope.names.contains("now") {
      scope.declare("now", .timestamp)
      values.append(.timestamp(SystemTime().now()))
    }
    for name in ["inputs", "steps", "run", "secrets", "event", "item", "result", "error"] {
      scope.explainAbsence(
        ofVariable: name,
        "'errand eval' reads no recipe; give values by --with FILE, which has a line such as \(name): { … }")
    }
    let source = Source(name: "<expression>", text: parsed["expression"].text ?? "")
    func fail(_ faults: [(String, Range<Int>?)]) -> RuntimeError {
      let list = faults.map { Diagnostic($0.0, at: $0.1.map { .init(source, $0) }) }
      console.error(Diagnostics(list).rendered(colour: console.colourError))
      return RuntimeError(.invalid, "the expression has no value")
    }
    let text = String(decoding: source.bytes, as: UTF8.self)
    let program: CompiledExpression
    switch CompiledExpression.compile(text, in: scope) {
    case .success(let compiled): program = compiled
    case .failure(let faults): throw fail(faults.list.map { ($0.message, $0.range) })
    }
    let value: Value
    do throws(EvaluationError) { value = try program.evaluate(values) } catch {
      _ = fail([(error.message, error.range)])
      throw RuntimeError(.failed, "the expression has no value")
    }
    if parsed["json"].isGiven {
      console.out(json: value)
    } else {
      console.out("\(JSON.displayed(value, .pretty))  \(Style.dim.applied(to: "\(program.type)", console.colourOut))")
    }
    return .done
  }

  /// A mapping from a JSON or YAML file.
  func document(at path: String) throws(RuntimeError) -> Value {
    let source: Source
    do throws(FileError) { source = Source(name: path, bytes: try Files.read(path, limit: 64 << 20)) } catch {
      throw RuntimeError(error.isNotFound ? .noInput : .unavailable, error.description)
    }
    let value: Value
    if path.hasSuffix(".json") {
      do throws(JSONError) { value = try JSON.parse(source.bytes) } catch {
        console.error(error.diagnostic(in: source).rendered(colour: console.colourError))
        throw RuntimeError(.invalid, "'\(path)' cannot be read")
      }
    } else {
      do throws(Diagnostics) { value = try YAMLReader.read(source).root } catch {
        console.error(error.rendered(colour: console.colourError))
        throw RuntimeError(.invalid, "'\(path)' cannot be read")
      }
    }
    guard value.map != nil else { throw RuntimeError(.invalid, "'\(path)' must be a mapping from names to values") }
    return value
  }
}
