import Basics
import Testing

@Suite struct TimestampTests {
  @Test(arguments: [
    ("1970-01-01T00:00:00Z", 0, 0, "1970-01-01T00:00:00Z"),
    ("2026-11-20T09:30:00.250+01:00", 1_795_163_400, 250_000_000, "2026-11-20T08:30:00.25Z"),
    ("1969-12-31T23:59:59.5Z", -1, 500_000_000, "1969-12-31T23:59:59.5Z"),
    ("0001-01-01T00:00:00Z", -62_135_596_800, 0, "0001-01-01T00:00:00Z"),
    ("9999-12-31T23:59:59.999999999Z", 253_402_300_799, 999_999_999, "9999-12-31T23:59:59.999999999Z"),
  ])
  func `reads and writes RFC 3339`(_ text: String, _ seconds: Int, _ nanoseconds: Int, _ written: String) throws {
    let instant = try #require(Timestamp(text))
    #expect(instant.seconds == seconds)
    #expect(Int(instant.nanoseconds) == nanoseconds)
    #expect(instant.description == written)
  }

  @Test(arguments: [
    "", "2026-11-20", "2026-02-29T00:00:00Z", "2026-11-20T24:00:00Z", "2026-11-20T09:30:60Z", "2026-11-20T09:30:00",
    "2026-11-20T09:30:00.Z", "2026-11-20T09:30:00.1234567890Z", "0001-01-01T00:00:00+01:00", "2026-11-20T09:30:00ZZ",
  ])
  func `refuses what is no instant`(_ text: String) {
    #expect(Timestamp(text) == nil)
  }

  @Test(arguments: [
    ("0", 0), ("1h30m", 5_400_000_000_000), ("-1.5s", -1_500_000_000), ("1d", 86_400_000_000_000),
    ("2w", 1_209_600_000_000_000), ("100ms", 100_000_000), (".5s", 500_000_000), ("1us", 1000), ("7ns", 7),
  ])
  func `reads durations`(_ text: String, _ nanoseconds: Int) {
    #expect(TimeSpan(text)?.nanoseconds == nanoseconds)
  }

  @Test(arguments: ["", "1", "s", ".s", "1x", "300y", "1h-3m", "9999999999999h", "- 1s", "1 h"])
  func `refuses what isn't a duration`(_ text: String) {
    #expect(TimeSpan(text) == nil)
  }

  @Test func `takes days and weeks in recipes only`() {
    #expect(TimeSpan("1d", units: .expression) == nil)
    #expect(TimeSpan("1w", units: .expression) == nil)
  }
}
