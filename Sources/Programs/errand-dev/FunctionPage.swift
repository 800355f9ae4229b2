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
  with its parser, its checker and its evaluator, CEL's libraries, and some of our own. It knows nothing of recipes, and
  needs Basics, Calendars and RE2 only. An expression has no side effect, always ends, and sees nothing but what it is
  given: no function reads a clock, a file or the network.

  A scope says what an expression may see. Compiling reads and checks it, and finds every fault at once, each with its
  place in the text and the way to mend it. The program may then be evaluated any number of times, from any thread:

  ```swift
  \(usage)
  ```

  - `ExpressionScope(rules:)`: `.sound`, the default, is stricter than CEL, so that what checks never fails for want of a
    field or by a type; `.plain` is CEL as it is specified; `.unchecked` finds out names and types when it evaluates.
    `container:` is the namespace in which names are looked up, `functions:` what may be called.
  - `compile(_:in:expecting:)` takes the type that the value has to have; `program.type` is the one that it has.
  - `evaluate(_:limits:)` takes the values in the order of the declarations, or a closure that is asked for those by name
    that are read. An `EvaluationError` says what failed, and where. `EvaluationLimits` bounds the steps and the bytes.
  - `Template` is a text in which `${{ … }}` stands for values.
  - `FunctionLibrary.standard.adding(_:)` takes functions of your own, as a `FunctionDeclaration` each: its types, its
    sentence for this page, an example, and what it does.

  ## The language

  Beside the functions below there are operators
  (`+ - * / %`, `== != < <= > >=`, `&& || !`, `in`, `c ? a : b`, `m.field`, `list[0]`, `m.?field`) and macros:

  | Macro | What it gives |
  | --- | --- |
  | `has(m.field)` | Whether the field is there. |
  | `list.all(x, p)`, `list.exists(x, p)`, `list.exists_one(x, p)` | Whether all items, at least one, or exactly one fit. |
  | `list.filter(x, p)` | The items that fit. |
  | `list.map(x, e)`, `list.map(x, p, e)` | What is made of each item, or of each that fits. |
  | `list.transformList(i, x, e)`, `map.transformMap(k, v, e)` | The same with the index, or with key and value. |
  | `cel.bind(x, value, e)` | An expression that uses a value by name. |
  | `o.optMap(x, e)`, `o.optFlatMap(x, e)` | What is made of an optional value, if it is there. |

  """

/// The page.
func functionPage() -> String {
  let declarations = FunctionLibrary.standard.declarations
  var sections: [(title: String, declarations: [FunctionDeclaration])] = []
  for declaration in declarations {
    let title = declaration.section
    if let index = sections.firstIndex(where: { $0.title == title }) {
      sections[index].declarations.append(declaration)
    } else {
      sections.append((title, [declaration]))
    }
  }
  // Our own libraries come last, in the order of the declarations.
  let ordered = sections.filter { !$0.title.hasPrefix("`") } + sections.filter { $0.title.hasPrefix("`") }
  return introduction
    + ordered.map { section in
      "\n## \(section.title)\n\n| Function | | Example |\n| --- | --- | --- |\n"
        + section.declarations.map(\.row).joined()
    }.joined()
}

extension FunctionDeclaration {
  /// The section of the function: its library, or the type of its receiver.
  fileprivate var section: String {
    if let dot = name.lastIndex(of: ".") { return "`\(name[..<dot])`" }
    switch receiver {
    case nil: return "Called by name"
    case .string: return "Texts"
    case .bytes: return "Bytes"
    case .list: return "Lists"
    case .map: return "Maps"
    case .timestamp: return "Instants"
    case .duration: return "Lengths of time"
    case .optional: return "Optional values"
    case .some(let type): return "`\(type)`"
    }
  }

  fileprivate var row: String {
    let shown = example.isEmpty ? "" : "`\(example.inCell)`"
    return "| `\(signature.inCell)` | \(summary.inCell) | \(shown) |\n"
  }
}

extension String {
  /// The text in a cell of a Markdown table.
  fileprivate var inCell: String { replacing("|", with: "\\|").replacing("\n", with: " ") }
}
