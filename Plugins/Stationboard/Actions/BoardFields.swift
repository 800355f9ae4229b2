import ActionKit

// What several actions take, and how they are tried again.

/// Network failures, time-outs and answers of failure are tried again as the service's own programs do it.
let boardRetry = RetrySchedule(after: [.seconds(2), .seconds(5), .seconds(10), .seconds(20)])

extension ActionContext {
  /// What the service knows the request by.
  var requestID: String { "\(run)-\(step)" }
}
