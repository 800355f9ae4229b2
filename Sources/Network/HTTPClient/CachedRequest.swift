public import Basics

/// When a cached answer replaces one from the network, and which answers are cached.
public struct HTTPCachePolicy: Sendable {
  /// How long an answer is used at least, even if the server names a shorter time; the server's `no-cache` and
  /// `must-revalidate` win.
  ///
  /// If a cached answer replaces one that is unavailable, it does so for that long without another try.
  public var leastInterval: TimeSpan
  /// Whether the network is asked even if the cached answer is fresh.
  public var revalidates: Bool
  /// Whether a cached answer, however old, is used when the network gives none or none that is accepted.
  public var fallsBack: Bool
  /// Whether an answer of this status counts as none, so that a cached one is used instead.
  ///
  /// Where 404 means that something no longer exists, it must not be among them.
  public var isFailure: @Sendable (_ status: Int) -> Bool
  /// The statuses whose answers are cached; a cached 404 replaces what was there before it.
  public var keptStatuses: Set<Int>
  /// Checks an answer of a cacheable status before it is cached, beside the one that it would replace, and returns what
  /// is wrong with it as a sentence; nil accepts it.
  ///
  /// It also checks a cached answer, beside none, before that is used.
  public var check: @Sendable (_ new: HTTPResponse, _ kept: HTTPResponse?) -> String?

  /// Creates a policy; the defaults are what RFC 9111 asks of any cache.
  public init(
    leastInterval: TimeSpan = .zero, revalidates: Bool = false, fallsBack: Bool = false,
    keptStatuses: Set<Int> = [200],
    check: @escaping @Sendable (_ new: HTTPResponse, _ kept: HTTPResponse?) -> String? = { _, _ in nil },
    isFailure: @escaping @Sendable (_ status: Int) -> Bool = { $0 == 403 || $0 == 408 || $0 == 429 || $0 >= 500 }
  ) {
    self.leastInterval = leastInterval
    self.revalidates = revalidates
    self.fallsBack = fallsBack
    self.keptStatuses = keptStatuses
    self.isFailure = isFailure
    self.check = check
  }
}

/// An answer from the network or from the cache.
public struct HTTPCachedResponse: Sendable {
  /// The answer; a cached one has its original status and body, and the header fields as last confirmed.
  public var response: HTTPResponse
  /// Whether the body came from the cache.
  public var fromCache = false
  /// When the body came over the network.
  public var cachedAt: Timestamp
  /// When the server last confirmed that this is the current answer.
  public var checkedAt: Timestamp
  /// Why a cached answer replaces a current one; nil if it doesn't.
  public var standIn: StandIn?
  /// Why a new answer wasn't accepted, or could not be cached, as a sentence; nil if neither happened.
  public var fault: String?

  /// The failure of the network that a cached answer makes up for.
  public enum StandIn: Sendable {
    /// No answer came.
    case network(HTTPError)
    /// Its status counts as no answer.
    case status(Int)
    /// It wasn't accepted, for the given reason.
    case refused(String)
    /// An earlier try failed for the given reason, too recently for another.
    case earlier(String)

    /// The reason as a sentence.
    public var reason: String {
      switch self {
      case .network(let error): error.message
      case .status(let status): "The server answered with HTTP status \(status)."
      case .refused(let reason), .earlier(let reason): reason
      }
    }
  }
}

extension HTTPClient {
  /// Sends a `GET` unless a cached answer can be used, and caches the answer, as a private cache does (RFC 9111).
  ///
  /// A fresh cached answer is given without a request. An older one is revalidated, and given if the server says that
  /// it is unchanged. The policy decides whether it is used when the network fails. An answer that can't be cached is
  /// given all the same, with the reason.
  public func send(
    _ request: HTTPRequest, through cache: HTTPCache, _ policy: HTTPCachePolicy = HTTPCachePolicy()
  ) async throws(HTTPError) -> HTTPCachedResponse {
    guard request.method == "GET", let key = cache.key(request) else {
      let response = try await send(request)
      let now = cache.time.now()
      return HTTPCachedResponse(response: response, cachedAt: now, checkedAt: now)
    }
    var kept = await cache.entry(key)
    // This version of the program may reject what an earlier one accepted.
    if let entry = kept, !entry.suits(request) || entry.isRefused(by: policy) { kept = nil }
    kept?.response.url = request.url
    if let kept, !policy.revalidates, kept.isFresh(at: cache.time.now(), least: policy.leastInterval) {
      return kept.answer()
    }
    let substitute = policy.fallsBack && kept?.maySubstitute == true ? kept : nil
    if let substitute, !policy.revalidates,
      let reason = substitute.recentFailure(at: cache.time.now(), least: policy.leastInterval)
    {
      return substitute.answer(standIn: .earlier(reason))
    }
    func standIn(_ entry: HTTPCacheEntry, _ standIn: HTTPCachedResponse.StandIn) async -> HTTPCachedResponse {
      var answer = entry.answer(standIn: standIn)
      guard policy.leastInterval > .zero else { return answer }
      var entry = entry
      entry.failure = (cache.time.now(), standIn.reason)
      answer.fault = await cache.keep(entry, as: key, of: request)
      return answer
    }
    var conditional = request
    kept?.condition(&conditional)
    let response: HTTPResponse
    do throws(HTTPError) {
      response = try await send(conditional)
    } catch {
      guard let substitute, error.isOfNetwork else { throw error }
      return await standIn(substitute, .network(error))
    }
    let now = cache.time.now()
    if response.status == 304, var kept, conditional.isConditional, !request.isConditional {
      kept.confirm(by: response, at: now)
      var answer = kept.answer()
      answer.fault = await cache.keep(kept, as: key, of: request)
      return answer
    }
    var answer = HTTPCachedResponse(response: response, cachedAt: now, checkedAt: now)
    guard policy.keptStatuses.contains(response.status), !request.isConditional else {
      if let substitute, policy.isFailure(response.status) {
        return await standIn(substitute, .status(response.status))
      }
      return answer
    }
    if let reason = policy.check(response, kept?.response) {
      if let substitute { return await standIn(substitute, .refused(reason)) }
      answer.fault = reason
    } else if let entry = HTTPCacheEntry(response, to: request, at: now) {
      answer.fault = await cache.keep(entry, as: key, of: request)
    } else {
      await cache.remove(key)
    }
    return answer
  }
}

extension HTTPCache {
  /// Removes the answers that a request which may have changed something makes stale (RFC 9111, section 4.4): those at
  /// its address, and those at addresses of the same origin that its own answer names.
  ///
  /// - Parameter response: The answer; nil if none came, so that its contents are unknown.
  package func forget(after request: HTTPRequest, _ response: HTTPResponse?) async {
    guard let own = HTTPURL(request.url) else { return }
    var urls = [request.url]
    for name in ["Location", "Content-Location"] {
      guard let named = response?.headers[name].flatMap(own.resolving), named.origin == own.origin else { continue }
      urls.append(named.text)
    }
    for url in urls {
      var read = request
      read.url = url
      if let key = key(read) { await remove(key) }
    }
  }
}

extension HTTPCacheEntry {
  fileprivate func isRefused(by policy: HTTPCachePolicy) -> Bool {
    !policy.keptStatuses.contains(response.status) || policy.check(response, nil) != nil
  }

  fileprivate func answer(standIn: HTTPCachedResponse.StandIn? = nil) -> HTTPCachedResponse {
    var response = response
    // Nothing was waited for.
    response.elapsed = .zero
    return HTTPCachedResponse(
      response: response, fromCache: true, cachedAt: cachedAt, checkedAt: checkedAt, standIn: standIn)
  }
}

extension HTTPRequest {
  fileprivate var isConditional: Bool { headers.fields.contains { $0.name.lowercasedASCII.hasPrefix("if-") } }
}

extension HTTPError {
  /// Whether it is about the way to the server and its answer, not about the request or this machine.
  fileprivate var isOfNetwork: Bool {
    switch kind {
    case .resolve, .connect, .tls, .timeout, .tooLarge, .redirect, .malformedResponse, .interrupted: true
    case .invalidRequest, .cancelled, .file, .missingLibrary: false
    }
  }
}
