import Basics
import CZlib
import HTTPTypes

/// Compresses with gzip (RFC 1952).
package enum Gzip {
  /// The bytes compressed; nil if that isn't shorter, or if zlib can't be loaded.
  ///
  /// - Parameter level: From 1, the fastest, to 9, the shortest.
  package static func packed(_ bytes: [UInt8], level: Int32) -> [UInt8]? {
    guard bytes.count > 1, czlib_load() == nil else { return nil }
    let packed = [UInt8](unsafeUninitializedCapacity: bytes.count - 1) { output, count in
      bytes.withUnsafeBytes { input in
        guard let from = input.baseAddress, let to = output.baseAddress else { return }
        count = czlib_pack(from, input.count, to, output.count, level)
      }
    }
    return packed.isEmpty ? nil : packed
  }
}

extension HTTPServerResponse {
  // For shorter texts, it would save no packet. Longer ones would keep a thread from other requests.
  private static let compressible = 1025...(2 << 20)
  // A page of 100 KB is a tenth of that with it, in a millisecond.
  private static let level: Int32 = 4

  /// The answer compressed with gzip, if it is a text that is worth it and the client takes that.
  package func compressed(for request: HTTPServerRequest) -> HTTPServerResponse {
    guard case .bytes(let bytes) = body, HTTPServerResponse.compressible.contains(bytes.count), isText,
      headers["Content-Encoding"] == nil
    else { return self }
    var response = self
    response.headers["Vary"] = "Accept-Encoding"
    guard request.acceptsGzip, let packed = Gzip.packed(bytes, level: HTTPServerResponse.level) else { return response }
    response.headers["Content-Encoding"] = "gzip"
    response.body = .bytes(packed)
    return response
  }

  private var isText: Bool {
    let type = headers["Content-Type"] ?? ""
    return type.hasPrefix("text/") && !type.hasPrefix("text/event-stream") || type.hasPrefix("application/json")
      || type.hasPrefix("application/problem+json") || type.hasPrefix("image/svg+xml")
  }
}

extension HTTPServerRequest {
  /// Whether the client names gzip among the encodings that it takes, and not with a weight of zero (RFC 9110, section
  /// 12.5.3).
  package var acceptsGzip: Bool {
    for field in headers.values("Accept-Encoding") {
      for item in field.split(separator: ",") {
        let parts = item.split(separator: ";").map { String($0).trimmed.lowercasedASCII }
        guard let name = parts.first, ["gzip", "x-gzip"].contains(name) else { continue }
        let weight = parts.dropFirst().first { $0.hasPrefix("q=") }?.dropFirst(2)
        return weight.map { (Double($0) ?? 0) > 0 } ?? true
      }
    }
    return false
  }
}
