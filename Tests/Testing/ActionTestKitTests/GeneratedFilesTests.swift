import ActionTestKit
import Foundation
import Testing

@Suite struct GeneratedFilesTests {
  let file = FileManager.default.temporaryDirectory.appending(path: "errand-\(UUID().uuidString).md")

  @Test func `accepts a file that is what would be written`() throws {
    try Data("é\n".utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    expectGenerated(file, "é\n", by: "make pages")
  }

  @Test func `names the command for a file that is missing`() {
    expectIssue("\(file.lastPathComponent) is missing: run 'make pages'") {
      expectGenerated(file, "a\n", by: "make pages")
    }
  }

  @Test(
    arguments: [
      ("a\nb\n", "a\nc\n", "line 2 is    b\nand should be c"), ("a", "a\nb", "line 2 is    \nand should be b"),
      // Equal to Swift, and not the same file.
      ("e\u{301}", "é", "line 1 is    e\u{301}\nand should be é"),
    ])
  func `shows the first line that differs`(old: String, new: String, difference: String) throws {
    try Data(old.utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    expectIssue("\(file.lastPathComponent) is out of date: run 'make pages'\n\(difference)") {
      expectGenerated(file, new, by: "make pages")
    }
  }

  /// Checks that the body records one issue with that comment.
  private func expectIssue(_ comment: String, _ body: () -> Void) {
    withKnownIssue {
      body()
    } matching: { issue in
      issue.comments.map(\.rawValue) == [comment]
    }
  }
}
