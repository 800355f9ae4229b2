import ActionKit

enum GetBoard: RetryingAction {
  static let name = "getBoard"
  static let summary = "Reads the next departures of a stop, with delays, platforms, cancellations and alerts."
  static let effect = Effect.read
  static let retry = boardRetry
  static let examples = [
    Example("A station", "stopId: Parent8507000"),
    Example(
      "Six departures, alerts in German, and an earlier board when the service fails",
      """
      stopId: Parent8507000
      limit: 6
      language: de
      standIn: 2m
      """),
  ]

  struct Input: FieldSet {
    @Field(
      "The station (Parent8507000), its number (8507000) or a platform (8507000:0:8); the board is the station's.",
      .notEmpty, .maxLength(BoardQuery.mostStopCharacters)) var stopId: String
    @Field("The most departures to read.", .range(BoardQuery.limits)) var limit = 20
    @Field("Whether to read alerts.") var includeAlerts = true
    @Field("The language of alerts; if absent, the service chooses one.") var language: BoardLanguage?
    @Field("How many minutes ahead to look for departures; absent means 210.", .range(BoardQuery.windows))
    var windowMinutes: Int?
    @Field("Whether the service may answer that nothing is new, if errand has an earlier board.") var onlyIfNew = false
    @Field("The greatest age of the board on arrival; an older one is a failure, and is tried again.", .min(.zero))
    var maxAge: TimeSpan?
    @Field(
      "How old an earlier board may be to stand in when the service fails; if absent, one stands in only for an answer "
        + "that is empty because the service ran out of time.", .min(.zero))
    var standIn: TimeSpan?
  }

  typealias Output = Board

  static func run(_ input: Input, on service: StationboardClient, in context: ActionContext) async throws -> Board {
    var query = BoardQuery(input.stopId)
    query.limit = input.limit
    query.includesAlerts = input.includeAlerts
    query.language = input.language
    query.windowMinutes = input.windowMinutes
    query.onlyIfNew = input.onlyIfNew
    query.maxAge = input.maxAge
    query.standIn = input.standIn
    query.requestID = context.requestID
    return try await service.board(query)
  }
}
