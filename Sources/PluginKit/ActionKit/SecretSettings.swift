import Basics
import HTTPClient

extension FieldType {
  /// The secret parts of a value, at any depth.
  package func secrets(in value: Value) -> [Value] {
    var found: [Value] = []
    _ = replacingSecrets(in: value) { _, secret in
      found.append(secret)
      return secret
    }
    return found
  }

  /// The value with each secret part replaced, to the depth of the type.
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
        let type = field.isSecret(in: value) ? .secret(field.type) : field.type
        map[field.name] = type.replacingSecrets(in: part, as: field.name, with: replacement)
      }
      seen.content = .map(map)
    default: break
    }
    return seen
  }
}

extension FieldSchema {
  /// Whether the field, in a set with that value, is secret though its type isn't.
  fileprivate func isSecret(in set: Value) -> Bool {
    if case .unless(let other) = secrecy { set[other] == nil } else { false }
  }

  /// The secret parts of the field's value in a set.
  package func secrets(in set: Value) -> [Value] {
    guard let value = set[name] else { return [] }
    return (isSecret(in: set) ? .secret(type) : type).secrets(in: value)
  }

  /// The rule about secrets that isn't in the field's type, as a sentence.
  var sentenceOnSecrets: String? {
    switch secrecy {
    case .none: nil
    case .possible: "A value made with a secret is accepted, and masked."
    case .unless(let other): "A secret unless `\(other)` is given."
    }
  }
}

extension ObjectSchema {
  /// The fields that accept values computed from a secret, as paths: `multipart.fields`.
  package var pathsTakingSecrets: [String] {
    fields.flatMap { field in
      if field.secrecy != .none || field.type.inputType.holdsSecret, field.type.nested == nil { return [field.name] }
      guard let (nested, suffix) = field.type.nested else { return [] }
      return nested.pathsTakingSecrets.map { "\(field.name)\(suffix).\($0)" }
    }
  }

  /// The secret texts in a value, each with its setting's path and a number: `connections.mail #1`.
  package func namedSecrets(in value: ValueMap, of owner: String) -> [(name: String, text: String)] {
    secrets(in: value).enumerated().map { ("\(owner) #\($0.offset + 1)", $0.element) }
  }

  /// The secret texts in a value.
  ///
  /// They don't include a plain word in a field that is secret only because another field is absent, such as the topic
  /// `backup`: it protects no access, and occurs in other texts by chance.
  package func secrets(in value: ValueMap) -> [String] {
    var known = value
    for field in fields where field.isSecret(in: .map(value)) {
      if let text = value[field.name]?.string, text.isPlainWord { known[field.name] = nil }
    }
    return FieldType.object(self).secrets(in: .map(known)).compactMap(\.string)
  }

  /// The value with a made-up text for each secret.
  ///
  /// An address keeps its scheme, host and port, so that a client that needs an address gets one.
  package func withMadeUpSecrets(_ value: ValueMap) -> ValueMap {
    FieldType.object(self).replacingSecrets(in: .map(value)) { name, secret in
      let origin = secret.string.flatMap { HTTPURL($0) }.map { "\($0.origin)/" } ?? ""
      return .string("\(origin)\(ObjectSchema.madeUp(name))")
    }.map ?? value
  }

  /// The value with a made-up text for each required secret that is absent.
  package func withNeededSecrets(_ value: ValueMap) -> ValueMap {
    var filled = value
    for field in fields
    where (field.type.isSecret || field.secrecy != .none) && field.isRequired && filled[field.name] == nil {
      filled[field.name] = .string(ObjectSchema.madeUp(field.name))
    }
    return filled
  }

  private static func madeUp(_ name: String) -> String { "made-up-\(name)" }
}

extension String {
  /// Whether it is one to three words of letters with separators between them, and so easily guessed.
  package var isPlainWord: Bool {
    let words = utf8.split(omittingEmptySubsequences: false) { "-_.".utf8.contains($0) }
    return utf8.count <= 24 && words.count <= 3 && words.allSatisfy { !$0.isEmpty && $0.allSatisfy(ASCII.isLetter) }
  }
}
