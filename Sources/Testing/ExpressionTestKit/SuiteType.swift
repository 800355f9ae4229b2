package import Basics

extension ValueType {
  /// The type that the suite writes as `map(string, list(dyn))`; a name of one letter is a parameter.
  package init(suiteForm text: String) throws(SuiteError) {
    var reader = SuiteTypeReader(rest: Array(text.utf8)[...])
    self = try reader.read(depth: 0)
    if !reader.rest.isEmpty { throw SuiteError("'\(text)' is no type") }
  }
}

private struct SuiteTypeReader {
  var rest: ArraySlice<UInt8>

  mutating func read(depth: Int) throws(SuiteError) -> ValueType {
    guard depth < 64 else { throw SuiteError("a type is nested too deep") }
    rest = rest.drop { $0 == ASCII.space }
    let name = rest.prefix { !"(), ".utf8.contains($0) }
    rest = rest.dropFirst(name.count)
    var arguments: [ValueType] = []
    if rest.first == UInt8(ascii: "(") {
      repeat {
        rest = rest.dropFirst()
        arguments.append(try read(depth: depth + 1))
      } while rest.first == ASCII.comma
      guard rest.first == UInt8(ascii: ")") else { throw SuiteError("a type has no ')' at its end") }
      rest = rest.dropFirst()
    }
    return try type(String(decoding: name, as: UTF8.self), arguments)
  }

  /// The types without parameters, by the suite's names.
  private static let plain: [String: ValueType] = [
    "int": .int, "uint": .uint, "double": .double, "bool": .bool, "string": .string, "bytes": .bytes,
    "null_type": .null, "dyn": .dyn, "timestamp": .timestamp, "duration": .duration, "type": .type(.dyn),
  ]

  private func type(_ name: String, _ arguments: [ValueType]) throws(SuiteError) -> ValueType {
    if arguments.isEmpty, let plain = SuiteTypeReader.plain[name] { return plain }
    return switch (name, arguments.count) {
    case ("", _): throw SuiteError("a type has no name")
    case ("type", 1): .type(arguments[0])
    case ("list", 1): .list(arguments[0])
    case ("map", 2): .map(arguments[0], arguments[1])
    case ("wrapper", 1): .wrapper(arguments[0])
    case ("optional_type", 1): .optional(arguments[0])
    case (_, 0) where name.utf8.count == 1: .parameter(name)
    default: .opaque(name, arguments)
    }
  }
}
