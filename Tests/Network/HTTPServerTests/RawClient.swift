import Foundation
import Glibc

/// Sends bytes over a socket that no HTTP client would send, on a thread that may block.
enum RawClient {
  /// Sends bytes to the server and returns its answer, up to the end of the connection or up to a given text.
  ///
  /// - Parameter finishes: whether the sending half is closed after the bytes.
  static func answer(to text: String, port: Int, finishes: Bool = true, until end: String? = nil) async -> String {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        let descriptor = connected(to: port)
        defer { close(descriptor) }
        send(text, over: descriptor)
        if finishes { shutdown(descriptor, Int32(SHUT_WR)) }
        continuation.resume(returning: receive(from: descriptor, until: end))
      }
    }
  }

  /// Connections over which the beginning of a request is sent.
  static func unfinished(_ count: Int, _ text: String, port: Int) -> [Int32] {
    (0..<count).map { _ in
      let descriptor = connected(to: port)
      send(text, over: descriptor)
      return descriptor
    }
  }

  /// What still comes over a connection, which is closed then.
  static func answer(over descriptor: Int32) async -> String {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        defer { close(descriptor) }
        continuation.resume(returning: receive(from: descriptor, until: nil))
      }
    }
  }

  static func hangUp(_ descriptors: [Int32]) { for descriptor in descriptors { close(descriptor) } }

  private static func connected(to port: Int) -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        _ = connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    return descriptor
  }

  private static func send(_ text: String, over descriptor: Int32) {
    let bytes = Array(text.utf8)
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      // A server that has seen enough hangs up.
      if count <= 0 { return }
      sent += count
    }
  }

  private static func receive(from descriptor: Int32, until end: String?) -> String {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      guard count > 0 else { break }
      bytes += buffer[..<count]
      if let end, String(decoding: bytes, as: UTF8.self).contains(end) { break }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
