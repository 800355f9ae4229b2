import Foundation

/// One line of the report: the measurement, its target, and the floor or baseline of the same run.
struct Row {
  /// What a figure has to reach.
  enum Bar {
    case atMost(Double), atLeast(Double)
  }

  var what: String
  /// The figure that the bar is about.
  let value: Double
  let unit: String
  /// Nil for a figure that is shown for orientation.
  let bar: Bar?
  /// What was measured, where the value is its ratio to the baseline.
  let detail: String
  /// The lower bound on the work, or the figure of others; empty if there is none.
  let baseline: String

  init(
    _ what: String, _ value: Double, _ unit: String, _ bar: Bar?, of detail: String = "", beside baseline: String = ""
  ) {
    self.what = what
    self.value = value
    self.unit = unit
    self.bar = bar
    self.detail = detail
    self.baseline = baseline
  }

  var figure: String { (detail.isEmpty ? "" : "\(detail) = ") + shown(value, unit) }

  var target: String {
    switch bar {
    case .atMost(let most): "≤ \(shown(most, unit))"
    case .atLeast(let least): "≥ \(shown(least, unit))"
    case nil: ""
    }
  }

  /// Whether the bar is met, in words; empty without a bar.
  var verdict: String {
    switch bar {
    case .atMost(let most): value <= most ? "met" : "NOT MET"
    case .atLeast(let least): value >= least ? "met" : "NOT MET"
    case nil: ""
    }
  }

  static let heading = line("what", "figure", "bar", "beside", "")

  var text: String { Self.line(what, figure, target, baseline, verdict) }

  private static func line(_ what: String, _ figure: String, _ bar: String, _ baseline: String, _ end: String) -> String
  {
    [(what, 60), (figure, 32), (bar, 22), (baseline, 52)].map { text, width in
      text + String(repeating: " ", count: max(1, width - text.count))
    }.joined() + end
  }
}

/// Rows that are measured together.
struct Group {
  /// Whether a row is about a whole process, as users see it, or about work inside this one.
  enum Scope { case whole, inProcess }

  let name: String
  let scope: Scope
  let measure: () async throws -> [Row]

  init(_ name: String, _ scope: Scope, _ measure: @escaping () async throws -> [Row]) {
    self.name = name
    self.scope = scope
    self.measure = measure
  }

  /// Measures so many times, each after a preparation, and gives the median of each row.
  func rows(times: Int, after prepare: () throws -> Void) async throws -> [Row] {
    var rounds: [[Row]] = []
    for _ in 0..<times {
      try prepare()
      rounds.append(try await measure())
    }
    return (rounds.first ?? []).indices.map { index in
      var row = rounds.compactMap { $0.indices.contains(index) ? $0[index] : nil }.median(by: \.value)
      if scope == .inProcess { row.what = "in process: \(row.what)" }
      return row
    }
  }
}

extension Array {
  /// The element in the middle of a list that isn't empty.
  func median(by value: (Element) -> Double) -> Element { sorted { value($0) < value($1) }[count / 2] }
}

/// A measurement that failed.
struct NotMeasured: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

/// The seconds of one call: the least of those that fit in about half a second, because every disturbance adds.
func seconds(atMost limit: Double = 0.5, _ body: () throws -> Void) rethrows -> Double {
  let clock = ContinuousClock()
  let start = clock.now
  var least = Double.infinity
  repeat {
    let duration = try clock.measure(body)
    least = min(least, duration.seconds)
  } while start.duration(to: clock.now).seconds < limit
  return least
}

extension Duration {
  var seconds: Double { self / .seconds(1) }
}

/// A number with its unit, if it has one.
func shown(_ number: Double, _ unit: String) -> String { shown(number) + (unit.isEmpty ? "" : " \(unit)") }

/// A time in the unit that one reads best.
func shownTime(_ seconds: Double) -> String {
  switch seconds {
  case ..<1e-6: shown(seconds * 1e9, "ns")
  case ..<1e-3: shown(seconds * 1e6, "µs")
  case ..<0.1: shown(seconds * 1000, "ms")
  default: shown(seconds, "s")
  }
}

/// A number with as many digits as one reads.
func shown(_ number: Double) -> String {
  switch number {
  case 0..<1000 where number == number.rounded(): "\(Int(number))"
  case 100_000...:
    "\((number / 1000).formatted(.number.precision(.fractionLength(0)).locale(.init(identifier: "en_US")))) k"
  case 100...: number.formatted(.number.precision(.fractionLength(0)).grouping(.never))
  case 10...: number.formatted(.number.precision(.fractionLength(1)))
  case ..<0.01: number.formatted(.number.precision(.significantDigits(2)))
  default: number.formatted(.number.precision(.fractionLength(2)))
  }
}
