import Basics
import Foundation
import Glibc
import ProcessTestKit
import Synchronization

@testable import Agent

/// A process that listens in a folder and answers with any bytes, on a thread that may block.
///
/// One connection after another is read up to the end of its request, answered and closed. A connection without a
/// request, as that of a client that only looks for an agent, doesn't count.
final class ScriptedServer: Sendable {
  struct Request: Sendable {
    /// Its first line and its fields.
    var head: [String]
    var body: [UInt8]

    func field(_ name: String) -> String? {
      head.first { $0.hasPrefix("\(name): ") }.map { String($0.dropFirst(name.count + 2)) }
    }
  }

  /// The way back to the client.
  struct Client {
    fileprivate let socket: Int32

    /// Sends bytes; false if the client has gone.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
      var sent = 0
      while sent < bytes.count {
        let count = bytes[sent...].withUnsafeBytes { Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        guard count > 0 else { return false }
        sent += count
      }
      return true
    }

    @discardableResult
    func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    /// Sends the same bytes again and again, up to a number of times; returns how many times the client took them.
    func send(_ bytes: [UInt8], upTo times: Int) -> Int { (0..<times).first { _ in !send(bytes) } ?? times }
  }

  /// The socket that listens, which is closed when nothing uses it any more.
  private final class Listener: Sendable {
    let number: Int32

    init(_ number: Int32) { self.number = number }

    deinit { Glibc.close(number) }
  }

  private final class Requests: Sendable {
    private let content = Mutex<[Request]>([])

    var all: [Request] { content.withLock { $0 } }

    /// Notes a request; returns how many there were.
    func add(_ request: Request) -> Int {
      content.withLock { content in
        content.append(request)
        return content.count
      }
    }
  }

  let folder: TemporaryFolder
  private let lock: FolderLock
  private let listener: Listener
  private let seen: Requests

  /// - Parameters:
  ///   - program: The program that holds the folder, as its lock names it.
  ///   - answer: Answers a request; `number` counts from 1.
  init(
    program: String = "errand 0.5",
    _ answer: @escaping @Sendable (_ request: Request, _ number: Int, _ client: Client) -> Void
  ) throws {
    let folder = try TemporaryFolder()
    let lock = try FolderLock.acquire(folder.path, program: program)
    let (listener, seen) = (Listener(try SocketAddress.listen(in: folder.path, holding: lock)), Requests())
    // The thread waits for clients.
    _ = fcntl(listener.number, F_SETFL, 0)
    (self.folder, self.lock, self.listener, self.seen) = (folder, lock, listener, seen)
    // Ends when the socket is shut down.
    Thread.detachNewThread {
      while true {
        let socket = accept(listener.number, nil, nil)
        guard socket >= 0 else { return }
        if let request = ScriptedServer.request(from: socket) {
          answer(request, seen.add(request), Client(socket: socket))
        }
        Glibc.close(socket)
      }
    }
  }

  /// Answers with the same bytes each time.
  convenience init(answering bytes: [UInt8]) throws { try self.init { _, _, client in client.send(bytes) } }

  deinit { leave() }

  /// The requests so far.
  var requests: [Request] { seen.all }

  /// Ends as an agent does that leaves.
  func leave() {
    SocketAddress.remove(from: folder.path)
    shutdown(listener.number, Int32(SHUT_RDWR))
  }

  private static func request(from socket: Int32) -> Request? {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) {
      guard recv(socket, &byte, 1, 0) == 1 else { return nil }
      bytes.append(byte)
    }
    let head = String(decoding: bytes.dropLast(4), as: UTF8.self).components(separatedBy: "\r\n")
    var request = Request(head: head, body: [])
    var left = request.field("Content-Length").flatMap { Int($0) } ?? 0
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while left > 0 {
      let count = recv(socket, &chunk, min(left, chunk.count), 0)
      guard count > 0 else { return nil }
      request.body += chunk[..<count]
      left -= count
    }
    return request
  }
}
