// How far a step is: a bar, what is done, how fast, and the time that is left.
//
//     ████████░░░░  66%  12.3/19.5 MB  4.1 MB/s  2s left
//     ███░░░░░░░░░  25/100  3.1/s  24s left
//
// The rate is an average over the last ten seconds, and falls when nothing is reported. On a line that is too narrow,
// the least informative parts are left out first.
import Agent
import Basics
import Runs

struct ProgressMeter {
  /// The amount that was reported last.
  private(set) var amount: ProgressAmount
  /// How much was done when, at most ten seconds back if something is reported all the time.
  private var samples: [(at: TimeSpan, completed: Int)]

  private static let cells = 12
  private static let apart = TimeSpan.milliseconds(500)
  private static let mostSamples = 20
  /// A rate is known after that time.
  private static let least = TimeSpan.seconds(1)

  init(_ amount: ProgressAmount, at now: TimeSpan) {
    self.amount = amount
    samples = [(now, amount.completed)]
  }

  mutating func advance(to next: ProgressAmount, at now: TimeSpan) {
    defer { amount = next }
    // Another count begins.
    guard next.isBytes == amount.isBytes, next.completed >= amount.completed, let last = samples.last else {
      samples = [(now, next.completed)]
      return
    }
    guard now - last.at >= ProgressMeter.apart else { return }
    samples.append((now, next.completed))
    if samples.count > ProgressMeter.mostSamples { samples.removeFirst() }
  }

  /// - Parameters:
  ///   - word: The noun of the counted things, for when the total isn't known.
  ///   - width: How many columns there are.
  func text(_ word: String, width: Int, at now: TimeSpan) -> String {
    let rate = rate(at: now)
    let speed = rate.map {
      amount.isBytes ? "\(($0.isFinite ? Int(exactly: $0.rounded()) ?? 0 : 0).asBytes)/s" : "\($0.toTenths)/s"
    }
    guard let total = amount.total, total > 0, amount.completed <= total else {
      let done = amount.isBytes ? amount.completed.asBytes : word
      return ([done] + (speed.map { [$0] } ?? [])).joined(separator: "  ").clipped(to: width)
    }
    let done = max(0, Double(amount.completed) / Double(total))
    let filled = Int(done * Double(ProgressMeter.cells))
    let bar =
      String(repeating: "█", count: filled) + String(repeating: "░", count: ProgressMeter.cells - filled)
    // The parts in the order of display; the part with the lowest rank is left out first.
    var parts: [(text: String, rank: Int)] = [(bar, amount.isBytes ? 2 : 3)]
    if amount.isBytes { parts.append(("\(Int(done * 100))%", 5)) }
    parts.append((amount.words, amount.isBytes ? 0 : 5))
    if let speed { parts.append((speed, 1)) }
    if let left = left(total, rate) { parts.append(("\(left) left", 4)) }
    func line() -> String { parts.map(\.text).joined(separator: "  ") }
    while parts.count > 1, line().displayWidth > width, let first = parts.min(by: { $0.rank < $1.rank }) {
      parts.removeAll { $0.rank == first.rank }
    }
    return line().clipped(to: width)
  }

  /// How much a second.
  private func rate(at now: TimeSpan) -> Double? {
    guard let first = samples.first, now - first.at >= ProgressMeter.least else { return nil }
    return (Double(amount.completed) - Double(first.completed)) * 1e9 / Double((now - first.at).nanoseconds)
  }

  private func left(_ total: Int, _ rate: Double?) -> String? {
    guard let rate, rate > 0, amount.completed < total else { return nil }
    let seconds = ((Double(total) - Double(amount.completed)) / rate).rounded(.up)
    // Longer than that is no forecast.
    guard seconds < 100 * 86_400, let whole = Int(exactly: seconds) else { return nil }
    return whole < 60 ? "\(whole)s" : TimeSpan.seconds(whole).spoken
  }
}

extension ProgressAmount {
  /// `5/24`, `12.3/19.5 MB`, `800 bytes/1.2 KB`.
  fileprivate var words: String {
    guard let total else { return isBytes ? completed.asBytes : "\(completed)" }
    guard isBytes else { return "\(completed)/\(total)" }
    let (done, all) = (completed.asBytes.split(separator: " "), total.asBytes)
    return all.hasSuffix(" \(done.last ?? "")") ? "\(done.first ?? "")/\(all)" : "\(completed.asBytes)/\(all)"
  }
}
