import Basics
import Expressions

// The reference page of the functions of expressions. All of it but the first sections is generated from the functions'
// declarations, whose examples run as tests.

/// The example of the page, which the tests of the language run too.
private let usage = """
  var scope = ExpressionScope()
  scope.declare("price", .double)
  scope.declare("items", .list(.int))
  switch CompiledExpression.compile("price * double(size(items)) > 10.0", in: scope) {
  case .success(let program):
    print(program.type)  // bool
    print(try program.evaluate([.double(2.5), .list([.int(1), .int(2), .int(3)])]))  // false
  case .failure(let faults):
    for fault in faults.list { print(fault.range, fault.message) }
  }
  """

private let introduction = """
  # Expressions

  `Expressions` is [CEL](https://github.com/google/cel-spec), the Common Expression Language, in Swift: the whole language
  with its parser, its checker and its evaluator, CEL's libraries, and some of our own. It doesn't depend on recipes,
  only on Basics, Calendars and RE2. An expression has no side effects, always ends, and reads only the values that it is
  given: no function reads a clock, a file or the network.

  A scope declares the names that an expression may read. `compile` parses and checks the expression, and finds every
  fault at once, each with its place in the text and its fix. The compiled program can be evaluated any number of times,
  from any thread:

  ```swift
  \(usage)
  ```

  - `ExpressionScope(rules:)`: `.sound`, the default, is stricter than CEL: an expression that passes the check never fails
    because of a missing field or a type; `.plain` is CEL as it is specified; `.unchecked` looks up names and types during
    evaluation. `container:` is the namespace for the lookup of names; `functions:` is the library of functions.
  - `compile(_:in:expecting:)` takes the type that the value must have; `program.type` is the type that it has.
  - `evaluate(_:limits:)` takes the values in the order of the declarations, or a closure, which is called with the name
    of each value that the expression reads. An `EvaluationError` says what failed, and where. `EvaluationLimits` bounds
    the steps and the bytes.
  - `Template` is a text that holds expressions, written `${{ … }}`; each is replaced by its value.
  - `FunctionLibrary.standard.adding(_:)` adds your own functions. Each is a `FunctionDeclaration`: its types, its
    sentence for this page, an example, and its body.

  ## The language

  Besides the functions below, the language has operators
  (`+ - * / %`, `== != < <= > >=`, `&& || !`, `in`, `c ? a : b`, `m.field`, `list[0]`, `m.?field`) and macros:

  | Macro | Result |
  | --- | --- |
  | `has(m.field)` | Whether the field exists. |
  | `list.all(x, p)`, `list.exists(x, p)`, `list.exists_one(x, p)` | Whether all items, at least one, or exactly one meet the condition. |
  | `list.filter(x, p)` | The items that meet the condition. |
  | `list.map(x, e)`, `list.map(x, p, e)` | The value of `e` for each item, or for each item that meets the condition `p`. |
  | `list.transformList(i, x, e)`, `map.transformMap(k, v, e)` | The same with the index, or with key and value. |
  | `cel.bind(x, value, e)` | An expression that uses a value by name. |
  | `o.optMap(x, e)`, `o.optFlatMap(x, e)` | The value of `e` for the value that the optional holds; nothing if it is empty. |

  """

/// The page.
func functionPage() -> String {
  introduction
    + FunctionLibrary.standard.sections.map { section in
      "\n## \(section.title)\n\n| Function | | Example |\n| --- | --- | --- |\n"
        + section.declarations.map(\.row).joined()
    }.joined()
}

extension FunctionDeclaration {
  fileprivate var row: String {
    let displayed = example.isEmpty ? "" : "`\(example.inCell)`"
    return "| `\(signature.inCell)` | \(summary.inCell) | \(displayed) |\n"
  }
}

extension String {
  /// The text in a cell of a Markdown table.
  fileprivate var inCell: String { replacing("|", with: "\\|").replacing("\n", with: " ") }
}
