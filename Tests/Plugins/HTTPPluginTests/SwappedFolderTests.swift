import ActionKit
import ActionTestKit
import Foundation
import Glibc
import SandboxKit
import Synchronization
import Testing

@testable import HTTPPlugin

/// Downloads into a folder that is being replaced by a symbolic link.
@Suite(.timeLimit(.minutes(20))) struct SwappedFolderTests {
  @Test func `a link that comes into the folder's place meanwhile gets nothing`() async throws {
    let root = FileManager.default.temporaryDirectory.appending(path: "swap-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: root) }
    for name in ["in/sub", "out"] {
      try FileManager.default.createDirectory(atPath: "\(root)/\(name)", withIntermediateDirectories: true)
    }
    let server = try HTTPServer { _ in
      if rename("\(root)/in/sub", "\(root)/in/moved") != 0 || symlink("\(root)/out", "\(root)/in/sub") != 0 {
        return HTTPServerResponse(status: 500)
      }
      return HTTPServerResponse(headers: ["ETag": "\"a\""], body: .bytes([1, 2, 3]))
    }
    let service = try service(#"{ "folder": "in" }"#)
    let outcome = try? await run(
      "download", #"{ "url": "\#(server.baseURL)/x", "to": "sub/x" }"#, on: service, in: .testing(folder: root))
    await server.stop()
    #expect(outcome?["bytes"]?.int == 3)
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(root)/in/moved") == ["x"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(root)/out") == [])
  }

  @Test func `nothing is made outside while a link and the folder change places all the time`() async throws {
    let root = FileManager.default.temporaryDirectory.appending(path: "swap-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: root) }
    for name in ["in/sub", "out"] {
      try FileManager.default.createDirectory(atPath: "\(root)/\(name)", withIntermediateDirectories: true)
    }
    #expect(symlink("\(root)/out", "\(root)/in/link") == 0)
    // Whatever appears outside is told of, also what is gone again.
    let watch = inotify_init1(Int32(IN_NONBLOCK))
    defer { close(watch) }
    #expect(inotify_add_watch(watch, "\(root)/out", UInt32(IN_CREATE | IN_MOVED_TO | IN_DELETE)) >= 0)
    let isOver = Mutex(false)
    let swaps = Mutex(0)
    let swapper = Thread {
      while !isOver.withLock({ $0 }) {
        exchange("\(root)/in/sub", "\(root)/in/link")
        swaps.withLock { $0 += 1 }
      }
    }
    let server = try HTTPServer { _ in
      HTTPServerResponse(headers: ["ETag": "\"a\""], body: .bytes([UInt8](repeating: 7, count: 10_000)))
    }
    let service = try service(#"{ "folder": "in" }"#)
    swapper.start()
    var done = 0
    for number in 0..<150 {
      let input = #"{ "url": "\#(server.baseURL)/x", "to": "sub/\#(number)" }"#
      if (try? await run("download", input, on: service, in: .testing(folder: root))) != nil { done += 1 }
    }
    isOver.withLock { $0 = true }
    await server.stop()
    // Some met the folder and some the link, or nothing was tried.
    #expect(done > 0 && done < 150)
    #expect(swaps.withLock { $0 } > 150)
    var events = [UInt8](repeating: 0, count: 4096)
    #expect(read(watch, &events, events.count) == -1)
    #expect(try FileManager.default.contentsOfDirectory(atPath: "\(root)/out") == [])
  }
}

/// Exchanges two paths in one step.
private func exchange(_ path: String, _ other: String) {
  // Looked up by name, because the headers declare it only with GNU's extensions.
  typealias Exchange = @convention(c) (Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32) -> Int32
  guard let symbol = dlsym(nil, "renameat2") else { return }
  _ = unsafeBitCast(symbol, to: Exchange.self)(AT_FDCWD, path, AT_FDCWD, other, 2)
}
