import Basics
import Testing

@Suite struct ValueMapTests {
  /// Few members are searched one by one, many through a table.
  @Test(arguments: [3, 8, 9, 300])
  func `keeps order and finds every key while members come and go`(_ count: Int) {
    var map = ValueMap()
    for number in 0..<count { map["key \(number)"] = .int(number) }
    for number in stride(from: 0, to: count, by: 2) { map["key \(number)"] = nil }
    for number in stride(from: 0, to: count, by: 3) { map["key \(number)"] = .string("again") }
    let odd = (0..<count).filter { $0 % 2 == 1 }
    let again = (0..<count).filter { $0 % 6 == 0 }
    #expect(map.members.map(\.name) == (odd + again).map { "key \($0)" })
    for number in 0..<count {
      let expected: Value? = number % 3 == 0 ? .string("again") : number % 2 == 1 ? .int(number) : nil
      #expect(map["key \(number)"] == expected)
    }
    #expect(map["key"] == nil)
  }

  @Test(arguments: [0, 100])
  func `takes numbers of one value for one key`(_ others: Int) {
    var map = ValueMap()
    for number in 0..<others { map["other \(number)"] = .null }
    map[.int(1)] = .string("one")
    map[.uint(.max)] = .string("most")
    #expect(map[.uint(1)] == .string("one"))
    #expect(map[.double(1)] == .string("one"))
    #expect(map[.double(1.5)] == nil)
    #expect(map[.string("1")] == nil)
    #expect(map[.bool(true)] == nil)
    #expect(map[.int(-1)] == nil)
    #expect(map[.double(.nan)] == nil)
    #expect(map.insert(.init(key: .uint(1), value: .null)) == others)
    #expect(map.insert(.init(key: .string("é"), value: .int(1))) == nil)
    #expect(map.insert(.init(key: .string("e\u{301}"), value: .int(2))) == nil)
    #expect(map["é"] == .int(1))
  }

  @Test func `is equal without regard to order`() {
    let names = (0..<20).map { "key \($0)" }
    let map = ValueMap(names.map { ($0, .string($0)) })
    #expect(map == ValueMap(names.reversed().map { ($0, .string($0)) }))
    var other = map
    other["key 7"] = .null
    #expect(map != other)
  }
}
