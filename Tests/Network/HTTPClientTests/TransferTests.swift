import Basics
import Foundation
import HTTPClient
import HTTPServer
import Synchronization
import Testing

/// Records the progress of transfers.
final class Follower: TransferFollower {
  let maySend: Bool
  private let told = Mutex<[(direction: Transfers.Direction, bytes: Int, total: Int?)]>([])

  init(maySend: Bool = true) { self.maySend = maySend }

  func transferred(_ direction: Transfers.Direction, _ bytes: Int, of total: Int?) {
    told.withLock { $0.append((direction, bytes, total)) }
  }

  /// The last progress of a direction; nil if there is none or if it ever decreased.
  func last(_ direction: Transfers.Direction) -> (bytes: Int, total: Int?)? {
    let own = told.withLock { $0 }.filter { $0.direction == direction }
    for (one, next) in zip(own, own.dropFirst()) where one.bytes > next.bytes { return nil }
    return own.last.map { ($0.bytes, $0.total) }
  }
}

@Suite(.timeLimit(.minutes(20))) struct TransferTests {
  /// A sink for a body that holds a reference to the client.
  private final class Holder: HTTPBodySink {
    let client: HTTPClient
    init(_ client: HTTPClient) { self.client = client }
    var bytesBefore: Int { 0 }
    func accepts(_ head: HTTPResponse) -> Bool { true }
    func receive(_ bytes: RawSpan) {}
  }

  @Test func `a client is let go of with what received a body, though that holds it`() async throws {
    let server = try HTTPServer { _ in .text("x") }
    weak var holder: Holder?
    do {
      let client = HTTPClient()
      let receiver = Holder(client)
      holder = receiver
      _ = try await client.send(HTTPRequest("GET", "\(server.baseURL)/"), into: receiver)
    }
    while holder != nil {
      try Task.checkCancellation()
      await Task.yield()
    }
    await server.stop()
  }

  @Test(arguments: [true, false])
  func `a follower is told of a body as it arrives, and of its size if that is known`(_ isKnown: Bool) async throws {
    let bytes = [UInt8](repeating: 7, count: 1_000_000)
    let server = try HTTPServer { _ in
      isKnown
        ? HTTPServerResponse(body: .bytes(bytes))
        : HTTPServerResponse(
          body: .stream { writer in for _ in 0..<4 { try await writer.write(Array(bytes[..<250_000])) } })
    }
    let follower = Follower()
    _ = try await Transfers.$follower.withValue(follower) {
      try await HTTPClient().send(HTTPRequest("GET", server.baseURL))
    }
    let last = try #require(follower.last(.download))
    #expect(last == (1_000_000, isKnown ? 1_000_000 : nil))
    #expect(follower.last(.upload) == nil)
    await server.stop()
  }

  @Test func `nothing is sent where the follower says at the last moment that nothing may be`() async throws {
    let count = Mutex(0)
    let server = try HTTPServer { _ in
      count.withLock { $0 += 1 }
      return HTTPServerResponse(status: 204)
    }
    let error = await #expect(throws: HTTPError.self) {
      try await Transfers.$follower.withValue(Follower(maySend: false)) {
        try await HTTPClient().send(HTTPRequest("POST", server.baseURL, body: [7]))
      }
    }
    #expect(error?.sent == .nothing && error?.kind == .cancelled)
    #expect(count.withLock { $0 } == 0)
    await server.stop()
  }

  @Test func `a follower is told of a large body that is sent, and not of a small one`() async throws {
    let server = try HTTPServer { _ in HTTPServerResponse(status: 204) }
    for (count, last) in [(3_000_000, 3_000_000), (1000, nil)] as [(Int, Int?)] {
      let follower = Follower()
      _ = try await Transfers.$follower.withValue(follower) {
        try await HTTPClient().send(
          HTTPRequest("POST", server.baseURL, body: [UInt8](repeating: 7, count: count)))
      }
      #expect(follower.last(.upload)?.bytes == last)
      #expect(follower.last(.upload)?.total == last)
    }
    await server.stop()
  }
}
