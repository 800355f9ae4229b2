import ActionKit
import HTTPClient

/// Asks GitHub's API for releases; every answer is kept and asked about again with its validator.
actor ReleasesAPI {
  /// Something that the API said, and when it last said so.
  struct Answer<Content: Sendable>: Sendable {
    var content: Content
    var checkedAt: Timestamp
    /// Whether the answer was kept, and nothing or only its validator was asked.
    var fromCache: Bool
  }

  private let settings: TransitDataSettings
  private let http: HTTPClient
  private let cache: HTTPCache
  private let store: InstalledStore
  private let time: any TimeSource
  /// Whose quota it is, without telling the token.
  private let credential: String
  /// nil until it was looked for on disk.
  private var quota: Quota??

  init(_ settings: TransitDataSettings, http: HTTPClient, store: InstalledStore, time: any TimeSource) {
    self.settings = settings
    self.http = http
    self.store = store
    self.time = time
    cache = HTTPCache(folder: store.folder, time: time)
    credential = settings.token.flatMap { SHA256.digest(of: Array($0.utf8)) } ?? ""
  }

  func latest(isForced: Bool) async throws(TransitDataError) -> Answer<Release> {
    try await ask("/releases/latest", for: "the latest release", isForced) { value, subject throws(TransitDataError) in
      try Release(FileObject(value, of: subject))
    }
  }

  func tagged(_ tag: String, isForced: Bool) async throws(TransitDataError) -> Answer<Release> {
    try await ask("/releases/tags/\(tag.percentEncoded)", for: "the release '\(tag)'", isForced) {
      value, subject throws(TransitDataError) in try Release(FileObject(value, of: subject))
    }
  }

  func list(perPage: Int, page: Int, isForced: Bool) async throws(TransitDataError) -> Answer<[Release]> {
    try await ask("/releases?per_page=\(perPage)&page=\(page)", for: "the releases", isForced) {
      value, subject throws(TransitDataError) in
      guard let items = value.list else {
        throw .decoding("it should be a list and is \(value.kindName)", of: subject)
      }
      var releases: [Release] = []
      for (index, item) in items.enumerated() {
        releases.append(try Release(FileObject(item, path: "[\(index)]", of: subject)))
      }
      return releases
    }
  }

  /// The tag of the latest release by where its file is, which costs nothing of the API's quota.
  func latestTagOfFile() async throws(TransitDataError) -> String {
    let what = "the file of the latest release"
    var url = "\(settings.webBase)\(settings.path)/releases/latest/download/\(settings.assetName.percentEncoded)"
    // The first place that names the tag is enough; before it there may be others, as of a repository that was renamed.
    for _ in 0...5 {
      let request = HTTPRequest("GET", url, limits: limits(1 << 20), redirects: .none)
      let response = try await asking(what) { () throws(HTTPError) in try await http.send(request) }
      guard (300..<400).contains(response.status),
        let target = response.headers["Location"].flatMap({ HTTPURL(url)?.resolving($0) })
      else {
        var error =
          response.status == 404
          ? TransitDataError(.assetMissing, "The latest release has no file '\(settings.assetName)'.")
          : .status(response.status, asking: what)
        error.detail = response.reason
        throw error
      }
      if let tag = settings.tag(of: target) { return tag }
      guard settings.allowsDownload(from: target) else { break }
      url = target.text
    }
    throw TransitDataError(.configuration, "Asking for \(what) led nowhere that names its release.")
  }

  // MARK: Asking

  private func limits(_ maxBytes: Int) -> HTTPLimits {
    HTTPLimits(connect: settings.connectTimeout, attempt: settings.requestTimeout, maxBodyBytes: maxBytes)
  }

  private func ask<Content: Sendable>(
    _ path: String, for what: String, _ isForced: Bool,
    _ read: @escaping @Sendable (_ value: Value, _ subject: String) throws(TransitDataError) -> Content
  ) async throws(TransitDataError) -> Answer<Content> {
    let started = time.now()
    let spent = await knownQuota().flatMap { $0.until > started ? $0 : nil }
    var request = HTTPRequest(
      "GET", "\(settings.apiBase)/repos\(settings.path)\(path)",
      headers: ["Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"],
      limits: limits(8 << 20), acceptsCompression: true)
    request.headers["Authorization"] = settings.token.map { "Bearer \($0)" }
    // An unreadable answer isn't cached, or it would be read again for an hour.
    let policy = HTTPCachePolicy(leastInterval: settings.minInterval, revalidates: isForced) { answer, _ in
      do throws(TransitDataError) {
        _ = try ReleasesAPI.read(answer, what, read)
        return nil
      } catch {
        return error.message
      }
    }
    let cached: HTTPCachedResponse
    do throws(HTTPError) {
      // A kept answer that is fresh costs nothing of the quota.
      let http = spent == nil ? http : HTTPClient(transport: NoNetwork())
      cached = try await http.send(request, through: cache, policy)
    } catch {
      throw spent.map { rateLimited($0) } ?? TransitDataError(error, asking: what)
    }
    let answer = cached.response
    guard answer.status == 200 else { throw await refusal(answer, of: what) }
    if spent == nil, cached.checkedAt >= started, quota != .some(nil) { await set(quota: nil) }
    return Answer(
      content: try ReleasesAPI.read(answer, what, read), checkedAt: cached.checkedAt, fromCache: cached.fromCache)
  }

  private static func read<Content>(
    _ answer: HTTPResponse, _ what: String,
    _ read: (_ value: Value, _ subject: String) throws(TransitDataError) -> Content
  ) throws(TransitDataError) -> Content {
    let subject = "The answer about \(what)"
    let value: Value
    do { value = try JSON.parse(answer.body) } catch {
      throw .decoding(
        answer.isPage ? "it is a web page, not JSON; check 'apiBase'" : "it isn't valid JSON", of: subject)
    }
    return try read(value, subject)
  }

  private func asking<Answer: Sendable>(
    _ what: String, _ send: () async throws(HTTPError) -> Answer
  ) async throws(TransitDataError) -> Answer {
    do throws(HTTPError) { return try await send() } catch { throw TransitDataError(error, asking: what) }
  }

  /// Returns the error for a status other than 200.
  private func refusal(_ answer: HTTPResponse, of what: String) async -> TransitDataError {
    let message = (try? JSON.parse(answer.body))?["message"]?.string
    let known = await knownQuota()
    if let quota = Quota(answer, message: message, after: known, now: time.now()) {
      await set(quota: quota)
      return rateLimited(quota)
    }
    let repository = "\(settings.owner)/\(settings.repository)"
    var error: TransitDataError
    switch answer.status {
    case 401: error = TransitDataError(.unauthorized, "GitHub does not accept the token; renew or remove it.")
    case 403:
      error = TransitDataError(.forbidden, "GitHub gives no access to '\(repository)'; check the token.")
    case 404:
      error = TransitDataError(
        .noRelease,
        "GitHub knows nothing of \(what) of '\(repository)': no such repository, no access to it, or nothing published."
      )
    default:
      error = TransitDataError.status(answer.status, asking: what)
      error.retryAfter = answer.retryAfter(now: time.now())
    }
    error.detail = answer.reason
    return error
  }

  // MARK: Quota

  private func knownQuota() async -> Quota? {
    if case .some(let known) = quota { return known }
    let found = await onThread { [store, credential] in store.quota(credential: credential) }
    quota = .some(found)
    return found
  }

  private func set(quota: Quota?) async {
    self.quota = .some(quota)
    await onThread { [store, credential] in store.keep(quota, credential: credential) }
  }

  private func rateLimited(_ quota: Quota) -> TransitDataError {
    let way = settings.token == nil ? " A token raises it." : ""
    return TransitDataError(
      .rateLimited(until: quota.until),
      "The quota of GitHub's API is used up; it is worth asking again at \(quota.until).\(way)",
      retryAfter: quota.until.span(since: time.now()).map { max($0, .zero) })
  }
}

/// Sends nothing, for requests that only the cache may answer.
private struct NoNetwork: HTTPTransport {
  func send(_ request: HTTPRequest, into sink: (any HTTPBodySink)?) async throws(HTTPError) -> HTTPResponse {
    throw HTTPError(.connect, "Nothing was sent.", sent: .nothing)
  }
}

extension TransitDataError {
  static func status(_ status: Int, asking what: String) -> TransitDataError {
    TransitDataError(.httpStatus(status), "Asking for \(what) was answered with HTTP status \(status).")
  }
}
