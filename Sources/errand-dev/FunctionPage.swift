import Basics
import Expressions

// The reference page of the functions that expressions may call. All of it but the first section is read from the
// functions' declarations, whose examples run as tests.

private let introduction = """
  # Functions of expressions

  Expressions are written in [CEL](https://github.com/google/cel-spec). Beside the functions below there are operators
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
  // Libraries of our own come last, in the order of the declarations.
  let ordered = sections.filter { !$0.title.hasPrefix("`") } + sections.filter { $0.title.hasPrefix("`") }
  return introduction
    + ordered.map { section in
      "\n## \(section.title)\n\n| Function | | Example |\n| --- | --- | --- |\n"
        + section.declarations.map(\.row).joined()
    }.joined()
}

extension FunctionDeclaration {
  /// The heading that it stands under: its library, or what it works on.
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
