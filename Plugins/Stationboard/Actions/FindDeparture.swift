import ActionKit

enum FindDeparture: RetryingAction {
  static let name = "findDeparture"
  static let summary = "Finds one departure on the board of a stop, and reports its state."
  static let effect = Effect.read
  static let retry = boardRetry
  static let examples = [
    Example(
      "My train",
      """
      stopId: Parent8507000
      line: IC61
      destination: Interlaken
      scheduled: 2026-11-20T09:34:00Z
      """)
  ]

  struct Input: FieldSet {
    @Field("The stop, in a form that getBoard accepts.", .notEmpty, .maxLength(BoardQuery.mostStopCharacters))
    var stopId: String
    @Field("When it leaves by the timetable.") var scheduled: Timestamp
    @Field("Its line; capitals and blanks don't matter.", .notEmpty) var line: String?
    @Field("Its destination, or the beginning of it; capitals don't matter.", .notEmpty) var destination: String?
    @Field("Its key on an earlier board, instead of line and destination.", .notEmpty) var key: String?
    @Field("The smallest delay in minutes that counts as late.", .min(1)) var minDelay = 3
    @Field("How late it may still come, if the board is too full to tell.", .min(.zero))
    var patience = TimeSpan.seconds(1800)
  }

  typealias Output = DepartureState

  static func run(
    _ input: Input, on service: StationboardClient, in context: ActionContext
  ) async throws -> DepartureState {
    var query = BoardQuery(input.stopId)
    query.requestID = context.requestID
    var wanted = WantedDeparture(scheduled: input.scheduled)
    wanted.key = input.key
    wanted.line = input.line
    wanted.destination = input.destination
    wanted.minDelay = input.minDelay
    wanted.patience = input.patience
    let board = try await service.board(query)
    guard let state = board.state(of: wanted, limit: query.limit) else {
      let found = wanted.matches(on: board).map { "\($0.line ?? "?") to \($0.destination ?? "?")" }
      throw ActionError(
        .validation,
        "Several departures may be meant: \(found.joined(separator: ", ")); give 'line', 'destination' or 'key'.")
    }
    return state
  }
}
