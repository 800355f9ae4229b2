import Basics

/// The tree of an expression as it was written, macros already expanded into loops and bindings.
///
/// Chains of `&&` and `||` are one node each, so that only what is really nested makes the tree deep.
final class Syntax {
  enum Kind {
    /// Stands where the text could not be read; its fault is recorded.
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
    /// `optMap` and `optFlatMap`: the body sees what is in the optional.
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

  /// A macro that goes through a list or the keys of a map.
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
  /// The whole of it, as UTF-8 offsets.
  let range: Range<Int>
  /// The name of a field or method, or the operator.
  let mark: Range<Int>
  /// How many nodes lie under each other here, which bounds the recursion of a walk through the tree.
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
