/// Counts events since the agent's start, and shows the counts to Prometheus (text format 0.0.4).
///
/// Runs, steps and slots are counted from the events themselves once they are on disk, so that no count is of something
/// that was lost. Labels name recipes, actions, statuses and paths of webhooks, never runs. There are at most 1,000
/// series: once `mostNamed` are there, further recipes and their actions count as `other`, and so do paths of webhooks
/// beyond `mostDeliveries` series.
package import Basics
package import RunState
import Synchronization

package final class Metrics: Sendable {
  /// The most series that name recipes; the series of `other` come on top.
  static let mostNamed = 700
  /// The most series that name paths of webhooks.
  static let mostDeliveries = 100
  static let type = "text/plain; version=0.0.4; charset=utf-8"
  /// The label for further recipes and paths.
  static let other = "other"

  private enum Family: UInt8 { case runsStarted, runsEnded, stepsEnded, attemptsEnded, slots }

  /// One series; its texts are shared with the events, or small.
  private struct Series: Hashable {
    var family: Family
    /// Empty where no recipe is named.
    var recipe: String
    /// The action of a step; empty if it ran none.
    var action = ""
    var word: String
  }

  private struct Content {
    var counts: [Series: Int] = [:]
    var lateness = Histogram([0.1, 0.5, 1, 5, 15, 60, 300, 1800, 3600, 21600, 86400])
    var syncs = Histogram([0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1])
    /// By the first digit of the status, from 1.
    var requests = [Histogram](
      repeating: Histogram([0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30]), count: 5)

    mutating func add(_ family: Family, _ recipe: String, _ word: String, _ count: Int = 1, action: String? = nil) {
      let series = Series(family: family, recipe: recipe, action: action ?? "", word: word)
      if recipe.isEmpty || counts.count < Metrics.mostNamed || counts[series] != nil {
        counts[series, default: 0] += count
      } else {
        let rest = action.map { _ in Metrics.other } ?? ""
        counts[Series(family: family, recipe: Metrics.other, action: rest, word: word), default: 0] += count
      }
    }
  }

  private let content = Mutex(Content())

  package init() {}

  // MARK: Counting

  /// Counts what became durable.
  ///
  /// - Parameters:
  ///   - syncTime: The duration of the sync.
  ///   - recipe: Finds the recipe of a run.
  package func count(_ events: [StateEvent], syncTime: Duration, recipe: (_ run: String) -> String?) {
    content.withLock { content in
      content.syncs.add(syncTime.inSeconds)
      for event in events {
        switch event {
        case .runCreated(let run): content.add(.runsStarted, "", run.cause.kind.rawValue)
        case .runEnded(let end): content.add(.runsEnded, recipe(end.run) ?? Metrics.other, end.status.rawValue)
        case .attemptEnded(let end):
          // An answer that has yet to be looked at ends with its step.
          if end.error != nil {
            content.add(.attemptsEnded, recipe(end.run) ?? Metrics.other, "failed", action: end.action)
          }
        // One that failed and has a handler ends later.
        case .stepEnded(let end) where end.status != .running:
          let recipe = recipe(end.run) ?? Metrics.other
          content.add(.stepsEnded, recipe, end.status.rawValue, action: end.action)
          if end.attempt > 0 { content.add(.attemptsEnded, recipe, end.status.rawValue, action: end.action) }
        case .slotDecided(let slot):
          if slot.outcome == .reset { break }
          content.add(.slots, "", slot.outcome.rawValue, slot.count)
          if slot.outcome == .started, slot.cause.kind == .slot {
            // A delay of up to a second isn't recorded, and it may be the schedule's jitter.
            let late = slot.lateBy ?? min(slot.at.span(since: slot.slot) ?? .zero, .seconds(1))
            content.lateness.add(late.inSeconds)
          }
        default: break
        }
      }
    }
  }

  /// Counts an answer to a request over HTTP.
  func count(status: Int, after time: TimeSpan) {
    content.withLock { $0.requests[min(max(status / 100, 1), 5) - 1].add(time.inSeconds) }
  }

  // MARK: Showing

  /// The current values that aren't counted.
  package struct Present: Sendable {
    /// The version of the program.
    package var version: String
    package var since: Timestamp
    package var openRuns: [RunStatus: Int]
    package var streams: Int
    package var deliveries: [HookCounts.Key: Int]

    package init(
      version: String, since: Timestamp, openRuns: [RunStatus: Int], streams: Int, deliveries: [HookCounts.Key: Int]
    ) {
      self.version = version
      self.since = since
      self.openRuns = openRuns
      self.streams = streams
      self.deliveries = deliveries
    }
  }

  package func text(_ present: Present) -> String {
    let content = content.withLock { $0 }
    var page = Page()
    page.begin("build_info", "gauge", "The version of the program, in a label.")
    page.add([("version", present.version)], "1")
    page.begin("start_time_seconds", "gauge", "When the agent started, in seconds since 1970.")
    page.add([], "\(present.since.seconds)")
    page.begin("runs_open", "gauge", "Open runs by status.")
    for status in RunStatus.allCases where !status.isEnded {
      page.add([("status", status.rawValue)], "\(present.openRuns[status] ?? 0)")
    }
    func add(_ family: Family, _ name: String, _ summary: String, _ label: String) {
      page.begin(name, "counter", summary)
      let rows = content.counts.filter { $0.key.family == family }.map { series, count in
        let names = series.recipe.isEmpty ? [] : [("recipe", series.recipe)]
        let actions = family == .stepsEnded || family == .attemptsEnded ? [("action", series.action)] : []
        return (names + actions + [(label, series.word)], count)
      }
      page.add(rows)
    }
    add(.runsStarted, "runs_started_total", "Runs that were accepted, by cause.", "cause")
    add(.runsEnded, "runs_ended_total", "Runs that ended, by recipe and status.", "status")
    add(
      .stepsEnded, "steps_ended_total", "Steps that ended or became uncertain, by recipe, action and status.", "status")
    add(
      .attemptsEnded, "attempts_ended_total", "Attempts of steps that ended, by recipe, action and status.", "status")
    add(.slots, "slots_total", "Slots of schedules, by outcome.", "outcome")
    page.begin("slot_lateness_seconds", "histogram", "How late the runs of slots were started.")
    page.add("slot_lateness_seconds", content.lateness)
    page.begin("webhook_deliveries_total", "counter", "Answers to deliveries, by the webhook's path and the status.")
    page.add(Metrics.rows(of: present.deliveries))
    page.begin("journal_sync_seconds", "histogram", "How long syncs of the journal to disk took.")
    page.add("journal_sync_seconds", content.syncs)
    page.begin("http_request_seconds", "histogram", "How long requests took until their answer began, by status.")
    for (index, histogram) in content.requests.enumerated() where histogram.count > 0 {
      page.add("http_request_seconds", histogram, [("class", "\(index + 1)xx")])
    }
    page.begin("streams_open", "gauge", "Streams of server-sent events that are open.")
    page.add([], "\(present.streams)")
    return page.text
  }

  /// The answers to deliveries; the paths that come last by name share a row for each status if there are too many.
  private static func rows(of counts: [HookCounts.Key: Int]) -> [([(String, String)], Int)] {
    let sorted = counts.sorted {
      ($0.key.path, $0.key.status) < ($1.key.path, $1.key.status)
    }
    var rest: [Int: Int] = [:]
    for (key, count) in sorted.dropFirst(mostDeliveries) { rest[key.status, default: 0] += count }
    return sorted.prefix(mostDeliveries).map { ([("path", $0.key.path), ("status", "\($0.key.status)")], $0.value) }
      + rest.map { ([("path", Metrics.other), ("status", "\($0.key)")], $0.value) }
  }
}

/// Counts values by how large they are.
private struct Histogram {
  /// The upper bounds, in seconds.
  let bounds: [Double]
  /// By bound, not added up; the last is for values above all bounds.
  private(set) var counts: [Int]
  private(set) var sum = 0.0

  init(_ bounds: [Double]) {
    self.bounds = bounds
    counts = [Int](repeating: 0, count: bounds.count + 1)
  }

  var count: Int { counts.reduce(0, +) }

  mutating func add(_ value: Double) {
    counts[bounds.firstIndex { value <= $0 } ?? bounds.count] += 1
    sum += value
  }
}

/// The text as it grows.
private struct Page {
  private(set) var text = ""
  private var name = ""

  mutating func begin(_ name: String, _ type: String, _ summary: String) {
    self.name = "errand_\(name)"
    text += "# HELP \(self.name) \(summary)\n# TYPE \(self.name) \(type)\n"
  }

  mutating func add(_ labels: [(String, String)], _ value: String, to name: String? = nil) {
    let list = labels.map { "\($0)=\"\(Page.escaped($1))\"" }.joined(separator: ",")
    text += (name ?? self.name) + (list.isEmpty ? "" : "{\(list)}") + " \(value)\n"
  }

  /// Adds series in the order of their labels.
  mutating func add(_ rows: [([(String, String)], Int)]) {
    func order(_ row: ([(String, String)], Int)) -> String { row.0.map(\.1).joined(separator: "\u{0}") }
    for row in rows.sorted(by: { order($0).precedesByScalars(order($1)) }) { add(row.0, "\(row.1)") }
  }

  mutating func add(_ name: String, _ histogram: Histogram, _ labels: [(String, String)] = []) {
    var sum = 0
    for (bound, count) in zip(histogram.bounds.map { "\($0)" } + ["+Inf"], histogram.counts) {
      sum += count
      add(labels + [("le", bound)], "\(sum)", to: "errand_\(name)_bucket")
    }
    add(labels, "\(histogram.sum)", to: "errand_\(name)_sum")
    add(labels, "\(sum)", to: "errand_\(name)_count")
  }

  private static func escaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": escaped += "\\\\"
      case "\"": escaped += "\\\""
      case "\n": escaped += "\\n"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}

extension Duration {
  fileprivate var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
