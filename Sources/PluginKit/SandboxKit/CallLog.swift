import Basics

/// The calls to a sandbox.
package struct CallLog: Sendable {
  /// Each call with its count, in order of first appearance.
  package private(set) var calls: [(name: String, count: Int)] = []

  /// Counts a call.
  mutating func count(_ call: String) {
    if let index = calls.firstIndex(where: { $0.name.hasSameScalars(as: call) }) {
      calls[index].count += 1
    } else {
      calls.append((call, 1))
    }
  }

  /// A line for each call, with its count in words.
  package var lines: [String] { calls.map { "\($0.name): \($0.count == 1 ? "once" : "\($0.count) times")" } }

  /// The response to `/sandbox/log`.
  var answer: HTTPServerResponse {
    .json(
      .object([
        "requests": .int(calls.reduce(0) { $0 + $1.count }),
        "calls": .map(ValueMap(calls.map { ($0.name, .int($0.count)) })),
      ]))
  }
}
