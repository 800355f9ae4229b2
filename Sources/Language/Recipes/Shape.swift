// Applies `shape` to the open fields of an action's output.
//
// A field is open if its type is `dyn`, or a list or map that holds it. The shape gives such a field a type, written as
// for inputs; fields inside an open field that the shape doesn't name are left out of the value. Fields that the action
// types keep their types and values, also beside an open field in the same object.
//
// A value is read as an input is: texts become instants, durations and octets, 3 fits a double and 3.0 an int. A text
// is never read as a number. Null and a missing field are the same: absent if the type ends in `?`, else a misfit.
import ActionKit
package import Basics

/// The types that a recipe gives the open fields of an action's output.
package struct Shape: Sendable {
  /// The types to apply, arranged like the output.
  fileprivate indirect enum Part: Sendable {
    /// An open value, which has the type as a whole.
    case open(FieldType)
    /// Each element of a list, or each value of a map.
    case each(Part)
    /// Some fields of an object that the action types.
    case fields([(name: String, isOptional: Bool, part: Part)])
  }

  fileprivate let root: Part
  /// The type of the output with the shape.
  package let type: ValueType

  /// The declaration of an output with the types of the shape, which says more than the output's type.
  func applied(to schema: ObjectSchema) -> ObjectSchema {
    if case .object(let shaped) = root.applied(to: .object(schema)) { shaped } else { schema }
  }

  /// An output that doesn't fit.
  package struct Misfits: Error, Sendable {
    /// Up to ten sentences without a full stop, each with a path, the value found and the type expected.
    package var list: [String]
    /// How many there are.
    package var count: Int

    package var message: String { message(of: "the output") }

    /// - Parameter output: The subject of the sentence: the output that doesn't fit.
    package func message(of output: String) -> String {
      let rest = count - list.count
      return "\(output) doesn't fit 'shape': " + list.joined(separator: "; ") + (rest > 0 ? "; and \(rest) more" : "")
    }
  }

  /// The output with the values of the shape.
  ///
  /// - Parameter redact: Takes the secrets out of a text of the output before a message shows its beginning.
  package func fitted(_ output: Value, redacting redact: @escaping (String) -> String) throws(Misfits) -> Value {
    var fitting = Fitting(redact: redact)
    let value = fitting.fit(output, root, "")
    guard fitting.misfits.count == 0 else { throw fitting.misfits }
    return value ?? .null
  }
}

extension Shape.Part {
  fileprivate func applied(to known: FieldType) -> FieldType {
    switch (self, known) {
    case (_, .optional(let wrapped)): return applied(to: wrapped)
    case (.open(let type), _): return type
    case (.each(let part), .list(let element)): return .list(part.applied(to: element))
    case (.each(let part), .map(let element)): return .map(part.applied(to: element))
    case (.fields(let parts), .object(let schema)):
      return .object(
        ObjectSchema(
          fields: schema.fields.map { field in
            guard let part = parts.first(where: { $0.name.hasSameScalars(as: field.name) }) else { return field }
            let type = part.part.applied(to: field.type)
            return FieldSchema(field.name, type, field.summary, isOptional: part.isOptional)
          }))
    default: return known
    }
  }
}

/// One pass over an output.
private struct Fitting {
  let redact: (String) -> String
  var misfits = Shape.Misfits(list: [], count: 0)

  private static let most = 10
  /// How much of a value a message shows.
  private static let displayed = 40

  private mutating func misfit(_ path: String, _ sentence: String) {
    misfits.count += 1
    if misfits.list.count < Fitting.most {
      misfits.list.append("'\(path.isEmpty ? "output" : path)' \(sentence)")
    }
  }

  mutating func fit(_ value: Value, _ part: Shape.Part, _ path: String) -> Value? {
    switch part {
    case .open(let type): return read(value, type, path)
    case .each(let part):
      switch value.content {
      case .list(let items):
        return .list(items.enumerated().map { fit($1, part, "\(path)[\($0)]") ?? .null })
      case .map(let map):
        var fitted = ValueMap()
        for member in map.members { fitted[member.key] = fit(member.value, part, path.member(member.key)) ?? .null }
        return .map(fitted)
      default: return value
      }
    case .fields(let fields):
      guard var map = value.map else { return value }
      for (name, isOptional, part) in fields {
        map[name] = field(map[name], path.member(.string(name)), isOptional: isOptional, part)
      }
      return .map(map)
    }
  }

  private mutating func field(_ value: Value?, _ path: String, isOptional: Bool, _ part: Shape.Part) -> Value? {
    if let value, !value.isNull { return fit(value, part, path) }
    if isOptional { return nil }
    // Null is a value of `dyn`.
    if case .open(.dyn) = part, let value { return value }
    let wanted = if case .open(let type) = part { type.wanted } else { "a value" }
    misfit(
      path, "is \(value == nil ? "missing" : "null"), but must be \(wanted); if it may be absent, end its type in ?")
    return nil
  }

  private mutating func read(_ value: Value, _ type: FieldType, _ path: String) -> Value? {
    switch (type, value.content) {
    case (.optional(let wrapped), _), (.secret(let wrapped), _): return read(value, wrapped, path)
    case (.dyn, _), (.string, .masked): return value
    case (.list(let element), .list(let items)):
      return .list(items.enumerated().map { read($1, element, "\(path)[\($0)]") ?? .null })
    case (.map(let element), .map(let map)) where map.members.allSatisfy({ $0.name != nil }):
      var fitted = ValueMap()
      for member in map.members { fitted[member.key] = read(member.value, element, path.member(member.key)) ?? .null }
      return .map(fitted)
    case (.object(let schema), .map(let map)):
      var fitted = ValueMap()
      for member in schema.fields {
        fitted[member.name] = field(
          map[member.name], path.member(.string(member.name)), isOptional: member.isOptional, .open(member.type))
      }
      return .map(fitted)
    case (.int, .double(let number)): if let whole = Int(exactly: number) { return .int(whole) }
    case (.list, _), (.map, _), (.object, _): break
    default:
      let restored = type.restored(value)
      if type.holds(restored) { return restored }
    }
    misfit(path, "is \(excerpt(value)), but must be \(type.wanted)")
    return nil
  }

  /// The beginning of a value as a message shows it.
  private func excerpt(_ value: Value) -> String {
    // Misfits beyond the limit are only counted.
    if misfits.list.count >= Fitting.most { return "" }
    return switch value.content {
    case .list(let items): "a list of \(items.count)"
    case .map: "an object"
    default: redact(JSON.displayed(value)).excerpt(Fitting.displayed)
    }
  }
}

extension String {
  /// The path of a member of the value at this path.
  fileprivate func member(_ key: Value) -> String {
    let name = key.plainText
    if !Names.isWellFormed(name) { return "\(self)[\(JSON.quoted(name))]" }
    return isEmpty ? name : "\(self).\(name)"
  }
}

// MARK: Reading

/// Reads a `shape` against the type of an action's output.
struct ShapeReader {
  let findings: Findings
  /// The action's id, for messages.
  let action: String

  /// The shape, if it has no fault, and the output's type, with `dyn` for faulty parts.
  func read(_ value: Value, output: ValueType) -> (shape: Shape?, type: ValueType) {
    guard value.map?.isEmpty == false else {
      findings.error(
        "'shape' takes a mapping from fields of the output to types, such as { body: { id: int } }, but found \(value.displayed)",
        at: value)
      return (nil, .dyn)
    }
    guard output.isOpen else {
      findings.error(
        "'\(action)' has no open field in its output, so there is nothing to shape; leave 'shape' out", at: value)
      return (nil, .dyn)
    }
    let count = findings.list.count
    guard let type = TypeReader(findings: findings).read(value, of: "'shape'") else { return (nil, .dyn) }
    let (part, narrowed) = part(type, of: output, value, "")
    return (findings.list.count == count ? Shape(root: part, type: narrowed) : nil, narrowed)
  }

  private func part(_ type: FieldType, of output: ValueType, _ value: Value, _ path: String) -> (Shape.Part, ValueType)
  {
    func fault(_ message: MessageText) -> (Shape.Part, ValueType) {
      // A faulty type is one error.
      if !findings.hasError(at: value) { findings.error(message, at: value) }
      return (.open(.dyn), .dyn)
    }
    guard output.isOpen else {
      if output.holdsSecret { return fault("'\(path)' is a secret, which can't have a shape") }
      return fault("'\(path)' is already typed as \(output); 'shape' is for fields of '\(action)' that are dyn")
    }
    switch (output, type) {
    case (.dyn, _): return (.open(type), type.outputType)
    case (.optional(let wrapped), _): return part(type, of: wrapped, value, path)
    case (.list(let element), .list(let wanted)):
      let (part, type) = part(wanted, of: element, value.list?.first ?? value, path + "[]")
      return (.each(part), .list(type))
    case (.map(let key, let element), .map(let wanted)):
      let (part, type) = part(wanted, of: element, value, path + "[]")
      return (.each(part), .map(key, type))
    case (.map(_, .dyn), .object): return (.open(type), type.outputType)
    case (.object(let object), .object(let schema)): return fields(schema, of: object, value, path)
    default:
      let form =
        switch output {
        case .list: "as a list, such as [{ id: int }]"
        case .map: "as map(string, T)"
        default: "as a mapping of its fields"
        }
      return fault("'\(path)' is \(output) in the output of '\(action)'; write its shape \(form)")
    }
  }

  private func fields(
    _ schema: ObjectSchema, of object: ObjectType, _ value: Value, _ path: String
  ) -> (Shape.Part, ValueType) {
    var parts: [(name: String, isOptional: Bool, part: Shape.Part)] = []
    var narrowed = object
    for field in schema.fields {
      let outer = path
      let path = path.member(.string(field.name))
      let place = value.map?.members.first { $0.name == field.name || $0.name == field.name + "?" }
      guard let known = object[field.name] else {
        let names = object.fields.filter { $0.type.isOpen }.map(\.name)
        let parts = field.name.split(separator: ".", omittingEmptySubsequences: false)
        let nested = parts.count > 1 && names.contains(String(parts[0])) && !parts.contains("")
        let nesting = parts.dropFirst().reversed().reduce(field.type.name) { "{ \($1): \($0) }" }
        let guess = field.name.nearest(among: names)
        let advice: MessageText =
          nested
          ? "write \(parts[0]): \(nesting)"
          : guess.map { .didYouMean($0, by: field.name, among: names) }
            ?? (names.count == 1
              ? "its open field is \(names[0]): write \(names[0]): { \(field.name): … }"
              : "its open fields are \(names.joined(separator: ", "))")
        findings.error(
          "the output of '\(action)' has no '\(outer.isEmpty ? field.name : path)'; \(advice)", at: place?.key ?? value)
        // Expressions that read it aren't a second error.
        let meant = [field.name, guess ?? String(parts[0])].filter {
          schema.field(named: $0) == nil || $0 == field.name
        }
        for name in meant {
          if object[name] == nil { narrowed = ObjectType(narrowed.name, fields: narrowed.fields + [.init(name, .dyn)]) }
          narrowed = narrowed.replacing(ObjectType.Field(name, .dyn))
        }
        continue
      }
      let (part, type) = part(field.type, of: known.type, place?.value ?? value, path)
      parts.append((field.name, field.isOptional, part))
      narrowed = narrowed.replacing(
        ObjectType.Field(field.name, type, isOptional: field.isOptional, summary: known.summary))
    }
    return (.fields(parts), .object(narrowed))
  }
}

extension ObjectType {
  /// The object with another field in the place of the one of its name.
  fileprivate func replacing(_ field: Field) -> ObjectType {
    ObjectType(name, fields: fields.map { $0.name.hasSameScalars(as: field.name) ? field : $0 })
  }
}

extension ValueType {
  /// Whether a value of the type holds something whose type isn't known.
  fileprivate var isOpen: Bool {
    switch self {
    case .dyn: true
    case .list(let of), .optional(let of): of.isOpen
    case .map(_, let value): value.isOpen
    case .object(let object): object.fields.contains { $0.type.isOpen }
    default: false
    }
  }
}
