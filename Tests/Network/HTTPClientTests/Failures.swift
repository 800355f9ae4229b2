import Basics
import Foundation
import HTTPClient

/// The error that something throws, or nil.
func failure(_ body: () async throws(HTTPError) -> some Sendable) async -> HTTPError? {
  do throws(HTTPError) {
    _ = try await body()
    return nil
  } catch { return error }
}

extension HTTPRequest {
  /// A request with two secrets in its URL.
  static func secret(_ base: String, limits: HTTPLimits = HTTPLimits()) -> HTTPRequest {
    HTTPRequest(
      "GET", "\(base)/p?a=1&ApiKey=hunter2&%61pi%50assword=hunter2%3D#hunter2", limits: limits,
      redactedParameters: ["apikey", "apipassword"])
  }

  /// How errors show that.
  static func displayed(_ base: String) -> String { "GET \(base)/p?a=1&ApiKey=•••&%61pi%50assword=•••" }
}
