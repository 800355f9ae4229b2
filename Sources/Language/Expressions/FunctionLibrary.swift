import Basics

/// The functions that expressions may call, found by name.
package struct FunctionLibrary: Sendable {
  /// Every declaration, in order.
  package let declarations: [FunctionDeclaration]
  private let functions: [String: [FunctionDeclaration]]
  private let methods: [String: [FunctionDeclaration]]
  /// The namespaces: the parts of dotted names before the dot.
  package let namespaces: Set<String>

  package init(_ declarations: [FunctionDeclaration]) {
    var functions: [String: [FunctionDeclaration]] = [:]
    var methods: [String: [FunctionDeclaration]] = [:]
    // This runs at every start of the program that reads an expression.
    functions.reserveCapacity(declarations.count / 2)
    methods.reserveCapacity(declarations.count / 2)
    var namespaces: Set<String> = []
    for declaration in declarations {
      if declaration.receiver == nil {
        functions[declaration.name, default: []].append(declaration)
        if let dot = declaration.name.utf8.lastIndex(of: ASCII.dot) {
          namespaces.insert(String(declaration.name[..<dot]))
        }
      } else {
        methods[declaration.name, default: []].append(declaration)
      }
    }
    self.declarations = declarations
    self.functions = functions
    self.methods = methods
    self.namespaces = namespaces
  }

  /// All functions that recipes may use.
  package static let standard = {
    var all = standardFunctions
    for library in libraryFunctions { all += library }
    return FunctionLibrary(all)
  }()

  /// A library with these functions and others.
  package func adding(_ declarations: [FunctionDeclaration]) -> FunctionLibrary {
    FunctionLibrary(self.declarations + declarations)
  }

  /// The forms of a free function.
  func functions(named name: String) -> [FunctionDeclaration] { functions[name] ?? [] }

  /// The forms of a method.
  func methods(named name: String) -> [FunctionDeclaration] { methods[name] ?? [] }

  /// The names of the free functions, or of the methods.
  func names(ofMethods: Bool) -> [String] { Array((ofMethods ? methods : functions).keys) }
}

extension FunctionLibrary {
  /// The functions by their library, or by the type of their receiver, for pages that list them; other libraries than the
  /// language's come last.
  package var sections: [(title: String, declarations: [FunctionDeclaration])] {
    var sections: [(title: String, declarations: [FunctionDeclaration])] = []
    for declaration in declarations {
      let title = declaration.section
      if let index = sections.firstIndex(where: { $0.title == title }) {
        sections[index].declarations.append(declaration)
      } else {
        sections.append((title, [declaration]))
      }
    }
    return sections.filter { !$0.title.hasPrefix("`") } + sections.filter { $0.title.hasPrefix("`") }
  }
}

extension FunctionDeclaration {
  /// The title of the function's section; the name of a library or of a type is between backticks.
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
}
