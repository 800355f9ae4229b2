public import ActionKit

// The service's answer for a stop, as Swift types that recipes use too: the sentence of each field is its
// documentation.
//
// The service names some fields in snake case, and sends empty texts for unknown values; here they are in camel case
// and absent. Fields whose set of values may grow (`responseMode`, `status`, `flags` …) stay texts. The fields that the
// contract derives from others are added: `departsAt`, `hasRealtime`, `isDegraded`, `isCurrent` …

/// The departures of a stop, and how much they are worth.
public struct Board: FieldSet {
  @Field("The stop, if the service names it.") public var station: NamedStop?
  @Field("How the service found the stop.") public var resolved: ResolvedStop?
  @Field("The departures, by expected time, cancelled ones included.")
  public var departures: [Departure]
  @Field("Notices for the whole stop.") public var banners: [Banner] = []
  @Field("Why there are no departures, if there are none.") public var noService: NoService?
  @Field("The service's details about its answer.") public var meta = BoardMeta()
  @Field("State of the realtime feed, for diagnosis.", .volatile) public var realtimeFeed: RealtimeFeed?
  @Field("State of the feed of alerts, for diagnosis; the alerts are with the departures and in banners.", .volatile)
  public var alertsFeed: AlertsFeed?
  @Field("Whether the board is incomplete: skipped steps, an old board, or nothing in time.")
  public var isDegraded = true
  @Field("Whether the times may lack realtime: the service did not apply it, or it is over 45 s old.")
  public var isRealtimeReduced = true
  @Field("Whether the board is informative; if not, a missing departure means nothing.")
  public var isCurrent = false
  @Field("Whether it is certain that nothing runs within the window; an empty board alone doesn't say so.")
  public var isWithoutService = false
  @Field("Whether this is an earlier board, used because the service failed.", .volatile)
  public var isStale = false
  @Field("Why an earlier board is used.", .volatile) public var staleReason: String?
  @Field("Whether the service answered that nothing is new, so that this is the earlier board.", .volatile)
  public var isUnchanged = false
  @Field("Whether the last request for the board was so recent that errand didn't ask the service again.", .volatile)
  public var fromCache = false
  @Field("How many departures were left out because they couldn't be read.") public var unreadable = 0
  @Field("The number of departures in the answer, including unreadable ones and ones that have left since.")
  public var rowCount = 0
  @Field("When the answer came.", .volatile) public var receivedAt: Timestamp
  @Field("How long ago the service built the board, by the clock of this machine.", .volatile) public var age: TimeSpan?
  @Field("Details of the delivery over the network.", .volatile) public var delivery = Delivery()

  public init() {}
}

/// One departure.
public struct Departure: FieldSet, Hashable {
  @Field("Its identifier, the same from one board to the next.") public var key: String
  @Field("Label on the vehicle, such as S3 or IC61.") public var line: String?
  @Field("Where it goes.") public var destination: String?
  @Field("When it leaves by the timetable.") public var scheduledDeparture: Timestamp
  @Field("The expected time of departure; without realtime, the service gives the timetable's time.")
  public var realtimeDeparture: Timestamp?
  @Field("The time of departure, as far as it is known.") public var departsAt: Timestamp
  @Field("Whether there is realtime about it.") public var hasRealtime = false
  @Field("Minutes late; 0 is confirmed on time, absent is unknown.") public var delayMin: Int?
  @Field("Where it leaves from: a platform or a bay.") public var platform: String?
  @Field("Whether it leaves from another place than the timetable says.") public var platformChanged = false
  @Field("The timetable's platform, if it changed.") public var previousPlatform: String?
  @Field("Whether it doesn't leave from here; no other field says so.") public var cancelled = false
  @Field("ON_TIME, DELAYED, CANCELLED, SKIPPED_STOP, EARLY, UNKNOWN or another; for display only.")
  public var status: String?
  @Field("RT_CONFIRMED, TRIP_CANCELLED, STOP_SKIPPED, REPLACEMENT_SERVICE, EXTRA_SERVICE, SHORT_TURN or others.")
  public var flags: [String] = []
  @Field("The trip in the timetable; repeats every day.") public var tripId: String?
  @Field("The route in the timetable.") public var routeId: String?
  @Field("The platform in the timetable, which stays the same when the platform changes.") public var stopId: String?
  @Field("Position of the stop in the trip.") public var stopSequence: Int?
  @Field("Kind of vehicle: IC, IR, RE, S … for trains, B for buses, T for trams, M for the metro.")
  public var category: String?
  @Field("The line without its category, where it could be split.") public var number: String?
  @Field("Name of the company.") public var `operator`: String?
  @Field("CANCELED_TRIP or SKIPPED_STOP.") public var cancelReasonCode: String?
  @Field("SKIPPED, if the trip leaves out this stop.") public var stopEvent: String?
  @Field("EV, if it replaces a train.") public var replacementType: String?
  @Field("Alerts that concern it.") public var alerts: [DepartureAlert] = []
  @Field("Seconds late, not rounded; negative if early.") public var rawDelaySec: Double?
  @Field("The same in minutes.") public var rawDelayMin: Int?
  @Field("Minutes late as the service's own page shows them.") public var displayedDelayMin: Int?

  public init() {}
}

/// A notice about one departure.
public struct DepartureAlert: FieldSet, Hashable {
  @Field("Its identifier.") public var id: String?
  @Field("How much it matters: info, warning, severe or another.") public var severity: String?
  @Field("Its heading.") public var header: String?
  @Field("The text.") public var description: String?

  public init() {}
}

/// A notice for the whole stop.
public struct Banner: FieldSet, Hashable {
  @Field("How much it matters.") public var severity = Severity.unknown
  @Field("Its heading.") public var header: String?
  @Field("The text.") public var description: String?
  @Field("The stop, route or trip that it concerns.") public var affected = Affected()

  public init() {}

  /// How much a notice matters; what the service may add later counts as unknown.
  public enum Severity: String, Choice {
    case unknown, info, warning, severe
  }

  /// The stop, route or trip that a notice concerns.
  public struct Affected: FieldSet, Hashable {
    @Field("The stop.") public var stopId: String?
    @Field("The route.") public var routeId: String?
    @Field("The trip.") public var tripId: String?

    public init() {}
  }
}

/// A stop with its name.
public struct NamedStop: FieldSet {
  @Field("Its id.") public var id: String?
  @Field("Its name; after a time-out of the service it may be the id.") public var name: String?

  public init() {}
}

/// How a stop was found.
public struct ResolvedStop: FieldSet {
  @Field("The id that was used.") public var canonicalId: String?
  @Field("How: direct, alias, db or fallback.") public var source: String?
  @Field("How many platforms it has.") public var childrenCount: Int?

  public init() {}
}

/// Why a board is empty.
public struct NoService: FieldSet {
  @Field("The reason: no_service_in_time_window, backend_timeout_fallback (unknown) or another.") public
    var reason: String?
  @Field("The window that was searched.", .volatile) public var window: Window?

  public init() {}

  /// A span of time.
  public struct Window: FieldSet {
    @Field("When it was searched.") public var now: Timestamp?
    @Field("When the window begins.") public var start: Timestamp?
    @Field("When the window ends.") public var end: Timestamp?

    public init() {}
  }
}

/// The service's remarks about its answer.
public struct BoardMeta: FieldSet {
  @Field("When the board was built.", .volatile) public var serverTime: Timestamp?
  @Field("The kind of answer: full, degraded_static, stale_cache_fallback, static_timeout_fallback or another.")
  public var responseMode: String?
  @Field("Realtime: applied, stale_cache, skipped_budget, disabled, missing_cache, guarded_error or another.")
  public var rtStatus: String?
  @Field("When the realtime last changed.", .volatile) public var rtFetchedAt: Timestamp?
  @Field("The age of the realtime when the board was built, in milliseconds.", .volatile)
  public var rtCacheAgeMs: Double?
  @Field("How many departures have realtime.") public var rtAppliedCount: Int?
  @Field("When the service last requested the realtime.", .volatile) public var rtLastPollAt: Timestamp?
  @Field("The age of the last request for the realtime when the board was built, in milliseconds.", .volatile)
  public var rtPollAgeMs: Double?
  @Field("Where the realtime came from.", .volatile) public var rtSource: String?
  @Field("Alerts: applied, skipped_budget, disabled, missing_cache, stale_cache, error_fallback or another.")
  public var alertsStatus: String?
  @Field("When the alerts last changed; without it their age says nothing.", .volatile)
  public var alertsFetchedAt: Timestamp?
  @Field("The age of the alerts, in milliseconds.", .volatile) public var alertsCacheAgeMs: Double?
  @Field("Where the alerts came from.", .volatile) public var alertsSource: String?
  @Field("Why the board is degraded.") public var skippedSteps: [String] = []
  @Field("How long the service took, in milliseconds.", .volatile) public var totalBackendMs: Double?
  @Field("Id of the request that built the board.", .volatile) public var requestId: String?

  public init() {}
}

/// State of the realtime feed.
public struct RealtimeFeed: FieldSet {
  @Field("Whether there is realtime.") public var available: Bool?
  @Field("Whether it is in the board.") public var applied: Bool?
  @Field("Why: fresh, stale, missing, disabled, guarded or another.") public var reason: String?
  @Field("Name of the feed.") public var feedKey: String?
  @Field("When it last changed.") public var fetchedAt: Timestamp?
  @Field("The same.") public var cacheFetchedAt: Timestamp?
  @Field("How old it is, in milliseconds.") public var cacheAgeMs: Int?
  @Field("The same.") public var ageMs: Int?
  @Field("The same in seconds.") public var ageSeconds: Int?
  @Field("When the service last requested it.") public var lastPollAt: Timestamp?
  @Field("When the service last requested it with success.") public var lastSuccessfulPollAt: Timestamp?
  @Field("How long ago the service last requested it, in milliseconds.") public var pollAgeMs: Int?
  @Field("The same in seconds.") public var pollAgeSeconds: Int?
  @Field("How old it may be to be applied, in milliseconds.") public var freshnessThresholdMs: Int?
  @Field("The same in seconds.") public var freshnessMaxAgeSeconds: Int?
  @Field("FRESH, STALE, MISS, BYPASS, GUARD, SKIPPED, ERROR or another.") public var cacheStatus: String?
  @Field("HTTP status of the feed.") public var status: Int?
  @Field("Last HTTP status of the feed; 0 is unknown.") public var lastStatus: Int?
  @Field("Last error of the feed.") public var lastError: String?
  @Field("Its size in bytes.") public var payloadBytes: Int?
  @Field("Where it came from.") public var rtSource: String?
  @Field("Which server answered.") public var instance: Instance?

  public init() {}

  /// A server of the service.
  public struct Instance: FieldSet {
    @Field("Its id.") public var id: String?
    @Field("Id of its allocation.") public var allocId: String?
    @Field("Its name.") public var host: String?
    @Field("The process.") public var pid: Int?
    @Field("The program.") public var build: String?

    public init() {}
  }
}

/// State of the feed of alerts.
public struct AlertsFeed: FieldSet {
  @Field("Whether there are alerts.") public var available: Bool?
  @Field("Whether they are in the board.") public var applied: Bool?
  @Field("Why: applied, no_alerts, not_requested, missing_cache or another.") public var reason: String?
  @Field("When they last changed.") public var fetchedAt: Timestamp?
  @Field("The same.") public var cacheFetchedAt: Timestamp?
  @Field("How old they are, in milliseconds; says nothing without fetchedAt.") public var cacheAgeMs: Int?
  @Field("The same in seconds.") public var ageSeconds: Int?
  @Field("Whether the request asked for alerts.") public var includeRequested: Bool?
  @Field("Whether the service followed that.") public var includeApplied: Bool?
  @Field("HTTP status of the feed.") public var status: Int?
  @Field("Last HTTP status of the feed; 0 is unknown.") public var lastStatus: Int?
  @Field("Last error of the feed.") public var lastError: String?
  @Field("Where they came from.") public var alertsSource: String?

  public init() {}
}

/// The details that the network between the service and this machine adds to an answer.
public struct Delivery: FieldSet {
  @Field(
    "Id of this request, for questions to the service; the id in `meta` may belong to another request, whose board the edge cached."
  )
  public var requestId: String?
  @Field("Whether the edge answered from its cache: HIT, MISS or BYPASS.") public var edgeCache: String?
  @Field("Why the service sent something old.") public var staleReason: String?
  @Field("How many requests the edge accepts from this address within the minute.") public var rateRemaining: Int?

  public init() {}
}
