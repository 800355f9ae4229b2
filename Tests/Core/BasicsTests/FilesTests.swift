import Foundation
import Glibc
import Testing

@testable import Basics

@Suite final class FilesTests {
  let folder = NSTemporaryDirectory() + "errand-files-" + UUID().uuidString

  init() throws { try Files.makeFolder(folder) }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  @Test func `replaces a file in one step and leaves nothing else`() throws {
    let path = folder + "/state.json"
    let large = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    for bytes in [[], Array("one".utf8), large, Array("two".utf8)] {
      try Files.write(bytes, to: path, mode: 0o600)
      #expect(try Files.read(path) == bytes)
      #expect(try Files.list(folder) == ["state.json"])
    }
    var status = stat()
    #expect(stat(path, &status) == 0)
    #expect(status.st_mode & 0o7777 == 0o600)
  }

  @Test func `replaces what was read, and nothing that was written meanwhile`() throws {
    let path = "\(folder)/\(String(repeating: "n", count: 250))"
    try Files.write([1], to: path)
    let isReplaced = try Files.replace([1], with: [2], at: path)
    #expect(isReplaced)
    let isOld = try Files.replace([1], with: [3], at: path)
    #expect(!isOld)
    // An editor saves while the new bytes are synced.
    let isKept = try Files.replace([2], with: [3], at: path) { try? Files.write([9], to: path) }
    #expect(!isKept)
    #expect(try Files.read(path) == [9])
    #expect(try Files.list(folder).count == 1)
  }

  @Test func `leaves the old file and no other when it cannot replace it`() throws {
    // A folder that is not empty cannot be renamed over.
    let path = folder + "/taken"
    try Files.makeFolder(path + "/inside")
    #expect(throws: FileError(.write, path, .system(EISDIR))) { try Files.write([1], to: path) }
    #expect(try Files.list(folder) == ["taken"])
    #expect(try Files.kind(of: path + "/inside") == .folder)
  }

  @Test func `passes over a temporary file that was left behind`() throws {
    let path = folder + "/a"
    // The next few names of this process.
    for number in 1...5000 where number % 2 == 0 {
      _ = FileManager.default.createFile(atPath: "\(path).\(getpid())-\(number).new", contents: nil)
    }
    try Files.write([1], to: path)
    #expect(try Files.read(path) == [1])
  }

  @Test func `what killed writers of a file left goes once it is old, and nothing else does`() throws {
    let path = folder + "/left"
    let manager = FileManager.default
    // No process has that number, which is above the largest.
    let (dead, old) = (4_194_305, Date(timeIntervalSinceNow: -7200))
    let files: [(name: String, isOld: Bool, stays: Bool)] = [
      ("left.\(dead)-1.new", true, false), ("left.\(dead)-2.new", false, true), ("left.\(getppid())-1.new", true, true),
      ("left.notes.new", true, true), ("other.\(dead)-1.new", true, true), ("left.\(dead)-1.txt", true, true),
    ]
    for file in files {
      #expect(manager.createFile(atPath: "\(folder)/\(file.name)", contents: nil))
      if file.isOld { try manager.setAttributes([.modificationDate: old], ofItemAtPath: "\(folder)/\(file.name)") }
    }
    try Files.write([1], to: path)
    for file in files { #expect(manager.fileExists(atPath: "\(folder)/\(file.name)") == file.stays, "\(file.name)") }
  }

  @Test func `refuses to read more than the limit`() throws {
    let path = folder + "/a"
    try Files.write([1, 2, 3], to: path)
    #expect(try Files.read(path, limit: 3) == [1, 2, 3])
    #expect(throws: FileError(.read, path, .tooLarge(limit: 2))) { try Files.read(path, limit: 2) }
    #expect(
      FileError(.read, "a", .tooLarge(limit: 2)).description
        == "cannot read 'a': it has more than the 2 bytes that are allowed")
  }

  @Test(.timeLimit(.minutes(20))) func `reads regular files alone, and waits for nothing else`() throws {
    try #require(mkfifo(folder + "/pipe", 0o600) == 0)
    try #require(mknod(folder + "/socket", S_IFSOCK | 0o600, 0) == 0)
    let cases: [(path: String, what: FileError.Special)] = [
      (folder + "/pipe", .pipe), (folder + "/socket", .socket), ("/dev/zero", .device),
    ]
    for (path, what) in cases {
      #expect(throws: FileError(.read, path, .notRegular(what))) { try Files.read(path) }
    }
    #expect(throws: FileError(.read, folder, .system(EISDIR))) { try Files.read(folder) }
    #expect(
      FileError(.read, "a", .notRegular(.pipe)).description == "cannot read 'a': it is a pipe, not a regular file")
    // A shell's <(…) is a pipe that this process owns.
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    #expect(write(ends[1], "given", 5) == 5)
    close(ends[1])
    #expect(try Files.read("/dev/fd/\(ends[0])") == Array("given".utf8))
    close(ends[0])
  }

  @Test func `reads files that do not say how long they are`() throws {
    #expect(try Files.read("/proc/self/stat").isEmpty == false)
  }

  @Test func `makes folders with those above them, as often as one likes`() throws {
    for path in ["/a/b/c", "/a/b/c", "//a//d/", "/a"] { try Files.makeFolder(folder + path) }
    #expect(try Files.list(folder + "/a") == ["b", "d"])
    try Files.write([], to: folder + "/file")
    #expect(throws: FileError(.makeFolder, folder + "/file", .system(ENOTDIR))) {
      try Files.makeFolder(folder + "/file")
    }
    #expect(throws: FileError(.makeFolder, folder + "/file/x", .system(ENOTDIR))) {
      try Files.makeFolder(folder + "/file/x")
    }
  }

  @Test func `removes what is there and needs nothing to be there`() throws {
    try Files.write([], to: folder + "/file")
    try Files.remove(folder + "/file")
    try Files.remove(folder + "/file")
    #expect(!Files.exists(folder + "/file"))
    #expect(try Files.kind(of: folder + "/file") == nil)
    try Files.makeFolder(folder + "/full/inside")
    #expect(throws: FileError(.remove, folder + "/full", .system(ENOTEMPTY))) { try Files.remove(folder + "/full") }
  }

  @Test(arguments: [
    (FileError(.write, "x", .system(ENOSPC)), "cannot write 'x': no space left on device (ENOSPC)"),
    (FileError(.read, "y/z", .system(ENOENT)), "cannot read 'y/z': no such file or folder (ENOENT)"),
    (FileError(.write, "x", .system(EIO)), "cannot write 'x': input or output error (EIO)"),
    (FileError(.makeFolder, "x", .system(99999)), "cannot make folder 'x': system error 99999"),
  ])
  func `says what could not be done and why`(_ error: FileError, _ text: String) {
    #expect(error.description == text)
  }

  @Test func `does not cut a path at a NUL`() {
    #expect(throws: FileError(.write, folder + "/a\0b", .system(EINVAL))) { try Files.write([], to: folder + "/a\0b") }
    #expect(throws: FileError(.read, folder + "\0/x", .system(EINVAL))) { try Files.read(folder + "\0/x") }
  }
}
