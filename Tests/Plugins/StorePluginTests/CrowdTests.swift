import ActionKit
import ActionTestKit
import Foundation
import Glibc
import Recipes
import RunState
import RunTestKit
import StorePlugin
import Testing

/// A slow disk, so that writes that arrive meanwhile form one batch.
private struct SlowDisk: FileSystem {
  private let disk = DiskFileSystem()

  private final class File: AppendableFile {
    let file: any AppendableFile

    init(_ file: any AppendableFile) { self.file = file }

    func append(_ bytes: [UInt8]) throws(FileError) { try file.append(bytes) }

    func sync() throws(FileError) {
      usleep(3000)
      try file.sync()
    }
  }

  func makeFolder(_ path: String) throws(FileError) { try disk.makeFolder(path) }
  func list(_ folder: String) throws(FileError) -> [String] { try disk.list(folder) }
  func size(_ path: String) throws(FileError) -> Int? { try disk.size(path) }
  func status(_ path: String) throws(FileError) -> FileStatus? { try disk.status(path) }
  func setMode(_ mode: UInt32, of path: String) throws(FileError) { try disk.setMode(mode, of: path) }
  func space(of folder: String) throws(FileError) -> DiskSpace? { try disk.space(of: folder) }
  func read(_ path: String, from offset: Int, count: Int) throws(FileError) -> [UInt8] {
    try disk.read(path, from: offset, count: count)
  }
  func openForAppending(_ path: String) throws(FileError) -> any AppendableFile {
    File(try disk.openForAppending(path))
  }
  func truncate(_ path: String, to size: Int) throws(FileError) { try disk.truncate(path, to: size) }
  func rename(_ path: String, to newPath: String) throws(FileError) { try disk.rename(path, to: newPath) }
  func exchange(_ path: String, with other: String) throws(FileError) { try disk.exchange(path, with: other) }
  func remove(_ path: String) throws(FileError) { try disk.remove(path) }
  func syncFolder(_ path: String) throws(FileError) { try disk.syncFolder(path) }
}

/// Many steps and runs change one value at once, on a state in files.
@Suite(.timeLimit(.minutes(20))) struct CrowdTests {
  private static let crowd = 20

  private static func run(_ text: String, _ number: Int, on store: FileStateStore) async throws -> RunRecord {
    let catalog = ActionCatalog([StorePlugin.self])
    let environment = RecipeEnvironment(catalog: catalog) { path throws(FileError) in
      throw FileError(.read, path, .system(2))
    }
    let checked = Recipe.check(Source(name: "test.yaml", text: "recipe: test\n" + text), in: environment)
    let recipe = try #require(checked.recipe, "\(Diagnostics(checked.diagnostics).rendered())")
    let driver = RunDriver(
      recipe, catalog: catalog, store: store,
      id: "01900000-0000-7000-8000-0000000000\(number < 10 ? "0" : "")\(number)")
    return try await driver.drive()
  }

  private static func withStore(_ body: (FileStateStore) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "errand-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let store = try await FileStateStore.open(folder.path, program: "test", fileSystem: SlowDisk())
    try await body(store)
    try await store.close()
  }

  /// Steps that change a value `n`, where `n` in the step is the number of the run or item.
  private static let changes = [
    "uses: store.increment, with: { name: n }",
    "uses: store.put, with: { name: n, value: \"${{ n }}\" }",
    "uses: store.put, with: { name: n, value: \"${{ n % 2 }}\" }",
  ]

  @Test(arguments: changes) func `no item of a loop fails because another changes the same value`(
    _ change: String
  ) async throws {
    try await Self.withStore { store in
      let items = (1...Self.crowd).map(String.init).joined(separator: ", ")
      let text = "steps: [{ forEach: \"[\(items)]\", as: n, maxParallel: \(Self.crowd), \(change) }]"
      let end = try await Self.run(text, 1, on: store)
      #expect(end.error == nil)
      if change.contains("increment") { #expect(store.state.values["n"] == .inline(.int(Self.crowd))) }
    }
  }

  @Test(arguments: changes + ["uses: store.delete, with: { name: n }"])
  func `no run fails because others change the same value`(_ change: String) async throws {
    try await Self.withStore { store in
      let errors = try await withThrowingTaskGroup(of: RunError?.self) { group in
        for number in 1...Self.crowd {
          group.addTask {
            let text = """
              steps:
                - let: { n: \(number) }
                - \(change.contains("delete") && number % 2 == 0 ? "{ \(Self.changes[1]) }" : "{ \(change) }")
                - { \(change) }
              """
            return try await Self.run(text, number, on: store).error
          }
        }
        return try await group.reduce(into: [RunError]()) { if let error = $1 { $0.append(error) } }
      }
      #expect(errors.isEmpty)
      if change.contains("increment") { #expect(store.state.values["n"] == .inline(.int(2 * Self.crowd))) }
    }
  }
}
