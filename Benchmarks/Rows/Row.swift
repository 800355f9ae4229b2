import Foundation

/// The limit that a figure has to meet.
///
/// Bars are ratios to floors and baselines of the same run, units of processor time, sizes or counts, because a time of
/// one machine fails on the next. Only waits that people feel keep bars in milliseconds: those are promises.
struct Bar {
  private let budget: Double
  private let isMost: Bool
  /// The figure of a known miss.
  private var reached: Double?
  /// The bar of the smoke test, for a row whose figure differs too much between machines for a factor.
  private var smoke: Double?
  /// The reason of a known miss.
  private(set) var reason = ""

  private init(_ budget: Double, isMost: Bool) {
    self.budget = budget
    self.isMost = isMost
  }

  static func atMost(_ budget: Double) -> Bar { Bar(budget, isMost: true) }
  static func atLeast(_ budget: Double) -> Bar { Bar(budget, isMost: false) }

  /// The same bar, known to be missed.
  ///
  /// - Parameter reached: The figure of docs/speed.md, or the worst one there of rows with the same bar; nil for a row
  ///   that isn't on the page yet.
  func missed(at reached: Double? = nil, because reason: String) -> Bar {
    var bar = self
    (bar.reached, bar.reason) = (reached, reason)
    return bar
  }

  /// The same bar, with this figure for the smoke test.
  ///
  /// A comment beside the call says why the row has its own.
  func smoke(at figure: Double) -> Bar {
    var bar = self
    bar.smoke = figure
    return bar
  }

  func isMet(by value: Double) -> Bool { isMost ? value <= budget : value >= budget }

  /// The bar of the smoke test: its own, or the budget, or the figure of a known miss, widened by the factor.
  func wide(by factor: Double) -> Bar {
    if let smoke { return Bar(smoke, isMost: isMost) }
    let base = reached ?? budget
    return Bar(isMost ? factor * max(budget, base) : min(budget, base) / factor, isMost: isMost)
  }

  func text(in unit: String) -> String { "\(isMost ? "≤" : "≥") \(displayed(budget, unit))" }
}

/// One line of the report: the measurement, its target, and the floor or baseline of the same run.
struct Row {
  var what: String
  /// The figure that the bar is about.
  private(set) var value: Double
  let unit: String
  /// Nil for a figure that is shown for orientation.
  let bar: Bar?
  /// The measured value, if `value` is its ratio to the baseline.
  private(set) var detail: String
  /// The lower bound on the work, or the figure of others; empty if there is none.
  let baseline: String
  /// The unit that a processor time is divided by.
  private(set) var measure: Unit?
  private var isProcessorTime = false
  /// Why there is no figure; nil if there is one.
  private var obstacle: String?

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

  /// A processor time, given in seconds and shown in units.
  static func processor(_ what: String, _ seconds: Double, _ bar: Bar?, beside baseline: String = "") -> Row {
    var row = Row(what, seconds, "units", bar, of: displayedTime(seconds), beside: baseline)
    row.isProcessorTime = true
    return row
  }

  /// A row that can't be measured here.
  static func skipped(_ what: String, because obstacle: String) -> Row {
    var row = Row(what, 0, "", nil)
    row.obstacle = obstacle
    return row
  }

  func measured(in unit: Unit) -> Row {
    guard isProcessorTime else { return self }
    var row = self
    row.measure = unit
    row.value = value / unit.seconds
    return row
  }

  var figure: String {
    obstacle != nil ? "not measured" : (detail.isEmpty ? "" : "\(detail) = ") + displayed(value, unit)
  }

  var target: String { bar?.text(in: unit) ?? "" }

  var isMissed: Bool { bar.map { !$0.isMet(by: value) } ?? false }

  /// Whether the figure is a size or a count, which differs far less between machines than a time.
  private var isSize: Bool { ["", "B", "KB", "MB", "× its size"].contains(unit) }

  /// The row and the bar of the smoke test, if it misses even that one.
  var wideMiss: String? {
    guard let wide = bar?.wide(by: isSize ? 1.1 : 2), !wide.isMet(by: value) else { return nil }
    return "\(what): \(figure), not \(wide.text(in: unit))"
  }

  /// Whether the bar is met, in words, and why not if that is known; without a bar, why there is no figure.
  var verdict: String {
    guard let bar else { return obstacle ?? "" }
    if !isMissed { return "met" }
    return bar.reason.isEmpty ? "NOT MET" : "NOT MET: \(bar.reason)"
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

  /// Measures so many times, each in an empty folder and beside the unit, and gives the median of each row.
  func rows(times: Int, in folder: WorkFolder) async throws -> [Row] {
    var rounds: [[Row]] = []
    for _ in 0..<times {
      // A folder of its own each time, since a state that is there already isn't what is measured.
      try folder.empty()
      rounds.append(try await Unit.around(name, Spawner(folder), measure))
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

extension Duration {
  var seconds: Double { self / .seconds(1) }
}

/// A number with its unit, if it has one.
func displayed(_ number: Double, _ unit: String) -> String { displayed(number) + (unit.isEmpty ? "" : " \(unit)") }

/// A time in the unit that one reads best.
func displayedTime(_ seconds: Double) -> String {
  switch seconds {
  case ..<1e-6: displayed(seconds * 1e9, "ns")
  case ..<1e-3: displayed(seconds * 1e6, "µs")
  case ..<0.1: displayed(seconds * 1000, "ms")
  default: displayed(seconds, "s")
  }
}

/// A number with as many digits as one reads.
func displayed(_ number: Double) -> String {
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
