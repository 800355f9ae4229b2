import ActionTestKit
import Basics
import Foundation
import Testing

@testable import errand_dev

@Suite(.timeLimit(.minutes(20))) struct VendoredEditorTests {
  @Test func `the committed files are those that NOTICE names`() throws {
    let notice = try packageFolder.appending(path: "NOTICE").text()
    for path in [VendoredEditor.script, VendoredEditor.style] {
      let digest = SHA256.digest(of: try VendoredEditor.unpacked(path, in: packageFolder)) ?? ""
      #expect(notice.contains("\n\(digest)\n"), "\(path)")
    }
  }

  @Test(.enabled(if: VendoredEditor.isThere, "the packages libjs-codemirror and terser aren't installed"))
  func `the committed files are what 'errand-dev vendor' makes of the packages`() throws {
    let (notice, made) = (try packageFolder.appending(path: "NOTICE").text(), try VendoredEditor())
    for fact in made.facts { #expect(notice.contains(fact), "\(fact)") }
    for file in made.files {
      #expect(try VendoredEditor.unpacked(file.path, in: packageFolder) == file.bytes, "\(file.path)")
    }
  }

  @Test func `the committed files hold no address of a picture, which the pages' policy would refuse`() throws {
    let style = String(decoding: try VendoredEditor.unpacked(VendoredEditor.style, in: packageFolder), as: UTF8.self)
    #expect(!style.contains("url(") && style.contains(".CodeMirror-hints"))
  }
}
