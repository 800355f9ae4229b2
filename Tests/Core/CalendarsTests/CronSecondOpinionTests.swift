import ActionTestKit
import Basics
import Calendars
import Foundation
import Testing

/// Where PyPI's cronsim and croniter agree with each other, so do we, unless the rule of `CronExpression` decides.
@Suite struct CronSecondOpinionTests {
  private static let script = """
    import datetime, json, sys
    from zoneinfo import ZoneInfo
    from croniter import croniter
    from cronsim import CronSim

    def following(make):
        try:
            return [int(x.timestamp()) for x in make()]
        except Exception as error:
            return repr(error)

    for line in sys.stdin:
        case = json.loads(line)
        zone = ZoneInfo(case["zone"])
        start = datetime.datetime.fromtimestamp(case["start"], datetime.timezone.utc).astimezone(zone)
        def by_cronsim():
            it = CronSim(case["expr"], start)
            return [next(it) for _ in range(3)]
        def by_croniter():
            it = croniter(case["expr"], start)
            return [it.get_next(datetime.datetime) for _ in range(3)]
        first = following(by_cronsim)
        print(json.dumps(first if first == following(by_croniter) and isinstance(first, list) else None))
    """

  private struct Case: Codable {
    var expr: String
    var zone: String
    var start: Int
  }

  @Test func `agrees with two other implementations where they agree`() async throws {
    var random = SeededGenerator(seed: 42)
    let cases = (0..<2000).map { _ in
      Case(
        expr: expression(&random), zone: CronOracleTests.zones.randomElement(using: &random) ?? "UTC",
        start: Int.random(in: 1_104_537_600...2_051_222_400, using: &random))
    }
    let encoder = JSONEncoder()
    let input = try cases.map { try encoder.encode($0) + [0x0A] }.reduce(Data(), +)
    guard
      let output = try await python(
        on: "cron", Self.script, input: Array(input),
        with: [PythonPackage("cronsim", "2.8"), PythonPackage("croniter", "7.0.0")])
    else { return }
    let answers = try output.split(separator: 0x0A).map { try JSONDecoder().decode([Int]?.self, from: Data($0)) }
    try #require(answers.count == cases.count)
    var agreed = 0
    for (item, answer) in zip(cases, answers) {
      guard let answer, let cron = CronExpression.parse(item.expr).expression else { continue }
      agreed += 1
      let rules = try TimeZoneDatabase.system.rules(named: item.zone)
      var found: [Int] = []
      var last = try #require(Timestamp(seconds: item.start))
      while found.count < 3, let next = cron.next(after: last, in: rules) {
        found.append(next.seconds)
        last = next
      }
      // Both make up for wild hours in a gap, which the rule leaves out.
      #expect(found == answer || cron.isWild, "'\(item.expr)' in \(item.zone) after \(item.start)")
    }
    #expect(agreed > 1800)
  }

  private func expression(_ random: inout SeededGenerator) -> String {
    func number(_ range: ClosedRange<Int>) -> String { String(Int.random(in: range, using: &random)) }
    // Without `*/n` in a day field, because the two libraries interpret it differently.
    let fields = [
      ["*", "*/15", "0", "30", number(0...59), "0,30", "5-10"], ["*", "*/3", "0", "2", number(0...23), "9-17"],
      ["*", "*", number(1...31), "1-7"], ["*", "*", number(1...12), "JAN,JUL"], ["*", "*", "MON-FRI", "SUN", "6"],
    ]
    return fields.map { $0.randomElement(using: &random) ?? "*" }.joined(separator: " ")
  }
}
