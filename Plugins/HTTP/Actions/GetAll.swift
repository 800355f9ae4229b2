import ActionKit

enum GetAll: AddressedAction {
  static let name = "getAll"
  static let summary = "Sends HTTP GET requests for a list, page by page, until there is no next page."
  static let effect = Effect.read
  static let examples = [
    Example("Pages that name the next one in a Link header", "url: /items\nquery: { limit: 2 }"),
    Example(
      "Pages that name a cursor", "url: /cursor/items\nitems: /data\ncursor: { at: /next, parameter: after }"),
    Example("Pages by number", "url: /items\nquery: { limit: 2 }\npage: { parameter: page }"),
  ]

  struct Input: ValidatedFieldSet {
    @Field("Address, or path from the connection's `baseURL` on.", .pattern(.webAddress)) var url: String
    @Field("Parameters of the query; a list gives one for each of its values.", .mayHoldSecret) var query: ValueMap?
    @Field("Header fields beside those of the connection.", .mayHoldSecret) var headers: [String: String]?
    @Field("Place of the list in a page (RFC 6901); empty if the page is the list.", .pattern(.jsonPointer)) var items =
      ""
    @Field("How a page says which is next, if not in a Link header.") var cursor: Cursor?
    @Field("How pages are counted, if not in a Link header; the first one without items is the end.") var page: Page?
    @Field("The most pages that are asked for.", .range(1...10_000)) var maxPages = 100
    @Field("The most items that are given.", .range(1...1_000_000)) var maxItems = 10_000

    func conflicts() -> [Conflict] {
      cursor != nil && page != nil ? [Conflict("must not be given beside 'cursor'", at: "page")] : []
    }
  }

  struct Cursor: FieldSet {
    @Field(
      "Place of the cursor, or of the next page's address, in a page; null or missing at the end.",
      .pattern(.jsonPointer))
    var at: String
    @Field("Parameter of the query that takes the cursor; absent if it is an address.", .notEmpty) var parameter:
      String?
  }

  struct Page: FieldSet {
    @Field("Parameter of the query that takes the number.", .notEmpty) var parameter: String
    @Field("Number of the first page.", .range(0...1_000_000)) var first = 1
  }

  struct Output: FieldSet {
    @Field("The items of all pages, in their order.") var items: [Value]
    @Field("How many pages were asked for.") var pages: Int
    @Field("Whether there was no more; false if a limit was reached before.") var isComplete: Bool
  }

  static func run(_ input: Input, on service: WebClient, in context: ActionContext) async throws -> Output {
    let order: PageOrder =
      if let page = input.page {
        .numbers(parameter: page.parameter, first: page.first)
      } else if let cursor = input.cursor {
        .cursor(at: cursor.at, parameter: cursor.parameter)
      } else {
        .links
      }
    let list = PagedList(
      WebClient.Call(
        method: "GET", url: input.url, query: input.query, headers: input.headers, secrets: context.secrets),
      items: input.items, order: order, maxPages: input.maxPages, maxItems: input.maxItems)
    let content = try await list.read(on: service, in: context)
    return try Output {
      $0.items = content.items
      $0.pages = content.pages
      $0.isComplete = content.isComplete
    }
  }
}
