import ActionKit
import HTTPClient

// GitHub counts requests to its API: 60 an hour for an address without a token, 5,000 with one, and others that it does
// not tell. A client that asks too often gets 403 or 429, and has to wait: as long as `retry-after` says, else until
// `x-ratelimit-reset` if nothing remains, else a minute that doubles each time, up to an hour. No request is sent
// meanwhile, not even after a restart, because every refused request prolongs the wait.

/// How far the quota of the API is used up, as far as it is known.
struct Quota: Equatable, Sendable {
  /// Until when no request is sent.
  var until: Timestamp
  /// How often in a row a request was refused without a time to wait.
  var strikes: Int

  /// Reads the quota from an answer; nil if the answer is about something else.
  init?(_ answer: HTTPResponse, message: String?, after earlier: Quota?, now: Timestamp) {
    guard answer.status == 403 || answer.status == 429 else { return nil }
    strikes = 0
    if let wait = answer.retryAfter(now: now), let until = now.advanced(by: wait) {
      self.until = until
    } else if answer.headers["x-ratelimit-remaining"].flatMap({ Int($0) }) == 0,
      let reset = answer.headers["x-ratelimit-reset"].flatMap({ Int($0) }).flatMap({ Timestamp(seconds: $0) })
    {
      until = reset
    } else {
      let isQuota =
        answer.status == 429 || answer.headers["x-ratelimit-remaining"].flatMap({ Int($0) }) == 0
        || message?.lowercased().contains("rate limit") == true
      guard isQuota else { return nil }
      strikes = min((earlier?.strikes ?? 0) + 1, 7)
      until = now.advanced(by: .seconds(min(60 << (strikes - 1), 3600))) ?? now
    }
  }

  // MARK: On disk

  init?(_ note: Value, credential: String) {
    guard note["credential"]?.string == credential, let strikes = note["strikes"]?.int, (0...7).contains(strikes),
      let until = note["until"]?.string.flatMap({ Timestamp($0) })
    else { return nil }
    self.until = until
    self.strikes = strikes
  }

  func note(credential: String) -> Value {
    .object([
      "credential": .string(credential), "strikes": .int(strikes), "until": .string(until.description),
    ])
  }
}
