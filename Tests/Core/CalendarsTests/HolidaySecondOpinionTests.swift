import ActionTestKit
import Basics
import Calendars
import Foundation
import Testing

/// PyPI's dateutil gives the same days for a rule as we do, where the rule's begin is one of its days: for any other
/// begin the standard leaves open what is meant.
@Suite struct HolidaySecondOpinionTests {
  private static let script = """
    import datetime, itertools, json, sys
    from dateutil.rrule import rrulestr

    for line in sys.stdin:
        case = json.loads(line)
        start = datetime.datetime.strptime(case["start"], "%Y%m%d")
        rule = rrulestr(case["rule"], dtstart=start)
        days = []
        for day in itertools.islice(rule, 60):
            if day.year > 2099:
                break
            days.append(day.strftime("%Y-%m-%d"))
        print(json.dumps(days))
    """

  private struct Case: Codable {
    var rule: String
    var start: String
  }

  @Test func `agrees with another implementation of rules`() async throws {
    var random = SeededGenerator(seed: 7)
    let cases = (0..<400).map { _ in self.random(&random) }
    let encoder = JSONEncoder()
    let input = try cases.map { try encoder.encode($0) + [0x0A] }.reduce(Data(), +)
    guard
      let output = try await python(
        on: "calendars", Self.script, input: Array(input),
        with: [PythonPackage("python-dateutil", "4.0.0", module: "dateutil")])
    else { return }
    let answers = try output.split(separator: 0x0A).map { try JSONDecoder().decode([String].self, from: Data($0)) }
    try #require(answers.count == cases.count)
    var compared = 0
    for (item, answer) in zip(cases, answers) {
      guard answer.first?.replacing("-", with: "") == item.start else { continue }
      compared += 1
      let text = """
        BEGIN:VCALENDAR
        BEGIN:VEVENT
        DTSTART;VALUE=DATE:\(item.start)
        RRULE:\(item.rule)
        END:VEVENT
        END:VCALENDAR
        """
      let days = try HolidayCalendar.days(in: Source(name: "x.ics", text: text), zone: .utc)
      let first = days.runs.lazy.flatMap(\.self).prefix(60).map { CivilDate(daysSinceEpoch: $0).description }
      #expect(Array(first) == answer, "\(item.rule) from \(item.start)")
    }
    #expect(compared > 180)
  }

  private func random(_ random: inout SeededGenerator) -> Case {
    func pick(_ options: [String]) -> String { options.randomElement(using: &random) ?? "" }
    func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
    let day = CivilDate(daysSinceEpoch: number(18_000...24_000))
    let names = ["SU", "MO", "TU", "WE", "TH", "FR", "SA"]
    let weekday = names[day.weekday]
    let length = CivilDate.days(inMonth: day.month, of: day.year)
    let frequency = pick(["DAILY", "WEEKLY", "MONTHLY", "MONTHLY", "YEARLY", "YEARLY"])
    var rule = "FREQ=\(frequency)"
    if number(0...1) == 0 { rule += ";INTERVAL=\(number(1...5))" }
    let other = names[number(0...6)]
    switch frequency {
    case "DAILY":
      rule += pick(["", ";BYDAY=\(weekday),\(other)", ";BYMONTH=\(day.month),3", ";BYMONTHDAY=\(day.day),-1"])
    case "WEEKLY":
      rule += pick(["", ";BYDAY=\(weekday),\(other)", ";WKST=SU;BYDAY=\(weekday),\(other),SU", ";BYMONTH=\(day.month)"])
    case "MONTHLY":
      rule += pick([
        "", ";BYDAY=\((day.day - 1) / 7 + 1)\(weekday)", ";BYDAY=-\((length - day.day) / 7 + 1)\(weekday),1\(other)",
        ";BYMONTHDAY=\(day.day),1,-1", ";BYDAY=\(weekday)", ";BYMONTHDAY=\(day.day),13;BYDAY=\(weekday)",
        ";BYMONTHDAY=\(day.day - length - 1)",
      ])
    default:
      rule += pick([
        "", ";BYMONTH=\(day.month),11", ";BYMONTH=\(day.month);BYDAY=\((day.day - 1) / 7 + 1)\(weekday)",
        ";BYDAY=\((day.dayOfYear - 1) / 7 + 1)\(weekday)", ";BYMONTHDAY=\(day.day),-1", ";BYDAY=\(weekday)",
        ";BYMONTH=\(day.month);BYMONTHDAY=\(day.day);BYDAY=\(weekday),\(other)",
        ";BYMONTH=\(day.month),5;BYMONTHDAY=\(day.day)",
      ])
    }
    rule += pick(["", "", ";COUNT=\(number(1...60))", ";UNTIL=20\(number(27...99))0615"])
    return Case(rule: rule, start: day.description.replacing("-", with: ""))
  }
}
