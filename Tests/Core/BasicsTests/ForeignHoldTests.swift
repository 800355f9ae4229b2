import Foundation
import Glibc
import Testing

@testable import Basics

@Suite struct ForeignHoldTests {
  /// A folder in a folder, with a file.
  private final class Place: Sendable {
    let outer = FileManager.default.temporaryDirectory.appending(path: "hold-\(UUID().uuidString)").path
    var folder: String { "\(outer)/folder" }
    var file: String { "\(folder)/file" }

    init() throws {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try Data().write(to: URL(filePath: file))
      for (path, mode) in [(outer, 0o755), (folder, 0o755), (file, 0o644)] { #expect(chmod(path, mode_t(mode)) == 0) }
    }
    deinit { try? FileManager.default.removeItem(atPath: outer) }

    func reason(_ hold: ForeignHold?) -> String? { hold?.description.replacing(outer, with: "O") }
  }

  private let me = ForeignHold.name(of: geteuid())

  @Test(arguments: [
    (0o755, 0o755, 0o644, nil), (0o755, 0o755, 0o600, nil),
    (0o755, 0o755, 0o666, "O/folder/file"), (0o755, 0o755, 0o646, "O/folder/file"),
    (0o755, 0o777, 0o644, "O/folder"),
    // Only owners may rename and remove its entries, but others may add entries.
    (0o755, 0o1777, 0o644, "O/folder"), (0o755, 0o1777, 0o666, "O/folder/file"),
    // One folder above is looked at.
    (0o777, 0o755, 0o644, nil), (0o1777, 0o755, 0o644, nil),
  ])
  func `a file that others may change is told with the command that forbids it`(
    _ outer: Int, _ folder: Int, _ file: Int, _ held: String?
  ) throws {
    let place = try Place()
    for (path, mode) in [(place.outer, outer), (place.folder, folder), (place.file, file)] {
      #expect(chmod(path, mode_t(mode)) == 0)
    }
    let wanted = held.map {
      "users other than its owner, \(me), may write to '\($0)'; "
        + (folder == 0o1777 && $0 == "O/folder"
          ? "put it into a folder of your own" : "forbid it with: chmod go-w \($0)")
    }
    #expect(place.reason(.of(place.file)) == wanted)
    if outer == 0o777 { #expect(place.reason(.of(place.file, folders: 2))?.contains("may write to 'O'") == true) }
  }

  @Test func `a link and what it leads to are both looked at`() throws {
    let (place, other) = (try Place(), try Place())
    let link = "\(place.folder)/link"
    #expect(symlink(other.file, link) == 0)
    #expect(ForeignHold.of(link) == nil)
    #expect(chmod(other.file, 0o666) == 0)
    #expect(ForeignHold.of(link)?.path == other.file)
    #expect(chmod(other.file, 0o644) == 0 && chmod(other.folder, 0o777) == 0)
    #expect(ForeignHold.of(link)?.path == other.folder)
    #expect(ForeignHold.of("\(place.folder)/missing") == nil)
  }

  @Test func `who may change a link in the middle, changes where it leads`() throws {
    let (place, other) = (try Place(), try Place())
    let (middle, link) = ("\(other.outer)/middle", "\(place.folder)/link")
    #expect(symlink(place.outer, middle) == 0 && symlink("\(middle)/folder/file", link) == 0)
    #expect(ForeignHold.of(link) == nil)
    #expect(chmod(other.outer, 0o1777) == 0 && ForeignHold.of(link) == nil)
    #expect(chmod(other.outer, 0o777) == 0 && ForeignHold.of(link)?.path == other.outer)
    guard geteuid() == 0 else { return }
    #expect(chmod(other.outer, 0o755) == 0 && lchown(middle, 12345, 12345) == 0)
    #expect(ForeignHold.of(link)?.path == middle)
  }

  /// Only root gives files away.
  @Test(.enabled(if: geteuid() == 0)) func `what belongs to another user is told with the command that takes it over`()
    throws
  {
    let place = try Place()
    #expect(chown(place.file, 12345, 12345) == 0)
    #expect(
      place.reason(.of(place.file))
        == "'O/folder/file' belongs to the user 12345, and this is root; take it over with: chown root O/folder/file")
    #expect(chown(place.file, 0, 0) == 0 && chown(place.folder, 12345, 12345) == 0)
    #expect(ForeignHold.of(place.file)?.path == place.folder)
    // In a folder where only owners may rename, the file's owner counts.
    #expect(chown(place.folder, 0, 0) == 0 && chmod(place.folder, 0o1777) == 0 && chown(place.file, 12345, 0) == 0)
    #expect(ForeignHold.of(place.file)?.isOwn == false)
    // Root's group has others in it on some machines.
    #expect(chown(place.file, 0, 0) == 0 && chmod(place.file, 0o664) == 0)
    #expect(ForeignHold.of(place.file)?.path == place.file)
  }
}
