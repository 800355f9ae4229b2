import Basics
import Calendars
import RunState
import Runs
import Synchronization
import Testing

@testable import errand

@Suite struct ProgressDisplayTests {
  private static let start = Timestamp(seconds: 1_800_000_000) ?? .epoch

  /// A display on a terminal, and the texts drawn on it.
  private final class Terminal: Sendable {
    let clock = ManualClock(start)
    let display: ProgressDisplay

    /// The drawn texts, in a class that the display's closure can hold.
    private final class Paper: Sendable {
      let texts = Mutex<[String]>([])
    }

    private let paper: Paper

    init(width: Int) throws {
      var console = Console(noColour: true, isQuiet: false, isVerbose: false)
      console.isLive = true
      let paper = Paper()
      let sydney = try TimeZoneDatabase.system.rules(named: "Australia/Sydney")
      display = ProgressDisplay(
        console, format: .text, time: clock, zone: LocalZone { sydney }, width: { width },
        draw: { text, lines in
          let start = lines > 0 ? "\u{1B}[\(lines)A\u{1B}[J" : ""
          paper.texts.withLock { $0.append(start + text) }
        })
      self.paper = paper
    }

    /// The lines that were drawn last.
    func lines() -> [String] {
      let last = paper.texts.withLock { $0.last ?? "" }
      return last.split(separator: "\u{1B}[J").last?.split(separator: "\n").map(String.init) ?? []
    }
  }

  private static func download(on terminal: Terminal, _ amounts: [Int], of total: Int?) {
    terminal.display.show(.stepBegan(path: "get", title: "get", depth: 0))
    for amount in amounts {
      terminal.display.show(
        .reported(
          path: "get", text: "downloading", amount: ProgressAmount(completed: amount, total: total, isBytes: true)))
      terminal.clock.advance(by: .seconds(1))
    }
    terminal.display.tick()
  }

  @Test(arguments: [
    (100, "  ⠙ get                     ███████░░░░░  63%  12.3/19.5 MB  3.1 MB/s  3s left  4.0s"),
    (80, "  ⠙ get                     ███████░░░░░  63%  3.1 MB/s  3s left  4.0s"),
    (60, "  ⠙ get                     63%  3s left  4.0s"),
    (24, "  ⠙ get               …"),
  ])
  func `a download shows a bar, a rate and the time that is left`(_ example: (width: Int, line: String)) throws {
    let terminal = try Terminal(width: example.width)
    Self.download(on: terminal, [0, 4_000_000, 8_000_000, 12_300_000], of: 19_500_000)
    #expect(terminal.lines() == [example.line])
  }

  @Test func `a loop shows a bar and its items, and keeps their number when it is over`() throws {
    let terminal = try Terminal(width: 80)
    terminal.display.show(.stepBegan(path: "put", title: "put", depth: 0))
    for done in 1...5 {
      terminal.display.show(.loopAdvanced(path: "put", done: done, count: 10))
      terminal.clock.advance(by: .milliseconds(500))
    }
    terminal.display.tick()
    #expect(terminal.lines() == ["  ⠙ put                     ██████░░░░░░  5/10  1.6/s  4s left  2.5s"])
    terminal.display.show(
      .stepEnded(
        path: "put", title: "put", depth: 0, status: .succeeded, took: .milliseconds(2500), error: nil,
        isReplayed: false))
    #expect(terminal.lines() == ["  ✓ put                                         5/10  2.5s"])
  }

  @Test func `items that gave a value instead of their error are counted as done`() throws {
    let terminal = try Terminal(width: 80)
    terminal.display.show(.stepBegan(path: "put", title: "put", depth: 0))
    terminal.display.show(.loopAdvanced(path: "put", done: 3, caught: 2, count: 3))
    terminal.display.show(
      .stepEnded(
        path: "put", title: "put", depth: 0, status: .succeeded, took: .seconds(1), error: nil, isReplayed: false))
    #expect(terminal.lines() == ["  ✓ put                                         3/3, 2 caught  1.0s"])
  }

  @Test func `a download that is over shows its size`() throws {
    let terminal = try Terminal(width: 80)
    Self.download(on: terminal, [0, 19_500_000], of: nil)
    #expect(terminal.lines() == ["  ⠙ get                     19.5 MB  9.8 MB/s  2.0s"])
    terminal.display.show(
      .stepEnded(
        path: "get", title: "get", depth: 0, status: .succeeded, took: .seconds(2), error: nil, isReplayed: false))
    #expect(terminal.lines() == ["  ✓ get                                         19.5 MB  2.0s"])
  }

  @Test func `a step that began before it was followed is displayed with its first report`() throws {
    let terminal = try Terminal(width: 80)
    terminal.display.show(.loopAdvanced(path: "block/put", done: 3, count: 10))
    terminal.display.show(.loopAdvanced(path: "block/put[2]/inner", done: 1, count: 4))
    terminal.display.show(.reported(path: "", text: "12 reports of progress were missed"))
    terminal.display.tick()
    #expect(terminal.lines() == ["    ⠙ put                   ███░░░░░░░░░  3/10  0.0s"])
  }

  @Test func `a wait is told in the zone of the folder`() throws {
    let terminal = try Terminal(width: 120)
    let due = Self.start.advanced(by: .seconds(9000)) ?? .latest
    terminal.display.show(.stepWaits(path: "night", title: "night", depth: 0, wait: WaitRecord(.until, wakeAt: due)))
    #expect(terminal.lines() == ["  … night: waiting until Fri 2027-01-15 21:30 AEDT (in 2 h 30 min)"])
    terminal.display.wait(until: due, for: "waits")
    #expect(
      terminal.lines() == [
        "  … waiting until Fri 2027-01-15 21:30 AEDT (2h 30m); Ctrl-C leaves the run, 'errand runs follow' follows it again"
      ])
  }
}
