import Basics

/// The syntax tree of an expression, with macros already expanded into loops and bindings.
///
/// A chain of `&&` or `||` is one node, so that only real nesting makes the tree deep.
final class Syntax {
  enum Kind {
    /// A part that could not be parsed; its fault is recorded.
    case invalid
    case literal(Value)
    case name(String, isRooted: Bool)
    case select(Syntax, String, isOptional: Bool)
    case has(Syntax, String)
    case index(Syntax, Syntax, isOptional: Bool)
    case call(String, isRooted: Bool, [Syntax])
    case method(Syntax, String, [Syntax])
    case not(Syntax)
    case negate(Syntax)
    case binary(BinaryOperator, Syntax, Syntax)
    case and([Syntax])
    case or([Syntax])
    case conditional(Syntax, Syntax, Syntax)
    case list([Element])
    case map([Entry])
    case loop(Loop)
    /// `cel.bind(name, value, body)`.
    case bind(String, Syntax, Syntax)
    /// `optMap` and `optFlatMap`: the body receives the value inside the optional.
    case optionalMap(Syntax, String, Syntax, isFlat: Bool)
  }

  struct Element {
    var value: Syntax
    var isOptional: Bool
  }

  struct Entry {
    var key: Syntax
    var value: Syntax
    var isOptional: Bool
  }

  /// A macro that iterates over a list or the keys of a map.
  struct Loop {
    enum Kind: String {
      case all, exists, existsOne, map, filter, transformList, transformMap, transformMapEntry, sortBy
    }
    var kind: Kind
    var range: Syntax
    /// One name for items or keys, or two for index and item, or key and value.
    var names: [String]
    var filter: Syntax?
    var body: Syntax
  }

  let kind: Kind
  /// The range of the whole node, as UTF-8 offsets.
  let range: Range<Int>
  /// The name of a field or method, or the operator.
  let mark: Range<Int>
  /// The depth of the tree below this node, including it; it limits the recursion of a walk through the tree.
  let depth: Int

  init(_ kind: Kind, _ range: Range<Int>, mark: Range<Int>? = nil, depth: Int) {
    self.kind = kind
    self.range = range
    self.mark = mark ?? range
    self.depth = depth
  }
}

enum BinaryOperator: String {
  case add = "+"
  case subtract = "-"
  case multiply = "*"
  case divide = "/"
  case remainder = "%"
  case less = "<"
  case lessOrEqual = "<="
  case greater = ">"
  case greaterOrEqual = ">="
  case equal = "=="
  case notEqual = "!="
  case membership = "in"
}
