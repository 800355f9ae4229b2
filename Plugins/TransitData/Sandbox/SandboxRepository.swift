import ActionKit
import HTTPClient
import SandboxKit
import Synchronization

/// One release of the sandbox.
struct SandboxRelease: Sendable {
  var tag: String
  var publishedAt: String
  /// The station file; nil for a release without one.
  var file: [UInt8]?
  var isDraft = false
  var isPrerelease = false
  /// Whether GitHub gives the SHA-256 of the file.
  var hasDigest = true
  /// A false SHA-256 for GitHub to give; nil if it gives the true one.
  var digest: String?
  /// The bytes to send in place of the file, if any.
  var sent: [UInt8]?
}

/// Plays GitHub: a repository with its releases, and the storage that downloads lead to.
final class SandboxRepository: Sendable {
  static let owner = "example-org"
  static let name = "rail-data"
  private static let asset = "stage3_final.json"

  private struct State {
    var releases: [SandboxRelease]
    var origin = ""
    /// How many requests to the API are left; nil without end.
    var quota: Int?
    var quotaEnds = Timestamp.latest
  }

  private let state: Mutex<State>

  init(_ releases: [SandboxRelease]) { state = Mutex(State(releases: releases)) }

  var releases: [SandboxRelease] { state.withLock(\.releases) }
  func setOrigin(_ origin: String) { state.withLock { $0.origin = origin } }
  func publish(_ release: SandboxRelease) { state.withLock { $0.releases.append(release) } }
  func edit(_ change: (inout [SandboxRelease]) -> Void) { state.withLock { change(&$0.releases) } }
  func setQuota(_ remaining: Int?, until end: Timestamp) {
    state.withLock { ($0.quota, $0.quotaEnds) = (remaining, end) }
  }

  func answer(_ request: HTTPServerRequest, at now: Timestamp) -> HTTPServerResponse {
    let parts = request.path.split(separator: "/").map(String.init)
    switch (parts.first, parts.dropFirst().first) {
    case ("api", "repos"): return api(Array(parts.dropFirst(2)), request, at: now)
    case ("storage", let signature?): return storage(signature, request, at: now)
    case ("sandbox", "publish"):
      let release = SandboxNetwork.next(after: releases.count, at: now)
      publish(release)
      return .json(.object(["tag": .string(release.tag)]))
    case ("sandbox", "quota"):
      setQuota(request.query.number("remaining", in: 0...Int.max), until: now.advanced(by: .seconds(3600)) ?? now)
      return .json(.object(["quota": .string(request.query["remaining"] ?? "without end")]))
    default: return page(parts, at: now)
    }
  }

  // MARK: The API

  private func api(_ parts: [String], _ request: HTTPServerRequest, at now: Timestamp) -> HTTPServerResponse {
    guard request.headers["User-Agent"] != nil else { return message("Request forbidden.", status: 403) }
    if let refusal = count(at: now) { return refusal }
    guard parts.prefix(3) == [Self.owner, Self.name, "releases"] else { return message("Not Found", status: 404) }
    let (releases, origin) = state.withLock { ($0.releases, $0.origin) }
    let published = releases.filter { !$0.isDraft && !$0.isPrerelease }
    let value: Value?
    switch (parts.dropFirst(3).first, parts.count) {
    case (nil, _):
      // GitHub limits both and refuses none; no repository has so many pages.
      let size = request.query.number("per_page", in: 1...100) ?? 30
      let skipped = ((request.query.number("page", in: 1...1_000_000) ?? 1) - 1) * size
      value = .list(releases.reversed().dropFirst(skipped).prefix(size).map { $0.value(origin) })
    case ("latest", 4): value = published.last?.value(origin)
    case ("tags", 5): value = published.first { $0.tag == parts[4] }?.value(origin)
    default: value = nil
    }
    guard let value, let body = try? JSON.write(value) else { return message("Not Found", status: 404) }
    let tag = "W/\"\(SHA256.digest(of: body) ?? "")\""
    let headers: HTTPHeaders = [
      "Cache-Control": "public, max-age=60, s-maxage=60", "Content-Type": "application/json; charset=utf-8",
      "ETag": tag,
    ]
    if request.headers["If-None-Match"] == tag { return HTTPServerResponse(status: 304, headers: headers) }
    return HTTPServerResponse(headers: headers, body: .bytes(body))
  }

  /// Counts a request against the quota, and refuses it if none is left.
  private func count(at now: Timestamp) -> HTTPServerResponse? {
    let end = state.withLock { state -> Timestamp? in
      guard let left = state.quota, state.quotaEnds > now else {
        state.quota = nil
        return nil
      }
      state.quota = left > 0 ? left - 1 : 0
      return left > 0 ? nil : state.quotaEnds
    }
    guard let end else { return nil }
    var answer = message("API rate limit exceeded for 192.0.2.10.", status: 403)
    answer.headers["x-ratelimit-remaining"] = "0"
    answer.headers["x-ratelimit-reset"] = String(end.seconds)
    return answer
  }

  private func message(_ text: String, status: Int) -> HTTPServerResponse {
    .json(.object(["message": .string(text), "status": .string(String(status))]), status: status)
  }

  // MARK: Pages and storage

  private func page(_ parts: [String], at now: Timestamp) -> HTTPServerResponse {
    let (releases, origin) = state.withLock { ($0.releases, $0.origin) }
    let isOurs = parts.prefix(3) == [Self.owner, Self.name, "releases"] && parts.last == Self.asset
    if isOurs, parts.count == 6, parts[3] == "latest",
      let latest = releases.last(where: { !$0.isPrerelease && !$0.isDraft })
    {
      return redirect("\(origin)/\(Self.owner)/\(Self.name)/releases/download/\(latest.tag)/\(Self.asset)")
    }
    guard isOurs, parts.count == 6, parts[3] == "download",
      releases.contains(where: { $0.tag == parts[4] && $0.file != nil })
    else { return .page("Not found", status: 404) }
    // The address says until when it is good, as a signature would.
    return redirect("\(origin)/storage/\(parts[4])-\(now.seconds + 300)/\(Self.asset)")
  }

  private func redirect(_ target: String) -> HTTPServerResponse {
    HTTPServerResponse(status: 302, headers: ["Location": target])
  }

  private func storage(_ signature: String, _ request: HTTPServerRequest, at now: Timestamp) -> HTTPServerResponse {
    let parts = signature.split(separator: "-")
    guard parts.count == 2, let end = Int(parts[1]), end >= now.seconds, request.headers["Authorization"] == nil,
      let release = releases.first(where: { $0.tag == parts[0] }), let file = release.sent ?? release.file
    else { return .page("Signature not valid", status: 403) }
    let tag = "\"\(SHA256.digest(of: file) ?? "")\""
    let headers: HTTPHeaders = ["Content-Type": "application/octet-stream", "ETag": tag]
    guard request.headers["If-Range"] == tag, let first = request.firstByte(ofFileWith: file.count) else {
      return HTTPServerResponse(headers: headers, body: .bytes(file))
    }
    var answer = HTTPServerResponse(status: 206, headers: headers, body: .bytes(Array(file[first...])))
    answer.headers["Content-Range"] = "bytes \(first)-\(file.count - 1)/\(file.count)"
    return answer
  }
}

extension SandboxRelease {
  /// The release as the API tells it.
  fileprivate func value(_ origin: String) -> Value {
    let path = "\(origin)/\(SandboxRepository.owner)/\(SandboxRepository.name)/releases"
    var assets: [Value] = []
    if let file {
      let known = digest ?? SHA256.digest(of: file)
      assets = [
        .object([
          "browser_download_url": .string("\(path)/download/\(tag)/stage3_final.json"),
          "digest": hasDigest ? known.map { .string("sha256:\($0)") } ?? .null : .null,
          "name": .string("stage3_final.json"), "size": .int(file.count), "state": .string("uploaded"),
          "updated_at": .string(publishedAt),
        ])
      ]
    }
    return .object([
      "assets": .list(assets), "body": .null, "created_at": .string("2026-02-15T06:39:34Z"), "draft": .bool(isDraft),
      "html_url": .string("\(path)/tag/\(tag)"), "id": .int(Int(tag) ?? 1), "name": .string("Rail data \(tag)"),
      "prerelease": .bool(isPrerelease), "published_at": isDraft ? .null : .string(publishedAt),
      "tag_name": .string(tag),
    ])
  }
}
