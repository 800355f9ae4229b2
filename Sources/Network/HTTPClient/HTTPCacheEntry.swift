import Basics
import HTTPTypes

// One cached answer: whether it is still usable, and its file format.
//
// A file is three parts, each of the first two on its own line:
//
//   the SHA-256 of everything after this line, in 64 lowercase hexadecimal digits
//   the head as one JSON object: format, url (redacted, for people), status, headers, varying, cachedAt, checkedAt,
//   and failedAt with failure if there was no answer since
//   the body, byte for byte
//
// A file whose digest, format or head is wrong counts as missing: nothing depends on cached answers.
//
// Freshness follows RFC 9111, section 4.2, with two simplifications. An answer that names no lifetime has none: there
// is no heuristic. And an answer's age is the time since it was received, by this machine's clock, plus the `Age`
// field; the answer's `Date` isn't compared with this machine's clock, because the two disagree more often than a proxy
// forgets `Age`.

/// A cached answer.
struct HTTPCacheEntry: Sendable {
  var response: HTTPResponse
  /// The request's fields that the answer was chosen by, as they were.
  var varying: [HTTPHeaders.Field] = []
  /// When the body arrived.
  var cachedAt: Timestamp
  /// When the server last confirmed it.
  var checkedAt: Timestamp
  /// When the server was last asked in vain, and why that failed.
  var failure: (at: Timestamp, reason: String)?

  /// Fields that describe one transfer, or that must stay private.
  private static let unkept = [
    "Connection", "Content-Encoding", "Content-Length", "Keep-Alive", "Proxy-Authenticate", "Set-Cookie", "Set-Cookie2",
    "TE", "Trailer", "Transfer-Encoding", "Upgrade",
  ]

  /// Creates an entry; nil if the answer must not be cached, or was meant for this request alone.
  init?(_ response: HTTPResponse, to request: HTTPRequest, at now: Timestamp) {
    guard CacheControl(response.headers)["no-store"] == nil, CacheControl(request.headers)["no-store"] == nil else {
      return nil
    }
    let names = response.headers.values("Vary").flatMap { $0.split(separator: ",") }.map { String($0).trimmed }
    guard !names.contains("*"), !Self.echoes(response, of: request) else { return nil }
    self.response = response
    self.response.headers.fields.removeAll { field in Self.unkept.contains(where: field.isNamed) }
    varying = Self.fields(names, of: request)
    cachedAt = now
    checkedAt = now
  }

  /// Whether the answer was chosen by fields that this request has as well.
  func suits(_ request: HTTPRequest) -> Bool {
    let names = response.headers.values("Vary").flatMap { $0.split(separator: ",") }.map { String($0).trimmed }
    let own = Self.fields(names, of: request)
    return own.count == varying.count
      && zip(own, varying).allSatisfy { $0.isNamed($1.name) && $0.value.hasSameScalars(as: $1.value) }
  }

  /// A request's fields of some names, except credentials, which are in the key already and must not be kept.
  private static func fields(_ names: [String], of request: HTTPRequest) -> [HTTPHeaders.Field] {
    names.flatMap { name in request.headers.fields.filter { $0.isNamed(name) } }
      .filter { field in !request.credentialHeaders.contains(where: field.isNamed) }
  }

  /// Whether an answer holds credentials that the request was sent with.
  private static func echoes(_ response: HTTPResponse, of request: HTTPRequest) -> Bool {
    var secrets = request.credentialHeaders.flatMap { request.headers.values($0) }
    // The credentials without their scheme (RFC 9110, section 11.4).
    secrets += secrets.compactMap { value in
      value.firstIndex(of: " ").map { String(value[value.index(after: $0)...]) }
    }
    let hidden = Set(request.redactedParameters.map(\.lowercasedASCII))
    secrets += HTTPQuery(decoding: HTTPURL(request.url)?.query ?? "").items
      .filter { hidden.contains($0.name.lowercasedASCII) }.map(\.value)
    secrets = secrets.filter { $0.utf8.count >= 4 }
    if secrets.isEmpty { return false }
    let texts = [String(decoding: response.body, as: UTF8.self)] + response.headers.fields.map(\.value)
    return texts.contains { text in secrets.contains { text.contains($0) } }
  }

  // MARK: Freshness

  /// Whether the answer may be used without a request.
  ///
  /// - Parameter least: How long it may be used even if the server names a shorter time, unless it forbids that.
  func isFresh(at now: Timestamp, least: TimeSpan) -> Bool {
    let control = CacheControl(response.headers)
    // After a clock was set back, the answer's age is unknown.
    guard control["no-cache"] == nil, let waited = now.span(since: checkedAt), waited >= .zero else { return false }
    let lifetime = lifetime(control)
    if control["must-revalidate"] == nil, waited < least { return true }
    let ageAtArrival = response.headers["Age"].flatMap(CacheControl.seconds) ?? .zero
    return waited + ageAtArrival + response.elapsed < lifetime
  }

  /// Why the last request failed, if that was too recent to ask again.
  func recentFailure(at now: Timestamp, least: TimeSpan) -> String? {
    guard let failure, let waited = now.span(since: failure.at), waited >= .zero, waited < least else { return nil }
    return failure.reason
  }

  private func lifetime(_ control: CacheControl) -> TimeSpan {
    if let seconds = control["max-age"] { return CacheControl.seconds(seconds) ?? .zero }
    guard let expires = response.headers["Expires"].flatMap(HTTPDate.read),
      let date = response.headers["Date"].flatMap(HTTPDate.read)
    else { return .zero }
    return max(.zero, expires.span(since: date) ?? .zero)
  }

  /// Whether the answer may replace one that is unavailable: the server can forbid that.
  var maySubstitute: Bool {
    let control = CacheControl(response.headers)
    return control["no-cache"] == nil && control["must-revalidate"] == nil
  }

  /// Makes a request conditional, so that the server answers 304 if this answer is still right.
  func condition(_ request: inout HTTPRequest) {
    // Conditions are defined only for a success, and the caller judges its own ones.
    guard response.isSuccess, !request.headers.fields.contains(where: { $0.name.lowercasedASCII.hasPrefix("if-") })
    else { return }
    if let tag = response.headers["ETag"] {
      request.headers["If-None-Match"] = tag
    } else if let date = response.headers["Last-Modified"] {
      request.headers["If-Modified-Since"] = date
    }
  }

  /// Takes over the fields of a 304 (section 3.2).
  mutating func confirm(by answer: HTTPResponse, at now: Timestamp) {
    checkedAt = now
    failure = nil
    response.elapsed = answer.elapsed
    // The server says the answer's age anew, or it has none any more.
    response.headers["Age"] = nil
    let news = answer.headers.fields.filter { field in !Self.unkept.contains(where: field.isNamed) }
    response.headers.fields.removeAll { field in news.contains { $0.isNamed(field.name) } }
    response.headers.fields += news
  }

  // MARK: The file

  private static let format = 1

  /// The file's bytes; nil if the head can't be written or no digest can be made.
  func file(redactedURL: String) -> [UInt8]? {
    func fields(_ fields: [HTTPHeaders.Field]) -> Value {
      .list(fields.map { .list([.string($0.name), .string($0.value)]) })
    }
    var head = ValueMap([
      ("format", .int(Self.format)), ("url", .string(redactedURL)), ("status", .int(response.status)),
      ("headers", fields(response.headers.fields)), ("varying", fields(varying)),
      ("elapsed", .int(response.elapsed.nanoseconds)), ("cachedAt", .string(cachedAt.description)),
      ("checkedAt", .string(checkedAt.description)),
    ])
    if let failure {
      head["failedAt"] = .string(failure.at.description)
      head["failure"] = .string(failure.reason)
    }
    guard let json = try? JSON.write(.map(head)) else { return nil }
    let content = json + [ASCII.newline] + response.body
    guard let digest = SHA256.digest(of: content) else { return nil }
    return Array("\(digest)\n".utf8) + content
  }

  /// Reads a file; nil if it is damaged.
  init?(file bytes: [UInt8]) {
    guard bytes.count > 65, bytes[64] == ASCII.newline else { return nil }
    let content = Array(bytes[65...])
    guard let digest = SHA256.digest(of: content), digest.utf8.elementsEqual(bytes[..<64]),
      let end = content.firstIndex(of: ASCII.newline), let head = try? JSON.parse(Array(content[..<end])),
      head["format"]?.int == Self.format, let status = head["status"]?.int,
      let headers = Self.fields(head["headers"]), let varying = Self.fields(head["varying"]),
      let elapsed = head["elapsed"]?.int, let cachedAt = head["cachedAt"]?.string.flatMap({ Timestamp($0) }),
      let checkedAt = head["checkedAt"]?.string.flatMap({ Timestamp($0) })
    else { return nil }
    response = HTTPResponse(
      status: status, headers: HTTPHeaders(headers), body: Array(content[(end + 1)...]),
      elapsed: TimeSpan(nanoseconds: elapsed))
    self.varying = varying
    self.cachedAt = cachedAt
    self.checkedAt = checkedAt
    if let at = head["failedAt"]?.string.flatMap({ Timestamp($0) }), let reason = head["failure"]?.string {
      failure = (at, reason)
    }
  }

  private static func fields(_ value: Value?) -> [HTTPHeaders.Field]? {
    guard let items = value?.list else { return nil }
    var fields: [HTTPHeaders.Field] = []
    for item in items {
      guard let pair = item.list, pair.count == 2, let name = pair[0].string, let value = pair[1].string else {
        return nil
      }
      fields.append(HTTPHeaders.Field(name, value))
    }
    return fields
  }
}

/// The directives of `Cache-Control`, which both sides may send.
struct CacheControl {
  private var directives: [(name: String, value: String)] = []

  init(_ headers: HTTPHeaders) {
    for line in headers.values("Cache-Control") {
      for part in line.split(separator: ",") {
        let pieces = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let value = pieces.count > 1 ? String(pieces[1]).trimmed : ""
        directives.append((String(pieces[0]).trimmed.lowercasedASCII, value.filter { $0 != "\"" }))
      }
    }
  }

  /// The value of a directive, empty if it has none; nil if it is not there.
  subscript(name: String) -> String? { directives.first { $0.name == name }?.value }

  /// Reads a number of seconds (section 1.2.2); too large a number is a long time, anything else nil.
  static func seconds(_ text: String) -> TimeSpan? {
    guard !text.isEmpty, text.utf8.allSatisfy({ ASCII.digits.contains($0) }) else { return nil }
    return .seconds(Int(text) ?? .max)
  }
}
