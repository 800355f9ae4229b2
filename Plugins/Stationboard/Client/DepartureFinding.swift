public import ActionKit

/// Which departure is looked for on a board.
public struct WantedDeparture: Sendable {
  /// When it leaves by the timetable.
  public var scheduled: Timestamp
  /// Its key on an earlier board; with it, line and destination do not matter.
  public var key: String?
  /// Its line; capitals and blanks don't matter.
  public var line: String?
  /// Its destination, or the beginning of it; capitals don't matter.
  public var destination: String?
  /// The smallest delay in minutes that counts as late.
  public var minDelay = 3
  /// How late it may be and still come, as far as can be seen on a full board.
  public var patience = TimeSpan.seconds(1800)

  /// Looks for departures that are scheduled at an instant.
  public init(scheduled: Timestamp) { self.scheduled = scheduled }

  private func isMeant(_ departure: Departure) -> Bool {
    if let key { return departure.key.hasSameScalars(as: key) }
    // Timetables are to the minute.
    guard let off = departure.scheduledDeparture.span(since: scheduled), abs(off.inSeconds) < 60 else { return false }
    if let line, departure.line?.folded != line.folded { return false }
    if let destination, departure.destination?.folded.hasPrefix(destination.folded) != true { return false }
    return true
  }

  /// The departures of a board that may be it.
  func matches(on board: Board) -> [Departure] { board.departures.filter(isMeant) }
}

extension String {
  /// The name without white space and in lowercase, for comparison.
  fileprivate var folded: String {
    String(lowercased().unicodeScalars.filter { !$0.properties.isWhitespace })
  }
}

/// The state of a departure according to a board.
public struct DepartureState: FieldSet {
  @Field("The state of the departure, in one word.") public var status: Status
  @Field("Whether it is cancelled, is late, or leaves from another place than planned.") public var hasTrouble: Bool
  @Field("The problems, as the ends of sentences that begin with the train: 'is 7 min late'.")
  public var troubles: [String]
  @Field("Whether it has left, or won't come: its time is past, and it isn't on the board any more.")
  public var isOver: Bool
  @Field("The departure, if it is on the board.") public var departure: Departure?
  @Field("A possible mistake in the inputs, as a sentence: a line that the board doesn't have.")
  public var hint: String?
  @Field("Whether the board is informative; if not, a missing departure means nothing.")
  public var isCurrent: Bool
  @Field("Whether the times may lack realtime.") public var isRealtimeReduced: Bool
  @Field("When the board came.", .volatile) public var receivedAt: Timestamp

  public init() {}

  /// The state of a departure in one word.
  public enum Status: String, Choice {
    /// It does not leave from here.
    case cancelled
    /// It is late.
    case late
    /// It leaves from another platform.
    case elsewhere
    /// Realtime says that it is on time, or less late than matters.
    case onTime
    /// It is on the board, without realtime.
    case planned
    /// The board does not reach so far ahead, or is full.
    case awaited
    /// Its time is to come, the board reaches beyond it, and it is not there: it does not run, or is very late.
    case missing
    /// It has left, or will not come.
    case gone
    /// The board says nothing new.
    case unknown
  }
}

extension Board {
  /// Returns the state of a departure according to this board, which was requested with a limit; nil if several
  /// departures match.
  public func state(of wanted: WantedDeparture, limit: Int) -> DepartureState? {
    let matches = wanted.matches(on: self)
    guard matches.count <= 1 else { return nil }
    var state = DepartureState()
    state.departure = matches.first
    state.isCurrent = isCurrent
    state.isRealtimeReduced = isRealtimeReduced
    state.receivedAt = receivedAt
    state.troubles = matches.first?.troubles(from: wanted.minDelay) ?? []
    state.hasTrouble = !state.troubles.isEmpty
    state.status = matches.first?.status(from: wanted.minDelay) ?? absence(of: wanted, limit)
    state.isOver = state.status == .gone
    let lines = departures.compactMap(\.line)
    if matches.isEmpty, wanted.key == nil, let line = wanted.line, !lines.contains(where: { $0.folded == line.folded }),
      let near = line.nearest(among: lines)
    {
      state.hint = "No line '\(line)' is on the board; did you mean '\(near)'?"
    }
    return state
  }

  /// Explains why a departure isn't on the board (contract, section 14).
  private func absence(of wanted: WantedDeparture, _ limit: Int) -> DepartureState.Status {
    guard isCurrent else { return .unknown }
    // Rows that were removed from the board since the answer count towards its limit.
    let isFull = max(rowCount, departures.count + unreadable) >= limit
    if receivedAt > wanted.scheduled.advanced(by: Board.lingering) ?? .latest {
      // A late one may come after the last row of a full board.
      let reach = max(departures.last?.departsAt ?? receivedAt, receivedAt)
      return !isFull || reach >= wanted.scheduled.advanced(by: wanted.patience) ?? .latest ? .gone : .awaited
    }
    let reach = isFull ? departures.last?.departsAt : receivedAt.advanced(by: Board.window - (age ?? .zero))
    return wanted.scheduled < reach ?? receivedAt ? .missing : .awaited
  }
}

extension Departure {
  fileprivate func isLate(from minutes: Int) -> Bool { (delayMin ?? 0) >= minutes }

  fileprivate func status(from minutes: Int) -> DepartureState.Status {
    if cancelled { return .cancelled }
    if isLate(from: minutes) { return .late }
    if platformChanged { return .elsewhere }
    return hasRealtime ? .onTime : .planned
  }

  fileprivate func troubles(from minutes: Int) -> [String] {
    if cancelled { return [cancelReasonCode == "SKIPPED_STOP" ? "does not stop here" : "is cancelled"] }
    var troubles: [String] = []
    if isLate(from: minutes) { troubles.append("is \(delayMin ?? 0) min late") }
    switch (platformChanged, platform, previousPlatform) {
    case (false, _, _): break
    case (true, let platform?, let previous?):
      troubles.append("leaves from platform \(platform) instead of \(previous)")
    case (true, let platform?, nil): troubles.append("leaves from platform \(platform) now")
    case (true, nil, let previous?): troubles.append("leaves no longer from platform \(previous)")
    case (true, nil, nil): troubles.append("leaves from another platform")
    }
    return troubles
  }
}
