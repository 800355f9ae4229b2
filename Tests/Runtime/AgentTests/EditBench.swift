import Basics
import Foundation
import Glibc
import ProcessTestKit
import RecipeEditing
import Recipes
import RunState
import Testing

@testable import Agent
@testable import Operations

/// A folder whose files are edited through an agent in this process.
final class EditBench: Sendable {
  let folder: TemporaryFolder
  let host: HostBench

  /// The text of a sound recipe.
  static let sound = "recipe: report\nsteps:\n  - let: { n: 1 }\n"

  /// - Parameters:
  ///   - files: The files by their paths; `recipes/report.yaml` and errand.yaml are there anyway.
  ///   - prepare: Called before the agent serves.
  init(
    _ files: [String: String] = [:], isAllowed: Bool = true,
    prepare: (TemporaryFolder) throws -> Void = { _ in }, reload: (@Sendable () async -> String?)? = nil,
    afterStep: @escaping @Sendable (FolderEditing.SaveStep) async -> Void = { _ in }
  ) async throws {
    folder = try TemporaryFolder()
    let all = ["errand.yaml": "zone: UTC\n", "recipes/report.yaml": EditBench.sound].merging(files) { $1 }
    for (path, text) in all {
      let place = "\(folder.path)/\(path)"
      try Files.makeFolder(String(place.prefix(upTo: place.lastIndex(of: "/") ?? place.startIndex)))
      try Files.write(Array(text.utf8), to: place)
    }
    try prepare(folder)
    let editing = EditBench.editing(
      of: folder.path, isAllowed: isAllowed, reload: reload, afterStep: afterStep)
    host = await HostBench(folder: "\(folder.path)/recipes", editing: editing)
    await host.serve()
  }

  /// The editing of a folder, without the parts that the program adds.
  static func editing(
    of root: String, isAllowed: Bool = true, reload: (@Sendable () async -> String?)? = nil,
    afterStep: @escaping @Sendable (FolderEditing.SaveStep) async -> Void = { _ in }
  ) -> FolderEditing {
    let environment = ["PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin", "HOME": root]
    var editing = FolderEditing(
      root: root, configuration: "\(root)/errand.yaml", versions: "\(root)/.errand/versions",
      environment: environment, recipeFolders: { ["\(root)/recipes"] }, isAllowed: { isAllowed }
    ) { files in
      var environment = HostBench.environment
      environment.read = { path throws(FileError) in try files.read(path) }
      let checks = environment
      return EditorFolder(
        catalog: HostBench.catalog, environment: { _ in checks },
        files: {
          let listed = ["\(root)/recipes", "\(root)/recipes/tests"].flatMap { folder in
            ((try? Files.list(folder)) ?? []).filter { $0.hasSuffix(".yaml") }.map { "\(folder)/\($0)" }
          }
          return Set(listed + files.paths).filter { EditedFileKind(path: $0) != .configuration }.sorted()
        }, secretNames: { [] }, now: { Timestamp("2026-11-20T09:30:00Z") ?? .earliest })
    }
    editing.reload = reload
    editing.afterStep = afterStep
    return editing
  }

  // MARK: Asking

  /// A person with an account of this machine.
  static let person = AgentCaller(name: "ann")

  /// The owner of a token.
  static func token(
    _ scopes: [TokenScope] = [.read, .edit, .start, .data], recipes: [String] = [], name: String = "bob"
  ) -> AgentCaller {
    AgentCaller(token: TokenIssued(at: .earliest, name: name, sha256: name, scopes: scopes, recipes: recipes))
  }

  func ask<Asked: Operations.Operation>(
    _ request: Asked, as caller: AgentCaller = EditBench.person
  ) async throws(RequestRefusedError) -> Asked.Answer {
    try await host.service.perform(request, for: caller)
  }

  func refusal(_ request: some Operations.Operation, as caller: AgentCaller = EditBench.person) async
    -> RequestRefusedError?
  {
    do throws(RequestRefusedError) {
      _ = try await ask(request, as: caller)
      return nil
    } catch {
      return error
    }
  }

  func read(_ path: String, as caller: AgentCaller = EditBench.person) async throws -> FileTextAnswer {
    try await ask(ReadFile.with { $0.path = path }, as: caller).view
  }

  @discardableResult
  func save(
    _ path: String, _ text: String, base: String?, key: String? = nil, message: String? = nil,
    as caller: AgentCaller = EditBench.person
  ) async throws(RequestRefusedError) -> SavedAnswer {
    try await ask(EditBench.saving(path, text, base: base, key: key, message: message), as: caller).view
  }

  static func saving(
    _ path: String, _ text: String, base: String?, key: String? = nil, message: String? = nil
  ) -> SaveFile {
    SaveFile.with {
      $0.path = path
      $0.text = text
      $0.base = base
      $0.key = key
      $0.message = message
    }
  }

  /// The text of a file on the disk.
  func text(_ path: String) throws -> String {
    String(decoding: try Files.read("\(folder.path)/\(path)"), as: UTF8.self)
  }

  /// Every file of the folder with its text, to see that nothing was written.
  func everything() -> [String: [UInt8]] {
    var found: [String: [UInt8]] = [:]
    for path in FileManager.default.enumerator(atPath: folder.path)?.compactMap({ $0 as? String }) ?? [] {
      found[path] = (try? Files.read("\(folder.path)/\(path)")) ?? []
    }
    return found
  }

  /// Runs Git in the folder, as a person with a name of their own; gives its output.
  @discardableResult
  func git(_ words: String...) throws -> String {
    try EditBench.output(of: EditBench.gitWords(words), in: folder.path)
  }

  private static func gitWords(_ words: [String]) -> [String] {
    ["git", "-c", "user.name=cara", "-c", "user.email=cara@example.org", "-c", "safe.directory=*"] + words
  }

  private static func output(of words: [String], in folder: String) throws -> String {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = words
    process.currentDirectoryURL = URL(filePath: folder)
    let output = launchPipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.startAlone()
    let text = try output.fileHandleForReading.readToEnd() ?? Data()
    process.awaitEnd()
    return String(decoding: text, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// Makes a repository of the folder with all files in it committed.
  static func makeRepository(_ folder: TemporaryFolder) throws {
    for words in [["init", "-q", "-b", "main", "."], ["add", "."], ["commit", "-q", "-m", "Begin"]] {
      _ = try output(of: gitWords(words), in: folder.path)
    }
  }
}
