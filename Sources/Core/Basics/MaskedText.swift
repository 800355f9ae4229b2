/// A text with its secrets removed: the parts between them, and how to put each secret back.
///
/// The state keeps one in the place of a value that holds a secret. It shows as `•••`, and becomes the value again only
/// where the secrets are known.
public struct MaskedText: Sendable, Equatable {
  /// The kind of value that the text becomes when its secrets are put back.
  package enum Kind: String, Sendable {
    case string = "$masked"
    case bytes = "$maskedBytes"
    /// Another value, by the JSON text that the state has for it.
    case json = "$maskedJSON"
  }

  /// A secret as it is written in the text.
  package struct Secret: Sendable, Equatable {
    package var name: String
    /// Tells whether the secret is still the same.
    package var print: String
    /// How the secret is encoded: plain, or in which digits.
    package var form: String
    /// How the characters of the form are escaped.
    package var spelling: String
    /// How many of its bytes are left out at the beginning, because they belong to a secret before it too.
    package var from: Int

    package init(name: String, print: String, form: String, spelling: String, from: Int = 0) {
      self.name = name
      self.print = print
      self.form = form
      self.spelling = spelling
      self.from = from
    }
  }

  package enum Part: Sendable, Equatable {
    case plain([UInt8])
    case secret(Secret)
  }

  package var kind: Kind
  package var parts: [Part]

  package init(_ kind: Kind, _ parts: [Part]) {
    self.kind = kind
    self.parts = parts
  }

  /// The names of the secrets in it, in their order.
  package var secretNames: [String] {
    parts.compactMap { if case .secret(let secret) = $0 { secret.name } else { nil } }
  }

  /// The text for people.
  package var displayed: String {
    if kind != .string { return MaskedText.mark }
    var text: [UInt8] = []
    var isAfterSecret = false
    for part in parts {
      switch part {
      case .plain(let bytes):
        text += bytes
        isAfterSecret = false
      case .secret:
        if !isAfterSecret { text += MaskedText.mark.utf8 }
        isAfterSecret = true
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  package static let mark = "•••"
}

extension Value {
  /// Whether a secret that is kept by reference is somewhere in the value.
  package var isMasked: Bool {
    switch content {
    case .masked: true
    case .list(let items): items.contains(where: \.isMasked)
    case .map(let map): map.members.contains { $0.key.isMasked || $0.value.isMasked }
    case .optional(let wrapped): wrapped?.isMasked ?? false
    default: false
    }
  }

  /// Whether it is itself a text that is kept by reference.
  var isMaskedText: Bool { if case .masked = content { true } else { false } }

  /// The value for people and for recordings: a text with marks for each part that is kept by reference.
  package var displayed: Value { replacingMasked { .string($0.displayed) } }

  /// The value with something else for each part that is kept by reference.
  ///
  /// A replaced key that is equal to another one gets its kind behind it. A map has no keys but texts that are known, so
  /// that a key that is replaced by anything but a text takes the place of its map.
  package func replacingMasked(_ replace: (MaskedText) -> Value) -> Value {
    guard isMasked else { return self }
    switch content {
    case .masked(let text): return replace(text)
    case .list(let items): return .list(items.map { $0.replacingMasked(replace) })
    case .optional(let wrapped): return Value(.optional(wrapped?.replacingMasked(replace)))
    case .map(let map):
      var replaced = ValueMap()
      for member in map.members {
        var key = member.key.replacingMasked(replace)
        if member.key.isMasked, key.string == nil { return key }
        while replaced[key] != nil { key = .string("\(key.string ?? "") (\(member.key.kindName))") }
        replaced[key] = member.value.replacingMasked(replace)
      }
      return .map(replaced)
    default: return self
    }
  }

  /// The paths of the secrets in the value, as names and indexes: `rows[3].name`.
  package var maskedPaths: [String] {
    var paths: [String] = []
    collectMasked("", &paths)
    return paths
  }

  private func collectMasked(_ path: String, _ paths: inout [String]) {
    switch content {
    case .masked: paths.append(path)
    case .list(let items): for (index, item) in items.enumerated() { item.collectMasked("\(path)[\(index)]", &paths) }
    case .map(let map):
      for member in map.members {
        let name = member.key.displayed.string ?? MaskedText.mark
        let inner = path.isEmpty ? name : "\(path).\(name)"
        if member.key.isMaskedText { paths.append(inner) }
        member.value.collectMasked(inner, &paths)
      }
    case .optional(let value): value?.collectMasked(path, &paths)
    default: break
    }
  }
}
