import Basics

// The macros, which are loops and bindings written as methods: `all`, `exists`, `map`, `cel.bind` and the like.
extension Parser {
  /// The loop or binding for a method call with that name and number of arguments, or nil if it isn't a macro.
  mutating func expandMethod(
    _ receiver: Syntax, _ name: String, _ arguments: [Syntax], _ range: Range<Int>, mark: Range<Int>, over depth: Int
  ) throws(Unreadable) -> Syntax? {
    let count = arguments.count
    if let meant = Parser.otherNames[name], count == 2, case .name = arguments[0].kind {
      // In some languages these return something else.
      let isDoubtful = ["select", "find", "forEach"].contains(name)
      note("there is no \(name)(); \(write(meant, for: mark).tentative(if: isDoubtful))", at: mark)
      return try expandMethod(receiver, meant, arguments, range, mark: mark, over: depth)
    }
    func loop(_ kind: Syntax.Loop.Kind, names: Int, filtered: Bool = false) throws(Unreadable) -> Syntax? {
      var found: [String] = []
      for argument in arguments[..<names] {
        guard case .name(let variable, isRooted: false) = argument.kind else { return nil }
        found.append(variable)
      }
      let loop = Syntax.Loop(
        kind: kind, range: receiver, names: found, filter: filtered ? arguments[count - 2] : nil,
        body: arguments[count - 1])
      return node(.loop(loop), range, mark: mark, over: depth)
    }
    let expanded: Syntax?
    switch (name, count) {
    case ("all", 2): expanded = try loop(.all, names: 1)
    case ("all", 3): expanded = try loop(.all, names: 2)
    case ("exists", 2): expanded = try loop(.exists, names: 1)
    case ("exists", 3): expanded = try loop(.exists, names: 2)
    case ("exists_one", 2), ("existsOne", 2): expanded = try loop(.existsOne, names: 1)
    case ("exists_one", 3), ("existsOne", 3): expanded = try loop(.existsOne, names: 2)
    case ("filter", 2): expanded = try loop(.filter, names: 1)
    case ("map", 2): expanded = try loop(.map, names: 1)
    case ("map", 3): expanded = try loop(.map, names: 1, filtered: true)
    case ("sortBy", 2): expanded = try loop(.sortBy, names: 1)
    case ("transformList", 3): expanded = try loop(.transformList, names: 2)
    case ("transformList", 4): expanded = try loop(.transformList, names: 2, filtered: true)
    case ("transformMap", 3): expanded = try loop(.transformMap, names: 2)
    case ("transformMap", 4): expanded = try loop(.transformMap, names: 2, filtered: true)
    case ("transformMapEntry", 3): expanded = try loop(.transformMapEntry, names: 2)
    case ("transformMapEntry", 4): expanded = try loop(.transformMapEntry, names: 2, filtered: true)
    case ("optMap", 2), ("optFlatMap", 2):
      guard case .name(let variable, isRooted: false) = arguments[0].kind else {
        expanded = nil
        break
      }
      expanded = node(
        .optionalMap(receiver, variable, arguments[1], isFlat: name == "optFlatMap"), range, mark: mark, over: depth)
    case ("bind", 3):
      guard case .name("cel", _) = receiver.kind else { return nil }
      guard case .name(let variable, isRooted: false) = arguments[0].kind else {
        throw fail("cel.bind() names its variable first: cel.bind(x, value, expression)", at: arguments[0].range)
      }
      return node(.bind(variable, arguments[1], arguments[2]), range, mark: mark, over: depth)
    case ("all", _), ("exists", _), ("exists_one", _), ("existsOne", _), ("filter", _), ("map", _), ("sortBy", _),
      ("transformList", _), ("transformMap", _), ("transformMapEntry", _), ("optMap", _), ("optFlatMap", _):
      throw fail("\(name)() is written \(Parser.macroForms[name] ?? name)", at: range)
    default: return nil
    }
    if let expanded { return expanded }
    throw fail(
      "\(name)() names its variable first: \(Parser.macroForms[name] ?? name)", at: arguments.first?.range ?? range)
  }

  /// The macros, by their names in other languages.
  private static let otherNames = [
    "any": "exists", "some": "exists", "every": "all", "collect": "map", "select": "filter", "where": "filter",
    "find": "filter", "forEach": "map",
  ]

  /// The form of each macro, for messages.
  static let macroForms: [String: String] = [
    "all": "items.all(x, condition)", "exists": "items.exists(x, condition)",
    "exists_one": "items.exists_one(x, condition)", "existsOne": "items.existsOne(x, condition)",
    "filter": "items.filter(x, condition)", "map": "items.map(x, value) or items.map(x, condition, value)",
    "sortBy": "items.sortBy(x, key)", "transformList": "items.transformList(index, x, value)",
    "transformMap": "entries.transformMap(key, x, value)",
    "transformMapEntry": "entries.transformMapEntry(key, x, {newKey: value})",
    "optMap": "optional.optMap(x, value)", "optFlatMap": "optional.optFlatMap(x, optionalValue)",
  ]
}
