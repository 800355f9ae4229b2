public import ActionKit
public import HTTPClient
package import LocalFiles

// Creates the requests of steps and reads their responses, for all actions.
//
// Credentials are sent only to the origin of `baseURL`, and are dropped when a redirect leads elsewhere. A failed
// request that changes something has one of two outcomes. If nothing was sent, or the service refused it (4xx), nothing
// was changed. Otherwise the outcome is unknown.

/// The requests that a service over HTTP can be sent.
///
/// Programs that are tested without a service take this protocol; `WebClient` is the real client. An address is a whole
/// one or, if it begins with a slash, a path of the service. A response is returned only with a success status; any
/// other status is an error.
public protocol WebClientProtocol: Sendable {
  /// Sends a GET request.
  func get(_ url: String, query: HTTPQuery, headers: [String: String]) async throws(ActionError) -> HTTPResponse
  /// Sends a request that changes the service's data (POST, PUT, PATCH or DELETE).
  ///
  /// It is sent once. `key` is sent as `Idempotency-Key`; a service that honours it ignores repeated requests. The
  /// error says whether the change may have been made.
  func send(
    _ method: String, _ url: String, query: HTTPQuery, headers: [String: String], body: WebBody?, key: String?
  ) async throws(ActionError) -> HTTPResponse
  /// Stores the content of an address as a file, which appears whole or not at all.
  ///
  /// It resumes an interrupted download.
  func download(
    _ url: String, to path: String, bytes: Int?, sha256: String?
  ) async throws(ActionError) -> HTTPDownload.File
}

/// A client of the service that a connection describes.
///
///     let shop = WebClient(baseURL: "https://shop.example/api", token: token)
///     let items = try JSON.parse(try await shop.get("/items", query: ["limit": "2"]).body)
///
/// It can be shared by any number of tasks.
public final class WebClient: WebClientProtocol {
  private let settings: HTTPPlugin.Configuration
  let http: HTTPClient
  package let files: LocalFiles
  private let cache: HTTPCache
  private let time: any TimeSource

  init(_ settings: HTTPPlugin.Configuration, http: HTTPClient, cacheFolder: String?, time: any TimeSource) {
    self.settings = settings
    self.http = http
    self.time = time
    files = LocalFiles(folder: settings.folder, limit: "maxUploadBytes")
    cache = HTTPCache(folder: cacheFolder, time: time)
  }

  /// Creates a client; nothing is sent before the first call.
  ///
  /// - Parameters:
  ///   - baseURL: The service's address; other hosts are refused.
  ///   - headers: Header fields of every request.
  ///   - token: Goes with every request as `Authorization: Bearer`.
  ///   - http: Sends the requests; share one among all clients of a process.
  ///   - time: Tells the time, to compute how long a service asks to wait.
  public convenience init(
    baseURL: String, headers: [String: String] = [:], token: String? = nil, http: HTTPClient = HTTPClient(),
    time: any TimeSource = SystemTime()
  ) {
    var settings = HTTPPlugin.Configuration()
    settings.baseURL = baseURL.withoutSlashesAtEnd
    settings.headers = headers
    settings.token = token.map { Secret($0) }
    self.init(settings, http: http, cacheFolder: nil, time: time)
  }

  /// The maximum total size of files in one request.
  package var maxUploadBytes: Int { settings.maxUploadBytes }

  /// A request as a step describes it.
  package struct Call {
    package var method: String
    package var url: String
    package var query: ValueMap?
    package var headers: [String: String]?
    package var body: WebBody?
    /// The statuses to accept, even error statuses; if nil, success statuses are accepted.
    package var expected: [Int]?
    /// The `Accept` header, if neither the connection nor the step has one.
    package var accept: String?
    /// The texts in it that were computed from secrets.
    package var secrets: [String] = []

    package init(
      method: String, url: String, query: ValueMap? = nil, headers: [String: String]? = nil, body: WebBody? = nil,
      expected: [Int]? = nil, accept: String? = nil, secrets: [String] = []
    ) {
      self.method = method
      self.url = url
      self.query = query
      self.headers = headers
      self.body = body
      self.expected = expected
      self.accept = accept
      self.secrets = secrets
    }
  }

  /// Whether the service ignores repeated requests with the same key.
  var honoursKeys: Bool { settings.honoursIdempotencyKey }

  // MARK: Asking

  /// Creates the request of a call, or throws the fault of the call.
  package func request(_ call: Call) throws(ActionError) -> HTTPRequest {
    var (address, isOurs) = try WebClient.address(of: call.url, settings)
    let secrets = isOurs ? settings.secretQuery : [:]
    // The address of a next page, as the service returned it, may contain the secret parameters.
    if !secrets.isEmpty { address = address.withoutParameters(Set(secrets.keys)) }
    var items = try call.query.map { map throws(ActionError) in try WebBody.items(of: map, called: "query") } ?? []
    let standing = secrets.sorted { $0.key < $1.key }.map { HTTPQuery.Item($0.key, $0.value.reveal()) }
    items += standing
    let url = address.addingQuery(items)
    var headers: HTTPHeaders = ["Accept": call.accept ?? "application/json, text/*;q=0.9, */*;q=0.5"]
    if let body = call.body { headers["Content-Type"] = body.type }
    if isOurs {
      for (name, value) in settings.headers.sorted(by: { $0.key < $1.key }) { headers[name] = value }
      for (name, value) in settings.secretHeaders.sorted(by: { $0.key < $1.key }) { headers[name] = value.reveal() }
      if let token = settings.token { headers["Authorization"] = "Bearer \(token.reveal())" }
      if let user = settings.username, let password = settings.password {
        headers["Authorization"] = "Basic \(Array("\(user):\(password.reveal())".utf8).base64)"
      }
    }
    for (name, value) in (call.headers ?? [:]).sorted(by: { $0.key < $1.key }) { headers[name] = value }
    // A step's values that were computed from secrets are hidden like the connection's secrets.
    let hidden = Set(call.secrets)
    let parameters =
      hidden.isEmpty ? [] : HTTPQuery(decoding: HTTPURL(url)?.query ?? "").items.filter { hidden.contains($0.value) }
    let fields = (call.headers ?? [:]).filter { hidden.contains($0.value) }
    var request = HTTPRequest(
      call.method, url, headers: headers, body: call.body?.bytes,
      limits: HTTPLimits(
        connect: settings.connectTimeout, attempt: settings.requestTimeout, maxBodyBytes: settings.maxAnswerBytes),
      redirects: redirects(of: call),
      redactedParameters: Set(settings.secretQuery.keys).union(parameters.map(\.name)),
      secrets: call.secrets,
      credentialHeaders: HTTPRequest.standardCredentialHeaders.union(settings.secretHeaders.keys).union(
        fields.keys.map(\.lowercasedASCII)),
      acceptsCompression: call.method == "GET")
    request.expectedStatuses = Set(call.expected ?? [])
    request.standingQuery = HTTPQuery(standing)
    return request
  }

  /// A read may be redirected to another host if steps may use other hosts.
  private func redirects(of call: Call) -> HTTPRedirects {
    call.method == "GET" && (settings.allowOtherHosts || settings.baseURL == nil) ? .secure : .sameOrigin
  }

  /// The whole address, and whether it belongs to the connection's service.
  package static func address(
    of text: String, _ settings: HTTPPlugin.Configuration
  ) throws(ActionError) -> (String, isOurs: Bool) {
    // If the '#' is a part of a name or a word, the rest of the text would be lost.
    if let mark = text.firstIndex(of: "#") {
      throw fault(
        "'\(text.excerpt(80))' has a fragment, '\(String(text[mark...]).excerpt(40))', which is never sent; leave it out, or "
          + "write %23 for a '#' that is meant")
    }
    guard let base = settings.baseURL else {
      guard HTTPURL(text) != nil else {
        throw fault(
          text.hasPrefix("/")
            ? "'\(text)' isn't a full address; set 'baseURL' in the connection to say where it starts"
            : "'\(text)' isn't an address such as https://example.org/items")
      }
      return (text, false)
    }
    let whole = text.isEmpty || text.hasPrefix("/") || text.hasPrefix("?") ? base + text : text
    guard let url = HTTPURL(whole), let own = HTTPURL(base) else {
      throw fault("'\(text)' isn't an address such as /items or \(base)/items; percent-encode what is not plain ASCII")
    }
    guard url.origin != own.origin else { return (whole, true) }
    guard settings.allowOtherHosts else {
      throw fault("'\(text)' is not at \(own.origin), the service of this connection; use another connection for it")
    }
    return (whole, false)
  }

  /// Sends a request that only reads.
  ///
  /// - Parameter check: Returns the reason why a response can't be read; such a response isn't cached.
  package func read(
    _ request: HTTPRequest, keeping: Keeping = Keeping(),
    check: @escaping @Sendable (_ new: HTTPResponse, _ kept: HTTPResponse?) -> String? = { _, _ in nil }
  ) async throws(ActionError) -> Answer {
    do throws(HTTPError) {
      guard keeping.isAsked else { return Answer(response: try await http.send(request), cachedAt: time.now()) }
      var policy = HTTPCachePolicy(fallsBack: keeping.fallsBack, check: check)
      let isFailure = policy.isFailure
      policy.isFailure = { isFailure($0) && !request.expectedStatuses.contains($0) }
      let kept = try await http.send(request, through: cache, policy)
      return Answer(
        response: kept.response, fromCache: kept.fromCache, cachedAt: kept.cachedAt, staleReason: kept.standIn?.reason)
    } catch {
      throw failure(error, mayHaveHappened: false)
    }
  }

  /// A response, and its age.
  package struct Answer {
    package var response: HTTPResponse
    var fromCache = false
    var cachedAt: Timestamp
    /// The reason why a cached response replaces a current one.
    var staleReason: String?
  }

  /// Whether responses are cached, and whether a cached one replaces a failed request.
  package struct Keeping {
    var isAsked = false
    var fallsBack = false

    package init() {}

    init(isAsked: Bool, fallsBack: Bool) {
      self.isAsked = isAsked
      self.fallsBack = fallsBack
    }
  }

  /// Sends a request that changes something.
  package func write(_ request: HTTPRequest) async throws(ActionError) -> HTTPResponse {
    do throws(HTTPError) {
      let response = try await http.send(request)
      if (200...399).contains(response.status) { await cache.forget(after: request, response) }
      return response
    } catch {
      if error.sent == .maybe { await cache.forget(after: request, nil) }
      throw failure(error, mayHaveHappened: true)
    }
  }

  /// Stores a file.
  func download(
    _ request: HTTPRequest, to place: FilePlace, bytes: Int?, sha256: String?, resumes: Bool, verifiesZip: Bool
  ) async throws(ActionError) -> HTTPDownload {
    var request = request
    request.acceptsCompression = false
    // A silent connection is closed; the total time is limited by the step. Stalls are in whole seconds.
    let seconds = max(1, Int(settings.requestTimeout.inSeconds.rounded(.up)))
    request.limits = HTTPLimits(
      connect: settings.connectTimeout, attempt: nil, stall: .seconds(seconds), maxBodyBytes: settings.maxDownloadBytes)
    do throws(HTTPError) {
      return try await http.download(
        request, to: place, bytes: bytes, sha256: sha256, resuming: resumes, check: verifiesZip ? zipFault : nil)
    } catch {
      var failure = failure(error, mayHaveHappened: false)
      // Data that was corrupted in transit may arrive intact the next time.
      if error.kind == .file, error.sent == .maybe {
        failure.kind = .plugin
        failure.retryable = true
      }
      throw failure
    }
  }

  // MARK: Answers

  /// Refuses an answer with an unexpected status.
  package func check(
    _ response: HTTPResponse, to request: HTTPRequest, expecting expected: [Int]?, isWrite: Bool
  ) throws(ActionError) {
    let status = response.status
    if expected.map({ $0.contains(status) }) ?? response.isSuccess { return }
    let kind: ErrorKind =
      switch status {
      case 400, 422: .validation
      case 409, 412: .conflict
      case 410: .notFound
      default: ErrorKind(httpStatus: status)
      }
    let wasRefused = (400...499).contains(status) && status != 408 && !response.followsWrite
    let answer =
      response.followedURL.map {
        "a redirect (303) to \($0), which was answered with HTTP status \(status); that says nothing of the write."
      } ?? "HTTP status \(status)."
    let wait = response.unreadableWait(now: time.now()).map { " '\($0)' isn't a wait that can be read." } ?? ""
    throw ActionError(
      kind, "\(request.method) \(request.redactedURL) was answered with \(answer)\(wait)",
      detail: response.reason, status: status, retryAfter: response.retryAfter(now: time.now()),
      effect: !isWrite || wasRefused ? ActionError.Effect.none : .unknown)
  }

  private func failure(_ error: HTTPError, mayHaveHappened: Bool) -> ActionError {
    ActionError(
      error.errorKind, error.message,
      effect: mayHaveHappened && error.sent == .maybe ? .unknown : ActionError.Effect.none, cause: error)
  }

  private static func fault(_ message: String) -> ActionError {
    ActionError(.validation, "\(message).")
  }
}

extension WebClient {
  public func get(
    _ url: String, query: HTTPQuery = HTTPQuery(), headers: [String: String] = [:]
  ) async throws(ActionError) -> HTTPResponse {
    let request = try request(Call(method: "GET", url: url, query: query.map, headers: headers))
    let response = try await read(request).response
    try check(response, to: request, expecting: nil, isWrite: false)
    return response
  }

  public func send(
    _ method: String, _ url: String, query: HTTPQuery = HTTPQuery(), headers: [String: String] = [:],
    body: WebBody? = nil, key: String? = nil
  ) async throws(ActionError) -> HTTPResponse {
    var request = try request(Call(method: method, url: url, query: query.map, headers: headers, body: body))
    if let key { request.headers["Idempotency-Key"] = Self.headerText(key) }
    let response = try await write(request)
    try check(response, to: request, expecting: nil, isWrite: true)
    return response
  }

  public func download(
    _ url: String, to path: String, bytes: Int? = nil, sha256: String? = nil
  ) async throws(ActionError) -> HTTPDownload.File {
    let request = try request(Call(method: "GET", url: url, accept: "*/*"))
    let place = try await onThread { Result { () throws(FileError) in try FilePlace(path) } }.mapError { error in
      ActionError(.configuration, "\(error.description).", cause: error)
    }.get()
    return try await downloaded(request, to: place, bytes: bytes, sha256: sha256, resumes: true, verifiesZip: false)
  }

  /// Downloads a file, or throws the reason why there is none.
  func downloaded(
    _ request: HTTPRequest, to place: FilePlace, bytes: Int?, sha256: String?, resumes: Bool, verifiesZip: Bool
  ) async throws(ActionError) -> HTTPDownload.File {
    let download = try await download(
      request, to: place, bytes: bytes, sha256: sha256, resumes: resumes, verifiesZip: verifiesZip)
    if let file = download.file { return file }
    try check(download.response, to: request, expecting: nil, isWrite: false)
    throw ActionError(.plugin, "GET \(request.redactedURL) was answered without a file.")
  }

  /// A key as header text: it may be any text, and is percent-encoded unless all of it is visible ASCII.
  package static func headerText(_ key: String) -> String {
    key.utf8.allSatisfy { (0x21...0x7E).contains($0) } ? key : key.percentEncoded
  }
}

extension String {
  /// The address without the query items of the given names.
  fileprivate func withoutParameters(_ names: Set<String>) -> String {
    guard let mark = utf8.firstIndex(of: ASCII.question) else { return self }
    let items = self[mark...].dropFirst().utf8.split(separator: ASCII.ampersand).map { Substring($0) }
    let kept = items.filter { item in
      let name = PercentEncoding.decode(Substring(item.utf8.prefix { $0 != ASCII.equals }), plusIsSpace: true)
      return !names.contains { $0.hasSameScalars(as: name) }
    }
    if kept.count == items.count { return self }
    return kept.isEmpty ? String(self[..<mark]) : "\(self[..<mark])?\(kept.joined(separator: "&"))"
  }
}

extension HTTPQuery {
  /// The items as a step gives them.
  fileprivate var map: ValueMap {
    var map = ValueMap()
    for item in items { map[item.name] = .list((map[item.name]?.list ?? []) + [.string(item.value)]) }
    return map
  }
}
