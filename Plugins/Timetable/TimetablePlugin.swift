public import ActionKit
import Calendars
import HTTPClient
import LocalFiles

/// Lets recipes read a university's timetables.
public enum TimetablePlugin: ClientLibrary, WebPlugin {
  public static let name = "timetable"
  public static let summary = "Reads university timetables: groups, classes, rooms, notices and the academic calendar."
  public static let actions: [any Action<TimetableClient>.Type] = [
    GetCatalog.self, CheckSelection.self, GetTimetable.self, Today.self, Week.self, ExportCalendar.self,
    CompareWithCopy.self, SaveCopy.self, GetAnnouncements.self, GetRooms.self, FindRoom.self, GetAcademicCalendar.self,
  ]
  public static let usage = """
    let client = TimetableClient()
    let mine = TimetableSelection(academicYear: "2025-2026", programId: "informatica-maghiara", year: 1, group: 511)
    for day in try await client.timetable(of: mine).content?.days ?? [] { print(day.day, day.entries.count) }
    """

  /// The settings of a connection to one publisher; the public instance needs none.
  public struct Configuration: ValidatedFieldSet {
    @Field("The address of the publisher's files.", .pattern(.publisherURL)) var baseURL = TimetableClient
      .defaultBaseURL
    @Field("Time zone of the university, and of the times of its classes.", .notEmpty) var zone = "Europe/Bucharest"
    @Field("A Monday that begins a week1, for dates that no academic calendar covers.", .pattern(.date))
    var weekOneMonday: String?
    @Field(
      "The folder that copies and calendar files are in, relative to errand.yaml's folder; absent means errand.yaml's folder.",
      .notEmpty
    )
    var folder: String?
    @Field("How long to use a file before asking the network again.", .min(.zero))
    var minimumInterval = TimeSpan.seconds(600)
    @Field("File with certificates, in PEM, that are trusted beside the system's.", .notEmpty)
    var certificateAuthorities: String?
    @Field("Time limit for connecting.", .min(.milliseconds(1)))
    var connectTimeout = TimeSpan.seconds(10)
    @Field("Time limit for one request.", .min(.milliseconds(1))) var requestTimeout = TimeSpan.seconds(30)
    @Field("The largest file that is read, in bytes.", .range(1024...1 << 30)) var maxAnswerBytes = 8 << 20

    public init() {}

    public func conflicts() -> [Conflict] {
      guard let date = weekOneMonday.flatMap({ CivilDate($0) }), date.weekday != 1 else { return [] }
      return [Conflict("must be a Monday, such as \(date.monday)", at: "weekOneMonday")]
    }
  }

  public static func connect(
    _ configuration: Configuration, in context: PluginContext
  ) throws(ActionError) -> TimetableClient {
    do throws(TimeZoneError) {
      _ = try TimeZoneDatabase.system.rules(named: configuration.zone)
    } catch {
      throw ActionError(.configuration, "'zone' of the connection '\(context.connection)': \(error.message).")
    }
    let http = context.httpClient(trusting: configuration.certificateAuthorities)
    return TimetableClient(
      baseURL: configuration.baseURL, cacheFolder: context.cacheFolder,
      minimumInterval: configuration.minimumInterval, http: http,
      limits: HTTPLimits(
        connect: configuration.connectTimeout, attempt: configuration.requestTimeout,
        maxBodyBytes: configuration.maxAnswerBytes),
      time: context.time, zone: configuration.zone,
      weekOneMonday: configuration.weekOneMonday.flatMap { CivilDate($0) },
      files: LocalFiles(folder: configuration.folder))
  }
}

extension TextPattern {
  /// The address of a publisher's files: `https`, or this machine.
  static let publisherURL = TextPattern(
    "an https address such as https://example.github.io/timetables, or an http one of this machine",
    regex:
      #"^([Hh][Tt][Tt][Pp][Ss]://[^/?#@\s]+|[Hh][Tt][Tt][Pp]://(localhost|127\.[0-9.]+|\[::1\])(:[0-9]+)?)(/[^/?#\s]+)*/?$"#,
    accepted: [
      "https://example.github.io/timetables", "https://example.github.io/timetables/", "http://127.0.0.1:8080/a",
      "http://[::1]:80", "http://localhost", "HTTPS://example.org",
    ],
    refused: [
      "http://example.org", "ftp://example.org", "https://", "https://a@example.org", "https://example.org/a?b",
      "http://localhost.example.org", "http://127.example.org", "",
    ]
  ) { text in
    guard let url = HTTPURL(text), url.userInfo == nil, url.query == nil, !text.utf8.contains(ASCII.hash)
    else { return false }
    return url.scheme == "https" || url.isLoopback
  }
}
