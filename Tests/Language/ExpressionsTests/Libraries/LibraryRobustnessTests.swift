import Basics
import Expressions
import Testing

/// Whatever a function is given, it gives a value of its declared kind or an error; a trap would end the agent.
@Suite struct LibraryRobustnessTests {
  static let ints = [0, 1, -1, 2, 3, 7, 64, 400, -400, Int.max, .min, .max - 1, 1 << 53]
  static let doubles = [
    0.0, -0.0, 1, -1.5, 0.1, 50, 2.5, 1e22, -1e300, .infinity, -.infinity, .nan, .leastNonzeroMagnitude,
    .greatestFiniteMagnitude, 9.3e18,
  ]
  static let strings = [
    "", "a", "é", "e\u{301}", "🇷🇴", "\u{0}", "aaaaaaaaab", "%s %d %.3f", "%", "%F %T %z", "%s", "2026-11-20 20:30:00",
    "Australia/Sydney", "+14:00", "-99:99", "02:30", "24:00", ",", "\\1", "(a)|b*", "(", "[", "{\"a\": [1, {}]}",
    "a,b\n1,\"2\n\"\"\"\n", "a\n\"", "aGk=", "=", "\r\n", "\u{FEFF}", "{}", "1", "UTC",
    String(repeating: "ab", count: 300),
  ]

  @Test func `no function traps`() throws {
    var random = Xorshift(state: 0x5EED)
    for declaration in FunctionLibrary.standard.declarations {
      let receiver = declaration.receiver.map { [$0] } ?? []
      let types = (receiver + declaration.parameters).map(concrete)
      var scope = ExpressionScope(rules: .plain)
      for (index, type) in types.enumerated() { scope.declare("v\(index)", type) }
      let names = types.indices.map { "v\($0)" }
      let call =
        receiver.isEmpty
        ? "\(declaration.name)(\(names.joined(separator: ", ")))"
        : "v0.\(declaration.name)(\(names.dropFirst().joined(separator: ", ")))"
      // A few names are macros or operators with a form of their own.
      guard case .success(let program) = CompiledExpression.compile(call, in: scope) else { continue }
      for _ in 0..<30 {
        let values = types.map { random.value(of: $0, depth: 0) }
        do throws(EvaluationError) {
          let value = try program.evaluate(values, limits: EvaluationLimits(steps: 100_000, bytes: 1 << 20))
          #expect(isKind(value, of: concrete(declaration.result)), "\(call) of \(values) gave \(value)")
        } catch {
          #expect(!error.message.isEmpty)
        }
      }
    }
  }

  /// The type with ints in the place of its parameters.
  private func concrete(_ type: ValueType) -> ValueType {
    switch type {
    case .parameter: .int
    case .list(let item): .list(concrete(item))
    case .map(let key, let value): .map(concrete(key), concrete(value))
    case .optional(let wrapped): .optional(concrete(wrapped))
    default: type
    }
  }

  private func isKind(_ value: Value, of type: ValueType) -> Bool {
    switch (type, value.content) {
    case (.dyn, _), (.bool, .bool), (.int, .int), (.uint, .uint), (.double, .double), (.string, .string),
      (.bytes, .bytes),
      (.timestamp, .timestamp), (.duration, .duration), (.map, .map), (.type, .type), (.null, .null):
      true
    case (.choice(let options), .string(let text)): options.contains(text)
    case (.list(let item), .list(let items)): items.allSatisfy { isKind($0, of: item) }
    case (.optional(let wrapped), .optional(let value)): value.map { isKind($0, of: wrapped) } ?? true
    default: false
    }
  }
}

/// A small seeded generator of values.
private struct Xorshift: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state
  }

  mutating func value(of type: ValueType, depth: Int) -> Value {
    switch type {
    case .bool: return .bool(Bool.random(using: &self))
    case .int: return .int(LibraryRobustnessTests.ints.randomElement(using: &self) ?? 0)
    case .uint: return .uint(UInt(bitPattern: LibraryRobustnessTests.ints.randomElement(using: &self) ?? 0))
    case .double: return .double(LibraryRobustnessTests.doubles.randomElement(using: &self) ?? 0)
    case .string: return .string(LibraryRobustnessTests.strings.randomElement(using: &self) ?? "")
    case .bytes:
      return .bytes((0..<Int.random(in: 0...5, using: &self)).map { _ in UInt8.random(in: 0...255, using: &self) })
    case .timestamp:
      let options = [
        Timestamp.earliest, .latest, Timestamp("2026-11-01T05:30:00.5Z"), Timestamp("2011-12-30T10:00:00Z"),
      ]
      return .timestamp(options.compactMap(\.self).randomElement(using: &self) ?? .earliest)
    case .duration:
      return .duration(TimeSpan(nanoseconds: LibraryRobustnessTests.ints.randomElement(using: &self) ?? 0))
    case .choice(let options): return .string(options.randomElement(using: &self) ?? "")
    case .list(let item):
      return .list((0..<Int.random(in: 0...4, using: &self)).map { _ in value(of: item, depth: depth + 1) })
    case .map(let key, let item):
      var map = ValueMap()
      for _ in 0..<Int.random(in: 0...3, using: &self) {
        map[value(of: key, depth: depth + 1)] = value(of: item, depth: depth + 1)
      }
      return .map(map)
    case .optional(let wrapped):
      return Value(.optional(Bool.random(using: &self) ? value(of: wrapped, depth: depth + 1) : nil))
    case .dyn:
      let types: [ValueType] = [.null, .bool, .int, .uint, .double, .string, .bytes, .timestamp, .duration]
      let nested: [ValueType] = depth < 3 ? [.list(.dyn), .map(.string, .dyn)] : []
      return value(of: (types + nested).randomElement(using: &self) ?? .null, depth: depth + 1)
    default: return .null
    }
  }
}
