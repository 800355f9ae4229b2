import Basics
import Foundation
import Testing

/// Documents that are changed at random, judged by Foundation's reader as well as ours.
@Suite struct JSONOracleTests {
  static let documents = [
    #"{"name":"Ann \"x\" é€😀\u00e9\uD83D\uDE00","n":[0,-1,12.5e-3,1E5],"o":{"a":{},"b":[]},"t":true,"f":false,"z":null}"#,
    "[ 1 , 2.50 , \"\" , \"\\\\\\/\\b\\f\\n\\r\\t\" , [ [ ] ] , { \"k\" : \"v\" } ]\n",
    #"{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":[1,2,3,4,5,6,7,8,9,10]}"#,
    #"[-0,-0.0,0e0,123456789012345678,3.141592653589793238462643,1e308,2.2250738585072014e-308]"#,
  ]

  @Test(arguments: 0..<8)
  func `agrees with Foundation about mutated documents`(_ seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    for round in 0..<2500 {
      var bytes = Array(JSONOracleTests.documents[round % JSONOracleTests.documents.count].utf8)
      for _ in 0..<random.below(4) + (round < 4 ? 0 : 1) { mutate(&bytes, &random) }
      let ours = Result { () throws(JSONError) in try JSON.parse(bytes) }
      let theirs = try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
      switch (ours, theirs) {
      case (.success(let value), let object?):
        #expect(same(value, object), "\(String(decoding: bytes, as: UTF8.self))")
      case (.success, nil):
        // Foundation refuses numbers below the least double, which round to zero.
        #expect(isUnderflow(bytes), "only ours reads \(String(decoding: bytes, as: UTF8.self))")
      case (.failure(let error), .some):
        #expect(isStricter(error), "only Foundation reads \(String(decoding: bytes, as: UTF8.self)): \(error)")
      case (.failure(let error), nil):
        #expect((0...bytes.count).contains(error.spot?.offset ?? -1))
      }
    }
  }

  @Test func `reads doubles as the standard library does`() throws {
    var random = SeededGenerator(seed: 3)
    for _ in 0..<20_000 {
      let digits = String(random.next() >> UInt64(random.below(60)))
      let text = "\(random.below(2) == 0 ? "-" : "")\(random.below(1000)).\(digits)e\(random.below(560) - 300)"
      let plain = String(text.prefix { $0 != "e" })
      for text in [text, plain] {
        guard let expected = Double(text), expected.isFinite else { continue }
        #expect(try JSON.parse(text) == .double(expected), "\(text)")
      }
    }
  }

  @Test func `writes doubles as the standard library does`() throws {
    var random = SeededGenerator(seed: 11)
    var numbers: [Double] = [0.005, 0.29, 1.005, 9_999_999_999_999.99, 1e13, 9.007199254740993e15]
    for digits in 1...16 {
      let bound = (0..<digits).reduce(1) { bound, _ in bound * 10 }
      for _ in 0..<200 {
        let number = Double(random.below(bound))
        numbers += [number, number / 10, number / 100, number / 1000, number / 100 * 1.1]
      }
    }
    for number in numbers.flatMap({ [$0, -$0, $0.nextUp, $0.nextDown] }) {
      #expect(try JSON.text(.double(number)) == number.description)
    }
  }

  private func mutate(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
    let tokens = [
      "\"", "\\", "{", "}", "[", "]", ",", ":", "0", "-", ".", "e9", "\\u", "\\uD800", "null", " ", "\n", "é", "//",
    ]
    let at = random.below(bytes.count + 1)
    switch random.below(6) {
    case 0 where at < bytes.count: bytes.remove(at: at)
    case 1 where at < bytes.count: bytes[at] = UInt8(random.below(256))
    case 2: bytes.insert(contentsOf: tokens[random.below(tokens.count)].utf8, at: at)
    case 3: bytes.removeSubrange(at...)
    case 4 where at < bytes.count: bytes.swapAt(at, random.below(bytes.count))
    default:
      let end = min(bytes.count, at + random.below(12))
      bytes.insert(contentsOf: bytes[at..<end], at: random.below(bytes.count + 1))
    }
    if bytes.isEmpty { bytes = [0x20] }
  }

  /// Whether Foundation accepts the text and this reader rejects it.
  private func isStricter(_ error: JSONError) -> Bool {
    error.message.hasSuffix("is given twice") || error.message.hasPrefix("a comma before")
  }

  private func isUnderflow(_ bytes: [UInt8]) -> Bool { bytes.contains(UInt8(ascii: "e")) }

  private func same(_ value: Value, _ object: Any) -> Bool {
    switch value.content {
    case .null: object is NSNull
    case .bool(let flag): object as? Bool == flag
    case .int(let number): object as? Int == number
    case .uint(let number): object as? UInt == number
    // Foundation goes by way of decimals, so that its last digits are not to be trusted.
    case .double(let number): (object as? NSNumber).map { abs($0.doubleValue - number) <= abs(number) * 1e-14 } ?? false
    case .string(let text): (object as? String).map { Array($0.unicodeScalars) } == Array(text.unicodeScalars)
    case .list(let items):
      (object as? [Any]).map { $0.count == items.count && zip(items, $0).allSatisfy(same) } ?? false
    case .map(let map):
      // Foundation's dictionary merges canonically equivalent keys.
      (object as? [String: Any]).map { others in
        map.members.allSatisfy { member in
          guard let name = member.name, let other = others[name] else { return false }
          return others.count < map.count || same(member.value, other)
        }
      } ?? false
    default: false
    }
  }
}

extension SeededGenerator {
  mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

  /// A random text, with characters that need an escape and characters of several bytes.
  mutating func text() -> String {
    let scalars: [Unicode.Scalar] = ["a", "b", "\"", "\\", "\n", "\0", "\u{1F}", "é", "名", "😀", " ", "/", "\u{301}"]
    var text = String.UnicodeScalarView()
    for _ in 0..<below(24) { text.append(scalars[below(scalars.count)]) }
    return String(text)
  }

  /// Any value that JSON can hold.
  mutating func value(depth: Int) -> Value {
    switch below(depth > 0 ? 8 : 6) {
    case 0: return .null
    case 1: return .bool(below(2) == 0)
    case 2: return .int(Int(truncatingIfNeeded: next()) >> below(64))
    case 3:
      let double = Double(bitPattern: next())
      return .double(double.isFinite ? double : 0.5)
    case 4, 5: return .string(text())
    case 6: return .list((0..<below(5)).map { _ in value(depth: depth - 1) })
    default:
      var map = ValueMap()
      for _ in 0..<below(14) { map[text()] = value(depth: depth - 1) }
      return .map(map)
    }
  }
}
