import Basics
import HTTPTypes

// How long a service asks to be left alone.
//
// `Retry-After` has seconds or a date (RFC 9110, section 10.2.3). Some services write a fraction; a wait is rounded up to
// whole seconds. Where it is missing and the status says that a limit was reached, the fields of limits tell when they
// are set back:
//
//     RateLimit-Reset: 30                            the drafts of the IETF up to 07: seconds from now
//     RateLimit: limit=10, remaining=0, reset=30     draft 07; from 08 on "default";r=0;t=30
//     X-RateLimit-Reset: 1764345600                  an instant, in seconds or milliseconds after 1970, or a date, or
//                                                    seconds from now, or a length of time such as 6m0s
//
// A number that can be an instant is one, because as a length of time it would be more than thirty years.

/// The wait that a response asks for before the next request.
struct AskedWait {
  /// The header field.
  let name: String
  let text: String
  /// The wait; nil if the text is unreadable.
  let span: TimeSpan?

  private static let longest = TimeSpan.seconds(36_500 * 86_400)
  private static let resets = ["RateLimit-Reset", "X-RateLimit-Reset", "X-Rate-Limit-Reset"]

  /// Reads the wait from the first readable field, or else gives the first unreadable one; nil if there is none.
  static func read(from response: HTTPResponse, now: Timestamp) -> AskedWait? {
    let asked = response.headers["Retry-After"].map(\.trimmed).map { text in
      AskedWait(
        name: "Retry-After", text: text,
        span: seconds(text).map(wait) ?? HTTPDate.read(text).map { wait(until: $0, now) })
    }
    if asked?.span != nil { return asked }
    let reset = reset(in: response, now)
    return reset?.span != nil ? reset : asked ?? reset
  }

  /// When the limit that was reached is set back.
  private static func reset(in response: HTTPResponse, _ now: Timestamp) -> AskedWait? {
    // GitHub says 403 where a limit is used up. On any other status the fields only inform.
    let remaining = response.headers["X-RateLimit-Remaining"] ?? response.headers["RateLimit-Remaining"]
    guard response.status == 429 || response.status == 503 || response.status == 403 && remaining?.trimmed == "0"
    else { return nil }
    let found = resets.compactMap { name in
      response.headers[name].map(\.trimmed).map { AskedWait(name: name, text: $0, span: reset($0, now)) }
    }
    if let readable = found.first(where: { $0.span != nil }) { return readable }
    guard let text = response.headers["RateLimit"] else { return found.first }
    let parameters = text.split { $0 == "," || $0 == ";" }.map {
      String($0).trimmed.split(separator: "=", maxSplits: 1)
    }
    let resets = parameters.compactMap { pair in
      pair.count == 2 && ["reset", "t"].contains(pair[0]) ? seconds(String(pair[1])) : nil
    }
    return resets.max().map { AskedWait(name: "RateLimit", text: text, span: wait($0)) } ?? found.first
  }

  private static func reset(_ text: String, _ now: Timestamp) -> TimeSpan? {
    guard let number = seconds(text) else {
      if let instant = HTTPDate.read(text) ?? Timestamp(text) { return wait(until: instant, now) }
      return TimeSpan(text).map { wait($0.inSeconds) }
    }
    if number < 1e9 { return wait(number) }
    // Further ahead than 100 years are milliseconds.
    let seconds = number >= 1e11 ? number / 1000 : number
    return wait(seconds - Double(now.seconds))
  }

  /// A decimal number of seconds that isn't negative.
  private static func seconds(_ text: String) -> Double? {
    let parts = text.utf8.split(separator: ASCII.dot, omittingEmptySubsequences: false)
    guard parts.count <= 2, parts.first?.isEmpty == false,
      parts.allSatisfy({ $0.allSatisfy { ASCII.digits.contains($0) } })
    else { return nil }
    return Double(parts.last?.isEmpty == true ? text + "0" : text)
  }

  private static func wait(_ seconds: Double) -> TimeSpan {
    let whole = max(0, seconds.rounded(.up))
    return whole < longest.inSeconds ? Int(exactly: whole).map { .seconds($0) } ?? longest : longest
  }

  private static func wait(until instant: Timestamp, _ now: Timestamp) -> TimeSpan {
    min(max(instant.span(since: now) ?? (instant < now ? .zero : longest), .zero), longest)
  }
}
