import Basics
import Runs
import Testing

@testable import errand

@Suite struct ProgressMeterTests {
  /// A meter that was told so much at those seconds.
  private static func meter(_ reports: [(at: Double, completed: Int)], of total: Int?, isBytes: Bool) -> ProgressMeter {
    var meter: ProgressMeter?
    for report in reports {
      let amount = ProgressAmount(completed: report.completed, total: total, isBytes: isBytes)
      let at = TimeSpan.milliseconds(Int(report.at * 1000))
      if meter == nil { meter = ProgressMeter(amount, at: at) } else { meter?.advance(to: amount, at: at) }
    }
    return meter ?? ProgressMeter(ProgressAmount(completed: 0), at: .zero)
  }

  private static let megabytes: [(at: Double, completed: Int)] = [
    (0, 0), (0.5, 2_000_000), (1, 4_000_000), (2, 8_000_000), (3, 12_300_000),
  ]

  @Test(arguments: [
    (60, "███████░░░░░  63%  12.3/19.5 MB  4.1 MB/s  2s left"),
    (50, "███████░░░░░  63%  12.3/19.5 MB  4.1 MB/s  2s left"),
    (49, "███████░░░░░  63%  4.1 MB/s  2s left"),
    (30, "███████░░░░░  63%  2s left"),
    (20, "63%  2s left"),
    (8, "63%"),
    (2, "6…"),
    (0, ""),
    (-3, ""),
  ])
  func `a download shows what the line has room for`(_ example: (width: Int, text: String)) {
    let meter = Self.meter(Self.megabytes, of: 19_500_000, isBytes: true)
    #expect(meter.text("downloading", width: example.width, at: .seconds(3)) == example.text)
  }

  @Test(arguments: [
    (40, "██████░░░░░░  12/24  4.0/s  3s left"),
    (30, "██████░░░░░░  12/24  3s left"),
    (20, "12/24  3s left"),
    (8, "12/24"),
  ])
  func `a loop shows its items first`(_ example: (width: Int, text: String)) {
    let meter = Self.meter([(0, 0), (1, 4), (2, 8), (3, 12)], of: 24, isBytes: false)
    #expect(meter.text("12/24", width: example.width, at: .seconds(3)) == example.text)
  }

  @Test func `without a total there are a count and a rate`() {
    let pages = Self.meter([(0, 100), (1, 200), (2, 300)], of: nil, isBytes: false)
    #expect(pages.text("300 items", width: 60, at: .seconds(2)) == "300 items  100.0/s")
    let bytes = Self.meter([(0, 0), (2, 3_000_000)], of: nil, isBytes: true)
    #expect(bytes.text("downloading", width: 60, at: .seconds(2)) == "3.0 MB  1.5 MB/s")
  }

  @Test func `a rate is known after a second, is that of the last ten, and falls when nothing comes`() {
    let young = Self.meter([(0, 0), (0.9, 50)], of: 100, isBytes: false)
    #expect(young.text("", width: 60, at: .milliseconds(900)) == "██████░░░░░░  50/100")
    let reports = (0...600).map { tenth -> (at: Double, completed: Int) in
      (Double(tenth) / 10, tenth < 300 ? tenth : 300 + (tenth - 300) * 10)
    }
    let fast = Self.meter(reports, of: 4000, isBytes: false)
    #expect(fast.text("", width: 60, at: .seconds(60)) == "█████████░░░  3300/4000  100.0/s  7s left")
    #expect(fast.text("", width: 60, at: .seconds(90)) == "█████████░░░  3300/4000  24.1/s  30s left")
  }

  @Test func `a count that begins again has a new rate, and the end has no time left`() {
    let again = Self.meter([(0, 0), (5, 90), (6, 2)], of: 100, isBytes: false)
    #expect(again.text("", width: 60, at: .seconds(6)) == "░░░░░░░░░░░░  2/100")
    let done = Self.meter([(0, 0), (5, 100)], of: 100, isBytes: false)
    #expect(done.text("", width: 60, at: .seconds(5)) == "████████████  100/100  20.0/s")
  }

  @Test(
    arguments: [
      (5, 0, "5"), (7, 3, "7"), (-5, 10, "░░░░░░░░░░░░  -5/10"),
      (.min, .max, "░░░░░░░░░░░░  -9223372036854775808/9223372036854775807"),
      (.max, .max, "████████████  9223372036854775807/9223372036854775807"),
    ] as [(Int, Int, String)])
  func `numbers that make no sense do no harm`(_ example: (completed: Int, total: Int, text: String)) {
    let meter = Self.meter([(0, example.completed), (0.6, example.completed)], of: example.total, isBytes: false)
    #expect(meter.text("\(example.completed)", width: 90, at: .milliseconds(600)) == example.text)
    var wild = Self.meter([(0, .min), (3, .max)], of: .max, isBytes: true)
    wild.advance(to: ProgressAmount(completed: .max, total: .max, isBytes: true), at: .seconds(9))
    #expect(!wild.text("", width: 90, at: .seconds(9)).isEmpty)
  }
}
