import ActionKit
import ActionTestKit
import Foundation
import Testing

@testable import LocalFiles

/// A folder that goes with the test.
private final class Folder: Sendable {
  let path = FileManager.default.temporaryDirectory.appending(path: "files-\(UUID().uuidString)").path

  init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
  deinit { try? FileManager.default.removeItem(atPath: path) }

  func write(_ text: String, to name: String) throws {
    try text.write(toFile: "\(path)/\(name)", atomically: true, encoding: .utf8)
  }
  func text(_ name: String) throws -> String { try String(contentsOfFile: "\(path)/\(name)", encoding: .utf8) }
  func link(_ name: String, to target: String) throws {
    try FileManager.default.createSymbolicLink(atPath: "\(path)/\(name)", withDestinationPath: target)
  }
  var names: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() } }
}

private func files(_ settings: KeyValuePairs<String, Value> = [:]) throws -> LocalFiles {
  LocalFiles(try LocalFilesConfiguration(checking: .object(settings)))
}

@Suite struct LocalFilesTests {
  private func located(
    _ path: String, in folder: Folder, _ settings: KeyValuePairs<String, Value> = [:]
  ) throws -> LocatedFile {
    try files(settings).file(path, in: .testing(folder: folder.path))
  }

  /// The message of the expected error, with the folder as `F`.
  private func failure(
    _ kind: ErrorKind, in folder: Folder, _ body: () async throws -> Void
  ) async -> String {
    do { try await body() } catch {
      let error = ActionError(error)
      #expect(error.kind == kind)
      #expect(error.effect == ActionError.Effect.none)
      return error.message.replacingOccurrences(of: folder.path, with: "F")
    }
    return "nothing failed"
  }

  @Test(arguments: [
    ("a.txt", "F/a.txt"), ("./a//b/./c.txt", "F/a/b/c.txt"), (".", "F"), ("F/a", "F/a"), ("F", "F"), ("a/", "F/a"),
    ("...", "'...' is hidden; say 'hidden: true' in the connection to use files whose names begin with a dot."),
    ("../x", "'../x' has '..' in it; a path of this connection says where it leads without going up."),
    ("a/../../x", "'a/../../x' has '..' in it; a path of this connection says where it leads without going up."),
    ("a/..", "'a/..' has '..' in it; a path of this connection says where it leads without going up."),
    ("F/../x", "'F/../x' has '..' in it; a path of this connection says where it leads without going up."),
    (
      "/etc/passwd",
      "'/etc/passwd' is in no folder of this connection ('F'); name its folder under 'others' in the connection."
    ),
    ("Fx/a", "'Fx/a' is in no folder of this connection ('F'); name its folder under 'others' in the connection."),
    (
      ".errand/state.json",
      "'.errand/state.json' is hidden; say 'hidden: true' in the connection to use files whose "
        + "names begin with a dot."
    ),
    ("a\0b", "'a␀b' isn't a path."), ("", "the path is empty."),
  ])
  func `finds what a path leads to, inside the folder only`(_ path: String, _ result: String) throws {
    let folder = try Folder()
    let path = path.hasPrefix("F") ? folder.path + path.dropFirst() : path
    let found = Result { try located(path, in: folder).path }.mapError { ActionError($0) }
    let text =
      switch found {
      case .success(let path): path
      case .failure(let error): error.message
      }
    #expect(text.replacingOccurrences(of: folder.path, with: "F") == result)
  }

  @Test func `a connection with a folder and no more advises what it has`() async throws {
    let folder = try Folder()
    try folder.write("longer", to: "x")
    try folder.link("away", to: "/tmp")
    let files = LocalFiles(folder: nil, limit: "maxUploadBytes")
    let context = ActionContext.testing(folder: folder.path)
    let messages = [
      await failure(.validation, in: folder) { _ = try files.file("/etc/passwd", in: context) },
      await failure(.validation, in: folder) { _ = try files.file(".x", in: context) },
      await failure(.validation, in: folder) { _ = try await files.file("x", in: context).read(limit: 5) },
      await failure(.validation, in: folder) { _ = try await files.file("away", in: context).openedFolder() },
      await failure(.notFound, in: folder) { _ = try await files.file("x", in: context).openedFolder() },
    ]
    #expect(
      messages == [
        "'/etc/passwd' is in no folder of this connection ('F'); name its folder under 'folder' in the connection.",
        "'.x' is hidden; give it a name that does not begin with a dot.",
        "cannot read 'F/x': it has more than the 5 bytes that are allowed; raise 'maxUploadBytes' in the connection if it "
          + "should be read.",
        "'F/away' leads through the symbolic link 'away', which is not followed; name the folder that it leads to under "
          + "'folder' in the connection, and use its full path.",
        "cannot inspect 'F/x': part of the path is not a folder (ENOTDIR).",
      ])
    let plain = try LocalFiles(folder: nil).file("x", in: context)
    #expect(await failure(.validation, in: folder) { _ = try await plain.read(limit: 5) }.hasSuffix("are allowed."))
    #expect(try await plain.readIfThere(limit: 6) == Array("longer".utf8))
    #expect(try await LocalFiles(folder: "a").file("x", in: context).readIfThere(limit: 6) == nil)
    #expect(try await LocalFiles(folder: nil).file(".", in: context).openedFolder().path == folder.path)
  }

  @Test func `uses other folders by their full paths, and hidden names when it may`() async throws {
    let (folder, other) = (try Folder(), try Folder())
    try other.write("there", to: ".x")
    let settings: KeyValuePairs<String, Value> = ["others": .list([.string(other.path + "/")]), "hidden": .bool(true)]
    #expect(try await located("\(other.path)/.x", in: folder, settings).text(limit: 10) == "there")
    let inner = try files(["folder": .string("sub/")]).file("x", in: .testing(folder: folder.path))
    #expect(inner.path == folder.path + "/sub/x")
    #expect(try await inner.write([1]))
    #expect(try folder.names == ["sub"])
  }

  @Test(arguments: [
    ("a.txt", "C/srv/site/a.txt"), ("/srv/site/a.txt", "C/srv/site/a.txt"), ("/etc/passwd", nil),
    ("/srv/dl/b", "C/srv/dl/b"),
  ])
  func `a run that touches nothing outside finds every path in a folder of its own`(_ path: String, _ found: String?)
    throws
  {
    let folder = try Folder()
    var context = ActionContext.testing(folder: "/srv/site")
    context.confinement = folder.path
    #expect(context.path("../../../x") == "\(folder.path)/srv/site/x")
    let files = try files(["others": .list([.string("/srv/dl")])])
    let located = try? files.file(path, in: context).path.replacingOccurrences(of: folder.path, with: "C")
    #expect(located == found)
  }

  @Test func `follows no link, whatever it is asked for`() async throws {
    let (folder, outside) = (try Folder(), try Folder())
    try outside.write("secret", to: "key")
    try folder.link("way", to: outside.path)
    try folder.link("key", to: outside.path + "/key")
    try folder.link("lost", to: "nowhere")
    let through =
      "'F/way/key' leads through the symbolic link 'way', which is not followed; name the folder that it "
      + "leads to under 'others' in the connection, and use its full path."
    let way = try located("way/key", in: folder)
    #expect(await failure(.validation, in: folder) { _ = try await way.read(limit: 10) } == through)
    #expect(await failure(.validation, in: folder) { _ = try await way.status() } == through)
    #expect(await failure(.validation, in: folder) { _ = try await way.write([1]) } == through)
    #expect(await failure(.validation, in: folder) { _ = try await way.append([1]) } == through)
    #expect(await failure(.validation, in: folder) { _ = try await way.delete() } == through)
    #expect(await failure(.validation, in: folder) { _ = try await way.prepared() } == through)
    let new = try located("new", in: folder)
    #expect(await failure(.validation, in: folder) { try await way.move(to: new, replacing: true) } == through)
    try folder.write("mine", to: "mine")
    let mine = try located("mine", in: folder)
    #expect(await failure(.validation, in: folder) { try await mine.move(to: way, replacing: true) } == through)
    let key = try located("key", in: folder)
    for call: @Sendable (LocatedFile) async throws -> Void in [
      { _ = try await $0.read(limit: 10) }, { _ = try await $0.append([1]) }, { _ = try await $0.write([1]) },
      { _ = try await $0.prepared() },
    ] {
      let message = await failure(.validation, in: folder) { try await call(key) }
      #expect(message.hasPrefix("'F/key' leads through the symbolic link 'key', which is not followed"))
    }
    let folderItself = try located("way", in: folder)
    #expect(
      await failure(.validation, in: folder) {
        _ = try await folderItself.list(matching: "*", isRecursive: true, limit: 9)
      }.hasPrefix("'F/way' leads through the symbolic link 'way'"))
    // The operations apply to a link itself: it is seen, moved and removed, and its target is left unchanged.
    #expect(try await key.status()?.kind == .link)
    #expect(try await located("lost", in: folder).delete())
    try await located("way", in: folder).move(to: located("path", in: folder), replacing: false)
    #expect(try await located("path", in: folder).delete())
    #expect(try outside.text("key") == "secret")
    #expect(try folder.names == ["key", "mine"])
  }

  @Test func `writes whole files, keeps their permissions, and leaves nothing else`() async throws {
    let folder = try Folder()
    let file = try located("a/b/c.txt", in: folder)
    #expect(try await file.write(Array("one".utf8)))
    #expect(try await file.status()?.mode == 0o644)
    #expect(chmod(file.path, 0o600) == 0)
    #expect(try await file.write(Array("one".utf8)) == false)
    #expect(try await file.write(Array("two".utf8)))
    #expect(try await file.status()?.mode == 0o600)
    #expect(try folder.text("a/b/c.txt") == "two")
    #expect(
      await failure(.conflict, in: folder) { _ = try await file.write([], replacing: false) }
        == "'F/a/b/c.txt' is there already.")
    #expect(try await located("a/b/d.txt", in: folder).write([], replacing: false))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/a/b").sorted() == ["c.txt", "d.txt"])
    #expect(
      await failure(.validation, in: folder) { _ = try await located("a/b", in: folder).write([1]) }
        == "cannot write 'F/a/b': it is a folder (EISDIR).")
    #expect(
      await failure(.notFound, in: folder) { _ = try await located("a/b/c.txt/d", in: folder).write([1]) }
        == "cannot write 'F/a/b/c.txt/d': part of the path is not a folder (ENOTDIR).")
  }

  @Test func `reads what is there, up to a limit`() async throws {
    let folder = try Folder()
    try folder.write("\u{FEFF}é", to: "text")
    try Data([0x61, 0xFF]).write(to: URL(filePath: folder.path + "/bytes"))
    #expect(try await located("text", in: folder).text(limit: 5) == "é")
    #expect(try await located("bytes", in: folder).read(limit: 2) == [0x61, 0xFF])
    #expect(
      await failure(.validation, in: folder) { _ = try await located("bytes", in: folder).text(limit: 2) }
        == "'F/bytes' isn't valid UTF-8.")
    #expect(
      await failure(.validation, in: folder) { _ = try await located("text", in: folder).text(limit: 4) }
        == "cannot read 'F/text': it has more than the 4 bytes that are allowed; raise 'maxBytes' in the connection if it "
        + "should be read.")
    #expect(
      await failure(.notFound, in: folder) { _ = try await located("none", in: folder).read(limit: 4) }
        == "cannot read 'F/none': no such file or folder (ENOENT).")
    #expect(
      await failure(.validation, in: folder) { _ = try await located(".", in: folder).read(limit: 4) }
        == "cannot read 'F': it is a folder (EISDIR).")
    #expect(mkfifo(folder.path + "/pipe", 0o600) == 0)
    #expect(
      await failure(.validation, in: folder) { _ = try await located("pipe", in: folder).read(limit: 4) }
        == "'F/pipe' isn't a file but a device, a pipe or a socket.")
    #expect(try await located("none/at/all", in: folder).status() == nil)
    #expect(try await located("text/none", in: folder).status() == nil)
  }

  @Test func `adds to files, each time at the end`() async throws {
    let folder = try Folder()
    let file = try located("log/lines", in: folder)
    #expect(try await file.append(Array("a\n".utf8)) == 2)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<20 { group.addTask { _ = try await file.append(Array("line\n".utf8)) } }
      try await group.waitForAll()
    }
    #expect(try folder.text("log/lines") == "a\n" + String(repeating: "line\n", count: 20))
  }

  @Test func `moves without replacing, unless told`() async throws {
    let folder = try Folder()
    try folder.write("one", to: "one")
    try folder.write("two", to: "two")
    let (one, two) = (try located("one", in: folder), try located("two", in: folder))
    #expect(
      await failure(.conflict, in: folder) { try await one.move(to: two, replacing: false) }
        == "'F/two' is there already.")
    try await one.move(to: two, replacing: true)
    #expect(try folder.text("two") == "one")
    try await two.move(to: located("a/three", in: folder), replacing: false)
    #expect(try folder.names == ["a"])
    // A program may have ended after creating the new name and before removing the old one; moving again completes the
    // move.
    #expect(link(folder.path + "/a/three", folder.path + "/old") == 0)
    try await located("old", in: folder).move(to: located("a/three", in: folder), replacing: false)
    #expect(try folder.names == ["a"])
    try await located("a", in: folder).move(to: located("b/c", in: folder), replacing: false)
    #expect(try folder.text("b/c/three") == "one")
    try await located("b/c/three", in: folder).move(to: located("b/c/three", in: folder), replacing: true)
    #expect(try folder.text("b/c/three") == "one")
    #expect(
      await failure(.notFound, in: folder) { try await one.move(to: two, replacing: true) }
        == "cannot move 'F/one': no such file or folder (ENOENT).")
    #expect(
      await failure(.validation, in: folder) { try await located(".", in: folder).move(to: two, replacing: true) }
        == "cannot move 'F': in use (EBUSY).")
  }

  @Test func `removes files and empty folders`() async throws {
    let folder = try Folder()
    try await located("a/b", in: folder).write([1])
    #expect(
      await failure(.conflict, in: folder) { _ = try await located("a", in: folder).delete() }
        == "cannot remove 'F/a': the folder is not empty (ENOTEMPTY).")
    #expect(try await located("a/b", in: folder).delete())
    #expect(try await located("a/b", in: folder).delete() == false)
    #expect(try await located("a", in: folder).delete())
    #expect(try await located("a/b", in: folder).delete() == false)
    #expect(
      await failure(.validation, in: folder) { _ = try await located(".", in: folder).delete() }
        == "cannot remove 'F': in use (EBUSY).")
    #expect(try folder.names == [])
  }

  @Test func `lists by form, in order, and not through links`() async throws {
    let folder = try Folder()
    for name in ["b.csv", "a.csv", "sub/c.csv", "sub/deep/d.txt", ".hidden/e.csv"] {
      try await located(name, in: folder, ["hidden": .bool(true)]).write([1, 2])
    }
    try folder.link("loop", to: ".")
    func paths(_ pattern: String, _ isRecursive: Bool, hidden: Bool = false) async throws -> [String] {
      try await located(".", in: folder, ["hidden": .bool(hidden)])
        .list(matching: pattern, isRecursive: isRecursive, limit: 20).files.map(\.path)
    }
    #expect(try await paths("*", false) == ["a.csv", "b.csv", "loop", "sub"])
    #expect(try await paths("*.csv", true) == ["a.csv", "b.csv", "sub/c.csv"])
    #expect(try await paths("*.csv", true, hidden: true) == [".hidden/e.csv", "a.csv", "b.csv", "sub/c.csv"])
    #expect(
      await failure(.validation, in: folder) {
        _ = try await located(".", in: folder).list(matching: "*", isRecursive: true, limit: 6)
      } == "'F' holds more than 6 files that are wanted; narrow 'pattern'.")
  }

  @Test(arguments: [
    ("a.csv", "*.csv", true), ("a.csv", "?.csv", true), ("ab.csv", "?.csv", false), ("a.csv.csv", "*.csv", true),
    ("", "*", true), ("", "?", false), ("abcabd", "*ab?", true), ("abcabd", "a*b*d*", true), ("a", "A", false),
    ("é", "?", true), ("cafe\u{301}.txt", "caf\u{E9}.*", true),
    ("aaaaaaaaaaaaaaaaaaaaaaaab", "*a*a*a*a*a*a*a*c", false),
  ])
  func `compares names with forms`(_ name: String, _ pattern: String, _ fits: Bool) {
    #expect(name.isOfForm(Array(pattern)) == fits)
  }

  @Test func `what killed writers left is removed, and what is being written stays`() async throws {
    let folder = try Folder()
    try folder.write("half", to: ".errand-1-1.new")
    try FileManager.default.createDirectory(
      atPath: "\(folder.path)/.errand-1-2.new/deep", withIntermediateDirectories: true)
    try folder.write("written", to: ".errand-1-3.new")
    let writer = open("\(folder.path)/.errand-1-3.new", O_RDONLY)
    defer { close(writer) }
    #expect(flock(writer, LOCK_EX) == 0)
    try await located("x", in: folder).write([1])
    #expect(try folder.names == [".errand-1-3.new", "x"])
    #expect(
      try await located(".", in: folder, ["hidden": .bool(true)]).list(matching: "*", isRecursive: true, limit: 9)
        .files.map(\.path) == ["x"])
  }

  @Test func `shares one folder among the sandboxes of a run, and removes it`() async throws {
    let folder = try Folder()
    let options = SandboxOptions(time: TestTime(), folder: folder.path + "/shared")
    let (first, second) = (try await FolderSandbox(options), try await FolderSandbox(options))
    #expect(first.configuration == second.configuration)
    let file = try files(["folder": .string(second.baseURL)]).file("made/new.txt", in: .testing())
    try await file.write([1])
    #expect(
      await first.summaryLines() == [
        "archive/2025/marks.csv: 65 bytes", "classes.json: 155 bytes", "made/new.txt: 1 bytes", "marks.csv: 181 bytes",
        "notes.txt: 56 bytes",
      ])
    await first.stop()
    await second.stop()
    #expect(try folder.names == [])
  }
}
