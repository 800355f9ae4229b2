import ActionKit
import HTTPClient

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
    var call = WebClient.Call(
      method: "GET", url: input.url, query: input.query, headers: input.headers, secrets: context.secrets)
    var items: [Value] = []
    var last: [Value] = []
    var repeats = 0
    var hasCursor = false
    var asked: Set<String> = []
    var isComplete = false
    while !isComplete, asked.count < input.maxPages, items.count < input.maxItems {
      if let page = input.page {
        var query = input.query ?? ValueMap()
        query[page.parameter] = .int(page.first + asked.count)
        call.query = query
      }
      let request = try service.request(call)
      guard asked.insert(request.url).inserted else {
        throw fault("the pages lead in a circle: \(request.redactedURL) comes after itself.")
      }
      let response = try await service.read(request).response
      try service.check(response, to: request, expecting: nil, isWrite: false)
      let (body, _) = try AnswerFields.body(of: response, to: request, as: .json, isWrite: false)
      let found = try list(in: body, at: input.items, of: request)
      if input.page != nil, !found.isEmpty, asked.count > 1, found == last {
        // A service that has no such page may give the nearest one that it has: of no page before the first, and after the
        // last of as many as are asked for.
        guard found.allSatisfy({ $0.map != nil }) else {
          throw fault(
            "GET \(request.redactedURL) gives the items of the page before once more, so where the list ends can't be known; "
              + "check 'page.parameter', and say with 'maxPages' how many pages there are.")
        }
        repeats += 1
        isComplete = repeats == 2
        continue
      }
      repeats = 0
      last = found
      items += found
      context.report("\(items.count) items", completed: items.count)
      if input.page != nil {
        isComplete = found.isEmpty
      } else if let next = try next(after: body, response, input, request, &hasCursor) {
        switch next {
        case .address(let url): (call.url, call.query) = (url, nil)
        case .cursor(let name, let value):
          var query = input.query ?? ValueMap()
          query[name] = value
          call.query = query
        }
      } else {
        isComplete = true
      }
    }
    if items.count > input.maxItems {
      items.removeLast(items.count - input.maxItems)
      isComplete = false
    }
    return try Output {
      $0.items = items
      $0.pages = asked.count
      $0.isComplete = isComplete
    }
  }

  private enum Next {
    case address(String)
    case cursor(String, Value)
  }

  private static func list(in body: Value, at pointer: String, of request: HTTPRequest) throws(ActionError) -> [Value] {
    let what = "the answer to GET \(request.redactedURL)"
    let value: Value
    do throws(ValueError) { value = try body.part(at: pointer, called: what) } catch {
      throw fault("\(error.description).")
    }
    guard let items = value.list else {
      let place = pointer.isEmpty ? what : "'\(pointer)' in \(what)"
      throw fault("\(place) is \(value.kindName) and not a list; say with 'items' where the list is.")
    }
    return items
  }

  private static func next(
    after body: Value, _ response: HTTPResponse, _ input: Input, _ request: HTTPRequest, _ wasFound: inout Bool
  ) throws(ActionError) -> Next? {
    let text: String
    if let cursor = input.cursor {
      let value: Value
      do throws(ValueError) {
        value = try body.part(at: cursor.at, called: "the answer to GET \(request.redactedURL)")
      } catch {
        // The last page may leave it out.
        if wasFound || body.mayLackPart(at: cursor.at) { return nil }
        throw fault("\(error.description); say with 'cursor.at' where a page names the next one.")
      }
      wasFound = true
      guard !value.isNull, value != .string("") else { return nil }
      if let name = cursor.parameter { return .cursor(name, value) }
      guard let address = value.string else {
        throw fault("'\(cursor.at)' in the answer to GET \(request.redactedURL) is \(value.kindName) and no address.")
      }
      text = address
    } else {
      guard let link = WebLink.next(in: response.headers.values("Link")) else { return nil }
      text = link
    }
    // The next page is asked for with the same credentials, so that it must be at the same place.
    guard let from = HTTPURL(response.url), let to = from.resolving(text), from.origin == to.origin else {
      throw fault("the next page after GET \(request.redactedURL) is at another host, where it is not asked for.")
    }
    return .address(to.text)
  }

  private static func fault(_ message: String) -> ActionError {
    ActionError(.plugin, message, effect: ActionError.Effect.none)
  }
}

extension Value {
  /// Whether a place that is not there may be left out: what it would stand in is, and has nothing of a similar name, for
  /// which it could be mistyped.
  fileprivate func mayLackPart(at pointer: String) -> Bool {
    var value = self
    for part in pointer.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
      guard let map = value.map else { return value.isNull }
      let name = String(part).replacing("~1", with: "/").replacing("~0", with: "~")
      guard let member = map[name] else { return name.nearest(among: map.members.compactMap(\.name)) == nil }
      value = member
    }
    return false
  }
}
