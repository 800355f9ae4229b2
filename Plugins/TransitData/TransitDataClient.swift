public import ActionKit
public import HTTPClient
import LocalFiles
import Synchronization

/// The queries and updates of the rail station data set.
///
/// Programs that want to be tested without the network use this protocol; `TransitDataClient` is the real client.
public protocol TransitDataClientProtocol: Sendable {
  /// The newest release; the API is asked at most once in the minimum interval unless it is forced.
  func latestRelease(isForced: Bool) async throws(TransitDataError) -> CheckedRelease
  /// The release of a tag.
  func release(tag: String) async throws(TransitDataError) -> CheckedRelease
  /// A page of all releases as GitHub orders them, drafts and previews included.
  func releases(perPage: Int, page: Int) async throws(TransitDataError) -> [Release]
  /// Checks whether a newer version than the installed one is available; downloads nothing.
  func checkForUpdate(_ choice: ReleaseChoice, isForced: Bool) async throws(TransitDataError) -> UpdateCheck
  /// Downloads, verifies and installs a release if it is newer. If the check fails, the installed version stays in use,
  /// and the result says so.
  func update(_ choice: ReleaseChoice, isForced: Bool) async throws(TransitDataError) -> UpdateResult
  /// Installs a station file that came with a program, if it is newer than the installed one.
  func install(file path: String) async throws(TransitDataError) -> UpdateResult
  /// The data set in use, without asking the network.
  func installed() async throws(TransitDataError) -> InstalledData
}

/// Which release is wanted.
public enum ReleaseChoice: Hashable, Sendable {
  /// The one that GitHub calls the latest.
  case latest
  /// The one with the greatest date among the last hundred that are neither drafts nor previews.
  case greatest
  /// The one with a tag, even if it is older than the installed one.
  case tag(String)
}

/// A release, and how fresh the word about it is.
public struct CheckedRelease: Hashable, Sendable {
  /// The release.
  public var release: Release
  /// When the service last said so.
  public var checkedAt: Timestamp
  /// Whether the answer is an earlier one from the cache.
  public var fromCache: Bool
}

/// Whether there is something newer.
public struct UpdateCheck: Hashable, Sendable {
  /// The version in use; nil if there is none.
  public var installed: InstalledVersion?
  /// The release that was looked at; nil if none could be.
  public var release: Release?
  /// Why the release should be installed, as the rest of a sentence; nil if it should not.
  public var reason: String?
  /// When the service last said what its release is.
  public var checkedAt: Timestamp?
  /// Why it is unknown whether something is newer; nil if it is known.
  public var trouble: String?
}

/// The result of an update.
public struct UpdateResult: Sendable {
  /// The check before it; its `installed` is the version before.
  public var check: UpdateCheck
  /// The data set in use now.
  public var data: InstalledData
  /// Whether it was installed now.
  public var isUpdated: Bool
  /// The differences from the version before; empty if nothing was installed before.
  public var changes: [RailChange]
}

/// A data set in use.
public struct InstalledData: Sendable {
  /// Which version it is.
  public var version: InstalledVersion
  /// The stations.
  public var data: RailData
  /// Why it is not the version that was installed last; nil if it is.
  public var trouble: String?

  /// The oddities that are no reason to refuse the data, a sentence each.
  ///
  /// The tag is typed by hand and the version stamped by a program, so that they may differ.
  public var warnings: [String] {
    let isSame = ReleaseTag.digits(version.tag)?.hasSameScalars(as: data.metadata.dataVersionISO) ?? false
    let note = "The release is tagged '\(version.tag)', and its data are of '\(data.metadata.dataVersionISO)'."
    return data.warnings + (isSame ? [] : [note])
  }
}

/// A client of the rail station data set.
///
///     let client = try TransitDataClient(folder: "/var/cache/rail")
///     try await client.update(.latest)
///     let exits = try await client.installed().data.exits(near: Position(latitude: 1.284, longitude: 103.851))
///
/// The installed data set is read once, and queries don't use the network. An update never goes back to an older
/// version on its own, and replaces the data only by a file whose size, digest and checksum are right.
public actor TransitDataClient: TransitDataClientProtocol {
  nonisolated let settings: TransitDataSettings
  /// Where recipes take files from.
  nonisolated let files: LocalFiles
  private let http: HTTPClient
  private let time: any TimeSource
  private let api: ReleasesAPI
  private let store: InstalledStore
  /// The data set that was read last.
  private var loaded: InstalledData?

  /// Creates a client; nothing is sent before the first call.
  ///
  /// - Parameters:
  ///   - settings: Where the data set is published.
  ///   - folder: A folder for the data set alone, which is created when it is needed; nil installs it in memory.
  ///   - http: Sends the requests; share one among all clients of a process.
  ///   - time: Tells how old an answer is.
  public init(
    _ settings: TransitDataSettings = TransitDataSettings(), folder: String?, http: HTTPClient = HTTPClient(),
    time: any TimeSource = SystemTime()
  ) throws(TransitDataError) {
    try self.init(settings, folder: folder, http: http, time: time, files: LocalFiles(folder: nil))
  }

  init(
    _ settings: TransitDataSettings, folder: String?, http: HTTPClient, time: any TimeSource, files: LocalFiles
  ) throws(TransitDataError) {
    self.files = files
    try settings.validate()
    self.settings = settings
    self.http = http
    self.time = time
    store = InstalledStore(folder: folder)
    api = ReleasesAPI(settings, http: http, store: store, time: time)
  }

  // MARK: Releases

  public func latestRelease(isForced: Bool = false) async throws(TransitDataError) -> CheckedRelease {
    CheckedRelease(try await api.latest(isForced: isForced))
  }

  public func release(tag: String) async throws(TransitDataError) -> CheckedRelease {
    guard !tag.isEmpty else { throw TransitDataError(.invalidParameter, "The tag is empty.") }
    return CheckedRelease(try await api.tagged(tag, isForced: false))
  }

  public func releases(perPage: Int = 30, page: Int = 1) async throws(TransitDataError) -> [Release] {
    guard (1...100).contains(perPage), page >= 1 else {
      throw TransitDataError(.invalidParameter, "A page has 1 to 100 releases, and pages count from 1.")
    }
    return try await api.list(perPage: perPage, page: page, isForced: false).content
  }

  // MARK: Updating

  public func checkForUpdate(
    _ choice: ReleaseChoice = .latest, isForced: Bool = false
  ) async throws(TransitDataError) -> UpdateCheck {
    try await check(choice, isForced: isForced, over: await current())
  }

  @discardableResult
  public func update(
    _ choice: ReleaseChoice = .latest, isForced: Bool = false
  ) async throws(TransitDataError) -> UpdateResult {
    let before = await current()
    let check = try await check(choice, isForced: isForced, over: before)
    guard check.reason != nil, let release = check.release else {
      guard let before else { throw .nothingInstalled }
      return UpdateResult(check: check, data: before, isUpdated: false, changes: [])
    }
    guard let asset = release.asset(named: settings.assetName) else {
      throw TransitDataError(
        .assetMissing, "The release '\(release.tag)' has no file '\(settings.assetName)' that is whole.")
    }
    let data = try await download(asset, of: release)
    return finished(check, before: before, now: data)
  }

  public func install(file path: String) async throws(TransitDataError) -> UpdateResult {
    let read: Result<[UInt8], FileError> = await onThread { [settings] in
      Result { () throws(FileError) in try Files.read(path, limit: settings.maxFileBytes) }
    }
    let bytes: [UInt8]
    do throws(FileError) { bytes = try read.get() } catch {
      throw TransitDataError(.invalidParameter, "The station file cannot be read: \(error.description).")
    }
    return try await install(bytes)
  }

  /// Installs the bytes of a station file if it is newer than the installed one.
  func install(_ bytes: [UInt8]) async throws(TransitDataError) -> UpdateResult {
    let before = await current()
    let (settings, store, now) = (settings, store, time.now())
    let result = await onThread {
      Result { () throws(TransitDataError) -> (InstalledData, String?) in
        let data = try RailData(file: bytes, allowsUnverified: settings.allowsUnverified)
        var version = InstalledVersion(
          tag: data.metadata.dataVersionISO, installedAt: now, sha256: try Verifier.sha256(of: bytes),
          bytes: bytes.count)
        version.fileName = InstalledStore.fileName(for: version.sha256)
        let release = Release(tag: version.tag, page: "", assets: [])
        guard let reason = release.reasonToInstall(over: before?.version, asset: "") else {
          return (InstalledData(version: version, data: data), nil)
        }
        try store.prepare()
        try store.write(bytes, of: version)
        try store.use(version)
        return (InstalledData(version: version, data: data), reason)
      }
    }
    let (data, reason) = try result.get()
    var check = UpdateCheck(installed: before?.version)
    check.reason = reason
    if reason == nil, let before {
      return UpdateResult(check: check, data: before, isUpdated: false, changes: [])
    }
    return finished(check, before: before, now: data)
  }

  private func finished(_ check: UpdateCheck, before: InstalledData?, now data: InstalledData) -> UpdateResult {
    loaded = data
    return UpdateResult(
      check: check, data: data, isUpdated: true,
      changes: before.map { RailChange.changes(from: $0.data, to: data.data) } ?? [])
  }

  /// Checks the wanted release; trouble with the network is no error if a version is installed.
  private func check(
    _ choice: ReleaseChoice, isForced: Bool, over before: InstalledData?
  ) async throws(TransitDataError) -> UpdateCheck {
    var check = UpdateCheck(installed: before?.version)
    do throws(TransitDataError) {
      let found = try await found(choice, isForced: isForced, triesAgain: before != nil)
      check.release = found.release
      check.checkedAt = found.checkedAt
    } catch {
      guard before != nil, error.kind.passes else { throw error }
      check.trouble = error.message
      return check
    }
    guard let release = check.release else { return check }
    if case .tag = choice, let installed = before?.version, !release.tag.hasSameScalars(as: installed.tag) {
      check.reason = "it was asked for by its tag"
    } else {
      check.reason = release.reasonToInstall(over: before?.version, asset: settings.assetName)
    }
    return check
  }

  /// Looks at the release that is wanted, and again if the server has trouble that no caller would learn of.
  private func found(
    _ choice: ReleaseChoice, isForced: Bool, triesAgain: Bool
  ) async throws(TransitDataError) -> CheckedRelease {
    for wait in triesAgain ? TransitDataClient.waits : [] {
      do throws(TransitDataError) {
        return try await wanted(choice, isForced: isForced)
      } catch {
        guard case .httpStatus(500...) = error.kind, error.retryAfter ?? .zero <= wait else { throw error }
      }
      do { try await time.sleep(for: wait) } catch {
        throw TransitDataError(.cancelled, "Cancelled while waiting to ask again for the releases.")
      }
    }
    return try await wanted(choice, isForced: isForced)
  }

  /// How long a server with trouble is left alone before it is asked again; who asks for longer is not asked again.
  private static let waits = [TimeSpan.seconds(1), .seconds(4)]

  private func wanted(_ choice: ReleaseChoice, isForced: Bool) async throws(TransitDataError) -> CheckedRelease {
    switch choice {
    case .tag(let tag): return CheckedRelease(try await api.tagged(tag, isForced: isForced))
    case .greatest:
      let answer = try await api.list(perPage: 100, page: 1, isForced: isForced)
      let dated = answer.content.filter { $0.isPublished && ReleaseTag.isGreater($0.tag, than: "00000000") == true }
      guard let greatest = dated.max(by: { ReleaseTag.isGreater($1.tag, than: $0.tag) == true }) else {
        throw TransitDataError(.noRelease, "No published release has a date as its tag.")
      }
      return CheckedRelease(release: greatest, checkedAt: answer.checkedAt, fromCache: answer.fromCache)
    case .latest:
      do throws(TransitDataError) {
        return CheckedRelease(try await api.latest(isForced: isForced))
      } catch {
        guard case .rateLimited = error.kind else { throw error }
        // The file itself costs no quota; if it cannot be found either, the error about the quota is thrown.
        guard let tag = try? await api.latestTagOfFile() else { throw error }
        let asset = Release.Asset(name: settings.assetName, url: settings.assetURL(tag: tag), isUploaded: true)
        return CheckedRelease(
          release: Release(tag: tag, page: "\(settings.webBase)\(settings.path)/releases", assets: [asset]),
          checkedAt: time.now(), fromCache: false)
      }
    }
  }

  // MARK: Downloading

  /// Downloads a file, verifies it, and puts it into use.
  private func download(_ asset: Release.Asset, of release: Release) async throws(TransitDataError) -> InstalledData {
    guard let url = HTTPURL(asset.url), settings.allowsDownload(from: url) else {
      throw TransitDataError(
        .configuration,
        "The file of the release '\(release.tag)' lies where nothing is downloaded from; only "
          + "\(TransitDataSettings.allowedHosts) is trusted.")
    }
    let version = InstalledVersion(release, asset, installedAt: time.now())
    let verifier = Verifier(version, settings)
    let what = "the file of the release '\(release.tag)'"
    let request = HTTPRequest(
      "GET", asset.url,
      limits: HTTPLimits(
        connect: settings.connectTimeout, attempt: nil, stall: settings.requestTimeout,
        maxBodyBytes: settings.maxFileBytes),
      redirects: .rule(requirement: TransitDataSettings.allowedHosts) { [settings] _, to in
        settings.allowsDownload(from: to)
      }, hidesQuery: true, acceptsCompression: true)
    let prepared = await onThread { [store] in Result { () throws(TransitDataError) in try store.prepare() } }
    try prepared.get()
    let response: HTTPResponse
    do throws(HTTPError) {
      if let path = store.path(of: version) {
        response = try await http.download(request, to: path, resuming: true) { verifier.fault(at: $0) }.response
      } else {
        response = try await http.send(request)
        if response.isSuccess { verifier.verify(response.body) }
      }
    } catch {
      throw verifier.error(error, asking: what)
    }
    guard response.isSuccess else {
      throw response.status == 404
        ? TransitDataError(.assetMissing, "The release '\(release.tag)' has no file '\(settings.assetName)'.")
        : .status(response.status, asking: what)
    }
    let verified = try verifier.result()
    let stored = await onThread { [store] in
      Result { () throws(TransitDataError) in try store.use(verified.version) }
    }
    try stored.get()
    return verified
  }

  // MARK: In use

  public func installed() async throws(TransitDataError) -> InstalledData {
    guard let data = await current() else { throw .nothingInstalled }
    return data
  }

  /// Returns the data set in use; the previous one if its file is damaged.
  private func current() async -> InstalledData? {
    guard store.folder != nil else { return loaded }
    let (known, settings) = (loaded, settings)
    loaded = await onThread { [store] in
      guard let record = store.record() else { return nil }
      // Another process may have installed something since, and people may have cleared the folder.
      if let known, known.trouble == nil, known.version == record.current, store.hasFile(of: known.version) {
        return known
      }
      for (version, trouble) in [
        (record.current, nil), (record.previous, "The file of '\(record.current.tag)' is damaged or gone."),
      ] {
        guard let version, let bytes = store.file(of: version),
          let data = try? RailData(file: bytes, allowsUnverified: settings.allowsUnverified)
        else { continue }
        return InstalledData(version: version, data: data, trouble: trouble)
      }
      return nil
    }
    return loaded
  }
}

extension CheckedRelease {
  fileprivate init(_ answer: ReleasesAPI.Answer<Release>) {
    self.init(release: answer.content, checkedAt: answer.checkedAt, fromCache: answer.fromCache)
  }
}

extension TransitDataError {
  fileprivate static var nothingInstalled: TransitDataError {
    TransitDataError(.noCachedData, "No station data are installed; update them first ('transitData.update').")
  }
}
