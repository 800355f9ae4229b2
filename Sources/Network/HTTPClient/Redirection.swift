import Basics
package import HTTPTypes

extension HTTPRequest {
  /// The request that an answer redirects to, or nil if it doesn't redirect (RFC 9110, section 15.4).
  ///
  /// After 303 the next one is a GET without body. A write that is answered with 301 or 302 is refused: some services
  /// mean the page to look at once it is done, where a DELETE would remove something else, and a POST would lose its
  /// body. Header fields with credentials aren't sent when the origin changes.
  func redirected(by response: HTTPResponse) throws(HTTPError) -> HTTPRequest? {
    guard [301, 302, 303, 307, 308].contains(response.status), !expectedStatuses.contains(response.status) else {
      return nil
    }
    let failure = Failure(of: self)
    let locations = response.headers.values("Location")
    guard locations.count == 1, let from = HTTPURL(url), let to = from.resolving(locations[0]) else {
      throw failure.unusableRedirect(elapsed: response.elapsed)
    }
    guard redirects.allows(from, to) else { throw failure.refusedRedirect(to: to, elapsed: response.elapsed) }
    var next = self
    next.url = to.text
    // A query that the request didn't contain may be signed.
    if to.query != from.query { next.hidesQuery = true }
    if from.origin == to.origin {
      let given = HTTPQuery(decoding: to.query ?? "")
      next.url = to.text.addingQuery(standingQuery.items.filter { given[$0.name] == nil })
    }
    if response.status < 303, method != "GET", method != "HEAD" {
      throw failure.redirectedWrite(to: next, response.status, elapsed: response.elapsed)
    }
    if response.status == 303 && method != "HEAD" {
      next.method = "GET"
      next.body = nil
      next.headers["Content-Type"] = nil
    }
    if from.origin != to.origin {
      let names = credentialHeaders.union(HTTPRequest.standardCredentialHeaders)
      next.headers.fields.removeAll { field in names.contains { field.isNamed($0) } }
    }
    return next
  }

  /// Refuses what would not arrive as it is written, or would arrive as something else.
  func validate() throws(HTTPError) {
    let failure = Failure(of: self)
    guard HTTPURL(url) != nil else {
      throw failure.invalid("the URL isn't an http or https URL; percent-encode what is not plain ASCII.")
    }
    guard method.isHTTPToken else { throw failure.invalid("the method is not a word.") }
    for field in headers.fields {
      if let fault = HTTPRequest.fault(ofHeader: field.name, field.value) { throw failure.invalid(fault.message) }
    }
  }

  /// Why a header field can't be sent, and whether its name is the reason; nil if it can.
  package static func fault(ofHeader name: String, _ value: String) -> (message: String, isOfName: Bool)? {
    if !name.isHTTPToken {
      return (
        "a header's name is one word, of letters, digits and signs such as '-', and '\(name.excerpt(60))' isn't.", true
      )
    }
    if value.utf8.contains(where: { $0 < 0x20 && $0 != ASCII.tab || $0 == 0x7F }) {
      return ("the header \(name) holds a line break or another control character.", false)
    }
    let field = HTTPHeaders.Field(name, value)
    if field.isNamed("Content-Length") || field.isNamed("Transfer-Encoding") {
      return ("the header \(name) follows from the body; leave it out.", true)
    }
    return nil
  }
}

extension String {
  /// The address with more items in its query; a fragment, which is no part of a request, is dropped.
  package func addingQuery(_ items: [HTTPQuery.Item]) -> String {
    let address = String(prefix { $0 != "#" })
    if items.isEmpty { return address }
    let separator = address.hasSuffix("?") || address.hasSuffix("&") ? "" : address.contains("?") ? "&" : "?"
    return address + separator + HTTPQuery(items).encoded
  }

  /// Whether the text is a token (RFC 9110, section 5.6.2), as methods and names of fields are.
  fileprivate var isHTTPToken: Bool {
    !isEmpty
      && utf8.allSatisfy { byte in
        switch byte {
        case ASCII.digits, ASCII.uppercase, ASCII.lowercase: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
      }
  }
}
