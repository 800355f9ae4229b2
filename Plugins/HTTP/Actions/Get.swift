import ActionKit
import HTTPClient
import LocalFiles

enum Get: AddressedAction {
  static let name = "get"
  static let summary = "Sends an HTTP GET request."
  static let effect = Effect.read
  static let examples = [
    Example("A list in JSON", "url: /items\nquery: { limit: 2 }\nanswer: json"),
    Example("A text, kept for when the network fails", "url: /notes.txt\ncached: true\nfallback: true"),
  ]

  struct Input: ValidatedFieldSet {
    @Field("Address, or path from the connection's `baseURL` on.", .pattern(.webAddress)) var url: String
    @Field("Parameters of the query; a list gives one for each of its values.", .mayHoldSecret) var query: ValueMap?
    @Field("Header fields beside those of the connection.", .mayHoldSecret) var headers: [String: String]?
    @Field("The statuses that are expected; absent means 200 to 299.", .notEmpty, .each(.range(200...599)))
    var expect: [Int]?
    @Field("What the answer must be.") var answer = AnswerKind.auto
    @Field("How a text is written; auto goes by a byte order mark, then by the answer's charset, else it is UTF-8.")
    var encoding = ReadEncoding.auto
    @Field("Whether the answer is kept, serves for as long as the service says, and is asked about by its ETag later.")
    var cached = false
    @Field("Whether a kept answer, however old, serves when the network fails or the service does; needs `cached`.")
    var fallback = false

    func conflicts() -> [Conflict] {
      fallback && !cached ? [Conflict("must not be true without 'cached'", at: "fallback")] : []
    }
  }

  struct Output: FieldSet {
    @Field("The HTTP status.") var status: Int
    @Field(
      "The header fields, by their names in small letters; of one that is repeated the values with commas between.",
      .volatile)
    var headers: [String: String]
    @Field("What was answered: the value if it is JSON, else a text; null if it is empty.") var body: Value
    @Field("Whether the answer is JSON.") var isJSON: Bool
    @Field("Whether the answer was kept, and did not come over the network now.", .volatile) var fromCache: Bool
    @Field("When the answer came over the network.", .volatile) var cachedAt: Timestamp
    @Field("Why a kept answer is used instead of a current one, as a sentence; absent if it is not.", .volatile)
    var staleReason: String?
  }

  static func run(_ input: Input, on service: WebClient, in context: ActionContext) async throws -> Output {
    let request = try service.request(
      .init(
        method: "GET", url: input.url, query: input.query, headers: input.headers, expected: input.expect,
        secrets: context.secrets))
    let read = { @Sendable (response: HTTPResponse) throws(ActionError) -> (body: Value, isJSON: Bool) in
      try service.check(response, to: request, expecting: input.expect, isWrite: false)
      return try AnswerFields.body(of: response, to: request, as: input.answer, in: input.encoding, isWrite: false)
    }
    // An unreadable response isn't cached: it would replace a readable one, and fail again when read from the cache.
    let keeping = WebClient.Keeping(isAsked: input.cached, fallsBack: input.fallback)
    let answer = try await service.read(request, keeping: keeping) { new, kept in
      do throws(ActionError) {
        let isJSON = try read(new).isJSON
        // A step that accepts any response still expects data, and a web page in its place is usually a maintenance
        // page.
        guard !isJSON, new.isPage, let kept, (try? read(kept).isJSON) == true else { return nil }
        return AnswerFields.page(in: request)
      } catch {
        return error.message
      }
    }
    let response = answer.response
    let (body, isJSON) = try read(response)
    return try Output {
      $0.status = response.status
      $0.headers = AnswerFields.headers(of: response)
      $0.body = body
      $0.isJSON = isJSON
      $0.fromCache = answer.fromCache
      $0.cachedAt = answer.cachedAt
      $0.staleReason = answer.staleReason
    }
  }
}
