import HTTPClient

extension FieldType {
  /// The parts of a value that must not be seen, wherever they stand in it.
  package func secrets(in value: Value) -> [Value] {
    var found: [Value] = []
    _ = replacingSecrets(in: value) { _, secret in
      found.append(secret)
      return secret
    }
    return found
  }

  /// The value with something else in the place of each part that must not be seen; as deep as the type.
  fileprivate func replacingSecrets(
    in value: Value, as name: String = "", with replacement: (_ name: String, _ secret: Value) -> Value
  ) -> Value {
    var seen = value
    switch (self, value.content) {
    case (.secret, _): return replacement(name, value)
    case (.optional(let wrapped), _): return wrapped.replacingSecrets(in: value, as: name, with: replacement)
    case (.list(let element), .list(let items)):
      seen.content = .list(items.map { element.replacingSecrets(in: $0, as: name, with: replacement) })
    case (.map(let element), .map(var map)):
      for member in map.members {
        map[member.key] = element.replacingSecrets(in: member.value, as: member.key.string ?? name, with: replacement)
      }
      seen.content = .map(map)
    case (.object(let schema), .map(var map)):
      for field in schema.fields {
        guard let part = map[field.name] else { continue }
        map[field.name] = field.type.replacingSecrets(in: part, as: field.name, with: replacement)
      }
      seen.content = .map(map)
    default: break
    }
    return seen
  }
}

extension ObjectSchema {
  /// The texts in a value that must not be seen.
  package func secrets(in value: ValueMap) -> [String] {
    FieldType.object(self).secrets(in: .map(value)).compactMap(\.string)
  }

  /// The value with something made up in the place of each secret.
  ///
  /// An address keeps its scheme, host and port, so that a client that wants an address has one.
  package func withMadeUpSecrets(_ value: ValueMap) -> ValueMap {
    FieldType.object(self).replacingSecrets(in: .map(value)) { name, secret in
      let origin = secret.string.flatMap { HTTPURL($0) }.map { "\($0.origin)/" } ?? ""
      return .string("\(origin)\(ObjectSchema.madeUp(name))")
    }.map ?? value
  }

  /// The value with something made up for each secret that is needed and not there.
  package func withNeededSecrets(_ value: ValueMap) -> ValueMap {
    var filled = value
    for field in fields where field.type.isSecret && field.isRequired && filled[field.name] == nil {
      filled[field.name] = .string(ObjectSchema.madeUp(field.name))
    }
    return filled
  }

  private static func madeUp(_ name: String) -> String { "made-up-\(name)" }
}
