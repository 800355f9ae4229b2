import ActionKit
package import Basics

/// The limits of a connection's use by all runs together: `limits` in `errand.yaml`.
package struct ConnectionLimits: Sendable, Equatable {
  /// How many calls may be under way at once.
  package var maxParallel: Int?
  /// How many requests may go out in any span of `per`.
  package var requests: Int?
  package var per: TimeSpan

  package init(maxParallel: Int? = nil, requests: Int? = nil, per: TimeSpan = .seconds(1)) {
    self.maxParallel = maxParallel
    self.requests = requests
    self.per = per
  }

  /// The longest `per`.
  static let longest = TimeSpan.seconds(31 * 86_400)

  /// Reads `{maxParallel, requests, per}`.
  static func read(_ value: Value, of connection: String, _ findings: Findings) -> ConnectionLimits? {
    guard let fields = Fields(value, of: "'limits'", .limits, findings) else { return nil }
    var limits = ConnectionLimits()
    limits.maxParallel = fields["maxParallel"].flatMap {
      findings.int($0, of: "'maxParallel'", in: KeySet.parallelCalls)
    }
    limits.requests = fields["requests"].flatMap { findings.int($0, of: "'requests'", in: KeySet.limitedRequests) }
    if let value = fields["per"], let per = findings.duration(value, of: "'per'", atLeast: .seconds(1)) {
      if per > longest {
        findings.error("'per' must be at most \(longest.written), but is \(per.written)", at: value)
      }
      limits.per = per
    }
    switch (fields["requests"], fields["per"]) {
    case (let requests?, nil):
      findings.error(
        MessageText(
          "'requests' needs 'per', the length of time that it counts in; write per: 1m",
          fields.addition("per: 1m", after: "requests")), at: requests)
    case (nil, let per?):
      findings.error(
        MessageText(
          "'per' needs 'requests', how many there may be in that time; write requests: 60",
          fields.addition("requests: 60", after: "per")), at: per)
    case (nil, nil) where fields["maxParallel"] == nil && fields.strays.isEmpty:
      findings.error("'limits' is empty; write requests: 60 and per: 1m, or maxParallel: 4", at: value)
    default: break
    }
    return limits
  }
}
