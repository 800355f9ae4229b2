/// The types that a field can have.
///
/// They hold more than `ValueType`: the limits, sentences and defaults of the members of nested sets.
public indirect enum FieldType: Sendable {
  /// True or false.
  case bool
  /// A 64-bit integer.
  case int
  /// A 64-bit integer without a sign; an int that isn't negative is accepted.
  case uint
  /// A number; an int is accepted.
  case double
  /// A text.
  case string
  /// A day, written like `2026-11-22`; expressions see a text.
  case date
  /// Octets, written as base64.
  case bytes
  /// An instant, written as RFC 3339.
  case timestamp
  /// A length of time, written like `1h30m`.
  case duration
  /// Anything.
  case dyn
  /// One of these texts.
  case choice([String])
  /// A list of one type.
  case list(FieldType)
  /// A map from texts to one type.
  case map(FieldType)
  /// A nested set of fields.
  case object(ObjectSchema)
  /// A value that may be null; an optional field has it as its type, and only lists of plugins from outside contain it.
  case optional(FieldType)
  /// A value that is never shown.
  case secret(FieldType)
}

extension FieldType {
  /// The type's name in messages and pages.
  public var name: String {
    switch self {
    case .bool, .int, .uint, .double, .string, .bytes, .timestamp, .duration, .dyn, .choice: inputType.description
    case .date: "date"
    case .list(let element): "list(\(element.name))"
    case .map(let value): "map(string, \(value.name))"
    case .object: "object"
    case .optional(let wrapped): "\(wrapped.name) or null"
    case .secret(let wrapped): "secret(\(wrapped.name))"
    }
  }

  /// The type, unwrapped if it is optional.
  var required: FieldType { if case .optional(let wrapped) = self { wrapped.required } else { self } }

  /// Whether null is a value of the type, rather than its absence.
  var takesNull: Bool { if case .dyn = self { true } else { false } }

  /// Whether values of the type are never shown.
  package var isSecret: Bool { if case .secret = required { true } else { false } }

  /// The type that an expression must have to be accepted as a value of this type.
  public var inputType: ValueType { valueType(isGiven: true) }

  /// The type that expressions see for a value of this type.
  package var outputType: ValueType { valueType(isGiven: false) }

  /// The type for the expression checker; `isGiven` for inputs, as opposed to outputs.
  func valueType(isGiven: Bool) -> ValueType {
    switch self {
    case .bool: .bool
    case .int: .int
    case .uint: .uint
    case .double: .double
    case .string, .date: .string
    case .bytes: .bytes
    case .timestamp: .timestamp
    case .duration: .duration
    case .dyn: .dyn
    case .choice(let options): .choice(options)
    case .list(let element): .list(element.valueType(isGiven: isGiven))
    case .map(let value): .map(.string, value.valueType(isGiven: isGiven))
    case .object(let schema): .object(schema.objectType(isGiven: isGiven))
    // Only a field can declare that it is optional; elsewhere, only `dyn` is true.
    case .optional: .dyn
    case .secret(let wrapped): .secret(wrapped.valueType(isGiven: isGiven))
    }
  }

  /// The value with the types restored that a file can't hold: instants, lengths of time, octets, doubles.
  package func restored(_ value: Value) -> Value {
    switch (self, value.content) {
    case (.optional(let wrapped), _), (.secret(let wrapped), _): return wrapped.restored(value)
    case (.double, .int(let number)): return Value(.double(Double(number)), at: value.place)
    case (.double, .uint(let number)): return Value(.double(Double(number)), at: value.place)
    case (.uint, .int(let number)): return UInt(exactly: number).map { Value(.uint($0), at: value.place) } ?? value
    case (.int, .uint(let number)): return Int(exactly: number).map { Value(.int($0), at: value.place) } ?? value
    case (.timestamp, .string(let text)):
      return Timestamp(text).map { Value(.timestamp($0), at: value.place) } ?? value
    case (.duration, .string(let text)):
      return TimeSpan(text).map { Value(.duration($0), at: value.place) } ?? value
    case (.bytes, .string(let text)):
      return [UInt8](base64: text).map { Value(.bytes($0), at: value.place) } ?? value
    case (.list(let element), .list(let items)): return Value(.list(items.map(element.restored)), at: value.place)
    case (.map(let type), .map(let map)): return Value(.map(map.mapValues(type.restored)), at: value.place)
    case (.object(let schema), .map): return schema.restored(value)
    default: return value
    }
  }

  /// The value without the fields that differ from one response to the next.
  fileprivate func withoutVolatile(_ value: Value) -> Value {
    switch (self, value.content) {
    case (.optional(let wrapped), _), (.secret(let wrapped), _): return wrapped.withoutVolatile(value)
    case (.list(let element), .list(let items)): return .list(items.map(element.withoutVolatile))
    case (.map(let type), .map(let map)): return .map(map.mapValues(type.withoutVolatile))
    case (.object(let schema), _): return schema.withoutVolatile(value)
    default: return value
    }
  }
}

/// Whether a field whose type isn't secret accepts a secret.
public enum FieldSecrecy: Hashable, Sendable {
  /// It accepts no value that was computed from a secret.
  case none
  /// It may be computed from a secret, and is then masked where it is shown.
  case possible
  /// It is a secret unless the other field is given.
  case unless(String)
}

/// The description of a field.
public struct FieldSchema: Sendable {
  /// The field's name in recipes.
  public var name: String
  /// The type of its value; never `optional`, because `isOptional` says that.
  public var type: FieldType
  /// One sentence that says what the name cannot.
  public var summary: String
  /// Whether its value may be null; an encoded set leaves a null out.
  public var isOptional: Bool
  /// The default.
  public var fallback: Value?
  /// The limits on its values.
  public var limits: [Limit]
  /// Former names, which are still accepted.
  public var aliases: [String]
  /// The advice for recipe authors, if the field is deprecated.
  public var deprecation: String?
  /// Whether it says how or when a response came, so that it differs from one response to the next.
  public var isVolatile: Bool
  /// Whether it is the full path of a file that the action wrote.
  public var isFile = false
  /// Whether it accepts a value that was computed from a secret, though its type isn't secret.
  public var secrecy: FieldSecrecy

  /// Creates the description of a field.
  public init(
    _ name: String, _ type: FieldType, _ summary: String, isOptional: Bool = false, fallback: Value? = nil,
    limits: [Limit] = [], aliases: [String] = [], deprecation: String? = nil, isVolatile: Bool = false,
    secrecy: FieldSecrecy = .none
  ) {
    self.name = name
    self.type = type
    self.summary = summary
    self.isOptional = isOptional
    self.fallback = fallback
    self.limits = limits
    self.aliases = aliases
    self.deprecation = deprecation
    self.isVolatile = isVolatile
    self.secrecy = secrecy
  }

  /// Whether it must be given.
  public var isRequired: Bool { !isOptional && fallback == nil }

  /// The type for the expression checker; `isGiven` for inputs, as opposed to outputs.
  fileprivate func valueType(isGiven: Bool) -> ValueType {
    let type = type.valueType(isGiven: isGiven)
    return isGiven && secrecy != .none ? .secret(type) : type
  }
}

/// The fields of a set, and the rules between them.
public struct ObjectSchema: Sendable {
  /// The fields, in the order of declaration.
  public var fields: [FieldSchema]
  /// The type that declares them, if there is one; the inputs of a recipe have none.
  private let declaring: (any FieldSet.Type)?
  /// The rules between fields that no type declares.
  private let rules: (@Sendable (Value) -> [Conflict])?

  /// Creates a description without rules between fields.
  public init(fields: [FieldSchema]) { self.init(fields: fields, of: nil) }

  /// Creates a description with rules between fields; they are checked for values whose fields are valid each.
  package init(fields: [FieldSchema], rules: @escaping @Sendable (Value) -> [Conflict]) {
    self.fields = fields
    declaring = nil
    self.rules = rules
  }

  init(fields: [FieldSchema], of declaring: (any FieldSet.Type)?) {
    self.fields = fields
    self.declaring = declaring
    rules = nil
  }

  /// The conflicts between fields of a value that are valid each.
  package func conflicts(in value: Value) -> [Conflict] {
    rules?(value) ?? (declaring as? any ValidatedFieldSet.Type)?.conflicts(in: value) ?? []
  }

  /// Faults of the set's declaration that the compiler doesn't catch.
  package var declarationFaults: [String] { declaring?.declarationFaults ?? [] }

  /// A value that was read into the set and encoded again, which is how an action sees it.
  package func rewritten(_ value: Value) throws(ValueError) -> Value {
    try declaring?.init(reading: value).encoded() ?? value
  }

  /// The field of that name or former name.
  public func field(named name: String) -> FieldSchema? {
    fields.first { $0.name.hasSameScalars(as: name) }
      ?? fields.first { $0.aliases.contains { $0.hasSameScalars(as: name) } }
  }

  /// The type of an input: fields with a default may be absent.
  public var inputType: ValueType { .object(objectType(isGiven: true)) }
  /// The type of an output: fields with a default are present.
  public var outputType: ValueType { .object(objectType(isGiven: false)) }

  func objectType(isGiven: Bool) -> ObjectType {
    ObjectType(
      fields: fields.map {
        ObjectType.Field(
          $0.name, $0.valueType(isGiven: isGiven),
          isOptional: isGiven ? !$0.isRequired : $0.isOptional, summary: $0.summary)
      })
  }

  /// A value without the fields that differ from one response to the next.
  package func withoutVolatile(_ value: Value) -> Value {
    guard let map = value.map else { return value }
    var lasting = ValueMap()
    for member in map.members {
      let field = member.name.flatMap(field(named:))
      if field?.isVolatile != true { lasting[member.key] = field?.type.withoutVolatile(member.value) ?? member.value }
    }
    return .map(lasting)
  }

  /// The files that an output says the action wrote: their paths, and their sizes if a field `bytes` is beside a path.
  package func files(in output: Value) -> [(path: String, bytes: Int?)] {
    guard let map = output.map else { return [] }
    return fields.flatMap { field -> [(path: String, bytes: Int?)] in
      guard let value = map[field.name] else { return [] }
      if field.isFile { return value.string.map { [($0, map["bytes"]?.int)] } ?? [] }
      guard let nested = field.type.nested?.schema else { return [] }
      let items = value.list ?? (value.map.map { _ in [value] } ?? [])
      return items.flatMap { nested.files(in: $0) }
    }
  }

  /// Whether an output may say that the action wrote a file.
  package var hasFiles: Bool { fields.contains { $0.isFile || $0.type.nested?.schema.hasFiles == true } }

  /// A value that was read from JSON or YAML, with its instants, lengths of time, octets and doubles restored.
  public func restored(_ value: Value) -> Value {
    guard let map = value.map else { return value }
    var restored = ValueMap()
    for member in map.members {
      let type = member.name.flatMap(field(named:))?.type
      restored[member.key] = type?.restored(member.value) ?? member.value
    }
    return Value(.map(restored), at: value.place)
  }
}
