import ActionKit
import Foundation
import Testing

@testable import LocalFiles

@Suite struct FolderCopyTests {
  @Test(arguments: ["/tmp/joerg", "/tmp/jörg", "/tmp/jo\u{308}rg", "/tmp/王/学校"])
  func `a path leads to the copy of its folder, whatever letters that has`(_ original: String) throws {
    let base = FileManager.default.temporaryDirectory.appending(path: "copy-ö-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: base) }
    let copy = try FolderCopy(of: original, in: base, besides: OwnFiles())
    #expect(copy.place(of: original) == copy.folder)
    #expect(copy.place(of: "\(original)/a/é") == "\(copy.folder)/a/é")
    #expect(copy.place(of: "\(copy.folder)/a") == "\(copy.folder)/a")
    #expect(copy.place(of: "\(copy.folderOfMadeUpFiles)/a") == "\(copy.folder)/a")
    #expect(copy.place(of: "\(original)s/a") == "\(base)/others\(original)s/a")
  }

  @Test func `all is in a copy of the root`() throws {
    let base = FileManager.default.temporaryDirectory.appending(path: "copy-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: base) }
    let copy = try FolderCopy(of: "/", in: base, besides: OwnFiles())
    #expect(copy.place(of: "/etc/hosts") == "\(copy.folder)/etc/hosts")
  }
}
