import Foundation

/// One line of the report: the measurement, its target, and the baseline of the same run.
struct Row {
  let what: String
  let figure: String
  let bar: String
  /// The lower bound on the work, or the figure of others; empty for an absolute target.
  let baseline: String
  let isMet: Bool

  static let heading = line("what", "figure", "bar", "baseline", "")

  var text: String { Self.line(what, figure, bar, baseline, isMet ? "met" : "NOT MET") }

  private static func line(_ what: String, _ figure: String, _ bar: String, _ baseline: String, _ end: String) -> String
  {
    [(what, 46), (figure, 22), (bar, 26), (baseline, 42)].map { text, width in
      text + String(repeating: " ", count: max(1, width - text.count))
    }.joined() + end
  }
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

/// A number with as many digits as one reads.
func shown(_ number: Double) -> String {
  switch number {
  case 100_000...:
    "\((number / 1000).formatted(.number.precision(.fractionLength(0)).locale(.init(identifier: "en_US")))) k"
  case 100...: number.formatted(.number.precision(.fractionLength(0)).grouping(.never))
  case 10...: number.formatted(.number.precision(.fractionLength(1)))
  default: number.formatted(.number.precision(.fractionLength(2)))
  }
}
