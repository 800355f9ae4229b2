import Basics
import Foundation
import Recipes
import Scheduler
import Testing

@testable import Agent

/// Which files of a folder on disk a pattern names.
@Suite(.timeLimit(.minutes(5))) struct FileTriggerTests {
  /// A folder with files.
  private struct Inbox {
    private let folder: TemporaryFolder
    var root: URL { URL(filePath: folder.path) }

    init() throws {
      folder = try ScheduleHostTests.folder([:])
      try FileManager.default.createDirectory(
        at: root.appending(path: "in/deep"), withIntermediateDirectories: true)
    }

    func write(_ text: String, to path: String) throws {
      try Files.write(Array(text.utf8), to: root.appending(path: path).path)
    }
  }

  @Test func `only regular files with a matching name count, and none through links`() throws {
    let inbox = try Inbox()
    for path in ["in/a.csv", "in/b.txt", "in/.c.csv", "in/deep/d.csv", "e.csv", "in/.csv"] {
      try inbox.write("1", to: path)
    }
    try FileManager.default.createDirectory(
      at: inbox.root.appending(path: "in/f.csv"), withIntermediateDirectories: true)
    for (link, target) in [("in/g.csv", "a.csv"), ("out", "in"), ("in/link", "deep")] {
      try FileManager.default.createSymbolicLink(
        atPath: inbox.root.appending(path: link).path, withDestinationPath: target)
    }
    _ = mkfifo(inbox.root.appending(path: "in/h.csv").path, 0o644)
    for (path, found, folders) in [
      ("in/*.csv", "in/a.csv", "in"), ("*.csv", "e.csv", ""), ("out/*.csv", "", ""),
      ("in/*/*.csv", "in/deep/d.csv", "in in/deep in/f.csv"),
      ("in/link/*.csv", "", "in"), ("*/a.csv", "in/a.csv", " in"), ("in/a.csv", "in/a.csv", "in"),
      ("in/.*", "in/.c.csv in/.csv", "in"),
      ("none/*.csv", "", ""), ("in/g.csv", "", "in"), ("in/a*b*", "", "in"), ("in/*", "in/a.csv in/b.txt", "in"),
    ] {
      let listing = WatchedFolder.disk(inbox.root.path).list(try FilePattern.read(path).get())
      #expect(listing.files.map(\.path).sorted().joined(separator: " ") == found, "\(path)")
      #expect(listing.folders.sorted().joined(separator: " ") == folders, "\(path)")
    }
  }

  @Test(arguments: [
    ("*", "a", true), ("*", ".a", false), (".*", ".a", true), (".*", "..", false), ("*", "", true),
    ("a*c", "abc", true),
    ("a*c", "abcd", false), ("*a*b*", "xxaxxbxx", true), ("*a*b*", "xxbxxa", false), ("a**b", "ab", true),
    ("*.csv", ".csv", false), ("a", "a", true), ("a", "ab", false), ("?", "a", false), ("*é", "né", true),
  ])
  func `a name matches a part`(_ part: String, _ name: String, _ matches: Bool) {
    #expect(FilePattern.part(part, matches: name) == matches)
  }
}
