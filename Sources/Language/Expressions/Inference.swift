package import Basics

/// Decides whether a value of one type may be used where another is wanted, and infers type parameters.
///
/// A type parameter of a declaration, and the element of an empty literal, become variables (`.parameter` with a number
/// as its name) that are bound at their first use. `dyn` is accepted everywhere. Where `dyn` is wanted, any type
/// without a secret is accepted, because the receiver may show or store the value. A parameter that takes a secret
/// accepts any value made with one. In plain CEL, null is accepted for instants, durations, objects and abstract types,
/// and `wrapper(T)` for its T. In a sound check, null is accepted only for a wrapper, and a wrapper only for a wrapper.
struct Inference {
  private var bindings: [ValueType?] = []
  /// The bindings since then, each with the one before it, so that an attempt can be undone without a copy of all
  /// bindings.
  private var trail: [(index: Int, before: ValueType?)] = []
  let isSound: Bool

  init(isSound: Bool) { self.isSound = isSound }

  /// A new variable.
  mutating func variable() -> ValueType {
    bindings.append(nil)
    return .parameter("\(bindings.count - 1)")
  }

  private func index(_ name: String) -> Int? { Int(name).flatMap { bindings.indices.contains($0) ? $0 : nil } }

  /// The type with its outermost variable replaced by its binding.
  func resolved(_ type: ValueType) -> ValueType {
    var type = type
    while case .parameter(let name) = type, let index = index(name), let bound = bindings[index] { type = bound }
    return type
  }

  /// The type with every bound variable replaced, and the others by `dyn`.
  ///
  /// A map literal whose key and value types are both unbound is empty, so in a sound check it is an object without
  /// fields.
  func finished(_ type: ValueType) -> ValueType {
    mapped(type) { resolved in
      switch resolved {
      case .parameter: .dyn
      case .map(.parameter, .parameter) where isSound: .object(ObjectType(fields: []))
      default: nil
      }
    }
  }

  /// The type with every bound variable replaced.
  func applied(_ type: ValueType) -> ValueType { mapped(type) { _ in nil } }

  private func mapped(_ type: ValueType, _ replace: (ValueType) -> ValueType?) -> ValueType {
    let type = resolved(type)
    switch type {
    case .list(let element): return .list(mapped(element, replace))
    case .map(let key, let value):
      return replace(.map(resolved(key), resolved(value))) ?? .map(mapped(key, replace), mapped(value, replace))
    case .optional(let wrapped): return .optional(mapped(wrapped, replace))
    case .wrapper(let wrapped): return .wrapper(mapped(wrapped, replace))
    case .type(let of): return .type(mapped(of, replace))
    case .secret(let of): return .secret(mapped(of, replace))
    case .opaque(let name, let arguments):
      return arguments.isEmpty ? type : .opaque(name, arguments.map { mapped($0, replace) })
    case .object(let object):
      guard object.fields.contains(where: \.type.hasParameter) else { return type }
      return .object(
        ObjectType(
          object.name,
          fields: object.fields.map { field in
            var field = field
            field.type = mapped(field.type, replace)
            return field
          }))
    default: return replace(type) ?? type
    }
  }

  /// The types of a declaration with a new variable for each type parameter.
  mutating func instantiate(_ types: [ValueType]) -> [ValueType] {
    var names: [String: ValueType] = [:]
    return types.map { instantiate($0, &names) }
  }

  private mutating func instantiate(_ type: ValueType, _ names: inout [String: ValueType]) -> ValueType {
    switch type {
    case .parameter(let name):
      if let known = names[name] { return known }
      let new = variable()
      names[name] = new
      return new
    case .list(let of): return .list(instantiate(of, &names))
    case .map(let key, let value): return .map(instantiate(key, &names), instantiate(value, &names))
    case .optional(let of): return .optional(instantiate(of, &names))
    case .wrapper(let of): return .wrapper(instantiate(of, &names))
    case .type(let of): return .type(instantiate(of, &names))
    case .secret(let of): return .secret(instantiate(of, &names))
    case .opaque(let name, let arguments):
      var instances: [ValueType] = []
      for argument in arguments { instances.append(instantiate(argument, &names)) }
      return .opaque(name, instances)
    default: return type
    }
  }

  // MARK: Acceptance

  /// Whether a value of the given type is accepted where the other is wanted.
  ///
  /// Binds variables only if it is.
  mutating func accepts(_ wanted: ValueType, _ given: ValueType) -> Bool {
    let mark = mark
    if unify(wanted, given) { return true }
    undo(to: mark)
    return false
  }

  /// The position in the trail for undoing an attempt.
  var mark: Int { trail.count }

  mutating func undo(to mark: Int) {
    while trail.count > mark, let last = trail.popLast() { bindings[last.index] = last.before }
  }

  private mutating func set(_ index: Int, _ type: ValueType) {
    trail.append((index, bindings[index]))
    bindings[index] = type
  }

  private mutating func unify(_ wanted: ValueType, _ given: ValueType) -> Bool {
    if case .parameter(let name) = wanted, let index = index(name), let bound = bindings[index] {
      // A parameter's type widens to the most general type that was given for it.
      if isSound, case .choice = resolved(bound), case .string = resolved(given) {
        set(index, .string)
        return true
      }
      guard unify(bound, given) else { return false }
      if case .parameter = resolved(bound) { return true }
      set(index, general(bound, given))
      return true
    }
    let given = resolved(given)
    switch (wanted, given) {
    case (.parameter(let left), .parameter(let right)) where left == right: return true
    // The newer of two variables is bound to the older. Otherwise a long literal would chain all of its variables.
    case (.parameter, .parameter(let name)): return bind(name, wanted)
    case (.parameter(let name), _): return bind(name, given)
    case (_, .parameter(let name)): return bind(name, wanted)
    case (.dyn, _): return !isSound || !holdsSecret(given)
    case (_, .dyn): return true
    case (.secret(let left), _): return unify(left, holdsSecret(given) ? applied(given).disclosed : given)
    case (.wrapper(let left), .wrapper(let right)): return unify(left, right)
    case (.wrapper, .null): return true
    case (.wrapper(let left), _): return unify(left, given)
    case (_, .wrapper(let right)): return !isSound && unify(wanted, right)
    case (.null, .null), (.bool, .bool), (.int, .int), (.uint, .uint), (.double, .double), (.string, .string),
      (.bytes, .bytes), (.timestamp, .timestamp), (.duration, .duration), (.string, .choice):
      return true
    case (.timestamp, .null), (.duration, .null), (.object, .null), (.opaque, .null), (.optional, .null):
      return !isSound
    case (.choice(let left), .choice(let right)):
      return right.allSatisfy { option in left.contains { $0.hasSameScalars(as: option) } }
    case (.list(let left), .list(let right)): return unify(left, right)
    case (.map(let key, let value), .map(let otherKey, let otherValue)):
      return unify(key, otherKey) && unify(value, otherValue)
    case (.map, .object(let object)) where isSound && object.fields.isEmpty: return true
    case (.map(let key, let value), .object(let object)): return unify(key, .string) && unify(value, member(of: object))
    case (.object(let object), .map(let key, _)):
      // Only an empty literal, whose types are still unbound, certainly has no other keys.
      guard case .parameter = resolved(key) else { return false }
      return object.fields.allSatisfy(\.isOptional)
    case (.object(let left), .object(let right)): return unify(left, right)
    case (.optional(let left), .optional(let right)): return unify(left, right)
    case (.type, .type): return true
    case (.opaque(ValueType.mixedName, let parts), _):
      // A mixture accepts any type that one of its parts accepts, and another mixture if it accepts all of its parts.
      return (given.mixedParts ?? [given]).allSatisfy { given in parts.contains { accepts($0, given) } }
    case (.opaque(let name, let left), .opaque(let other, let right)):
      guard name == other, left.count == right.count else { return false }
      for index in left.indices where !unify(left[index], right[index]) { return false }
      return true
    default: return false
    }
  }

  private mutating func unify(_ wanted: ObjectType, _ given: ObjectType) -> Bool {
    if wanted === given { return true }
    for field in wanted.fields {
      guard let other = given[field.name] else {
        if field.isOptional { continue }
        return false
      }
      if other.isOptional, !field.isOptional { return false }
      // A null in an optional field means that the field is absent.
      if field.isOptional, case .wrapper(let wrapped) = resolved(other.type), unify(field.type, wrapped) { continue }
      guard unify(field.type, other.type) else { return false }
    }
    return given.fields.allSatisfy { wanted[$0.name] != nil }
  }

  private mutating func bind(_ name: String, _ type: ValueType) -> Bool {
    guard let index = index(name), !occurs(name, in: type) else { return false }
    set(index, type)
    return true
  }

  private func occurs(_ name: String, in type: ValueType) -> Bool {
    switch resolved(type) {
    case .parameter(let other): other == name
    case .list(let of), .optional(let of), .wrapper(let of), .type(let of), .secret(let of): occurs(name, in: of)
    case .map(let key, let value): occurs(name, in: key) || occurs(name, in: value)
    case .opaque(_, let arguments): arguments.contains { occurs(name, in: $0) }
    case .object(let object): object.fields.contains { occurs(name, in: $0.type) }
    default: false
    }
  }

  /// The more general of two types that may be used for each other.
  private func general(_ left: ValueType, _ right: ValueType) -> ValueType {
    let left = resolved(left)
    let right = resolved(right)
    switch (left, right) {
    case (.dyn, _), (_, .dyn): return anything(left, right)
    case (.secret(let left), .secret(let right)), (.secret(let left), let right), (let left, .secret(let right)):
      return .secret(general(left, right))
    case (.opaque(ValueType.mixedName, _), _), (_, .opaque(ValueType.mixedName, _)): return mixed(left, right)
    case (.list(let left), .list(let right)): return .list(general(left, right))
    case (.map(let key, let value), .map(let otherKey, let otherValue)):
      return .map(general(key, otherKey), general(value, otherValue))
    case (.optional(let left), .optional(let right)): return .optional(general(left, right))
    case (.opaque(let name, let left), .opaque(_, let right)):
      return .opaque(name, zip(left, right).map { general($0, $1) })
    case (.null, _): return right
    case (.choice, .string): return .string
    default: return left
    }
  }

  /// The type of a value that has one of two types, one of them `dyn`.
  private func anything(_ left: ValueType, _ right: ValueType) -> ValueType {
    holdsSecret(left) || holdsSecret(right) ? .secret(.dyn) : .dyn
  }

  /// Whether a value of the type may hold a secret anywhere, as far as variables are bound.
  func holdsSecret(_ type: ValueType) -> Bool {
    switch resolved(type) {
    case .secret: true
    case .list(let of), .optional(let of), .wrapper(let of), .type(let of): holdsSecret(of)
    case .map(let key, let value): holdsSecret(key) || holdsSecret(value)
    case .opaque(_, let arguments): arguments.contains(where: holdsSecret)
    case .object(let object): object.holdsSecret || object.fields.contains { holdsSecret($0.type) }
    default: false
    }
  }

  // MARK: Joining

  /// The type of a value that has one of two types, or nil if only `dyn` covers both.
  mutating func join(_ left: ValueType, _ right: ValueType) -> ValueType? {
    let left = resolved(left)
    let right = resolved(right)
    switch (left, right) {
    case (.opaque(ValueType.mixedName, _), _), (_, .opaque(ValueType.mixedName, _)): return mixed(left, right)
    case (.object(let one), .object(let other)) where one !== other: return join(one, other).map { .object($0) }
    case (.choice(let one), .choice(let other)):
      return .choice(one + other.filter { option in !one.contains { $0.hasSameScalars(as: option) } })
    case (.secret(let one), .secret(let other)): return join(one, other).map { .secret($0) }
    case (.secret(let one), let other), (let other, .secret(let one)): return join(one, other).map { .secret($0) }
    case (.null, .null): return .null
    case (.null, let other), (let other, .null):
      if case .wrapper = other { return other }
      if case .dyn = other { return .dyn }
      if case .parameter = other { break }
      if isSound { return .wrapper(other) }
    default: break
    }
    if accepts(left, right) { return general(left, right) }
    if accepts(right, left) { return general(right, left) }
    return nil
  }

  private mutating func join(_ left: ObjectType, _ right: ObjectType) -> ObjectType? {
    var fields: [ObjectType.Field] = []
    for field in left.fields {
      var field = field
      if let other = right[field.name] {
        guard let type = join(field.type, other.type) else { return nil }
        field.type = type
        field.isOptional = field.isOptional || other.isOptional
      } else {
        field.isOptional = true
      }
      fields.append(field)
    }
    for var field in right.fields where left[field.name] == nil {
      field.isOptional = true
      fields.append(field)
    }
    return ObjectType(left.name == right.name ? left.name : "", fields: fields)
  }

  /// The type of a value that has one of two types that don't join.
  ///
  /// In CEL it is `dyn`, which would let a wrong use pass. A sound check records the mixture, so that the value is
  /// accepted only where any type is, as by `format`.
  func mixed(_ left: ValueType, _ right: ValueType) -> ValueType {
    guard isSound else { return .dyn }
    let left = resolved(left)
    let right = resolved(right)
    if left == .dyn || right == .dyn { return anything(left, right) }
    var parts = left.mixedParts ?? [left]
    for part in right.mixedParts ?? [right] where !parts.contains(part) { parts.append(part) }
    return .opaque(ValueType.mixedName, parts)
  }

  /// The common type of an object's values.
  mutating func member(of object: ObjectType) -> ValueType {
    guard var type = object.fields.first?.type else { return variable() }
    for field in object.fields.dropFirst() {
      type = join(type, field.type) ?? mixed(type, field.type)
    }
    return type
  }
}

extension ValueType {
  /// Whether a type parameter occurs in the type.
  var hasParameter: Bool {
    switch self {
    case .parameter: true
    case .list(let of), .optional(let of), .wrapper(let of), .type(let of), .secret(let of): of.hasParameter
    case .map(let key, let value): key.hasParameter || value.hasParameter
    case .opaque(_, let arguments): arguments.contains(where: \.hasParameter)
    case .object(let object): object.fields.contains(where: \.type.hasParameter)
    default: false
    }
  }

  /// Whether the type has more parts than a person would write; counting stops at that limit.
  ///
  /// Types share their parts, so a chain of bindings can make a type whose parts, written out, can't be counted, and a
  /// walk through a type visits each of them.
  var isTooLarge: Bool {
    var left = 100_000
    countParts(&left)
    return left < 0
  }

  private func countParts(_ left: inout Int) {
    left -= 1
    guard left >= 0 else { return }
    switch self {
    case .list(let of), .optional(let of), .wrapper(let of), .type(let of), .secret(let of): of.countParts(&left)
    case .map(let key, let value):
      key.countParts(&left)
      value.countParts(&left)
    case .opaque(_, let arguments): for argument in arguments { argument.countParts(&left) }
    case .object(let object): for field in object.fields { field.type.countParts(&left) }
    default: break
    }
  }

  /// The type of a value that has any of several types; nil for no types.
  package static func joined(_ types: [ValueType]) -> ValueType? {
    var inference = Inference(isSound: true)
    guard var joined = types.first else { return nil }
    for type in types.dropFirst() { joined = inference.join(joined, type) ?? inference.mixed(joined, type) }
    return joined
  }

  /// Whether a value of another type is accepted where this type is wanted.
  package func accepts(_ given: ValueType) -> Bool {
    var inference = Inference(isSound: true)
    return inference.accepts(self, given)
  }

  /// The type of a value that has one of several types.
  static func mixed(_ parts: [ValueType]) -> ValueType { .opaque(mixedName, parts) }

  /// The type without its secrets.
  var disclosed: ValueType {
    switch self {
    case .secret(let of): of.disclosed
    case .list(let of): .list(of.disclosed)
    case .optional(let of): .optional(of.disclosed)
    case .wrapper(let of): .wrapper(of.disclosed)
    case .map(let key, let value): .map(key.disclosed, value.disclosed)
    case .opaque(let name, let arguments): .opaque(name, arguments.map(\.disclosed))
    case .object(let object) where object.holdsSecret:
      .object(
        ObjectType(
          object.name,
          fields: object.fields.map { field in
            var field = field
            field.type = field.type.disclosed
            return field
          }))
    default: self
    }
  }

  /// The type with the field at the end of the chain of names present.
  func having(_ names: ArraySlice<String>) -> ValueType {
    switch self {
    case .secret(let of): return .secret(of.having(names))
    case .object(let object):
      guard let name = names.first, object[name] != nil else { return self }
      return .object(
        ObjectType(
          object.name,
          fields: object.fields.map { field in
            guard field.name.hasSameScalars(as: name) else { return field }
            var field = field
            if names.count == 1 {
              field.isOptional = false
            } else {
              field.type = field.type.having(names.dropFirst())
            }
            return field
          }))
    default: return self
    }
  }
}
