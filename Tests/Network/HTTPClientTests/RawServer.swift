import Foundation
import Glibc
import Synchronization

/// A server that answers with bytes that aren't HTTP, on a thread that may block.
///
/// One request after another is read up to the end of its head. The answer is given back as it is; nil closes the
/// connection, and an answer without `keep` closes it after.
final class RawServer: Sendable {
  struct Answer: Sendable {
    /// The bytes to write, piece by piece.
    var pieces: [[UInt8]]
    var keep = false

    init(pieces: [[UInt8]]) { self.pieces = pieces }

    init(text: String, keep: Bool = false) {
      pieces = [Array(text.utf8)]
      self.keep = keep
    }
  }

  let port: Int
  private let listener: Int32
  private let seen = Mutex<[String]>([])

  init(answer: @escaping @Sendable (_ number: Int) -> Answer?) throws {
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = listener
    withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        _ = bind(descriptor, $0, size)
        _ = listen(descriptor, 16)
        _ = getsockname(descriptor, $0, &size)
      }
    }
    port = Int(UInt16(bigEndian: address.sin_port))
    Thread.detachNewThread { [weak self] in
      var number = 0
      while true {
        let connection = accept(descriptor, nil, nil)
        guard connection >= 0 else { return }
        while let head = RawServer.readHead(connection) {
          self?.seen.withLock { $0.append(head) }
          number += 1
          guard let reply = answer(number) else { break }
          for piece in reply.pieces { _ = Glibc.send(connection, piece, piece.count, Int32(MSG_NOSIGNAL)) }
          if !reply.keep { break }
        }
        close(connection)
      }
    }
  }

  deinit { shutdown(listener, Int32(SHUT_RDWR)) }

  /// The first lines of the requests that came.
  var requests: [String] { seen.withLock { $0.map { String($0.prefix { $0 != "\r\n" }) } } }

  private static func readHead(_ connection: Int32) -> String? {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) {
      guard recv(connection, &byte, 1, 0) == 1 else { return nil }
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
