import ActionKit
import ActionTestKit
import Foundation
import Glibc
import HTTPServer
import Testing

@testable import HTTPPlugin

/// Downloads into a folder that is being replaced by a symbolic link.
@Suite(.timeLimit(.minutes(2))) struct SwappedFolderTests {
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
    withKnownIssue("its note is written through the link, and the file cannot be renamed") {
      #expect(outcome?["bytes"]?.int == 3)
      try #expect(FileManager.default.contentsOfDirectory(atPath: "\(root)/in/moved") == ["x"])
      try #expect(FileManager.default.contentsOfDirectory(atPath: "\(root)/out") == [])
    }
  }
}
