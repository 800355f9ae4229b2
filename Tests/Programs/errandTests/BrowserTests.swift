import Foundation
import Testing

/// The pages in a real browser, Debian's Chromium; a machine without it fails, and names the package to install.
@Suite(.serialized, .timeLimit(.minutes(Clients.minutes + 1))) struct BrowserTests {
  @Test(arguments: ["appearance", "keyboard", "no-scripts", "editor"])
  func `people can use the pages, and all that is on them`(_ part: String) async throws {
    let (code, output) = try await Clients.run(
      "pages.py", [Program.binary.path, "--only", part], with: Clients.systemPython)
    #expect(code == 0, "\(output)")
    print(output)
  }

  @Test(.enabled(if: Clients.hasNginx, "Debian's nginx isn't there; `make clients` unpacks it"))
  func `links in mails decide nothing until a person presses a button, also behind a proxy`() async throws {
    let (code, output) = try await Clients.run("links.py", [Program.binary.path], with: Clients.systemPython)
    #expect(code == 0, "\(output)")
    print(output)
  }
}
