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
    @Field("How many departures at most.", .range(BoardQuery.limits)) var limit = 20
    @Field("Whether alerts are wanted.") var includeAlerts = true
    @Field("The language of alerts; the service chooses one if it is left out.") var language: BoardLanguage?
    @Field("How many minutes ahead departures are looked for; 210 if it is left out.", .range(BoardQuery.windows))
    var windowMinutes: Int?
    @Field("Whether the service may say that nothing is new, where this program holds a board.") var onlyIfNew = false
    @Field("How old the board may be when it comes; an older one is a failure, and is tried again.", .min(.zero))
    var maxAge: TimeSpan?
    @Field(
      "How old a board that this program holds may be to stand in when the service fails; if it is left out, one stands "
        + "in only for an answer that is empty for lack of time.", .min(.zero))
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
