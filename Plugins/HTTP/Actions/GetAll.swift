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
    @Field("Address, or path below the connection's `baseURL`.", .pattern(.webAddress)) var url: String
    @Field("Query parameters; a list gives one parameter for each of its values.", .mayHoldSecret) var query: ValueMap?
    @Field("Header fields, beside the connection's own.", .mayHoldSecret) var headers: [String: String]?
    @Field("Place of the list in a page (RFC 6901); empty if the page itself is the list.", .pattern(.jsonPointer))
    var items = ""
    @Field("How a page names the next page, if not in a Link header.") var cursor: Cursor?
    @Field("How pages are numbered, if there is no Link header; the first page without items is the end.")
    var page: Page?
    @Field("The most pages to request.", .range(1...10_000)) var maxPages = 100
    @Field("The most items to return.", .range(1...1_000_000)) var maxItems = 10_000

    func conflicts() -> [Conflict] {
      cursor != nil && page != nil ? [Conflict("must not be given beside 'cursor'", at: "page")] : []
    }
  }

  struct Cursor: FieldSet {
    @Field(
      "Place of the cursor, or of the next page's address, in a page; null or missing at the end.",
      .pattern(.jsonPointer))
    var at: String
    @Field("Query parameter for the cursor; absent if the cursor is an address.", .notEmpty) var parameter: String?
  }

  struct Page: FieldSet {
    @Field("Query parameter for the page's number.", .notEmpty) var parameter: String
    @Field("Number of the first page.", .range(0...1_000_000)) var first = 1
  }

  struct Output: FieldSet {
    @Field("The items of all pages, in their order.") var items: [Value]
    @Field("The number of pages that were requested.") var pages: Int
    @Field("Whether the list was read to its end; false if a limit was reached first.") var isComplete: Bool
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
