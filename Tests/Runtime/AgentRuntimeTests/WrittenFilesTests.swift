import ActionKit
import Agent
import Basics
import Foundation
import Glibc
import Testing

@testable import AgentRuntime

/// Files of runs: only a file that the run may have written, and only as it left it.
@Suite struct WrittenFilesTests {
  private final class Folder: Sendable {
    let path = FileManager.default.temporaryDirectory.appending(path: "written-\(UUID().uuidString)").path
    let workspace: Workspace

    init() throws {
      let path = self.path
      for name in ["recipes", "data", "sub", "out"] {
        try FileManager.default.createDirectory(atPath: "\(path)/\(name)", withIntermediateDirectories: true)
      }
      func write(_ name: String, _ text: String = "text") throws {
        try text.write(toFile: "\(path)/\(name)", atomically: true, encoding: .utf8)
      }
      try write("errand.yaml", "state: data\n")
      for name in ["ok.txt", "out/table.csv", "data/state.json", "recipes/a.yaml", "recipes/a.txt", ".hidden"] {
        try write(name)
      }
      let files = FileManager.default
      try files.createSymbolicLink(atPath: "\(path)/link.txt", withDestinationPath: "ok.txt")
      try files.createSymbolicLink(atPath: "\(path)/way", withDestinationPath: "out")
      try files.linkItem(atPath: "\(path)/errand.yaml", toPath: "\(path)/hard.txt")
      try files.linkItem(atPath: "\(path)/data/state.json", toPath: "\(path)/state.txt")
      #expect(mkfifo("\(path)/pipe", 0o600) == 0)
      #expect(files.createFile(atPath: "\(path)/large", contents: nil))
      #expect(truncate("\(path)/large", 64 << 20 + 1) == 0)
      workspace = try Workspace(
        catalog: ActionCatalog([]), configurationPath: "\(path)/errand.yaml", stateFolder: nil, show: { _ in })
    }
    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The text of a file, or why it isn't shown.
    func text(_ name: String, bytes: Int? = nil, writtenAt: Timestamp = .latest) async -> String {
      let path = name.hasPrefix("/") ? name : "\(path)/\(name)"
      let file = WrittenFile(name: name, path: path, step: "s", bytes: bytes, writtenAt: writtenAt)
      do throws(RequestRefusedError) {
        return String(decoding: try await workspace.bytes(of: file), as: UTF8.self)
      } catch {
        return "\(error.kind.rawValue): \(error.message)"
      }
    }
  }

  @Test(arguments: ["ok.txt", "out/table.csv", "recipes/a.txt"])
  func `a file that a run may have written is read`(_ name: String) async throws {
    #expect(try await Folder().text(name, bytes: 4) == "text")
  }

  @Test(arguments: [
    "../x", "out/../ok.txt", "link.txt", "way/table.csv", "data/state.json", "state.txt", "errand.yaml", "hard.txt",
    "recipes/a.yaml", "recipes/b.yaml", ".hidden", "pipe", "sub", ".", "large", "/etc/passwd", "/", "a\u{0}b",
  ])
  func `anything else isn't`(_ name: String) async throws {
    let told = try await Folder().text(name)
    #expect(told.hasPrefix("notFound: '\(name)' isn't shown: only regular files of up to 64 MiB are"), "\(told)")
  }

  @Test func `a file that has changed since the run wrote it isn't shown`() async throws {
    let folder = try Folder()
    #expect(await folder.text("ok.txt", bytes: 5) == "conflict: 'ok.txt' has changed since the run wrote it")
    #expect(await folder.text("gone.txt") == "notFound: 'gone.txt' isn't there any more")
    var status = stat()
    #expect(stat("\(folder.path)/ok.txt", &status) == 0)
    let written = try #require(
      Timestamp(seconds: status.st_ctim.tv_sec, nanoseconds: status.st_ctim.tv_nsec))
    #expect(await folder.text("ok.txt", bytes: 4, writtenAt: written) == "text")
    // As long, and with the time set back.
    while true {
      try "swap".write(toFile: "\(folder.path)/ok.txt", atomically: true, encoding: .utf8)
      let times = [status.st_atim, status.st_mtim]
      #expect(utimensat(AT_FDCWD, "\(folder.path)/ok.txt", times, 0) == 0)
      var swapped = stat()
      #expect(stat("\(folder.path)/ok.txt", &swapped) == 0)
      // The file system's clock may not have moved on.
      let isLater = (swapped.st_ctim.tv_sec, swapped.st_ctim.tv_nsec) > (status.st_ctim.tv_sec, status.st_ctim.tv_nsec)
      if isLater { break }
    }
    #expect(
      await folder.text("ok.txt", bytes: 4, writtenAt: written)
        == "conflict: 'ok.txt' has changed since the run wrote it")
  }
}
