import Basics

/// The header fields of a message, in order, found without regard to case (RFC 9110, section 5).
public struct HTTPHeaders: Sendable {
  /// One field line.
  public struct Field: Sendable {
    /// The name as it was sent.
    public var name: String
    /// The value without the white space around it.
    public var value: String

    /// Creates a field line.
    public init(_ name: String, _ value: String) {
      self.name = name
      self.value = value
    }

    /// Whether this field has that name, regardless of case.
    public func isNamed(_ other: String) -> Bool { name.utf8.equalsIgnoringASCIICase(other.utf8) }
  }

  /// All field lines, repeated ones included, in the order of the message.
  public var fields: [Field]

  /// Creates headers out of field lines.
  public init(_ fields: [Field] = []) { self.fields = fields }

  /// The value of the first field of that name; setting it replaces all of them, nil removes them.
  public subscript(name: String) -> String? {
    get { fields.first { $0.isNamed(name) }?.value }
    set {
      fields.removeAll { $0.isNamed(name) }
      if let newValue { fields.append(Field(name, newValue)) }
    }
  }

  /// The values of every field of that name, one for each line.
  public func values(_ name: String) -> [String] {
    fields.lazy.filter { $0.isNamed(name) }.map(\.value)
  }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral {
  public init(dictionaryLiteral elements: (String, String)...) {
    self.init(elements.map { Field($0, $1) })
  }
}

extension String.UTF8View {
  /// Whether two texts are equal, ignoring the case of ASCII letters.
  package func equalsIgnoringASCIICase(_ other: String.UTF8View) -> Bool {
    count == other.count && elementsEqual(other) { $0.lowercasedASCII == $1.lowercasedASCII }
  }
}

extension UInt8 {
  /// The byte, an ASCII capital as its lowercase letter.
  package var lowercasedASCII: UInt8 { ASCII.uppercase.contains(self) ? self | 0x20 : self }
}

extension String {
  /// The text with ASCII capitals lowercased, as names of hosts, schemes and fields are compared.
  package var lowercasedASCII: String {
    // Most are lowercase already.
    if utf8.allSatisfy({ !ASCII.uppercase.contains($0) }) { return self }
    return String(decoding: utf8.map(\.lowercasedASCII), as: UTF8.self)
  }
}
