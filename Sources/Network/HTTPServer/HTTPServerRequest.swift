package import Basics
package import Glibc

@_exported public import HTTPTypes

/// A complete request.
package struct HTTPServerRequest: Sendable {
  /// The method as it was sent.
  package var method: String
  /// The target between method and version, as sent: `/a%20b?c=d`.
  package var target: String
  /// The header fields.
  package var headers: HTTPHeaders
  /// The body; empty if there is none.
  package var body: [UInt8]
  /// The account at the other end of a Unix socket, as the kernel names it; nil over the network.
  package var account: uid_t?
  /// The numeric address at the other end of the connection, over the network.
  package var address: String?

  package init(_ method: String, _ target: String, headers: HTTPHeaders = [:], body: [UInt8] = []) {
    self.method = method
    self.target = target
    self.headers = headers
    self.body = body
  }

  /// The path as sent; `%2F` in it isn't a separator.
  package var rawPath: String { String(Substring(target.utf8.prefix { $0 != ASCII.question })) }

  /// The path, percent-decoded; `+` is a plus.
  package var path: String { PercentEncoding.decode(rawPath, plusIsSpace: false) }

  /// The items of the query, decoded as forms are: `+` is a space.
  package var query: HTTPQuery {
    HTTPQuery(decoding: Substring(target.utf8.drop { $0 != ASCII.question }.dropFirst()))
  }

  /// The body's type, as the sender declares it.
  package var contentType: ContentType { ContentType(headers["Content-Type"]) }

  /// The items of the body, if it is a form; none if a field can't be read, and then `formFault` says why.
  package var form: HTTPQuery { (try? HTTPQuery(form: body, contentType)) ?? HTTPQuery() }

  /// Why the body can't be read as a form, in a sentence; nil if it can.
  package var formFault: String? {
    if contentType.name.hasPrefix("multipart/") {
      return "the body is '\(contentType.name.shortened(to: 60))'; send application/x-www-form-urlencoded"
    }
    do throws(CharsetError) {
      _ = try HTTPQuery(form: body, contentType)
      return nil
    } catch { return error.message }
  }
}
