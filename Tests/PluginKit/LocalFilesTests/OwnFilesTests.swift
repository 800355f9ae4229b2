import ActionKit
import ActionTestKit
import Foundation
import Synchronization
import Testing

@testable import LocalFiles

/// The program's own files, under each name and for each operation.
@Suite struct OwnFilesTests {
  private final class Folder: Sendable {
    let path = FileManager.default.temporaryDirectory.appending(path: "own-\(UUID().uuidString)").path

    init() throws {
      for name in ["plugins", "tools", "recipes/tests", "sub", "data"] {
        try FileManager.default.createDirectory(atPath: "\(path)/\(name)", withIntermediateDirectories: true)
      }
      for name in [
        "errand.yaml", "plugins/clock.lock.json", "tools/server.py", "recipes/own.yaml", "free.txt", "data/secrets",
      ] { try "as it was".write(toFile: "\(path)/\(name)", atomically: true, encoding: .utf8) }
      for (name, other) in [("lock.txt", "plugins/clock.lock.json"), ("server.txt", "tools/server.py")] {
        try FileManager.default.linkItem(atPath: "\(path)/\(other)", toPath: "\(path)/\(name)")
      }
    }
    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Every path in the folder with its content.
    var content: [String: String] {
      get throws {
        let paths = try FileManager.default.subpathsOfDirectory(atPath: path)
        return Dictionary(
          uniqueKeysWithValues: paths.map {
            ($0, (try? String(contentsOfFile: "\(path)/\($0)", encoding: .utf8)) ?? "")
          })
      }
    }

    func file(_ name: String) throws -> LocatedFile {
      var context = ActionContext.testing(folder: path)
      context.ownFiles = OwnFiles(
        configuration: ["\(path)/errand.yaml"], secrets: ["\(path)/data/secrets"], state: ["\(path)/state"],
        plugins: ["\(path)/plugins"], recipes: ["\(path)/recipes"],
        named: NamedFiles { [path] in ["\(path)/tools/server.py"] })
      return try LocalFiles(LocalFilesConfiguration(checking: .object(["hidden": .bool(true)]))).file(name, in: context)
    }
  }

  /// The operations that change a file.
  private static let changes: [(String, @Sendable (LocatedFile, Folder) async throws -> Void)] = [
    ("write", { file, _ in try await file.write([0x61]) }),
    ("write anew", { file, _ in try await file.write([0x61], replacing: false) }),
    ("append", { file, _ in _ = try await file.append([0x61]) }),
    ("delete", { file, _ in _ = try await file.delete() }),
    ("move away", { file, folder in try await file.move(to: folder.file("away"), replacing: true) }),
    ("move there", { file, folder in try await folder.file("free.txt").move(to: file, replacing: true) }),
    ("download", { file, _ in _ = try await file.prepared() }),
    // It changes nothing, but shows only what a run may have written.
    ("show", { file, _ in _ = try await file.bytes(unchangedSince: .latest, count: nil, limit: 100) }),
  ]

  @Test(arguments: [
    ("errand.yaml", "the configuration"), ("ERRAND.yaml", "the configuration"),
    ("sub/errand.yaml", "the configuration"),
    ("sub/Errand.YAML", "the configuration"), ("plugins/clock.lock.json", "plugins"),
    ("plugins/new.lock.json", "plugins"), ("./plugins//new.lock.json", "plugins"), ("Plugins/new.lock.json", "plugins"),
    ("plugins/sub/server.py", "plugins"), ("plugins/.hidden", "plugins"), ("lock.txt", "plugins"),
    ("tools/server.py", "errand.yaml or a plugin's lock names it"),
    ("tools/SERVER.py", "errand.yaml or a plugin's lock names it"),
    ("server.txt", "errand.yaml or a plugin's lock names it"), ("recipes/own.yaml", "recipes"),
    ("recipes/new.yml", "recipes"), ("recipes/new.yaml/x", "recipes"), ("recipes/new.yaml/deep/x", "recipes"),
    ("recipes/n.yaml~", "recipes"), ("recipes/n.YAML.bak", "recipes"), ("recipes/.n.yaml.swp", "recipes"),
    ("recipes/tests/new.test.yaml", "recipes"), ("data/secrets", "secrets"), ("state/x", "the state"),
  ])
  func `a file of the program's own is neither written, moved nor removed, under any name`(
    _ name: String, _ what: String
  ) async throws {
    let folder = try Folder()
    let before = try folder.content
    for (operation, change) in Self.changes {
      do {
        try await change(try folder.file(name), folder)
        // Each operation must fail, also on a file that doesn't exist.
        Issue.record("\(operation) of \(name) passed")
      } catch {
        #expect(ActionError(error).message.contains("errand's own files (\(what))"), "\(operation): \(error)")
      }
      #expect(try folder.content == before, "\(operation) of \(name)")
    }
  }

  @Test(arguments: ["plugins", "tools", "recipes", "data"])
  func `a folder that holds some of them stays where it is`(_ name: String) async throws {
    let folder = try Folder()
    let before = try folder.content
    await #expect(throws: ActionError.self) {
      try await folder.file(name).move(to: folder.file("away"), replacing: true)
    }
    await #expect(throws: ActionError.self) { _ = try await folder.file(name).delete() }
    #expect(try folder.content == before)
  }

  @Test func `locks and programs may be read, and what is beside them may be changed`() async throws {
    let folder = try Folder()
    for name in ["plugins/clock.lock.json", "tools/server.py", "lock.txt"] {
      #expect(try await folder.file(name).text(limit: 100) == "as it was")
    }
    for name in [
      "tools/notes.txt", "recipes/notes.txt", "plugin/x", "sub/errand.yml", "sub/recipes.yaml", "sub/plugins",
    ] {
      #expect(try await folder.file(name).write([0x61]))
    }
    await #expect(throws: ActionError.self) { try await folder.file("data/secrets").text(limit: 100) }
    await #expect(throws: ActionError.self) { try await folder.file("errand.yaml").text(limit: 100) }
  }

  @Test func `what others name is looked for once, and not to read`() async throws {
    let count = Atomic(0)
    let own = OwnFiles(
      named: NamedFiles {
        count.add(1, ordering: .relaxed)
        return ["/a"]
      })
    #expect(own.all(isReading: true).isEmpty && count.load(ordering: .relaxed) == 0)
    #expect(own.all(isReading: false).map(\.path) == ["/a"] && own.all(isReading: false).count == 1)
    #expect(count.load(ordering: .relaxed) == 1)
  }
}
