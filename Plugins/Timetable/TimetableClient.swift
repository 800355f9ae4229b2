public import ActionKit
import Calendars
public import HTTPClient
import LocalFiles

/// Everything that a publisher of university timetables can be asked.
///
/// Programs that want to be tested without one take this protocol; `TimetableClient` is the real one. With `refresh` the
/// network is asked even if what is kept is fresh.
public protocol TimetableClientProtocol: Sendable {
  /// Reads the selectors: academic years, programs, study years and groups.
  func catalog(refresh: Bool) async throws(TimetableError) -> Published<Catalog>
  /// Reads the notices to students, whether they hold now or not; in both languages where there are both.
  func announcements(refresh: Bool) async throws(TimetableError) -> Published<AnnouncementList>
  /// Reads the addresses of rooms; a missing legend counts as an empty one.
  func rooms(refresh: Bool) async throws(TimetableError) -> Published<RoomLegend>
  /// Reads the timetable of a group; nil if none is published, which is no error.
  func timetable(
    of selection: TimetableSelection, refresh: Bool
  ) async throws(TimetableError) -> Published<GroupTimetable?>
  /// Reads the teaching and vacation periods; nil if the publisher has none.
  func academicCalendar(refresh: Bool) async throws(TimetableError) -> Published<AcademicCalendar?>
}

/// Published content, and how current it is.
public struct Published<Content: Sendable>: Sendable {
  /// The content.
  public var content: Content
  /// Whether it came from the cache, and not over the network now.
  public var fromCache: Bool
  /// When it came over the network.
  public var cachedAt: Timestamp
  /// When the publisher's server last confirmed that it is current.
  public var checkedAt: Timestamp
  /// Why it is not current, as a sentence; nil if it is.
  public var staleReason: String?
  /// The oddities of the content or its source, as sentences.
  public var warnings: [String] = []

  /// The same with another content.
  public func map<Other>(_ transform: (Content) -> Other) -> Published<Other> {
    Published<Other>(
      content: transform(content), fromCache: fromCache, cachedAt: cachedAt, checkedAt: checkedAt,
      staleReason: staleReason, warnings: warnings)
  }
}

/// A client of a publisher of university timetables (static JSON files).
///
///     let client = TimetableClient()
///     let mine = TimetableSelection(academicYear: "2025-2026", programId: "informatica-maghiara", year: 1, group: 511)
///     for day in try await client.timetable(of: mine).content?.days ?? [] { print(day.day, day.entries.count) }
///
/// It caches the files that it reads in a folder or in memory, and checks for new ones at most every ten minutes. When
/// the network fails or a file is damaged, it returns the cached file with the reason. It can be shared by any number
/// of tasks. Errors are of type `TimetableError`.
public final class TimetableClient: TimetableClientProtocol {
  /// The public instance: the faculty of mathematics and informatics of the university of Cluj.
  public static let defaultBaseURL = "https://ronuhz.github.io/ubborarservice"

  let baseURL: String
  private let http: HTTPClient
  private let cache: HTTPCache
  private let limits: HTTPLimits
  private let minimumInterval: TimeSpan
  private let time: any TimeSource
  private let zoneName: String
  let weekOneMonday: CivilDate?
  /// Where recipes have files put.
  let files: LocalFiles

  /// Creates a client; nothing is sent before the first call.
  ///
  /// - Parameters:
  ///   - baseURL: Where the files are; a slash at the end does not matter.
  ///   - cacheFolder: Where files are kept between programs; nil keeps them in memory.
  ///   - minimumInterval: How long to use a file before asking the network again.
  ///   - http: Sends the requests; share one among all clients of a process.
  ///   - limits: How long a request may take and how large a file may be.
  ///   - time: Tells how old a file is.
  ///   - zone: The university's time zone, which the times of classes refer to.
  ///   - weekOneMonday: A Monday that begins a `week1`, for dates that no academic calendar covers.
  public convenience init(
    baseURL: String = defaultBaseURL, cacheFolder: String? = nil, minimumInterval: TimeSpan = .seconds(600),
    http: HTTPClient = HTTPClient(), limits: HTTPLimits = HTTPLimits(maxBodyBytes: 8 << 20),
    time: any TimeSource = SystemTime(), zone: String = "Europe/Bucharest", weekOneMonday: CivilDate? = nil
  ) {
    self.init(
      baseURL: baseURL, cacheFolder: cacheFolder, minimumInterval: minimumInterval, http: http, limits: limits,
      time: time, zone: zone, weekOneMonday: weekOneMonday, files: LocalFiles(folder: nil))
  }

  init(
    baseURL: String, cacheFolder: String?, minimumInterval: TimeSpan, http: HTTPClient, limits: HTTPLimits,
    time: any TimeSource, zone: String, weekOneMonday: CivilDate?, files: LocalFiles
  ) {
    self.files = files
    self.baseURL = baseURL.withoutSlashesAtEnd
    self.http = http
    self.limits = limits
    self.minimumInterval = minimumInterval
    self.time = time
    zoneName = zone
    self.weekOneMonday = weekOneMonday
    cache = HTTPCache(folder: cacheFolder, time: time)
  }
}

// MARK: - Dates

extension TimetableClient {
  /// The rules of the university's time zone.
  var zone: TimeZoneRules {
    get throws(TimetableError) {
      do throws(TimeZoneError) {
        return try TimeZoneDatabase.system.rules(named: zoneName)
      } catch {
        throw TimetableError(.invalidParameter, "The time zone of the timetable: \(error.message).")
      }
    }
  }

  /// Returns the date that a recipe gives or, without one, the date of an instant at the university.
  func date(_ text: String?, or instant: Timestamp) throws(TimetableError) -> CivilDate {
    guard let text else { return try zone.localTime(at: instant).time.date }
    guard let date = CivilDate(text) else { throw TimetableError(.invalidParameter, "'\(text)' isn't a date.") }
    return date
  }
}

// MARK: - Calls

extension TimetableClient {
  public func catalog(refresh: Bool = false) async throws(TimetableError) -> Published<Catalog> {
    try await fetch(Catalog.self, "/catalog.json", refresh).present("the catalog")
  }

  public func announcements(refresh: Bool = false) async throws(TimetableError) -> Published<AnnouncementList> {
    // A publisher that has no file in two languages, or a bad one, has one in one.
    var warning: String?
    do throws(TimetableError) {
      let both = try await fetch(AnnouncementList.self, "/announcements-v2.json", refresh, mayBeMissing: true)
      if let list = both.content { return both.map { _ in list.withoutRepetition } }
    } catch {
      warning = "The notices are in one language only. \(error.message)"
    }
    var one = try await fetch(AnnouncementList.self, "/announcements.json", refresh).present("the notices")
      .map(\.withoutRepetition)
    if let warning { one.warnings.append(warning) }
    return one
  }

  public func rooms(refresh: Bool = false) async throws(TimetableError) -> Published<RoomLegend> {
    let answer = try await fetch(RoomLegend.self, "/rooms.json", refresh)
    var rooms = answer.map { $0 ?? RoomLegend.empty }
    if answer.content == nil { rooms.warnings.append("The publisher has no legend of rooms at the moment.") }
    return rooms
  }

  public func timetable(
    of selection: TimetableSelection, refresh: Bool = false
  ) async throws(TimetableError) -> Published<GroupTimetable?> {
    if let fault = selection.fault { throw TimetableError(.invalidParameter, fault) }
    // When its source fails, the publisher replaces a timetable by an empty one, and keeps no copy of the old one.
    var answer = try await fetch(GroupTimetable.self, selection.path, refresh, mayBeMissing: true) { new, kept in
      guard new.isPlaceholder, let kept, !kept.isEmpty else { return nil }
      return "The publisher could not read the university's page and put an empty timetable in place of this one."
    }
    guard let timetable = answer.content else { return answer }
    if timetable.isPlaceholder {
      answer.warnings.append(
        "The timetable is empty, perhaps because the publisher could not read the university's page; it may be "
          + "incomplete.")
    }
    if !selection.isEchoed(by: timetable) {
      answer.warnings.append("The file says that it is of another group than \(selection.title).")
    }
    if let version = timetable.version, version > 2 {
      answer.warnings.append("The file is of version \(version), which this program does not know, and may say more.")
    }
    var legend: RoomLegend?
    if timetable.lacksAddresses {
      do throws(TimetableError) {
        let rooms = try await rooms(refresh: refresh)
        legend = rooms.content
        answer.warnings += rooms.doubts(of: "The legend of rooms")
      } catch {
        answer.warnings.append("Addresses of rooms are missing. \(error.message)")
      }
    }
    return answer.map { $0?.arranged(with: legend) }
  }

  public func academicCalendar(refresh: Bool = false) async throws(TimetableError) -> Published<AcademicCalendar?> {
    try await fetch(AcademicCalendar.self, "/academic-calendar.json", refresh, mayBeMissing: true)
  }
}

extension RoomLegend {
  static var empty: RoomLegend {
    var legend = RoomLegend()
    legend.rooms = []
    return legend
  }
}

extension AnnouncementList {
  /// The notices, of several with one id only the first.
  fileprivate var withoutRepetition: AnnouncementList {
    var list = self
    list.items = []
    for item in items where !list.items.contains(where: { $0.id.hasSameScalars(as: item.id) }) {
      list.items.append(item)
    }
    return list
  }
}

extension Published {
  /// Returns the warnings about content that another answer was made from: its oddities, and why it isn't current.
  func doubts(of name: String) -> [String] {
    warnings + (staleReason.map { ["\(name) is of \(checkedAt), and a newer one is unavailable. \($0)"] } ?? [])
  }

  /// Returns the content of a file that must be there, or throws an error.
  fileprivate func present<Wrapped>(_ name: String) throws(TimetableError) -> Published<Wrapped>
  where Content == Wrapped? {
    guard let wrapped = content else {
      throw TimetableError(
        .notFound, "The publisher has no file for \(name): check that 'baseURL' is the address of its files.")
    }
    return map { _ in wrapped }
  }
}

// MARK: - Fetching

extension TimetableClient {
  /// Reads a file from the network or the cache; nil if the answer is that there is none.
  ///
  /// - Parameters:
  ///   - mayBeMissing: Whether 404 is a valid answer that replaces the cached file. Otherwise it is a failure, and the
  ///     cached file stands in.
  ///   - check: Returns the fault of a new file, given the cached one, or nil.
  private func fetch<File: FieldSet>(
    _ type: File.Type, _ path: String, _ refresh: Bool, mayBeMissing: Bool = false,
    check: @escaping @Sendable (_ new: File, _ kept: File?) -> String? = { _, _ in nil }
  ) async throws(TimetableError) -> Published<File?> {
    let policy = HTTPCachePolicy(
      leastInterval: minimumInterval, revalidates: refresh, fallsBack: true,
      keptStatuses: mayBeMissing ? [200, 404] : [200],
      check: { new, kept in
        guard new.status == 200 else { return nil }
        do throws(TimetableError) {
          let old: File? = try? kept.flatMap { $0.status == 200 ? try File($0, path) : nil }
          return check(try File(new, path), old)
        } catch {
          return error.message
        }
      },
      isFailure: { $0 != 200 && ($0 != 404 || !mayBeMissing) })
    guard let url = HTTPURL(baseURL + path), url.scheme == "https" || url.isLoopback else {
      throw TimetableError(
        .invalidParameter, "'\(baseURL)' isn't a publisher's address: it must begin with https, or be on this machine.")
    }
    let request = HTTPRequest(
      "GET", url.text, headers: ["Accept": "application/json"], limits: limits, redirects: .secure,
      acceptsCompression: true)
    let answer: HTTPCachedResponse
    do throws(HTTPError) {
      answer = try await http.send(request, through: cache, policy)
    } catch {
      throw TimetableError(.network(error), "Reading \(path) failed. \(error.message)")
    }
    let file: File?
    switch answer.response.status {
    case 200: file = try File(answer.response, path)
    case 404: file = nil
    case let status:
      throw TimetableError(
        .httpStatus(status), "The publisher's server answered \(path) with HTTP status \(status).",
        detail: answer.response.reason, retryAfter: answer.response.retryAfter(now: time.now()))
    }
    var published = Published(
      content: file, fromCache: answer.fromCache, cachedAt: answer.cachedAt, checkedAt: answer.checkedAt,
      staleReason: answer.standIn?.reason)
    if let fault = answer.fault { published.warnings.append(fault) }
    return published
  }
}

extension FieldSet {
  /// Reads a file as the contract has it.
  fileprivate init(_ response: HTTPResponse, _ path: String) throws(TimetableError) {
    let name = "The file \(path)"
    let value: Value
    do throws(JSONBodyError) { value = try response.json() } catch {
      throw TimetableError(.decoding, "\(name) does not match the contract: it is \(error).")
    }
    do throws(ValueError) {
      try self.init(answer: value, as: "file")
    } catch {
      let more = error.list.count > 1 ? ", and \(error.list.count - 1) more" : ""
      throw TimetableError(.decoding, "\(name) does not match the contract: \(error.list.first?.message ?? "")\(more).")
    }
  }
}
