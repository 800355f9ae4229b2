public import Basics

/// Why a body is not the JSON that was expected.
public struct JSONBodyError: Error, CustomStringConvertible {
  /// What it is instead, as it follows "it is": `a web page`.
  public var description: String
  /// Whether it is a web page, which mostly means that something else answered.
  public var isPage: Bool
}

extension HTTPResponse {
  /// The body as JSON, whatever the status says.
  public func json() throws(JSONBodyError) -> Value {
    guard String(validating: body, as: UTF8.self) != nil else {
      throw JSONBodyError(description: "no UTF-8", isPage: false)
    }
    do throws(JSONError) {
      return try JSON.parse(body)
    } catch {
      let space: [UInt8] = [ASCII.space, ASCII.tab, ASCII.newline, ASCII.carriageReturn]
      let isPage = body.first { !space.contains($0) } == ASCII.less
      throw JSONBodyError(description: isPage ? "a web page" : "no whole JSON (\(error))", isPage: isPage)
    }
  }
}
