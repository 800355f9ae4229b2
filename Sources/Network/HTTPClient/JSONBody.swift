public import Basics

/// Why a body isn't the JSON that was expected.
public struct JSONBodyError: Error, CustomStringConvertible {
  /// The actual kind of the body, as it follows "it is": `a web page`.
  public var description: String
  /// Whether it is a web page, which usually means that something else answered.
  public var isPage: Bool
}

extension HTTPResponse {
  /// The body as JSON, regardless of the status.
  public func json() throws(JSONBodyError) -> Value {
    let text: [UInt8]
    do throws(CharsetError) { text = try ContentType(headers["Content-Type"]).utf8(of: body) } catch {
      throw JSONBodyError(description: "not valid \(error.charset.name)", isPage: false)
    }
    do throws(JSONError) {
      return try JSON.parse(text, allowing: .halfPairs)
    } catch {
      throw JSONBodyError(description: isPage ? "a web page" : "not valid JSON (\(error))", isPage: isPage)
    }
  }

  /// Whether the body begins as a web page does.
  package var isPage: Bool {
    let space: [UInt8] = [ASCII.space, ASCII.tab, ASCII.newline, ASCII.carriageReturn]
    return body.first { !space.contains($0) } == ASCII.less
  }
}
