package import ActionKit
import HTTPClient

/// How a list's pages follow each other.
package enum PageOrder: Sendable {
  /// Each page names the next one in a Link header.
  case links
  /// Each page holds the address of the next one at a place (RFC 6901) or, with a parameter, the value for this query
  /// parameter.
  case cursor(at: String, parameter: String?)
  /// Pages are numbered; the first page without items is the end.
  case numbers(parameter: String, first: Int)
  /// Pages are requested by the number of items before them; the first page without items is the end.
  case offsets(parameter: String)

  /// Whether only a page without items marks the end.
  fileprivate var isCounted: Bool {
    switch self {
    case .links, .cursor: false
    case .numbers, .offsets: true
    }
  }
}

/// A list that a service returns in pages.
package struct PagedList {
  /// The request for the first page.
  package var call: WebClient.Call
  /// Place of the list in a page (RFC 6901).
  package var items: String
  package var order: PageOrder
  package var maxPages: Int
  package var maxItems: Int
  /// The advice in the message if pages differ from the description; nil for advice about the inputs of `getAll`.
  package var advice: String?

  package init(
    _ call: WebClient.Call, items: String, order: PageOrder, maxPages: Int, maxItems: Int, advice: String? = nil
  ) {
    self.call = call
    self.items = items
    self.order = order
    self.maxPages = maxPages
    self.maxItems = maxItems
    self.advice = advice
  }

  /// The items that were read.
  package struct Content {
    package var items: [Value] = []
    /// The number of pages that were requested.
    package var pages = 0
    /// Whether the end of the list was reached; false if a limit was reached first.
    package var isComplete = false
  }

  /// Requests the pages one after another.
  package func read(on service: WebClient, in context: ActionContext) async throws(ActionError) -> Content {
    var call = call
    let first = call.query ?? ValueMap()
    var content = Content()
    var last: [Value] = []
    var repeats = 0
    var hasCursor = false
    var asked: Set<String> = []
    while !content.isComplete, asked.count < maxPages, content.items.count < maxItems {
      switch order {
      case .numbers(let parameter, let number): call.query = first.with(parameter, .int(number + asked.count))
      case .offsets(let parameter): call.query = first.with(parameter, .int(content.items.count))
      case .links, .cursor: break
      }
      let request = try service.request(call)
      guard asked.insert(request.url).inserted else {
        throw fault("the pages lead in a circle: \(request.redactedURL) comes after itself.")
      }
      let response = try await service.read(request).response
      try service.check(response, to: request, expecting: nil, isWrite: false)
      let (body, _) = try AnswerFields.body(of: response, to: request, as: .json, isWrite: false)
      let found = try list(in: body, of: request)
      if order.isCounted, !found.isEmpty, asked.count > 1, found == last {
        // A service may answer a page number outside of the list with the nearest page. Before the first page, that
        // repeats a page once; after the last page, it repeats as often as it is requested. So the second repetition is
        // the end.
        guard found.allSatisfy({ $0.map != nil }) else {
          throw fault(
            "GET \(request.redactedURL) gives the items of the page before once more, so where the list ends can't be known; "
              + "\(advice ?? "check 'page.parameter'"), and say with 'maxPages' how many pages there are.")
        }
        repeats += 1
        content.isComplete = repeats == 2
        // With offsets, the first repetition is the end, because no offset is before the first item.
        if case .offsets = order { content.isComplete = true }
        continue
      }
      repeats = 0
      last = found
      content.items += found
      context.report("\(content.items.count) items", completed: content.items.count)
      if order.isCounted {
        content.isComplete = found.isEmpty
      } else if let next = try next(after: body, response, request, &hasCursor) {
        switch next {
        case .address(let url): (call.url, call.query) = (url, nil)
        case .cursor(let name, let value): call.query = first.with(name, value)
        }
      } else {
        content.isComplete = true
      }
    }
    if content.items.count > maxItems {
      content.items.removeLast(content.items.count - maxItems)
      content.isComplete = false
    }
    content.pages = asked.count
    return content
  }

  private enum Next {
    case address(String)
    case cursor(String, Value)
  }

  private func list(in body: Value, of request: HTTPRequest) throws(ActionError) -> [Value] {
    let what = "the answer to GET \(request.redactedURL)"
    let value: Value
    do throws(ValueError) { value = try body.part(at: items, called: what) } catch {
      throw fault("\(error.description)\(advice.map { "; \($0)" } ?? "").")
    }
    guard let list = value.list else {
      let place = items.isEmpty ? what : "'\(items)' in \(what)"
      throw fault(
        "\(place) is \(value.kindName) and not a list; \(advice ?? "say with 'items' where the list is").")
    }
    return list
  }

  private func next(
    after body: Value, _ response: HTTPResponse, _ request: HTTPRequest, _ wasFound: inout Bool
  ) throws(ActionError) -> Next? {
    let text: String
    if case .cursor(let place, let parameter) = order {
      let value: Value
      do throws(ValueError) {
        value = try body.part(at: place, called: "the answer to GET \(request.redactedURL)")
      } catch {
        // The last page may leave it out.
        if wasFound || body.mayLackPart(at: place) { return nil }
        throw fault("\(error.description); \(advice ?? "say with 'cursor.at' where a page names the next one").")
      }
      wasFound = true
      guard !value.isNull, value != .string("") else { return nil }
      if let parameter { return .cursor(parameter, value) }
      guard let address = value.string else {
        throw fault("'\(place)' in the answer to GET \(request.redactedURL) is \(value.kindName) and no address.")
      }
      text = address
    } else {
      guard let link = WebLink.next(in: response.headers.values("Link")) else { return nil }
      text = link
    }
    // The request for the next page has the same credentials, so it must go to the same origin.
    guard let from = HTTPURL(response.url), let to = from.resolving(text), from.origin == to.origin else {
      throw fault("the next page after GET \(request.redactedURL) is at another host, where it is not asked for.")
    }
    return .address(to.text)
  }

  private func fault(_ message: String) -> ActionError {
    ActionError(.plugin, message, effect: ActionError.Effect.none)
  }
}

extension ValueMap {
  fileprivate func with(_ name: String, _ value: Value) -> ValueMap {
    var map = self
    map[name] = value
    return map
  }
}

extension Value {
  /// Whether a missing member may have been left out: its parent is null, or is a map without a name so similar that
  /// the pointer may be misspelled.
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
