// JSON Schema (draft 07) for editors, to complete and check recipes as they are written. Every typed value may also be
// a text with `${{`, because a field may be an expression.

extension ActionDescriptor {
  /// The schema of the input that recipes write under `with`.
  public func jsonSchema() -> Value {
    document(input.jsonSchema(allowsExpressions: true), title: id, description: summary)
  }
}

extension PluginDescriptor {
  /// The schema of a connection's fields in `errand.yaml`.
  public func jsonSchema() -> Value {
    document(configuration.jsonSchema(allowsExpressions: true), title: name, description: summary)
  }
}

/// A schema as a document of its own.
private func document(_ schema: ValueMap, title: String, description: String) -> Value {
  var document = ValueMap([
    ("$schema", .string("http://json-schema.org/draft-07/schema#")), ("title", .string(title)),
    ("description", .string(description)),
  ])
  for member in schema.members { document[member.key] = member.value }
  return .map(document)
}

extension ObjectSchema {
  /// The schema of a value of this set.
  public func jsonSchema(allowsExpressions: Bool) -> ValueMap {
    var properties = ValueMap()
    for field in fields {
      var schema = field.type.jsonSchema(field.limits, allowsExpressions: allowsExpressions)
      let sentences = [field.summary, field.sentenceOnSecrets ?? ""].filter { !$0.isEmpty }
      // A language model takes an empty description for a real one.
      if !sentences.isEmpty { schema["description"] = .string(sentences.joined(separator: " ")) }
      if let fallback = field.fallback, !field.type.isSecret { schema["default"] = fallback }
      if field.type.isSecret, !allowsExpressions { schema["writeOnly"] = .bool(true) }
      if let deprecation = field.deprecation { schema["deprecationMessage"] = .string(deprecation) }
      for name in [field.name] + field.aliases { properties[name] = .map(schema) }
    }
    var schema = ValueMap()
    schema["type"] = .string("object")
    schema["properties"] = .map(properties)
    // A field with former names may be given under one of them.
    let required = fields.filter { $0.isRequired && $0.aliases.isEmpty }.map { Value.string($0.name) }
    if !required.isEmpty { schema["required"] = .list(required) }
    schema["additionalProperties"] = .bool(false)
    return schema
  }
}

extension FieldType {
  /// The schema of a value, without expressions.
  package var jsonSchema: ValueMap { jsonSchema([], allowsExpressions: false) }

  fileprivate func jsonSchema(_ limits: [Limit], allowsExpressions: Bool) -> ValueMap {
    var schema = ValueMap()
    switch self {
    case .secret(let wrapped): return wrapped.jsonSchema(limits, allowsExpressions: allowsExpressions)
    case .optional(let wrapped):
      schema["anyOf"] = .list([
        .map(wrapped.jsonSchema(limits, allowsExpressions: allowsExpressions)), .object(["type": .string("null")]),
      ])
      return schema
    case .dyn: return schema
    case .bool: schema["type"] = .string("boolean")
    case .int: schema["type"] = .string("integer")
    case .uint:
      schema["type"] = .string("integer")
      schema["format"] = .string("uint64")
      schema["minimum"] = .int(0)
    case .double: schema["type"] = .string("number")
    case .string: schema["type"] = .string("string")
    case .date:
      schema["type"] = .string("string")
      schema["format"] = .string("date")
    case .bytes:
      schema["type"] = .string("string")
      schema["contentEncoding"] = .string("base64")
    case .timestamp:
      schema["type"] = .string("string")
      schema["format"] = .string("date-time")
    case .duration:
      schema["type"] = .string("string")
      schema["pattern"] = .string("^[-+]?(0|([0-9]+(\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|ms|s|m|h|d|w))+$")
    case .choice(let options): schema["enum"] = .list(options.map(Value.string))
    case .list(let element):
      schema["type"] = .string("array")
      schema["items"] = .map(element.jsonSchema(limits.each, allowsExpressions: allowsExpressions))
    case .map(let value):
      schema["type"] = .string("object")
      schema["additionalProperties"] = .map(value.jsonSchema(limits.each, allowsExpressions: allowsExpressions))
    case .object(let object): schema = object.jsonSchema(allowsExpressions: allowsExpressions)
    }
    for limit in limits { limit.describe(in: &schema, of: self) }
    if !allowsExpressions { return schema }
    if case .string = self, schema.count == 1 { return schema }
    var either = ValueMap()
    either["anyOf"] = .list([
      .map(schema), .object(["type": .string("string"), "pattern": .string("\\$\\{\\{")]),
    ])
    return either
  }
}

extension Limit {
  /// Adds the limit as a keyword of JSON Schema, which has none for instants and lengths of time.
  fileprivate func describe(in schema: inout ValueMap, of type: FieldType) {
    switch (self, type) {
    case (.atLeast(let bound), .int), (.atLeast(let bound), .uint), (.atLeast(let bound), .double):
      schema["minimum"] = bound
    case (.atMost(let bound), .int), (.atMost(let bound), .uint), (.atMost(let bound), .double):
      schema["maximum"] = bound
    case (.minLength(let length), .string): schema["minLength"] = .int(length)
    case (.maxLength(let length), .string): schema["maxLength"] = .int(length)
    case (.minLength(let length), .list): schema["minItems"] = .int(length)
    case (.maxLength(let length), .list): schema["maxItems"] = .int(length)
    case (.minLength(let length), .map): schema["minProperties"] = .int(length)
    case (.maxLength(let length), .map): schema["maxProperties"] = .int(length)
    case (.pattern(let pattern), .string): schema["pattern"] = .string(pattern.regex)
    case (.notNull, _): schema["not"] = .object(["type": .string("null")])
    default: break
    }
  }
}

extension [Limit] {
  /// The limits of each item or of a map's values.
  var each: [Limit] { compactMap { if case .each(let limit) = $0 { limit } else { nil } } }
}
