import Basics
import Calendars

/// When schedules are due next.
struct Schedules {
  func rows() throws -> [Row] {
    let common = try ["*/5 * * * *", "30 17 * * FRI", "0 2 * * *", "0 9 1 * *"].map(nanoseconds).max() ?? 0
    let worst = try ["0 0 29 2 *", "30 2 29 2 1", "0 0 31 12 *"].map(nanoseconds).max() ?? 0
    return [
      Row(
        what: "next fire time, common", figure: "\(shown(common)) ns", bar: "≤ 100 ns", baseline: "",
        isMet: common <= 100),
      Row(
        what: "next fire time, worst", figure: "\(shown(worst)) ns", bar: "≤ 5000 ns", baseline: "",
        isMet: worst <= 5000),
    ]
  }

  /// The time of one answer, asked for from instants all over ten years.
  private func nanoseconds(_ text: String) throws -> Double {
    guard let expression = CronExpression.parse(text).expression else { throw NotMeasured("'\(text)' is no schedule") }
    let zone = try TimeZoneDatabase.system.rules(named: "Australia/Sydney")
    let instants = (0..<5000).compactMap { Timestamp(seconds: 1_700_000_000 + $0 * 63_113) }
    var sum = 0
    let time = seconds(atMost: 0.3) {
      for instant in instants { sum &+= expression.next(after: instant, in: zone)?.seconds ?? 1 }
    }
    if sum == 0 { throw NotMeasured("'\(text)' is never due") }
    return time / Double(instants.count) * 1e9
  }
}
