import Basics
import Foundation
import Glibc
import ProcessTestKit
import RecipeEditing
import RunState
import Synchronization
import Testing

@testable import Agent
@testable import Operations

/// Saving files: the winner of two saves, the kept versions, and the files after a crash.
@Suite(.timeLimit(.minutes(20))) struct FileEditorTests {
  private static let path = "recipes/report.yaml"
  private static func text(_ number: Int) -> String { "recipe: report\nsteps:\n  - let: { n: \(number) }\n" }

  @Test func `a save is on the disk and served when it is answered`() async throws {
    let bench = try await EditBench()
    let read = try await bench.read(FileEditorTests.path)
    #expect(read.text == EditBench.sound && read.kind == "recipe" && read.recipe == "report" && read.git == nil)
    #expect(read.served == read.digest && read.servedText == nil)
    let saved = try await bench.save(FileEditorTests.path, FileEditorTests.text(2), base: read.digest)
    #expect(try bench.text(FileEditorTests.path) == FileEditorTests.text(2))
    #expect(saved.servedAt == bench.host.time.now() && saved.notServed == nil && saved.commit == nil)
    let again = try await bench.read(FileEditorTests.path)
    #expect(again.digest == saved.digest && again.served == saved.digest && again.text == FileEditorTests.text(2))
    let recipe = try await bench.ask(ShowRecipe.with { $0.recipe = "report" })
    #expect(recipe.recipe.text == FileEditorTests.text(2))
  }

  @Test func `of two people who save at once, one wins, and the other is shown the winner's text`() async throws {
    let bench = try await EditBench()
    let base = try await bench.read(FileEditorTests.path).digest
    let outcomes = await withTaskGroup(of: (Int, RequestRefusedError?).self) { group in
      for number in 2...9 {
        group.addTask {
          let save = EditBench.saving(FileEditorTests.path, FileEditorTests.text(number), base: base)
          return (number, await bench.refusal(save, as: EditBench.token(name: "p\(number)")))
        }
      }
      return await group.reduce(into: [(Int, RequestRefusedError?)]()) { $0.append($1) }
    }
    let winners = outcomes.filter { $0.1 == nil }.map(\.0)
    #expect(winners.count == 1)
    let winner = FileEditorTests.text(try #require(winners.first))
    #expect(try bench.text(FileEditorTests.path) == winner)
    for (_, refusal) in outcomes {
      guard let refusal else { continue }
      #expect(refusal.kind == .conflict)
      #expect(refusal.message == "'recipes/report.yaml' has changed since the text was read; nothing was saved")
      #expect(refusal.current?.text == winner)
      #expect(refusal.current?.digest == SHA256.digest(of: Array(winner.utf8)))
      // Nothing of it is lost on the way to another process.
      #expect(try RequestRefusedError(reading: refusal.encoded()) == refusal)
    }
  }

  @Test func `a file that is there already, or is gone, is a conflict`() async throws {
    let bench = try await EditBench()
    let there = await bench.refusal(EditBench.saving(FileEditorTests.path, FileEditorTests.text(2), base: nil))
    #expect(there?.kind == .conflict && there?.current?.text == EditBench.sound)
    let base = try await bench.read(FileEditorTests.path).digest
    try Files.remove("\(bench.folder.path)/\(FileEditorTests.path)")
    let gone = await bench.refusal(EditBench.saving(FileEditorTests.path, FileEditorTests.text(2), base: base))
    #expect(gone?.kind == .conflict && gone?.current == nil)
    #expect(gone?.message == "'recipes/report.yaml' was removed meanwhile; nothing was saved")
    #expect(!Files.exists("\(bench.folder.path)/\(FileEditorTests.path)"))
  }

  @Test func `a file that another program changes during the save isn't overwritten`() async throws {
    let other = FileEditorTests.text(77)
    let root = Mutex("")
    let bench = try await EditBench(
      afterStep: { step in
        guard step == .kept else { return }
        try? Files.write(Array(other.utf8), to: "\(root.withLock { $0 })/\(FileEditorTests.path)")
      })
    root.withLock { $0 = bench.folder.path }
    let base = try await bench.read(FileEditorTests.path).digest
    let refusal = await bench.refusal(EditBench.saving(FileEditorTests.path, FileEditorTests.text(2), base: base))
    #expect(refusal?.kind == .conflict && refusal?.current?.text == other)
    #expect(try bench.text(FileEditorTests.path) == other)
  }

  @Test func `a repeated request with its key gives the first answer, and another one with the key is refused`()
    async throws
  {
    let bench = try await EditBench()
    let base = try await bench.read(FileEditorTests.path).digest
    let first = try await bench.save(FileEditorTests.path, FileEditorTests.text(2), base: base, key: "k1")
    try await bench.save(FileEditorTests.path, FileEditorTests.text(3), base: first.digest)
    let again = try await bench.save(FileEditorTests.path, FileEditorTests.text(2), base: base, key: "k1")
    #expect(again.digest == first.digest && again.servedAt == first.servedAt)
    #expect(try bench.text(FileEditorTests.path) == FileEditorTests.text(3))
    let other = EditBench.saving(FileEditorTests.path, FileEditorTests.text(4), base: base, key: "k1")
    #expect(await bench.refusal(other)?.kind == .usedKey)
    // Another caller's key is another key.
    #expect(await bench.refusal(other, as: EditBench.token())?.kind == .conflict)
  }

  @Test func `a text with errors isn't saved, nor one that makes errors in callers and tests`() async throws {
    let bench = try await EditBench([
      "recipes/report.yaml": "recipe: report\nsteps:\n  - let: { n: 1 }\noutputs: { sum: \"${{ n }}\" }\n",
      "recipes/caller.yaml":
        "recipe: caller\nsteps:\n  - { id: r, call: report.yaml }\n  - let: { m: \"${{ steps.r.sum + 1 }}\" }\n",
    ])
    let before = bench.everything()
    let base = try await bench.read(FileEditorTests.path).digest
    let faulty = await bench.refusal(EditBench.saving(FileEditorTests.path, "steps: [{ lett: {} }]\n", base: base))
    #expect(faulty?.kind == .inputs)
    #expect(faulty?.faults.first?.pointer == "/text")
    #expect(faulty?.faults.first?.message.hasPrefix("recipes/report.yaml:1:") == true, "\(faulty?.faults ?? [])")
    let less = "recipe: report\nsteps:\n  - let: { n: 1 }\n"
    let breaking = await bench.refusal(EditBench.saving(FileEditorTests.path, less, base: base))
    #expect(breaking?.kind == .inputs)
    #expect(breaking?.faults.first?.message.hasPrefix("recipes/caller.yaml:4:") == true, "\(breaking?.faults ?? [])")
    #expect(bench.everything() == before)
    let check = try await bench.ask(
      EditorCheck.with {
        $0.path = FileEditorTests.path
        $0.text = less
      }
    ).view
    #expect(check.faults.allSatisfy { $0.severity != "error" } && !check.isSavable)
    #expect(check.elsewhere.map(\.path) == ["recipes/caller.yaml"] && check.elsewhere.first?.from.line == 3)
    // A fault that was there before is no reason.
    try Files.write(
      Array("recipe: caller\nsteps:\n  - { call: report.yaml, with: { x: 1 } }\n".utf8),
      to: "\(bench.folder.path)/recipes/caller.yaml")
    try await bench.save(FileEditorTests.path, less, base: base)
    #expect(try bench.text(FileEditorTests.path) == less)
  }

  @Test func `a recipe doesn't take the name of another`() async throws {
    let bench = try await EditBench()
    let refusal = await bench.refusal(EditBench.saving("recipes/new.yaml", EditBench.sound, base: nil))
    #expect(refusal?.kind == .inputs)
    #expect(
      refusal?.faults.map(\.message) == [
        "recipes/report.yaml:1: it has the name 'report' already; give the recipe another one"
      ])
    #expect(!Files.exists("\(bench.folder.path)/recipes/new.yaml"))
  }

  @Test(arguments: [
    ("recipe: report\nsteps:\n  - let: { n: 1 }\n", "recipe: report\r\nsteps:\r\n  - let: { n: 2 }\r\n", "\n"),
    ("recipe: report\r\nsteps:\r\n  - let: { n: 1 }\r\n", "recipe: report\nsteps:\n  - let: { n: 2 }\n", "\r\n"),
  ])
  func `line ends stay as the file had them`(_ old: String, _ given: String, _ end: String) async throws {
    let bench = try await EditBench([FileEditorTests.path: old])
    let base = try await bench.read(FileEditorTests.path).digest
    try await bench.save(FileEditorTests.path, given, base: base)
    #expect(try bench.text(FileEditorTests.path) == FileEditorTests.text(2).replacing("\n", with: end))
  }

  @Test func `a save keeps the mode, and a new file ends its lines with LF`() async throws {
    let bench = try await EditBench()
    let file = "\(bench.folder.path)/\(FileEditorTests.path)"
    #expect(chmod(file, 0o640) == 0)
    let base = try await bench.read(FileEditorTests.path).digest
    try await bench.save(FileEditorTests.path, FileEditorTests.text(2), base: base)
    var status = stat()
    #expect(stat(file, &status) == 0 && status.st_mode & 0o7777 == 0o640)
    try await bench.save("recipes/new.yaml", "recipe: new\r\nsteps:\r\n  - let: { n: 1 }\r\n", base: nil)
    #expect(try bench.text("recipes/new.yaml") == "recipe: new\nsteps:\n  - let: { n: 1 }\n")
    // The folder of tests is made with the first of them.
    let test = "recipe: ../report.yaml\ncases:\n  - case: a\n    do: [{ run: {} }]\n"
    let saved = try await bench.save("recipes/tests/report.test.yaml", test, base: nil)
    #expect(saved.servedAt == nil && saved.notServed == nil)
    #expect(try bench.text("recipes/tests/report.test.yaml") == test)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: "\(bench.folder.path)/recipes").sorted() == [
        "new.yaml", "report.yaml", "tests",
      ])
  }

  @Test func `a folder that can't be written is a conflict with the line for its unit`() async throws {
    // Root may write everywhere.
    guard geteuid() != 0 else { return }
    let bench = try await EditBench()
    let base = try await bench.read(FileEditorTests.path).digest
    #expect(chmod("\(bench.folder.path)/recipes", 0o500) == 0)
    let refusal = await bench.refusal(EditBench.saving(FileEditorTests.path, FileEditorTests.text(2), base: base))
    #expect(chmod("\(bench.folder.path)/recipes", 0o700) == 0)
    #expect(refusal?.kind == .conflict)
    #expect(refusal?.message.contains("'ReadWritePaths=\(bench.folder.path)/recipes'") == true)
    #expect(refusal?.overHTTP?.contains("'ReadWritePaths=FOLDER/recipes'") == true)
    #expect(refusal?.overHTTP?.contains(bench.folder.path) == false)
    #expect(try bench.text(FileEditorTests.path) == EditBench.sound)
  }

  @Test func `errand yaml is saved, and read again by the agent if it can`() async throws {
    for (reloads, notServed) in [
      (false, "only 'errand serve' reads errand.yaml again; other commands read it when they begin"),
      (true, nil), (true, "it names another state"),
    ] as [(Bool, String?)] {
      let reload: @Sendable () async -> String? = { notServed }
      let bench = try await EditBench(reload: reloads ? reload : nil)
      let base = try await bench.read("errand.yaml").digest
      let saved = try await bench.save("errand.yaml", "zone: Europe/Berlin\n", base: base)
      #expect(saved.notServed == notServed && (saved.servedAt == nil) == (notServed != nil))
      #expect(try bench.text("errand.yaml") == "zone: Europe/Berlin\n")
      let faulty = await bench.refusal(EditBench.saving("errand.yaml", "zone: Nowhere/X\n", base: saved.digest))
      #expect(faulty?.kind == .inputs)
    }
  }

  @Test func `a version that can't be kept is said, and the text is saved`() async throws {
    let bench = try await EditBench()
    let base = try await bench.read(FileEditorTests.path).digest
    _ = try await bench.save(FileEditorTests.path, FileEditorTests.text(2), base: base)
    let versions = "\(bench.folder.path)/.errand/versions"
    try FileManager.default.removeItem(atPath: versions)
    try Files.write([], to: versions)
    let next = try await bench.read(FileEditorTests.path).digest
    // The text before is kept already, but not known to be.
    let refusal = await bench.refusal(EditBench.saving(FileEditorTests.path, FileEditorTests.text(3), base: next))
    #expect(refusal?.kind == .state)
    #expect(try bench.text(FileEditorTests.path) == FileEditorTests.text(2))
    let made = try await bench.save("recipes/made.yaml", "recipe: made\nsteps: [{ let: { n: 1 } }]\n", base: nil)
    #expect(made.servedAt != nil && made.notKept?.contains("the version can't be kept") == true)
    #expect(try bench.text("recipes/made.yaml").contains("made"))
  }

  // MARK: Versions

  @Test func `without Git the state keeps the latest texts, with the one before the first save`() async throws {
    let bench = try await EditBench()
    var digest = try await bench.read(FileEditorTests.path).digest
    for number in 2...25 {
      digest = try await bench.save(
        FileEditorTests.path, FileEditorTests.text(number), base: digest, message: number == 25 ? "the last" : nil
      ).digest
      if number == 2 {
        let versions = try await bench.ask(ListVersions.with { $0.path = FileEditorTests.path }).view
        #expect(versions.keptBy == "state" && versions.items.map(\.by).sorted() == ["", "ann"])
      }
    }
    let versions = try await bench.ask(ListVersions.with { $0.path = FileEditorTests.path }).view.items
    #expect(versions.count == KeptVersions.mostOfFile)
    #expect(versions.allSatisfy { $0.by == "ann" } && versions.contains { $0.message == "the last" })
    let oldest = try #require(versions.min { (Int($0.version) ?? 0) < (Int($1.version) ?? 0) })
    let text = try await bench.ask(
      ReadVersion.with {
        $0.path = FileEditorTests.path
        $0.version = oldest.version
      }
    ).view
    #expect(text.text == FileEditorTests.text(6) && text.digest == oldest.digest)
    let restored = try await bench.ask(
      RestoreFile.with {
        $0.path = FileEditorTests.path
        $0.version = oldest.version
        $0.base = digest
      }
    ).view
    #expect(restored.digest == oldest.digest)
    #expect(try bench.text(FileEditorTests.path) == FileEditorTests.text(6))
    for name in ["0", "-1", "99", "x", "../1", "007", String(repeating: "a", count: 40)] {
      let unknown = await bench.refusal(
        ReadVersion.with {
          $0.path = FileEditorTests.path
          $0.version = name
        })
      #expect(unknown?.kind == .notFound, "\(name)")
    }
    // A version of another file isn't one of this.
    try await bench.save("recipes/new.yaml", "recipe: new\nsteps:\n  - let: { n: 1 }\n", base: nil)
    #expect(try await bench.ask(ListVersions.with { $0.path = "recipes/new.yaml" }).view.items.count == 1)
  }

  @Test func `kept versions are at most 20 MiB together, and only their owner reads them`() throws {
    let folder = try TemporaryFolder()
    let kept = KeptVersions(folder: "\(folder.path)/versions")
    for number in 0..<100 {
      let bytes = Array(String(repeating: "x", count: 256 << 10).utf8) + Array("\(number)".utf8)
      let content = EditableContent(
        bytes: bytes, digest: "\(number)", changedAt: .earliest, mode: 0o644, owner: 0, group: 0)
      _ = try kept.keep(content, of: "recipes/r\(number % 7).yaml", by: "ann", message: nil, at: .earliest)
    }
    var bytes = 0
    for file in FileManager.default.enumerator(atPath: "\(folder.path)/versions")?.compactMap({ $0 as? String }) ?? [] {
      var status = stat()
      #expect(stat("\(folder.path)/versions/\(file)", &status) == 0)
      guard status.st_mode & S_IFMT == S_IFREG else { continue }
      #expect(status.st_mode & 0o777 == 0o600)
      bytes += Int(status.st_size)
    }
    #expect(bytes <= KeptVersions.mostBytes && bytes > KeptVersions.mostBytes / 2)
    #expect(kept.versions(of: "recipes/r1.yaml").first?.digest == "99")
  }

  // MARK: Crashes

  /// Suspends for good the save that reaches a step, as if the agent had been killed there.
  private final class Stop: Sendable {
    private let waiting = Mutex<[CheckedContinuation<Void, Never>]>([])
    let (reached, reach) = AsyncStream.makeStream(of: Void.self)
    let step: FolderEditing.SaveStep

    init(_ step: FolderEditing.SaveStep) { self.step = step }

    func pass(_ step: FolderEditing.SaveStep) async {
      guard step == self.step else { return }
      await withCheckedContinuation { continuation in
        waiting.withLock { $0.append(continuation) }
        reach.yield()
      }
    }

    func release() { for continuation in waiting.withLock({ $0 }) { continuation.resume() } }
  }

  @Test(arguments: FolderEditing.SaveStep.allCases, [true, false])
  func `after a crash at any step the file is old or new, and the next save heals the commit`(
    _ step: FolderEditing.SaveStep, _ hasGit: Bool
  ) async throws {
    let stop = Stop(step)
    let bench = try await EditBench(
      prepare: { folder in if hasGit { try EditBench.makeRepository(folder) } }, afterStep: { await stop.pass($0) })
    let base = try await bench.read(FileEditorTests.path).digest
    let killed = Task { try? await bench.save(FileEditorTests.path, FileEditorTests.text(2), base: base) }
    for await _ in stop.reached { break }
    let isNew = [.written, .served, .committed].contains(step)
    #expect(try bench.text(FileEditorTests.path) == (isNew ? FileEditorTests.text(2) : EditBench.sound))

    // Another agent in the same folder, as after a restart.
    let host = await HostBench(
      folder: "\(bench.folder.path)/recipes", editing: EditBench.editing(of: bench.folder.path))
    await host.serve()
    let caller = EditBench.person
    let read = try await host.service.perform(ReadFile.with { $0.path = FileEditorTests.path }, for: caller).view
    #expect(read.text == (isNew ? FileEditorTests.text(2) : EditBench.sound) && read.served == read.digest)
    // The same request again, as a client repeats it that got no answer.
    let again = try await host.service.perform(
      EditBench.saving(FileEditorTests.path, FileEditorTests.text(2), base: base), for: caller
    ).view
    #expect(try bench.text(FileEditorTests.path) == FileEditorTests.text(2) && again.servedAt != nil)
    if hasGit {
      #expect(try again.commit == bench.git("rev-parse", "HEAD"))
      #expect(try bench.git("status", "--porcelain", "--", "recipes") == "")
      #expect(try bench.git("show", "HEAD:recipes/report.yaml") + "\n" == FileEditorTests.text(2))
    } else {
      #expect(again.version != nil)
    }
    stop.release()
    _ = await killed.value
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: "\(bench.folder.path)/recipes") == ["report.yaml"])
  }

  // MARK: Looking

  @Test func `a check, a completion and a hover are as an editor gets them`() async throws {
    let text = "recipe: report\non:\n  - cron: \"0 7 * * MON\"\nsteps:\n  - let: { n: 1 }\n  - lett: { m: 1 }\n"
    let bench = try await EditBench()
    let answer = try await bench.ask(
      EditorCheck.with {
        $0.path = FileEditorTests.path
        $0.text = text
        $0.fixAll = true
      }
    ).view
    let fault = try #require(answer.faults.first { $0.message.contains("lett") })
    #expect(fault.severity == "error" && fault.from.line == 5 && fault.from.column == 4 && fault.to.column == 8)
    #expect(fault.fixes.first?.edits.first?.text == "let")
    #expect(answer.fires.map(\.line) == [2])
    #expect(answer.fires.first?.next == ["Mon 23 Nov 07:00", "Mon 30 Nov 07:00", "Mon 7 Dec 07:00"])
    #expect(!answer.isSavable && !answer.mending.isEmpty)
    let completed = try await bench.ask(
      EditorComplete.with {
        $0.path = FileEditorTests.path
        $0.text = "recipe: report\nste\n"
        $0.at = PlaceAnswer(TextPosition(line: 1, character: 3))
      }
    ).view
    let item = try #require(completed.items.first { $0.label == "steps" })
    #expect(item.kind == "key" && item.edit.from.line == 1 && item.edit.from.column == 0 && item.edit.to.column == 3)
    #expect(completed.items.count <= 100)
    let hover = try await bench.ask(
      EditorHover.with {
        $0.path = FileEditorTests.path
        $0.text = text
        $0.at = PlaceAnswer(TextPosition(line: 3, character: 2))
      }
    ).view
    #expect(hover.text?.hasPrefix("**steps**") == true && hover.from?.line == 3 && hover.to?.column == 5)
    let nothing = try await bench.ask(
      EditorHover.with {
        $0.path = FileEditorTests.path
        $0.text = ""
        $0.at = PlaceAnswer(TextPosition(line: -5, character: .max))
      }
    ).view
    #expect(nothing.text == nil && nothing.from == nil)
  }

  @Test func `a file with a known secret in it isn't shown`() async throws {
    let bench = try await EditBench([
      FileEditorTests.path: "recipe: report\nsteps:\n  - let: { n: hunter2-hunter2 }\n"
    ])
    bench.host.store.secrets.learn([(name: "PASSWORD", text: "hunter2-hunter2")])
    let refusal = await bench.refusal(ReadFile.with { $0.path = FileEditorTests.path })
    #expect(
      refusal
        == RequestRefusedError(
          .forbidden,
          "'recipes/report.yaml' holds the text of a secret, so it isn't shown; edit it on the agent's machine"))
    // It isn't replaced either, because its text would be kept as a version; nor does a new text hold one.
    let over = await bench.refusal(EditBench.saving(FileEditorTests.path, FileEditorTests.text(2), base: nil))
    #expect(over == refusal)
    let sound = "steps: [{ let: { n: 1 } }]\n"
    for (text, message) in [("\(sound)# hunter2-hunter2\n", "a"), (sound, "is hunter2-hunter2")] {
      let saving = EditBench.saving("recipes/new.yaml", text, base: nil, message: message)
      let refusal = await bench.refusal(saving)
      #expect(refusal?.kind == .forbidden && refusal?.message.contains("hunter2") == false, "\(refusal as Any)")
    }
    #expect(!Files.exists("\(bench.folder.path)/recipes/new.yaml"))
    #expect(!Files.exists("\(bench.folder.path)/.errand/versions"))
  }

  @Test func `one plan and one test of a person run at a time`() async throws {
    let (entered, enter) = AsyncStream.makeStream(of: Void.self)
    let (released, release) = AsyncStream.makeStream(of: Void.self)
    let folder = try TemporaryFolder()
    try Files.makeFolder("\(folder.path)/recipes/tests")
    try Files.write(Array(EditBench.sound.utf8), to: "\(folder.path)/recipes/report.yaml")
    try Files.write(
      Array("recipe: ../report.yaml\ncases: []\n".utf8), to: "\(folder.path)/recipes/tests/report.test.yaml")
    var editing = EditBench.editing(of: folder.path)
    editing.test = { paths, files in
      enter.yield()
      for await _ in released { break }
      return paths.map {
        TestedFile(
          path: $0, faults: [],
          cases: [
            TestedFile.Case(name: "a", failures: [], took: .milliseconds(3)),
            TestedFile.Case(name: "b", failures: ["\($0):2:1: no"], took: .zero),
          ])
      }
    }
    let host = await HostBench(folder: "\(folder.path)/recipes", editing: editing)
    await host.serve()
    let request = EditorTest.with {
      $0.path = FileEditorTests.path
      $0.text = EditBench.sound
    }
    let first = Task { try await host.service.perform(request, for: EditBench.person).view }
    for await _ in entered { break }
    await #expect(throws: RequestRefusedError(.busy, "a test of yours is under way; wait for it")) {
      _ = try await host.service.perform(request, for: EditBench.person)
    }
    release.yield()
    let answer = try await first.value
    #expect(answer.passed == 1 && answer.failed == 1 && !answer.timedOut)
    let file = try #require(answer.files.first)
    #expect(file.path == "recipes/tests/report.test.yaml" && file.cases.map(\.name) == ["a", "b"])
    // No path says where the folder is.
    #expect(file.cases.last?.failures == ["recipes/tests/report.test.yaml:2:1: no"])
    // Tests that take too long are given up.
    let other = await HostBench(folder: "\(folder.path)/recipes", editing: editing)
    await other.serve()
    let sleepers = other.time.sleeperCount
    let long = Task { try await other.service.perform(request, for: EditBench.person).view }
    for await _ in entered { break }
    await other.time.waitForSleepers(sleepers + 1)
    other.time.advance(by: .seconds(60))
    #expect(try await long.value.timedOut)
  }
}
