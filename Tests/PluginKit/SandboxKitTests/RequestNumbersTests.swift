import ActionTestKit
import Testing

@testable import SandboxKit

@Suite struct RequestNumbersTests {
  @Test(
    arguments: [
      ("n=7", 7), ("n=%2B7", 7), ("n=007", 7), ("n=1", 1), ("n=0", 1), ("n=-1", 1), ("n=-9223372036854775808", 1),
      ("n=-99999999999999999999", 1), ("n=100", 100), ("n=101", 100), ("n=9223372036854775807", 100),
      ("n=99999999999999999999", 100), ("n=%2B99999999999999999999", 100), ("n=7&n=8", 7), ("n=", nil), ("n=x", nil),
      ("n=-", nil), ("n=%2B", nil), ("n=--1", nil), ("n=1e400", nil), ("n=1.5", nil), ("n=%D9%A3", nil), ("m=7", nil),
    ] as [(String, Int?)])
  func `a number is within its range`(_ query: String, _ number: Int?) {
    #expect(HTTPQuery(decoding: query).number("n", in: 1...100) == number)
  }

  @Test(arguments: OddNumbers.texts)
  func `an odd number is within its range, or none`(_ odd: String) {
    let number = HTTPQuery([.init("n", odd)]).number("n", in: -5...5)
    #expect(number.map { (-5...5).contains($0) } ?? true)
  }

  @Test(
    arguments: [
      ("bytes=0-", 0), ("bytes=9-", 9), ("bytes=10-", nil), ("bytes=-1-", nil), ("bytes=-9223372036854775808-", nil),
      ("bytes=9223372036854775807-", nil), ("bytes=99999999999999999999-", nil), ("bytes=-5", nil), ("bytes=-", nil),
      ("bytes=", nil), ("bytes=1-2", nil), ("bytes=1-,3-", nil), ("1-", nil), ("", nil),
    ] as [(String, Int?)])
  func `a part begins within the file`(_ range: String, _ first: Int?) {
    let request = HTTPServerRequest("GET", "/", headers: ["Range": range])
    #expect(request.firstByte(ofFileWith: 10) == first)
    #expect(request.firstByte(ofFileWith: 0) == nil)
  }
}
