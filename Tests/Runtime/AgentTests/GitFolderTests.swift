import Basics
import Foundation
import Glibc
import ProcessTestKit
import RunState
import Testing

@testable import Agent
@testable import Operations

/// Commits of saved files by the installed Git.
@Suite(.timeLimit(.minutes(20))) struct GitFolderTests {
  private static let path = "recipes/report.yaml"
  private static func text(_ number: Int) -> String { "recipe: report\nsteps:\n  - let: { n: \(number) }\n" }

  private static func save(
    _ bench: EditBench, _ number: Int, message: String? = nil, as caller: AgentCaller = EditBench.token()
  ) async throws -> SavedAnswer {
    let base = try await bench.read(path).digest
    return try await bench.save(path, text(number), base: base, message: message, as: caller)
  }

  @Test func `a save is committed in the name of the person, alone`() async throws {
    let bench = try await EditBench { try EditBench.makeRepository($0) }
    // Another person's changes, staged and not.
    try Files.write(Array("zone: Europe/Paris\n".utf8), to: "\(bench.folder.path)/errand.yaml")
    try Files.write(Array("x".utf8), to: "\(bench.folder.path)/notes.txt")
    try bench.git("add", "notes.txt")
    let read = try await bench.read(GitFolderTests.path)
    #expect(read.git?.branch == "main" && read.git?.isClean == true && read.git?.obstacle == nil)
    let saved = try await GitFolderTests.save(bench, 2)
    #expect(try saved.commit == bench.git("rev-parse", "HEAD") && saved.version == nil && saved.notCommitted == nil)
    #expect(
      try bench.git("log", "-1", "--format=%an|%ae|%cn|%ce|%s")
        == "bob|bob@errand.invalid|errand|errand@errand.invalid|Edit recipes/report.yaml in the browser")
    #expect(try bench.git("show", "--name-only", "--format=", "HEAD") == "recipes/report.yaml")
    #expect(try bench.git("status", "--porcelain") == "M errand.yaml\nA  notes.txt")
    // A new file is committed, too.
    let new = try await bench.save(
      "recipes/new.yaml", "recipe: new\nsteps:\n  - let: { n: 1 }\n", base: nil, message: "Begin new\n\nwith a reason",
      as: EditBench.token())
    #expect(new.commit != nil)
    #expect(try bench.git("show", "--name-only", "--format=%B", "HEAD").contains("Begin new\n\nwith a reason"))
    #expect(try bench.git("status", "--porcelain") == "M errand.yaml\nA  notes.txt")
    let versions = try await bench.ask(ListVersions.with { $0.path = GitFolderTests.path }).view
    #expect(versions.keptBy == "git" && versions.items.map(\.by) == ["bob", "cara"])
    let first = try #require(versions.items.last)
    let text = try await bench.ask(
      ReadVersion.with {
        $0.path = GitFolderTests.path
        $0.version = first.version
      }
    ).view
    #expect(text.text == EditBench.sound)
    let restored = try await bench.ask(
      RestoreFile.with {
        $0.path = GitFolderTests.path
        $0.version = first.version
        $0.base = saved.digest
      }
    ).view
    #expect(restored.commit != nil)
    #expect(try bench.text(GitFolderTests.path) == EditBench.sound)
    #expect(try bench.git("log", "-1", "--format=%s").hasPrefix("Restore recipes/report.yaml to "))
    // A commit of the repository that isn't one of the file has no version of it.
    let other = try bench.git("log", "-1", "--format=%H", "--", "recipes/new.yaml")
    let unknown = await bench.refusal(
      ReadVersion.with {
        $0.path = GitFolderTests.path
        $0.version = other
      })
    #expect(unknown?.kind == .notFound)
  }

  @Test func `changes that weren't committed become part of the next commit`() async throws {
    let bench = try await EditBench { try EditBench.makeRepository($0) }
    try Files.write(Array(GitFolderTests.text(7).utf8), to: "\(bench.folder.path)/\(GitFolderTests.path)")
    #expect(try await bench.read(GitFolderTests.path).git?.isClean == false)
    let saved = try await GitFolderTests.save(bench, 8)
    #expect(saved.commit != nil)
    #expect(try bench.git("status", "--porcelain", "recipes") == "")
  }

  @Test func `a hook runs, and one that fails is shown and leaves nothing staged`() async throws {
    let bench = try await EditBench { folder in
      try EditBench.makeRepository(folder)
      let hook = "\(folder.path)/.git/hooks/pre-commit"
      try Files.write(Array("#!/bin/sh\necho not on a Friday >&2\nexit 1\n".utf8), to: hook, mode: 0o755)
    }
    let saved = try await GitFolderTests.save(bench, 2)
    #expect(saved.commit == nil && saved.notCommitted == "not on a Friday" && saved.servedAt != nil)
    #expect(saved.version != nil)
    #expect(try bench.text(GitFolderTests.path) == GitFolderTests.text(2))
    #expect(try bench.git("diff", "--cached", "--name-only") == "")
    _ = try await bench.save("recipes/new.yaml", "recipe: new\nsteps:\n  - let: { n: 1 }\n", base: nil)
    #expect(try bench.git("diff", "--cached", "--name-only") == "")
    #expect(try bench.git("status", "--porcelain", "recipes/new.yaml") == "?? recipes/new.yaml")
    #expect(try bench.git("log", "-1", "--format=%s") == "Begin")
    // Without the hook, the next save commits what is missing.
    try Files.remove("\(bench.folder.path)/.git/hooks/pre-commit")
    let next = try await GitFolderTests.save(bench, 3)
    #expect(next.commit != nil)
    #expect(try bench.git("show", "HEAD:recipes/report.yaml") + "\n" == GitFolderTests.text(3))
    // Both kinds of versions are listed, and each has its text.
    let versions = try await bench.ask(ListVersions.with { $0.path = GitFolderTests.path }).view.items
    #expect(versions.contains { $0.version == saved.version } && versions.contains { $0.version == next.commit })
  }

  @Test func `a hook that prints too much leaves no lock`() async throws {
    let bench = try await EditBench { folder in
      try EditBench.makeRepository(folder)
      let hook = "\(folder.path)/.git/hooks/pre-commit"
      try Files.write(Array("#!/bin/sh\nyes >&2\n".utf8), to: hook, mode: 0o755)
    }
    let saved = try await GitFolderTests.save(bench, 2)
    #expect(saved.commit == nil && saved.notCommitted == "git printed more than 1 MiB" && saved.version != nil)
    #expect(!Files.exists("\(bench.folder.path)/.git/index.lock"))
    try Files.remove("\(bench.folder.path)/.git/hooks/pre-commit")
    #expect(try await GitFolderTests.save(bench, 3).commit != nil)
  }

  @Test func `a text that no commit has is kept before it is replaced`() async throws {
    let bench = try await EditBench { folder in try EditBench.makeRepository(folder) }
    func texts() async throws -> [String] {
      let versions = try await bench.ask(ListVersions.with { $0.path = GitFolderTests.path }).view.items
      var texts: [String] = []
      for version in versions {
        texts.append(
          try await bench.ask(
            ReadVersion.with {
              $0.path = GitFolderTests.path
              $0.version = version.version
            }
          ).view.text)
      }
      return texts
    }
    _ = try await GitFolderTests.save(bench, 2)
    // A person writes on the machine, while Git is in the middle of something else.
    try Files.write(Array(GitFolderTests.text(70).utf8), to: "\(bench.folder.path)/\(GitFolderTests.path)")
    try Files.makeFolder("\(bench.folder.path)/.git/rebase-merge")
    let saved = try await GitFolderTests.save(bench, 3)
    #expect(saved.notCommitted == "a rebase is under way")
    #expect(try await Set(texts()).isSuperset(of: [2, 3, 70].map(GitFolderTests.text)))
  }

  @Test func `a detached head, a merge and a rebase under way are left alone, and said`() async throws {
    for (prepare, obstacle) in [
      (["checkout", "-q", "--detach"], "no branch is checked out (a detached head)"),
      (["update-ref", "MERGE_HEAD", "HEAD"], "a merge is under way"),
    ] {
      let bench = try await EditBench { try EditBench.makeRepository($0) }
      if prepare[0] == "update-ref" {
        // As Git writes it while a merge waits for its commit.
        let head = try bench.git("rev-parse", "HEAD")
        try Files.write(Array("\(head)\n".utf8), to: "\(bench.folder.path)/.git/MERGE_HEAD")
      } else {
        try bench.git("checkout", "-q", "--detach")
      }
      let before = try bench.git("rev-parse", "HEAD")
      #expect(try await bench.read(GitFolderTests.path).git?.obstacle == obstacle)
      let saved = try await GitFolderTests.save(bench, 2)
      #expect(saved.commit == nil && saved.notCommitted == obstacle && saved.version != nil)
      #expect(try bench.text(GitFolderTests.path) == GitFolderTests.text(2))
      #expect(try bench.git("rev-parse", "HEAD") == before)
    }
    let bench = try await EditBench { try EditBench.makeRepository($0) }
    try bench.git("checkout", "-q", "-b", "other")
    try Files.write(Array("zone: Europe/Paris\n".utf8), to: "\(bench.folder.path)/errand.yaml")
    try bench.git("commit", "-q", "-am", "Paris")
    try bench.git("checkout", "-q", "main")
    try Files.write(Array("zone: Europe/Rome\n".utf8), to: "\(bench.folder.path)/errand.yaml")
    try bench.git("commit", "-q", "-am", "Rome")
    try bench.git("rebase", "other")
    let saved = try await GitFolderTests.save(bench, 2)
    #expect(saved.commit == nil && saved.notCommitted == "a rebase is under way")
    #expect(try bench.git("log", "-1", "--format=%s", "main") == "Rome")
  }

  @Test func `a file that Git ignores, and a repository of another owner, are said`() async throws {
    let bench = try await EditBench { folder in
      try EditBench.makeRepository(folder)
      try Files.write(Array("new.yaml\n".utf8), to: "\(folder.path)/.gitignore")
    }
    let saved = try await bench.save("recipes/new.yaml", "recipe: new\nsteps:\n  - let: { n: 1 }\n", base: nil)
    #expect(saved.commit == nil && saved.notCommitted == "Git ignores this file" && saved.version != nil)
    guard geteuid() == 0 else { return }
    #expect(chown(bench.folder.path, 12_345, 12_345) == 0 && chown("\(bench.folder.path)/.git", 12_345, 12_345) == 0)
    let other = try await GitFolderTests.save(bench, 2)
    #expect(chown(bench.folder.path, 0, 0) == 0 && chown("\(bench.folder.path)/.git", 0, 0) == 0)
    #expect(other.commit == nil && other.version != nil)
    #expect(other.notCommitted?.contains("dubious ownership") == true, "\(other.notCommitted ?? "")")
    #expect(other.notCommitted?.contains(bench.folder.path) == false, "\(other.notCommitted ?? "")")
  }

  @Test func `an author's name can't end its field, and signing isn't asked for`() async throws {
    let bench = try await EditBench { folder in
      try EditBench.makeRepository(folder)
      for words in [["config", "commit.gpgSign", "true"], ["config", "gpg.program", "/bin/false"]] {
        #expect(succeeds(["git", "-C", folder.path] + words))
      }
    }
    let saved = try await GitFolderTests.save(bench, 2, as: AgentCaller(name: "ann <root@example.org>\nx"))
    #expect(saved.notCommitted == nil)
    #expect(
      try bench.git("log", "-1", "--format=%an|%ae") == "annroot@example.orgx|annroot@example.orgx@errand.invalid")
    let control = EditBench.saving(GitFolderTests.path, GitFolderTests.text(3), base: saved.digest, message: "a\u{1B}b")
    #expect(await bench.refusal(control)?.kind == .request)
    let long = EditBench.saving(
      GitFolderTests.path, GitFolderTests.text(3), base: saved.digest, message: String(repeating: "a", count: 1001))
    #expect(await bench.refusal(long)?.kind == .request)
  }
}
