import Basics
import Glibc
import ProcessTestKit
import RecipeEditing
import RunState
import Testing

@testable import Agent
@testable import Operations

/// The files that may be edited: each other path is refused with its reason, and nothing is written.
@Suite(.timeLimit(.minutes(20))) struct EditedPathsTests {
  @Test(arguments: [
    ("../outside.yaml", "a path has no '.', no '..' and no empty part"),
    ("recipes/../errand.yaml", "a path has no '.', no '..' and no empty part"),
    ("recipes/./report.yaml", "a path has no '.', no '..' and no empty part"),
    ("recipes//report.yaml", "a path has no '.', no '..' and no empty part"),
    ("%2e%2e/outside.yaml", "only errand.yaml, the recipes directly in 'recipes' and their tests are"),
    ("recipes/%2e%2e/errand.yaml", "only errand.yaml, the recipes directly in 'recipes' and their tests are"),
    ("/etc/passwd", "paths begin at the folder of errand.yaml, without a slash"),
    ("", "a path has 1 to 500 bytes"),
    ("recipes/a\nb.yaml", "a path has no line breaks and no other control characters"),
    ("recipes/a\u{0}b.yaml", "a path has no line breaks and no other control characters"),
    ("plugins/shop.lock.json", "only errand.yaml, the recipes directly in 'recipes' and their tests are"),
    ("recipes/deeper/report.yaml", "only errand.yaml, the recipes directly in 'recipes' and their tests are"),
    ("recipes/tests/report.yaml", "only errand.yaml, the recipes directly in 'recipes' and their tests are"),
    ("recipes/errand.yaml", "only errand.yaml, the recipes directly in 'recipes' and their tests are"),
    ("recipes/report.txt", "only errand.yaml, the recipes directly in 'recipes' and their tests are"),
    (".errand/state.json", "only errand.yaml, the recipes directly in 'recipes' and their tests are"),
    ("other.yaml", "only errand.yaml, the recipes directly in 'recipes' and their tests are"),
  ])
  func `another path is refused with its reason`(_ path: String, _ reason: String) async throws {
    let bench = try await EditBench()
    let before = bench.everything()
    let requests: [any Operation] = [
      ReadFile.with { $0.path = path }, EditBench.saving(path, EditBench.sound, base: nil),
      EditorCheck.with {
        $0.path = path
        $0.text = EditBench.sound
      }, ListVersions.with { $0.path = path },
    ]
    for request in requests {
      let refusal = await refusal(request, bench)
      #expect(refusal?.kind == .forbidden, "\(type(of: request).name)")
      #expect(refusal?.message.hasSuffix("can't be edited here: \(reason)") == true, "\(refusal?.message ?? "")")
    }
    #expect(bench.everything() == before)
  }

  private func refusal(_ request: any Operation, _ bench: EditBench) async -> RequestRefusedError? {
    func refusal<Asked: Operation>(_ request: Asked) async -> RequestRefusedError? { await bench.refusal(request) }
    return await refusal(request)
  }

  @Test(arguments: [
    ("link.yaml", "it is a symbolic link"),
    ("second.yaml", "it has 2 names (hard links), and a save would change only one of them"),
    ("first.yaml", "it has 2 names (hard links), and a save would change only one of them"),
    ("pipe.yaml", "it isn't a regular file"),
    ("folder.yaml", "it isn't a regular file"),
    ("latin.yaml", "it isn't valid UTF-8"),
  ])
  func `a file that isn't an ordinary text is refused, and stays as it is`(_ name: String, _ reason: String)
    async throws
  {
    let bench = try await EditBench { folder in
      let recipes = "\(folder.path)/recipes"
      #expect(symlink("\(folder.path)/errand.yaml", "\(recipes)/link.yaml") == 0)
      try Files.write(Array(EditBench.sound.utf8), to: "\(recipes)/first.yaml")
      #expect(link("\(recipes)/first.yaml", "\(recipes)/second.yaml") == 0)
      #expect(mkfifo("\(recipes)/pipe.yaml", 0o600) == 0)
      try Files.makeFolder("\(recipes)/folder.yaml")
      try Files.write([0x61, 0xE9, 0x0A], to: "\(recipes)/latin.yaml")
    }
    let path = "recipes/\(name)"
    for request in [
      ReadFile.with { $0.path = path } as any Operation, EditBench.saving(path, EditBench.sound, base: nil),
    ] {
      let refusal = await refusal(request, bench)
      #expect(refusal?.kind == .forbidden && refusal?.message.hasSuffix(reason) == true, "\(refusal?.message ?? "")")
    }
    #expect(try await bench.ask(ListFiles()).view.items.map(\.path) == ["errand.yaml", "recipes/report.yaml"])
  }

  @Test func `a folder on the way that is a link is not followed`() async throws {
    let bench = try await EditBench { folder in
      try Files.makeFolder("\(folder.path)/elsewhere")
      try Files.write(Array("recipe: report\n".utf8), to: "\(folder.path)/elsewhere/report.test.yaml")
      #expect(symlink("\(folder.path)/elsewhere", "\(folder.path)/recipes/tests") == 0)
    }
    let before = bench.everything()
    for path in ["recipes/tests/report.test.yaml", "recipes/tests/new.test.yaml"] {
      let refusal = await bench.refusal(EditBench.saving(path, EditBench.sound, base: nil))
      #expect(
        refusal?.kind == .forbidden
          && refusal?.message.hasSuffix("'tests' in it is a symbolic link, or no folder") == true,
        "\(refusal?.message ?? "")")
    }
    #expect(bench.everything() == before)
  }

  @Test func `a device is refused without being opened for long`() async throws {
    guard geteuid() == 0 else { return }
    let bench = try await EditBench { folder in
      // The number of /dev/zero, which never ends.
      _ = mknod("\(folder.path)/recipes/zero.yaml", S_IFCHR | 0o600, 0x105)
    }
    guard Files.exists("\(bench.folder.path)/recipes/zero.yaml") else { return }
    let refusal = await bench.refusal(ReadFile.with { $0.path = "recipes/zero.yaml" })
    #expect(refusal?.kind == .forbidden, "\(refusal?.message ?? "")")
  }

  @Test func `a text and a file beyond 256 KiB are refused`() async throws {
    let large = String(repeating: "#", count: 256 << 10) + "\n"
    let bench = try await EditBench(["recipes/large.yaml": large])
    #expect(await bench.refusal(ReadFile.with { $0.path = "recipes/large.yaml" })?.kind == .tooLarge)
    let check = EditorCheck.with {
      $0.path = "recipes/report.yaml"
      $0.text = large
    }
    let refusal = await bench.refusal(check)
    #expect(refusal?.kind == .tooLarge)
    #expect(refusal?.message == "a text of 262145 bytes can't be edited here; it may have 256 KiB")
    #expect(await bench.refusal(EditBench.saving("recipes/new.yaml", large, base: nil))?.kind == .tooLarge)
    #expect(!Files.exists("\(bench.folder.path)/recipes/new.yaml"))
  }

  @Test(arguments: [
    "recipes/-x.yaml", "recipes/.hidden.yaml", "recipes/a b.yaml", "recipes/é.yaml", "recipes/new.yml", "recipes/.yaml",
    "recipes/\(String(repeating: "a", count: 65)).yaml",
  ])
  func `a new file has a plain name`(_ path: String) async throws {
    let bench = try await EditBench()
    let before = bench.everything()
    let refusal = await bench.refusal(EditBench.saving(path, EditBench.sound, base: nil))
    #expect(
      refusal?.kind == .forbidden && refusal?.message.contains("a new file's name has 1 to 64 letters") == true,
      "\(refusal?.message ?? "")")
    #expect(bench.everything() == before)
  }

  // MARK: Who may

  @Test func `a token needs the scope and errand yaml's permission, and a person with an account needs neither`()
    async throws
  {
    for isAllowed in [true, false] {
      let bench = try await EditBench(isAllowed: isAllowed)
      let save = EditBench.saving("recipes/new.yaml", "recipe: new\nsteps:\n  - let: { n: 1 }\n", base: nil)
      let without = await bench.refusal(save, as: EditBench.token([.read]))
      #expect(without == RequestRefusedError(.forbidden, "the token lacks the scope 'edit', which this needs"))
      let unread = await bench.refusal(save, as: EditBench.token([.edit]))
      #expect(unread == RequestRefusedError(.forbidden, "the token lacks the scope 'read', which this needs"))
      let refused = await bench.refusal(save, as: EditBench.token())
      let reason = "errand.yaml doesn't allow editing over HTTP; write server: { edit: true }"
      #expect(refused == (isAllowed ? nil : RequestRefusedError(.forbidden, reason)))
      #expect(Files.exists("\(bench.folder.path)/recipes/new.yaml") == isAllowed)
      #expect(bench.host.service.mayEdit(EditBench.token()) == isAllowed)
      #expect(bench.host.service.mayEdit(EditBench.person) && !bench.host.service.mayEdit(EditBench.token([.edit])))
      _ = try await bench.read("recipes/report.yaml")
    }
  }

  @Test func `a token that is limited to recipes edits their files and tests, and finds no others`() async throws {
    let bench = try await EditBench([
      "recipes/salaries.yaml": "recipe: salaries\nsteps:\n  - let: { n: 1 }\n",
      "recipes/tests/report.test.yaml": "recipe: ../report.yaml\ncases:\n  - case: a\n    do: [{ run: {} }]\n",
      "recipes/tests/salaries.test.yaml": "recipe: ../salaries.yaml\ncases:\n  - case: a\n    do: [{ run: {} }]\n",
    ])
    let token = EditBench.token(recipes: ["report"])
    #expect(
      try await bench.ask(ListFiles(), as: token).view.items.map(\.path) == [
        "recipes/report.yaml", "recipes/tests/report.test.yaml",
      ])
    let before = bench.everything()
    for path in ["recipes/salaries.yaml", "recipes/tests/salaries.test.yaml"] {
      let refusals = [
        await bench.refusal(ReadFile.with { $0.path = path }, as: token),
        await bench.refusal(EditBench.saving(path, EditBench.sound, base: nil), as: token),
        await bench.refusal(ListVersions.with { $0.path = path }, as: token),
      ]
      for refusal in refusals {
        #expect(refusal == RequestRefusedError(.notFound, "there is no file '\(path)'"))
      }
    }
    let configuration = await bench.refusal(ReadFile.with { $0.path = "errand.yaml" }, as: token)
    #expect(configuration?.kind == .forbidden && configuration?.message.contains("limited to 'report'") == true)
    // Neither by its own file nor by a new one does it make another recipe.
    let other = "recipe: salaries2\nsteps:\n  - let: { n: 1 }\n"
    let own = try await bench.read("recipes/report.yaml", as: token)
    for save in [
      EditBench.saving("recipes/report.yaml", other, base: own.digest),
      EditBench.saving("recipes/x.yaml", other, base: nil),
    ] {
      let refusal = await bench.refusal(save, as: token)
      #expect(refusal?.kind == .forbidden && refusal?.message.contains("limited to other recipes") == true)
    }
    #expect(bench.everything() == before)
    try await bench.save("recipes/report.yaml", EditBench.sound + "# mine\n", base: own.digest, as: token)
    #expect(try bench.text("recipes/report.yaml") == EditBench.sound + "# mine\n")
  }
}
