import Basics
import Foundation
import Testing

/// `errand check --fix` with the real binary, on the recipes of the package.
@Suite struct CheckFixTests {
  /// A mistake in a recipe: the file, the correct text, and the wrong one.
  private static let seeds: [(file: String, right: String, wrong: String)] = [
    ("markbook-averages.yaml", "summary: Puts", "sumary: Puts"),
    ("hello.yaml", "forEach: ", "foreach: "),
    ("markbook-averages.yaml", "uses: markbook.getMarkbook", "uses: markbook.getMarkbok"),
    ("markbook-averages.yaml", "markbookKey: ${{ inputs.markbook }}\n\n", "markbookkey: ${{ inputs.markbook }}\n\n"),
    ("markbook-averages.yaml", "forEach: ${{ steps.book.students }}", "forEach: ${{ steps.bok.students }}"),
    ("markbook-averages.yaml", "student.familyName", "student.lastName"),
    ("markbook-averages.yaml", "student.givenName", "student.givnName"),
    ("weekly-report.yaml", "stats.median(marks)", "stats.medain(marks)"),
    ("markbook-averages.yaml", "has(r.percent) && r", "has(r.percent) and r"),
    ("markbook-averages.yaml", "if: average != ''", "if: average !== ''"),
    ("markbook-averages.yaml", "if: found.size() != 1", "if: found.length != 1"),
    (
      "markbook-averages.yaml", "\"${{ marks.size() > 0 ? '%.1f'.format([stats.round(stats.mean(marks), 1)]) : '' }}\"",
      "${{ marks.size() > 0 ? '%.1f'.format([stats.round(stats.mean(marks), 1)]) : '' }}"
    ),
    ("markbook-backup.yaml", "timeout: 20h", "timeout: 20 hours"),
    ("markbook-backup.yaml", "every: 1h", "every: 1"),
    ("nearest-exits.yaml", "type: bool, default: true", "type: bool, default: yes"),
    ("hello.yaml", "    forEach:", "\tforEach:"),
    ("markbook-averages.yaml", "taskName: ${{ target.name }}", "taskName: {{ target.name }}"),
    ("markbook-backup.yaml", "jitter: none", "jitter: non"),
    (
      "markbook-averages.yaml", "      markbookKey: ${{ inputs.markbook }}\n\n",
      "    markbookKey: ${{ inputs.markbook }}\n\n"
    ),
    ("tests/hello.test.yaml", "times: 3", "time: 3"),
  ]

  @Test func `most of twenty mistakes are mended`() async throws {
    let program = try await Program()
    try await program.copyRecipes()
    var left: [String] = []
    for (file, right, wrong) in Self.seeds {
      let path = "recipes/\(file)"
      let text = try program.read(path)
      let seeded = text.replacingOccurrences(of: right, with: wrong)
      #expect(seeded != text, "\(file) has no \(right)")
      try program.write(seeded, to: path)
      let before = try await program.call("check", path)
      #expect(before.code == 3, "\(wrong): \(before.error)")
      let outcome = try await program.call("check", "--fix", path)
      if outcome.code != 0 {
        left.append(wrong)
      } else {
        let mended = try program.read(path)
        let isAsBefore = mended == text || wrong == "if: found.length != 1" || wrong.contains("{{")
        #expect(isAsBefore, "\(wrong): \(outcome.out)")
      }
      try program.write(text, to: path)
    }
    // A name that resembles another field more than the one that is meant, one that resembles `mean` as well, and a
    // length of time without its unit.
    #expect(left == ["student.lastName", "stats.medain(marks)", "every: 1"])
    await program.remove()
  }

  private static let recipe = "recipe: a\r\nsumary: A.\r\nsteps:\r\n  - wait: 5 minutes  # long\r\n"
  private static let mended = "recipe: a\r\nsummary: A.\r\nsteps:\r\n  - wait: 5m  # long\r\n"
  private static let diff = """
    --- link.yaml
    +++ link.yaml
    @@ -1,4 +1,4 @@
     recipe: a\r
    -sumary: A.\r
    +summary: A.\r
     steps:\r
    -  - wait: 5 minutes  # long\r
    +  - wait: 5m  # long\r

    """

  @Test func `a file keeps its mode, line breaks and links`() async throws {
    let program = try await Program()
    try program.write(Self.recipe, to: "a.yaml")
    let place = program.folder.appending(path: "a.yaml").path
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: place)
    try FileManager.default.createSymbolicLink(
      atPath: program.folder.appending(path: "link.yaml").path, withDestinationPath: "a.yaml")
    let trial = try await program.call("check", "--fix", "--dry-run", "link.yaml")
    #expect(trial.out == Self.diff)
    #expect(trial.error == "2 fixes would change 1 file\n1 recipe checked, no faults\n")
    #expect(trial.code == 0)
    #expect(try program.read("a.yaml") == Self.recipe)
    let outcome = try await program.call("check", "--fix", "link.yaml")
    #expect(outcome.out == Self.diff)
    #expect(outcome.error == "2 fixes changed 1 file\n1 recipe checked, no faults\n")
    #expect(outcome.code == 0)
    #expect(try program.read("a.yaml") == Self.mended)
    let attributes = try FileManager.default.attributesOfItem(atPath: place)
    #expect(attributes[.posixPermissions] as? Int == 0o640)
    let link = try FileManager.default.destinationOfSymbolicLink(
      atPath: program.folder.appending(path: "link.yaml").path)
    #expect(link == "a.yaml")
    await program.remove()
  }

  @Test func `what is not fixed says why, and stays`() async throws {
    let program = try await Program()
    try program.write("recipe: a\nsummary: A.\nsteps:\n  - wait: 5\n", to: "a.yaml")
    let outcome = try await program.call("check", "--fix", "a.yaml")
    #expect(outcome.code == 3)
    #expect(outcome.out == "")
    #expect(
      outcome.error == """
        a.yaml:4:11: error: 'wait' takes a duration such as 90s, 5m, 1h30m, 2d, but found 5; say the unit: 5s, 5m or 5h
            - wait: 5
                    ^
        note: not fixed, because several fixes are as likely: write 5s; write 5m; write 5h
        1 recipe checked: 1 error

        """)
    let alone = try await program.call("check", "--dry-run", "a.yaml")
    #expect(alone.code == 64)
    await program.remove()
  }

  @Test func `the reason of what is left is true, and each file counts once`() async throws {
    let program = try await Program()
    try program.write("recipe: called\nsumary: A.\nsteps:\n  - wait: 5m\n", to: "called.yaml")
    try program.write("recipe: a\nsumary: A.\nsteps:\n  - call: called.yaml\n", to: "a b#c.yaml")
    let trial = try await program.call("check", "--fix", "--dry-run", "a b#c.yaml", "./a b#c.yaml")
    #expect(trial.error.hasPrefix("1 fix would change 1 file\n"))
    #expect(
      trial.error.contains("note: not fixed, because only the files that were named are changed: write 'summary'"))
    let sarif = try await program.call("check", "--format", "sarif", "a b#c.yaml")
    #expect(sarif.out.contains("\"uri\": \"a%20b%23c.yaml\""))
    try program.write(
      "recipe: a\non:\n  - webhook:\n      path: x\n      verify: { github: hunter2PLANTED }\nsteps:\n  - let:\n\ta: 1\n",
      to: "w.yaml")
    let secret = try await program.call("check", "--fix", "w.yaml")
    #expect(try program.read("w.yaml").contains("      a: 1"))
    #expect(!secret.out.contains("hunter2PLANTED"))
    #expect(!secret.error.contains("hunter2PLANTED"))
    await program.remove()
  }

  @Test func `errand.yaml is mended with its recipes, or where it is named`() async throws {
    let program = try await Program()
    let text =
      "connections:\n  markbook: { apiKey: hunter2PLANTED, username: me, password: 2PLANTED } # why\nzonne: UTC\nhistory: { keepFor: 30 days }\n"
    let mended = text.replacingOccurrences(of: "zonne", with: "zone").replacingOccurrences(of: "30 days", with: "30d")
    let recipe = "recipe: a\nsumary: A.\nsteps:\n  - wait: 5m\n"
    try program.write(text, to: "errand.yaml")
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
    try program.write(recipe, to: "recipes/a.yaml")
    let place = program.folder.appending(path: "errand.yaml").path
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: place)
    let recipeAlone = try await program.call("check", "--fix", "recipes/a.yaml")
    #expect(recipeAlone.code == 78)
    #expect(try program.read("errand.yaml") == text && program.read("recipes/a.yaml") == recipe)
    let trial = try await program.call("check", "--fix", "--dry-run")
    #expect(trial.code == 0, "\(trial.error)")
    #expect(trial.error.contains("3 fixes would change 2 files\n"), "\(trial.error)")
    #expect(
      trial.out.contains(
        " connections:\n   markbook: { apiKey: •••, username: me, password: ••• } # why\n-zonne: UTC\n"), "\(trial.out)"
    )
    #expect(!trial.out.contains("PLANTED") && !trial.error.contains("PLANTED"))
    #expect(try program.read("errand.yaml") == text)
    let outcome = try await program.call("check", "--fix", "errand.yaml")
    #expect(outcome.code == 0)
    #expect(outcome.error.hasSuffix("2 fixes changed 1 file\nerrand.yaml checked, no faults\n"), "\(outcome.error)")
    #expect(try program.read("errand.yaml") == mended && program.read("recipes/a.yaml") == recipe)
    let attributes = try FileManager.default.attributesOfItem(atPath: place)
    #expect(attributes[.posixPermissions] as? Int == 0o640)
    let missing = try await program.call("check", "other/errand.yaml")
    #expect(missing.code == 66 && missing.error == "error: 'other/errand.yaml' doesn't exist\n", "\(missing.error)")
    await program.remove()
  }

  @Test(arguments: ["-", "/dev/stdin", "/dev/null"])
  func `what isn't a file isn't changed`(_ path: String) async throws {
    let program = try await Program()
    let checked = try await program.call("check", path)
    let advice = "cannot read '-': no such file or folder (ENOENT); standard input is /dev/stdin\n"
    #expect(checked.error.contains(advice) == (path == "-"), "\(checked.error)")
    let outcome = try await program.call("check", "--fix", path)
    #expect(outcome.code == 64)
    #expect(
      outcome.error
        == "error: --fix can't change '\(path)', which isn't a file; name a file, or add --dry-run to see the changes\n"
    )
    await program.remove()
  }

  @Test(arguments: [
    ("ci.yml", "name: a\non: push\njobs:\n  build: {}\ndescription: x\n"),
    ("cloud.yaml", "steps:\n  - name: builder\n    args: [a]\nimages: [b]\n"),
    ("kite.yml", "steps:\n  - block: go\n  - label: a\n    command: make\n"),
  ])
  func `files of other programs stay as they are`(_ name: String, _ text: String) async throws {
    let program = try await Program()
    try program.write(text, to: name)
    let outcome = try await program.call("check", "--fix", name)
    #expect(outcome.code == 3)
    #expect(try program.read(name) == text)
    await program.remove()
  }

  @Test func `a file of secrets is no recipe, and nothing of it is displayed`() async throws {
    let program = try await Program()
    try program.write("secrets: { files: [secrets.yaml] }\n", to: "errand.yaml")
    try program.write("KEY: PLANTED-7\ninput: PLANTED-8\n", to: "secrets.yaml")
    for options in [[], ["--fix"]] {
      let outcome = try await program.call(["check"] + options + ["./secrets.yaml"])
      #expect(outcome.code == 64)
      #expect(
        outcome.error.contains(
          "'./secrets.yaml' isn't a recipe: errand.yaml names it as a file of secrets"), "\(outcome.error)")
      #expect(!(outcome.out + outcome.error).contains("PLANTED"))
    }
    await program.remove()
  }

  @Test func `a secret that a recipe writes out isn't displayed`() async throws {
    let program = try await Program()
    try program.write(
      """
      recipe: a
      summary: A.
      inputs: { tok: { type: string, secret: true, default: PLANTED-1 } }
      steps:
        - uses: http.get
          with: { url: "https://a.example", headers: { Authorization: "Bearer PLANTED-2" } }

      """, to: "a.yaml")
    let outcome = try await program.call("check", "a.yaml")
    #expect(outcome.error.contains("a secret has no default"))
    #expect(outcome.error.contains("looks like a secret"))
    #expect(!outcome.error.contains("PLANTED"), "\(outcome.error)")
    await program.remove()
  }

  @Test func `a diff shows no secret`() async throws {
    let program = try await Program()
    let head = "recipe: a\non:\n  - webhook:\n      path: x\n      verify:\n        github:"
    // The second is never readable: its last quote may end anywhere.
    for (secret, rest) in [
      (" \"hunter2PLANTED", "steps:\n  - wait: 5 minutes\n"), (" \"hunter2PLANTED", "steps:\n  - let: { a: \"b }\n"),
      ("\n          'hunter2PLANTED", "sumary: A\nsteps:\n  - wait: 1s\n"),
      (" https://me:hunter2PLANTED@x.org", "sumary: A\nsteps:\n  - wait: 1s\n"),
    ] {
      try program.write("\(head)\(secret)\n\(rest)", to: "w.yaml")
      for format in ["text", "json", "sarif", "github"] {
        let outcome = try await program.call("check", "--fix", "--dry-run", "--format", format, "w.yaml")
        #expect(outcome.code == 3)
        #expect(
          !outcome.out.contains("PLANTED") && !outcome.error.contains("PLANTED"), "\(outcome.out)\(outcome.error)")
      }
    }
    try program.write("\(head) \"hunter2PLANTED\nsteps:\n  - wait: 5 minutes\n", to: "w.yaml")
    let outcome = try await program.call("check", "--fix", "w.yaml")
    #expect(
      outcome.out == """
        --- w.yaml
        +++ w.yaml
        @@ -3,6 +3,6 @@
           - webhook:
               path: x
               verify:
        -        github: •••
        +        github: •••
         steps:
        -  - wait: 5 minutes
        +  - wait: 5m

        """)
    #expect(try program.read("w.yaml").contains("github: \"hunter2PLANTED\"\n"))
    await program.remove()
  }

  @Test func `no format shows a password in a URL`() async throws {
    let program = try await Program()
    try program.write(
      "recipe: a\nsteps:\n  - uses: http.get\n    with: { url: \"ftp://me:hunter2PLANTED@x.org/\" }\n"
        + "  - uses: http.get\n    url: https://me:hunter2PLANTED@x.org/\n", to: "a.yaml")
    for format in ["text", "json", "sarif", "github"] {
      for options in [[], ["--fix", "--dry-run"]] {
        let outcome = try await program.call(["check", "--format", format, "a.yaml"] + options)
        #expect(outcome.code == 3)
        #expect(
          !outcome.out.contains("PLANTED") && !outcome.error.contains("PLANTED"), "\(outcome.out)\(outcome.error)")
      }
    }
    await program.remove()
  }

  /// Steps that run a command as elsewhere, and the texts of the edits of their fix.
  @Test(arguments: [
    ("- run: ls", ["uses: shell.run\n    with:\n      effect: write\n      script"]),
    ("- { run: ls }", ["uses: shell.run, with: { effect: write, script", " }"]),
    (
      "- name: List\n    run: |\n      ls\n      pwd\n    timeout: 5m",
      ["uses: shell.run\n    with:\n      effect: write\n      script", "  ", "  "]
    ),
    ("- run: [ls]", []), ("- run: ls\n    shell: bash", []), ("- run: ls\n    with: { a: 1 }", []),
  ])
  func `a command of another system is run by an action`(_ step: String, _ texts: [String]) async throws {
    let program = try await Program()
    try program.write("recipe: a\nsteps:\n  \(step)\n", to: "a.yaml")
    let outcome = try await program.call("check", "--format", "json", "a.yaml")
    let edits = outcome.json.list?.first?["fixes"]?.list?.first?["edits"]?.list ?? []
    #expect(edits.compactMap { $0["text"]?.string } == texts, "\(outcome.out)")
    await program.remove()
  }

  @Test func `JSON and SARIF show the fixes`() async throws {
    let program = try await Program()
    try program.write("recipe: a\nsumary: A.\nsteps:\n  - wait: 5m\n", to: "a.yaml")
    let json = try await program.call("check", "--format", "json", "a.yaml")
    #expect(
      JSON.displayed(json.json.list?.first?["fixes"] ?? .null)
        == #"[{"title":"write 'summary'","edits":[{"startLine":2,"startColumn":1,"endLine":2,"endColumn":7,"text":"summary"}]}]"#
    )
    let sarif = try await program.call("check", "--format", "sarif", "a.yaml")
    let result = sarif.json["runs"]?.list?.first?["results"]?.list?.first
    #expect(
      JSON.displayed(result?["fixes"] ?? .null)
        == #"[{"description":{"text":"write 'summary'"},"artifactChanges":[{"artifactLocation":{"uri":"a.yaml"},"#
        + #""replacements":[{"deletedRegion":{"startLine":2,"startColumn":1,"endLine":2,"endColumn":7},"#
        + #""insertedContent":{"text":"summary"}}]}]}]"#)
    await program.remove()
  }
}

extension Program {
  fileprivate func copyRecipes() async throws {
    try FileManager.default.copyItem(at: Program.root.appending(path: "recipes"), to: folder.appending(path: "recipes"))
  }
}
