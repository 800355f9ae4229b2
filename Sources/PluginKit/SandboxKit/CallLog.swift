import Basics

/// The calls that came to a sandbox.
package struct CallLog: Sendable {
  /// Each call with its count, in the order in which they first came.
  package private(set) var calls: [(name: String, count: Int)] = []

  /// Takes down a call.
  mutating func count(_ call: String) {
    if let index = calls.firstIndex(where: { $0.name.hasSameScalars(as: call) }) {
      calls[index].count += 1
    } else {
      calls.append((call, 1))
    }
  }

  /// Every call and how often it came, for people.
  package var lines: [String] { calls.map { "\($0.name): \($0.count == 1 ? "once" : "\($0.count) times")" } }

  /// The answer to `/sandbox/log`.
  var answer: HTTPServerResponse {
    .json(
      .object([
        "requests": .int(calls.reduce(0) { $0 + $1.count }),
        "calls": .map(ValueMap(calls.map { ($0.name, .int($0.count)) })),
      ]))
  }
}
