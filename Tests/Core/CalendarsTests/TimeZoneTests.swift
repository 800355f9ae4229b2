import Basics
import Calendars
import Foundation
import Testing

@Suite struct TimeZoneTests {
  @Test(arguments: CronOracleTests.zones + ["Asia/Tehran", "America/Caracas", "Pacific/Kiritimati", "Europe/Moscow"])
  func `agrees with another reader of another copy of the data`(_ name: String) throws {
    let rules = try TimeZoneDatabase.system.rules(named: name)
    let other = try #require(TimeZone(identifier: name))
    // 2005 to 2026: later years depend on the age of the two copies.
    for seconds in stride(from: 1_104_537_600, to: 1_767_225_600, by: 19 * 1800) {
      let date = Date(timeIntervalSince1970: Double(seconds))
      let instant = try #require(Timestamp(seconds: seconds))
      guard rules.offset(at: instant) == other.secondsFromGMT(for: date) else {
        Issue.record("\(name) at \(instant): \(rules.offset(at: instant)) and \(other.secondsFromGMT(for: date))")
        return
      }
    }
  }

  @Test(arguments: [
    // Before the first transition, local mean time.
    ("Africa/Monrovia", "1800-01-01T00:00:00Z", -2588, "LMT"),
    ("Asia/Kathmandu", "1980-01-01T00:00:00Z", 19_800, "+0530"),
    ("Asia/Kathmandu", "2026-01-01T00:00:00Z", 20_700, "+0545"),
    ("Australia/Lord_Howe", "2026-01-01T00:00:00Z", 39_600, "+11"),
    ("Australia/Lord_Howe", "2026-07-01T00:00:00Z", 37_800, "+1030"),
    ("Pacific/Apia", "2011-12-30T09:59:59Z", -36_000, "-10"),
    ("Pacific/Apia", "2011-12-30T10:00:00Z", 50_400, "+14"), ("Europe/Dublin", "2026-01-01T00:00:00Z", 0, "GMT"),
    ("Europe/Dublin", "2026-07-01T00:00:00Z", 3600, "IST"), ("UTC", "2026-01-01T00:00:00Z", 0, "UTC"),
    // By the footer, from the last row of the table to the end of time.
    ("Australia/Sydney", "2500-01-01T00:00:00Z", 39_600, "AEDT"),
    ("Australia/Sydney", "2500-07-01T00:00:00Z", 36_000, "AEST"),
    ("America/New_York", "9999-07-01T00:00:00Z", -14_400, "EDT"),
    ("America/New_York", "9999-12-31T23:59:59Z", -18_000, "EST"),
    // To the second: the second Sunday of March 2437, 07:00 UTC, and the same a cycle later.
    ("America/New_York", "2437-03-08T06:59:59Z", -18_000, "EST"),
    ("America/New_York", "2437-03-08T07:00:00Z", -14_400, "EDT"),
    ("America/New_York", "2837-03-08T06:59:59Z", -18_000, "EST"),
    ("America/New_York", "2837-03-08T07:00:00Z", -14_400, "EDT"),
    ("-03:30", "2026-07-01T00:00:00Z", -12_600, "-03:30"),
  ])
  func `knows the offset`(_ name: String, _ text: String, _ offset: Int, _ abbreviation: String) throws {
    let rules = try TimeZoneDatabase.system.rules(named: name)
    let instant = try #require(Timestamp(text))
    #expect(rules.offset(at: instant) == offset)
    #expect(rules.localTime(at: instant).kind.abbreviation == abbreviation)
  }

  @Test(arguments: [
    ("Australia/Sydney", "2026-11-20T09:30:00Z", TimeZoneRules.Resolution.unique(1_795_127_400)),
    ("Australia/Sydney", "2026-10-04T02:30:00Z", .gap(at: 1_791_043_200, before: 36_000, after: 39_600)),
    ("Australia/Sydney", "2026-04-05T02:30:00Z", .fold(first: 1_775_316_600, last: 1_775_320_200)),
    ("Australia/Sydney", "2026-04-05T03:00:00Z", .unique(1_775_322_000)),
    ("Pacific/Apia", "2011-12-30T12:00:00Z", .gap(at: 1_325_239_200, before: -36_000, after: 50_400)),
    ("UTC", "2026-11-20T09:30:00Z", .unique(1_795_167_000)),
  ])
  func `tells jumped-over and repeated times`(
    _ name: String, _ wall: String, _ resolution: TimeZoneRules.Resolution
  ) throws {
    let rules = try TimeZoneDatabase.system.rules(named: name)
    let local = try #require(Timestamp(wall)).seconds
    #expect(rules.resolve(local: local) == resolution)
  }

  @Test(arguments: CronOracleTests.zones)
  func `every instant is one of those of its wall time`(_ name: String) throws {
    let rules = try TimeZoneDatabase.system.rules(named: name)
    var random = SeededGenerator(seed: 11)
    for _ in 0..<2000 {
      var seconds = Int.random(in: -5_000_000_000...9_000_000_000, using: &random)
      if Bool.random(using: &random), let change = rules.nextTransition(after: seconds) {
        seconds = change + Int.random(in: -7200...7200, using: &random)
      }
      let local = seconds + rules.period(atSeconds: seconds).offset
      switch rules.resolve(local: local) {
      case .unique(let found): #expect(found == seconds)
      case .fold(let first, let last): #expect(first == seconds || last == seconds, "\(name) \(seconds)")
      case .gap: Issue.record("\(name) \(seconds): a time that was shown is called jumped over")
      }
    }
  }

  @Test(arguments: [
    (
      "../etc/passwd",
      "'../etc/passwd' isn't a time zone; write an IANA name such as 'Australia/Sydney', or an offset such as '+05:30'"
    ),
    (
      "/etc/passwd",
      "'/etc/passwd' isn't a time zone; write an IANA name such as 'Australia/Sydney', or an offset such as '+05:30'"
    ),
    ("australia/sydney", "'australia/sydney' isn't a time zone; did you mean 'Australia/Sydney'?"),
    ("Australia/Sidney", "'Australia/Sidney' isn't a time zone; did you mean 'Australia/Sydney'?"),
    ("sydney", "'sydney' isn't a time zone; did you mean 'Australia/Sydney'?"),
    (
      "Australia",
      "'Australia' isn't a time zone; write an IANA name such as 'Australia/Sydney', or an offset such as '+05:30'"
    ),
    (
      "AEST",
      "'AEST' isn't a time zone, and abbreviations have several meanings; write an IANA name such as 'Australia/Sydney'"
    ),
    (
      "localtime",
      "'localtime' isn't a time zone; write an IANA name such as 'Australia/Sydney', or an offset such as '+05:30'"
    ),
    ("", "'' isn't a time zone; write an IANA name such as 'Australia/Sydney', or an offset such as '+05:30'"),
    ("+5", "'+5' isn't a time zone; write an IANA name such as 'Australia/Sydney', or an offset such as '+05:30'"),
    ("Asia/\u{212A}athmandu", "'Asia/\u{212A}athmandu' isn't a time zone; did you mean 'Asia/Kathmandu'?"),
  ])
  func `refuses what is no zone, with a guess`(_ name: String, _ message: String) {
    #expect(throws: TimeZoneError.self) { try TimeZoneDatabase.system.rules(named: name) }
    do { _ = try TimeZoneDatabase.system.rules(named: name) } catch { #expect(error.message == message) }
  }

  @Test func `says what to install where there are no zone files`() {
    do {
      _ = try TimeZoneDatabase(TimeZoneFolder(path: "/nowhere")).rules(named: "Asia/Tokyo")
      Issue.record("it found rules")
    } catch {
      #expect(error.kind == .unreadable)
      #expect(
        error.message == "there are no zone files in /nowhere; install the package tzdata, or point TZDIR at them")
    }
  }

  @Test func `reads every zone of the machine`() throws {
    let names = TimeZoneDatabase.system.names()
    #expect(names.count > 400)
    for name in names { _ = try TimeZoneDatabase.system.rules(named: name) }
  }

  // MARK: Files

  @Test func `follows a version 1 file without a footer`() throws {
    let file = ZoneFile(version: 0, transitions: [(1000, 1)], types: [(0, false, "AAA"), (3600, true, "BBB")])
    let rules = try TimeZoneRules(name: "Test", file: file.bytes)
    #expect(rules.period(atSeconds: 999).offset == 0)
    #expect(rules.period(atSeconds: 1000).offset == 3600)
    #expect(rules.period(atSeconds: 250_000_000_000).offset == 3600)
    #expect(rules.nextTransition(after: 1000) == nil)
  }

  @Test(arguments: [
    // Greenland's change before midnight, by a negative hour; a change counted without leap days; daylight time all year.
    ("<-03>3<-02>,M3.5.0/-2,M10.5.0/-1", [1_774_746_000, 1_792_890_000]),
    ("AAA0BBB,J60/0,J300/0", [1_772_323_200, 1_793_055_600]),
    ("AAA0BBB,59/0,299/0", [1_772_323_200, 1_793_055_600]),
    ("XXX3EDT4,0/0,J365/23", []),
  ])
  func `expands footers`(_ footer: String, _ changes: [Int]) throws {
    let file = ZoneFile(version: 0x32, transitions: [], types: [(0, false, "LMT")], footer: footer)
    let rules = try TimeZoneRules(name: "Test", file: file.bytes)
    var found: [Int] = []
    var seconds = 1_767_225_600
    while let next = rules.nextTransition(after: seconds), next < 1_798_761_600 {
      found.append(next)
      seconds = next
    }
    #expect(found == changes)
    if changes.isEmpty { #expect(rules.period(atSeconds: seconds).offset == -4 * 3600) }
  }

  @Test func `refuses damaged files and leap seconds`() throws {
    let good = ZoneFile(
      version: 0x32, transitions: [(1000, 1)], types: [(0, false, "AAA"), (3600, true, "BBB")], footer: "AAA0")
    _ = try TimeZoneRules(name: "Test", file: good.bytes)
    // Cut anywhere, a file is refused.
    for count in good.bytes.indices {
      #expect(throws: TimeZoneError.self, "cut at \(count)") {
        try TimeZoneRules(name: "Test", file: Array(good.bytes[..<count]))
      }
    }
    // A file with any byte flipped is rejected or read, and never causes a trap.
    for index in good.bytes.indices {
      for mask: UInt8 in [0x01, 0x80, 0xFF] {
        var bytes = good.bytes
        bytes[index] ^= mask
        if let rules = try? TimeZoneRules(name: "Test", file: bytes) { _ = rules.resolve(local: 1500) }
      }
    }
    var leap = good
    leap.leapSeconds = 1
    #expect(
      throws: TimeZoneError.self, "the zone file of 'Test' counts leap seconds"
    ) { try TimeZoneRules(name: "Test", file: leap.bytes) }
    do { _ = try TimeZoneRules(name: "Test", file: leap.bytes) } catch {
      #expect(
        error.message
          == "the zone file of 'Test' counts leap seconds, which instants here do not; use the files outside 'right/'")
    }
  }
}

/// A TZif file, written as RFC 8536 lays it out.
private struct ZoneFile {
  var version: UInt8
  var transitions: [(Int, UInt8)]
  var types: [(Int, Bool, String)]
  var footer = ""
  var leapSeconds = 0

  var bytes: [UInt8] {
    guard version >= 0x32 else { return block(timeSize: 4) }
    return block(timeSize: 4) + block(timeSize: 8) + Array("\n\(footer)\n".utf8)
  }

  private func block(timeSize: Int) -> [UInt8] {
    func big(_ number: Int, _ size: Int) -> [UInt8] {
      (0..<size).map { UInt8(truncatingIfNeeded: number >> (8 * (size - 1 - $0))) }
    }
    var names: [UInt8] = []
    var typeBytes: [UInt8] = []
    for (offset, isDaylight, name) in types {
      typeBytes += big(offset, 4) + [isDaylight ? 1 : 0, UInt8(names.count)]
      names += Array(name.utf8) + [0]
    }
    var bytes = Array("TZif".utf8) + [version] + [UInt8](repeating: 0, count: 15)
    for count in [0, 0, leapSeconds, transitions.count, types.count, names.count] { bytes += big(count, 4) }
    for (at, _) in transitions { bytes += big(at, timeSize) }
    bytes += transitions.map(\.1)
    bytes += typeBytes + names
    for _ in 0..<leapSeconds { bytes += big(500, timeSize) + big(1, 4) }
    return bytes
  }
}

@Suite struct TimeZoneVariableTests {
  @Test(
    arguments: [
      ("Europe/Berlin", 7200), (":Europe/Berlin", 7200), ("/usr/share/zoneinfo/Europe/Berlin", 7200),
      (":/usr/share/zoneinfo/Europe/Berlin", 7200), ("posix/Europe/Berlin", 7200), ("CET-1CEST", 7200),
      ("CET-1CEST,M3.5.0,M10.5.0/3", 7200), ("UTC0", 0), ("", 0),
      (":", 0),
      ("<+0530>-5:30", 19_800), ("+01:00", 3600), ("EST5EDT,M3.2.0,M11.1.0", -14_400), ("nowhere", nil),
      ("/nowhere", nil),
    ] as [(String, Int?)])
  func `TZ is read in each of its forms`(_ text: String, _ offset: Int?) throws {
    let summer = try #require(Timestamp("2026-07-01T12:00:00Z"))
    #expect(TimeZoneDatabase.system.rules(ofVariable: text)?.offset(at: summer) == offset)
  }
}
