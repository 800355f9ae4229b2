package import Basics

/// A tool as its server describes it.
package struct Tool: Sendable {
  /// The possible effects of a call; from a server that isn't trusted these are only claims.
  package struct Annotations: Sendable, Hashable {
    /// Whether a call changes nothing.
    package var isReadOnly: Bool?
    /// Whether a call may change or remove what is there.
    package var isDestructive: Bool?
    /// Whether a second call with the same arguments changes nothing more.
    package var isIdempotent: Bool?
    /// Whether a call reaches anything outside the server's own world.
    package var isOpenWorld: Bool?

    package init(isReadOnly: Bool?, isDestructive: Bool?, isIdempotent: Bool?, isOpenWorld: Bool?) {
      self.isReadOnly = isReadOnly
      self.isDestructive = isDestructive
      self.isIdempotent = isIdempotent
      self.isOpenWorld = isOpenWorld
    }

    fileprivate static let names = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"]
    fileprivate var values: [Bool?] { [isReadOnly, isDestructive, isIdempotent, isOpenWorld] }
  }

  /// The protocol takes letters of ASCII, digits, `_`, `-` and `.`, at most 128 of them; the APIs of models take less.
  package var name: String
  package var title: String?
  package var description: String?
  /// The JSON Schema of the arguments, an object.
  package var inputSchema: Value
  /// The JSON Schema of the structured content of results.
  package var outputSchema: Value?
  package var annotations: Annotations?
  /// The server's other members, for callers who know their names.
  package var meta: ValueMap

  package init(
    name: String, title: String? = nil, description: String? = nil, inputSchema: Value, outputSchema: Value? = nil,
    annotations: Annotations? = nil, meta: ValueMap = ValueMap()
  ) {
    self.name = name
    self.title = title
    self.description = description
    self.inputSchema = inputSchema
    self.outputSchema = outputSchema
    self.annotations = annotations
    self.meta = meta
  }

  /// Reads a member of the answer to `tools/list`; nil without a name or a schema of the arguments.
  package init?(reading value: Value) {
    guard let name = value["name"]?.string, let inputSchema = value["inputSchema"], inputSchema.map != nil else {
      return nil
    }
    let hints = value["annotations"].map { given in
      let values = Annotations.names.map { given[$0]?.bool }
      return Annotations(
        isReadOnly: values[0], isDestructive: values[1], isIdempotent: values[2], isOpenWorld: values[3])
    }
    self.init(
      name: name, title: value["title"]?.string, description: value["description"]?.string, inputSchema: inputSchema,
      outputSchema: value["outputSchema"], annotations: hints, meta: value["_meta"]?.map ?? ValueMap())
  }

  package var value: Value {
    var members = ValueMap([("name", .string(name))])
    if let title { members["title"] = .string(title) }
    if let description { members["description"] = .string(description) }
    members["inputSchema"] = inputSchema
    if let outputSchema { members["outputSchema"] = outputSchema }
    if let annotations {
      var hints = ValueMap()
      for (name, value) in zip(Annotations.names, annotations.values) { hints[name] = value.map { .bool($0) } }
      members["annotations"] = .map(hints)
    }
    if !meta.isEmpty { members["_meta"] = .map(meta) }
    return .map(members)
  }

  /// The longest name that the APIs of models take.
  package static let longestName = 64

  /// Whether the API of every model takes a text as the name of a tool.
  package static func isName(_ text: String) -> Bool {
    (1...longestName).contains(text.utf8.count) && text.utf8.allSatisfy(isPart)
  }

  /// Whether such a name may have a byte.
  package static func isPart(_ byte: UInt8) -> Bool {
    ASCII.isLetter(byte) || ASCII.digits.contains(byte)
      || byte == ASCII.underscore || byte == ASCII.minus
  }
}
