import ActionKit
import Basics
import Testing

@testable import Runs

@Suite struct ReportThrottleTests {
  private typealias Report = ActionContext.Progress

  /// The reports that pass, with the millisecond; a report each millisecond.
  private static func passed(_ count: Int, _ report: (Int) -> (Report, isTransfer: Bool)) -> [String] {
    let throttle = ReportThrottle()
    var passed = (0..<count).compactMap { millisecond in
      let (report, isTransfer) = report(millisecond)
      return throttle.take(report, isTransfer: isTransfer, at: .milliseconds(millisecond)).map {
        "\(millisecond): \($0.message) \($0.completed ?? 0)"
      }
    }
    if let last = throttle.takeLast() { passed.append("end: \(last.message) \(last.completed ?? 0)") }
    return passed
  }

  @Test func `ten reports a second pass, and the last one`() {
    #expect(
      Self.passed(450) { (Report("rows", completed: $0), false) } == [
        "0: rows 0", "100: rows 100", "200: rows 200", "300: rows 300", "400: rows 400", "end: rows 449",
      ])
  }

  @Test func `a new message passes at once, unless there are many`() {
    #expect(
      Self.passed(6) { (Report($0 < 3 ? "reading" : "checking"), false) } == [
        "0: reading 0", "3: checking 0", "end: checking 0",
      ])
    let many = Self.passed(5000) { (Report("row \($0)"), false) }
    #expect(many.count < 5 * 30, "\(many.count)")
    #expect(many.last == "end: row 4999 0")
  }

  @Test func `an action that counts is believed more than its transfers`() {
    #expect(
      Self.passed(400) {
        $0 % 2 == 0 ? (Report("pages", completed: $0), false) : (Report("bytes", completed: $0), true)
      }
        == ["0: pages 0", "100: pages 100", "200: pages 200", "300: pages 300", "end: pages 398"])
    #expect(
      Self.passed(200) { $0 == 0 ? (Report("asking"), false) : (Report("bytes", completed: $0), true) } == [
        "0: asking 0", "1: bytes 1", "101: bytes 101", "end: bytes 199",
      ])
  }
}
