package import ActionKit
package import Basics

extension FieldType {
  /// A random value of the type.
  package func sample(_ random: inout SeededGenerator, depth: Int = 0) -> Value {
    switch self {
    case .bool: return .bool(Bool.random(using: &random))
    case .int: return .int([0, 1, -1, Int.max, Int.min, 7].randomElement(using: &random) ?? 0)
    case .uint: return .uint([0, 1, UInt.max, 7].randomElement(using: &random) ?? 0)
    case .double: return .double([0, -1.5, 1e300, 3].randomElement(using: &random) ?? 0)
    case .string: return .string(FieldType.text(&random))
    case .date: return .string("2026-11-20")
    case .bytes: return .bytes([0, 255])
    case .timestamp: return Timestamp("2026-11-20T09:30:00Z").map(Value.timestamp) ?? .null
    case .duration: return .duration(.seconds(90))
    case .dyn:
      return depth > 3
        ? .null
        : [
          .null, .int(3), .string(FieldType.text(&random)), .list([.list([])]),
          .object(["a/b": .null, "c": .list([.int(1)])]),
        ]
        .randomElement(using: &random) ?? .null
    case .choice(let options): return .string(options.randomElement(using: &random) ?? "")
    case .list(let element):
      return .list((0..<Int.random(in: 0...2, using: &random)).map { _ in element.sample(&random, depth: depth + 1) })
    case .map(let element): return .object([FieldType.text(&random): element.sample(&random, depth: depth + 1)])
    case .object(let schema):
      var map = ValueMap()
      for field in schema.fields where depth < 6 || field.isRequired {
        if !field.isRequired, Bool.random(using: &random) { continue }
        map[field.name] =
          field.isOptional && Int.random(in: 0..<5, using: &random) == 0
          ? .null : field.type.sample(&random, depth: depth + 1)
      }
      return .map(map)
    case .optional(let wrapped), .secret(let wrapped): return wrapped.sample(&random, depth: depth)
    }
  }

  private static func text(_ random: inout SeededGenerator) -> String {
    ["", "a", "..", "a/b", "ä\u{1F600}", "x\r\ny", "{}", "%2E", "a?b#c&d=e", "\u{0}"].randomElement(using: &random)
      ?? ""
  }
}

/// Changes documents at random.
package struct Mutation {
  private var random: SeededGenerator
  /// Names that mean something in such documents.
  private let words: [String]
  /// Parts of the document, to be put elsewhere.
  private var parts: [Value] = []
  private var pointers: [String] = []

  package init(_ document: Value, words: [String], _ random: SeededGenerator) {
    self.random = random
    self.words = words
    collect(document, at: "#", depth: 0)
  }

  private mutating func collect(_ value: Value, at pointer: String, depth: Int) {
    guard depth < 12, parts.count < 5000 else { return }
    parts.append(value)
    pointers.append(pointer)
    for member in value.map?.members ?? [] {
      let name = (member.name ?? "").asPointerPart
      collect(member.value, at: "\(pointer)/\(name)", depth: depth + 1)
    }
    for (index, item) in (value.list ?? []).enumerated() { collect(item, at: "\(pointer)/\(index)", depth: depth + 1) }
  }

  private static let scalars: [Value] = [
    .null, .bool(true), .bool(false), .int(0), .int(-1), .int(.max), .int(.min), .double(1e308), .double(-0.5),
    .string(""), .string("object"), .string("array"), .string("string"), .string("null"), .string("file"), .string("{"),
    .string("a{b}{c}d}"), .string("/x/{id}/../{id}"), .string("\u{202E}\n\t"), .string("deepObject"), .string("matrix"),
    .string("write"), .string(String(repeating: "é", count: 3000)), .list([]), .map(ValueMap()),
  ]

  private mutating func part() -> Value {
    switch Int.random(in: 0..<10, using: &random) {
    case 0..<4: return Self.scalars.randomElement(using: &random) ?? .null
    case 4..<6: return parts.randomElement(using: &random) ?? .null
    case 6..<8: return .object(["$ref": .string(pointers.randomElement(using: &random) ?? "#")])
    case 8: return .string(words.randomElement(using: &random) ?? "")
    default:
      // A few levels that double, or many that don't.
      let isDouble = Bool.random(using: &random)
      var deep = Value.object(["type": .string("string")])
      for _ in 0..<Int.random(in: 1...(isDouble ? 6 : 60), using: &random) {
        deep =
          Bool.random(using: &random)
          ? .object(["type": .string("object"), "properties": .object(["a": deep])])
          : .object([
            ["items", "anyOf", "allOf"].randomElement(using: &random) ?? "": .list(isDouble ? [deep, deep] : [deep])
          ])
      }
      return deep
    }
  }

  /// The document with one of its parts changed.
  package mutating func mutated(_ value: Value, depth: Int = 0) -> Value {
    let count = value.map?.count ?? value.list?.count ?? 0
    // Near the root hardly anything would be left.
    let isKept = Int.random(in: 0..<(depth < 4 ? 200 : 10), using: &random) > 0
    guard count > 0, depth < 14, isKept else { return part() }
    let index = Int.random(in: 0..<count, using: &random)
    if var list = value.list {
      switch Int.random(in: 0..<20, using: &random) {
      case 0: list.remove(at: index)
      case 1: list.append(part())
      default: list[index] = mutated(list[index], depth: depth + 1)
      }
      return .list(list)
    }
    guard var map = value.map else { return value }
    let key = map.members[index].key
    switch Int.random(in: 0..<(depth < 3 ? 100 : 15), using: &random) {
    case 0: map[key] = nil
    case 1: map[words.randomElement(using: &random) ?? ""] = part()
    case 2:
      let moved = map[key]
      map[key] = nil
      map[words.randomElement(using: &random) ?? ""] = moved
    default: map[key] = map[key].map { mutated($0, depth: depth + 1) }
    }
    return .map(map)
  }
}
