import ActionKit

// The fields and the retries that several actions share.

/// Retries after network errors, timeouts and error statuses, at the intervals of the service's own programs.
let boardRetry = RetrySchedule(after: [.seconds(2), .seconds(5), .seconds(10), .seconds(20)])

extension ActionContext {
  /// The identifier of the request in the service's log.
  var requestID: String { "\(run)-\(step)" }
}
