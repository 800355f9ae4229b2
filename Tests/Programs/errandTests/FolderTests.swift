import ActionKit
import Foundation
import Glibc
import Testing

/// The files that recipes may change, and the owners whose folders are trusted.
@Suite(.timeLimit(.minutes(20))) struct FolderTests {
  /// A program whose folder holds files of its own, some of them without their usual names.
  private static func program(_ extra: String = "") async throws -> Program {
    let program = try await Program()
    for name in ["recipes", "sub", "data"] {
      try FileManager.default.createDirectory(
        at: program.folder.appending(path: name), withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700])
    }
    let configuration = try String(contentsOf: program.folder.appending(path: "errand.yaml"), encoding: .utf8)
    try program.write(
      """
      state: data
      secrets: { files: [secrets.yaml, later.yaml], age: { files: [sealed.age], identity: key.txt }, commands: { GIVEN: [sub/give.sh, x] } }
      \(configuration)  file: {}
        inner: { plugin: file, folder: data, hidden: true }
        above: { plugin: file, folder: "\(program.folder.deletingLastPathComponent().path)" }
      \(extra)

      """, to: "errand.yaml")
    try program.write("TOKEN: sesame\n", to: "secrets.yaml")
    try program.write("AGE-SECRET-KEY-1\n", to: "key.txt")
    try program.write("steps: [{ let: { a: 1 } }]\n", to: "recipes/own.yaml")
    for name in ["secrets.yaml", "key.txt"] {
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o600], ofItemAtPath: program.folder.appending(path: name).path)
    }
    guard link("\(program.folder.path)/secrets.yaml", "\(program.folder.path)/alias.txt") == 0,
      link("\(program.folder.path)/recipes/own.yaml", "\(program.folder.path)/own.txt") == 0
    else { throw POSIXError(.EIO) }
    return program
  }

  private static let meant = "  meant: { plugin: file, allowRecipes: true }"

  private static func outcome(_ step: String, in program: Program) async throws -> Program.Outcome {
    let inputs = "inputs: { at: { type: string, default: '' } }"
    try program.write(
      "\(inputs)\nsteps:\n  - id: work\n    \(step)\noutputs: { result: '${{ steps.work }}' }\n", to: "try.yaml")
    return try await program.call("run", "try.yaml", "--json")
  }

  @Test(arguments: [
    "uses: file.read\n    with: { path: secrets.yaml }",
    "uses: file.read\n    with: { path: ./secrets.yaml }",
    "uses: file.readBytes\n    with: { path: alias.txt }",
    "uses: file.exists\n    with: { path: key.txt }",
    "uses: file.read\n    with: { path: errand.yaml }",
    "uses: file.write\n    with: { path: later.yaml, text: 'A: b' }",
    "uses: file.write\n    with: { path: LATER.yaml, text: 'A: b' }",
    "uses: file.delete\n    with: { path: secrets.yaml }",
    "uses: file.move\n    with: { from: secrets.yaml, to: x }",
    "uses: file.move\n    with: { from: recipes, to: x }",
    "uses: file.write\n    with: { path: recipes/new.yaml, text: 'steps: []' }",
    "uses: file.append\n    with: { path: recipes/own.yaml, text: '# x' }",
    "uses: file.append\n    with: { path: sub/give.sh, text: 'echo x' }",
    "uses: file.append\n    with: { path: own.txt, text: '# x' }",
    "uses: file.append\n    with: { path: try.yaml, text: '# x' }",
    "uses: file.move\n    with: { from: try.yaml, to: x }",
    "uses: file.write\n    with: { path: data/state.json, text: x }",
    "uses: file.list\n    with: { folder: data }",
    "uses: file.write\n    connection: inner\n    with: { path: state.json, text: x }",
    "uses: file.write\n    connection: meant\n    with: { path: data/x, text: x }",
    "uses: file.read\n    connection: meant\n    with: { path: secrets.yaml }",
    "uses: json.write\n    with: { path: recipes/new.yaml, value: { steps: [] } }",
  ])
  func `files of errand's own are out of bounds for actions, whatever their name`(_ step: String) async throws {
    let program = try await Self.program(step.contains("meant") ? Self.meant : "")
    // The content of a folder is known only in the run.
    let isFolder = step.contains("from: recipes") || step.contains("folder: ")
    let refused = try await Self.outcome(step, in: program)
    #expect(refused.code == (isFolder ? 1 : 3))
    #expect((refused.out + refused.error).contains("errand's own"), "\(refused.out)\(refused.error)")
    // The target of a computed path is known only in the run.
    let computed = step.replacing(/(path|from|folder): ([^ ,}]+)/) { "\($0.1): \"${{ inputs.at + '\($0.2)' }}\"" }
    let outcome = try await Self.outcome(computed, in: program)
    #expect(outcome.code == 1, "\(outcome.error)")
    #expect(outcome.json["error"]?["kind"]?.string == "validation")
    #expect(outcome.json["error"]?["message"]?.string?.contains("errand's own") == true)
    #expect(FileManager.default.fileExists(atPath: program.folder.appending(path: "secrets.yaml").path))
    #expect(!FileManager.default.fileExists(atPath: program.folder.appending(path: "recipes/new.yaml").path))
    await program.remove()
  }

  /// A file that doesn't exist yet may be one of errand's own.
  @Test(arguments: [
    ("uses: file.write\n    with: { path: auto/n.yaml, text: x }", "auto"),
    ("uses: file.write\n    with: { path: auto/deep/n.yml.bak, text: x }", "auto"),
    ("uses: file.write\n    with: { path: one/job.recipe, text: x }", "one"),
    ("uses: file.append\n    with: { path: plugins/a.lock.json, text: x }", "plugins"),
    ("uses: file.write\n    connection: locks\n    with: { path: a.lock.json, text: x }", "plugins"),
    ("uses: file.write\n    connection: locks\n    with: { path: sub/a.lock.json, text: x }", "plugins"),
    ("uses: file.write\n    with: { path: lib/alert.yaml, text: x }", "lib"),
    ("uses: file.write\n    with: { path: certificates/ca.pem, text: x }", "certificates"),
    ("uses: file.write\n    with: { path: bin/report, text: x }", "bin"),
    ("uses: file.write\n    with: { path: my tools/get.sh, text: x }", "my tools"),
  ])
  func `what errand.yaml names is out of bounds before it is there`(_ step: String, _ folder: String) async throws {
    let program = try await Self.program(
      """
        locks: { plugin: file, folder: plugins }
        shell: { path: "bin:/usr/bin" }
        http: { certificateAuthorities: certificates/ca.pem }
      """)
    var text = try String(contentsOf: program.folder.appending(path: "errand.yaml"), encoding: .utf8)
    text = text.replacing("GIVEN: [sub/give.sh, x]", with: "GIVEN: [sh, -c, \"'./my tools/get.sh' x\"]")
    try program.write("recipes: [recipes, auto, one/job.recipe]\nonFailure: lib/alert.yaml\n\(text)", to: "errand.yaml")
    let computed = step.replacing(/path: ([^,}]+)/) { "path: \"${{ inputs.at + '\($0.1)' }}\"" }
    for step in [step, computed] {
      let outcome = try await Self.outcome(step, in: program)
      #expect(outcome.code != 0)
      #expect((outcome.out + outcome.error).contains("errand's own"), "\(outcome.out)\(outcome.error)")
    }
    let made = try? FileManager.default.subpathsOfDirectory(atPath: program.folder.appending(path: folder).path)
    #expect(made?.contains { URL(filePath: $0).pathExtension != "" || $0 == "report" } != true)
    await program.remove()
  }

  @Test func `a connection may be allowed recipes, and folders that hold errand's own are not moved away`()
    async throws
  {
    let program = try await Self.program(Self.meant)
    let written = try await Self.outcome(
      "uses: file.write\n    connection: meant\n    with: { path: recipes/new.yaml, text: 'steps: []' }", in: program)
    #expect(written.code == 0)
    let listed = try await Self.outcome("uses: file.list\n    with: { recursive: true }", in: program)
    let names = listed.json["outputs"]?["result"]?["entries"]?.list?.compactMap { $0["path"]?.string } ?? []
    #expect(names == ["recipes", "sub"])
    let name = program.folder.lastPathComponent
    let moved = try await Self.outcome(
      "uses: file.move\n    connection: above\n    with: { from: \(name), to: \(name)-away }", in: program)
    #expect(moved.code == 1)
    #expect(FileManager.default.fileExists(atPath: program.folder.path))
    try? FileManager.default.removeItem(atPath: "\(program.folder.path)-away")
    await program.remove()
  }

  @Test func `a recipe is out of bounds wherever it is, and so are those that it calls, also for an agent elsewhere`()
    async throws
  {
    let program = try await Self.program("  recipes: { plugin: file, folder: sub, allowRecipes: true }\n")
    func step(_ path: String) -> String {
      "steps: [{ call: other.txt }, { uses: file.append, with: { path: '\(path)', text: '# x' } }]\n"
    }
    try program.write("inputs: { path: string }\n" + step("${{ inputs.path }}"), to: "sub/main.txt")
    try program.write("steps: [{ let: { a: 1 } }]\n", to: "sub/other.txt")
    func run(_ arguments: String) async throws -> Program.Outcome {
      try await program.shell("cd sub && '\(Program.binary.path)' \(arguments) main.txt")
    }
    let cases = [("main.txt", 1), ("./other.txt", 1), ("free.txt", 0)]
    for isServed in [false, true] {
      let serve = isServed ? try program.serve("serve") : nil
      await serve?.line(with: "serves")
      for (name, code) in cases {
        let outcome = try await run("run -i path=sub/\(name)")
        #expect(outcome.code == code, "\(name): \(outcome.error)")
        #expect(outcome.error.contains("among errand's own files (recipes)") == (code == 1), "\(outcome.error)")
      }
      serve?.signal(SIGTERM)
      _ = await serve?.end()
    }
    // The text for the recipe is computed before.
    try program.write(step("sub/main.txt"), to: "sub/main.txt")
    #expect(try await run("check").error.contains("among errand's own files (recipes)"))
    try program.write(
      "steps: [{ uses: file.append, connection: recipes, with: { path: main.txt, text: '# x' } }]\n",
      to: "sub/main.txt")
    #expect(try await run("run").code == 0)
    await program.remove()
  }

  @Test func `a pipe or a socket in the place of a file is named, and nothing waits for it`() async throws {
    let program = try await Self.program()
    try program.write("steps: [{ let: { a: 1 } }]\n", to: "try.yaml")
    #expect(try await program.call("run", "try.yaml").code == 0)
    let state = "\(program.folder.path)/data"
    let journals = try FileManager.default.contentsOfDirectory(atPath: state).filter { $0.hasPrefix("journal-") }
    let files = ["errand.yaml", "recipes/own.yaml", "data/\(try #require(journals.max()))"]
    let places =
      [program.folder.path + "/errand.yaml", "recipes/own.yaml"]
      + files.dropFirst(2).map {
        "\(program.folder.path)/\($0)"
      }
    for (file, place) in zip(files, places) {
      let command = file.hasPrefix("recipes") ? "check" : "run"
      for (kind, make) in [("pipe", "mkfifo"), ("socket", "python3 -c 'import os,sys;os.mknod(sys.argv[1],0o140600)'")]
      {
        let outcome = try await program.shell(
          "mv \(file) kept && \(make) \(file) && timeout 60 '\(Program.binary.path)' \(command) recipes/own.yaml; "
            + "code=$?; rm \(file); mv kept \(file); exit $code")
        #expect([3, 73, 78].contains(outcome.code), "\(file) \(kind): \(outcome.code)")
        #expect(
          outcome.error.contains("cannot read '\(place)': it is a \(kind), not a regular file"), "\(outcome.error)")
      }
    }
    #expect(try await program.call("run", "try.yaml").code == 0)
    await program.remove()
  }

  @Test(arguments: [("write", 0o777), ("group", 0o770), ("owner", 0o700)])
  func `a state folder in which others may write, or of another user, is refused`(_ what: String, _ mode: Int)
    async throws
  {
    let program = try await Self.program()
    let state = program.folder.appending(path: "data").path
    guard chmod(state, mode_t(mode)) == 0, what != "owner" || chown(state, 65534, 65534) == 0 else {
      // Only root can change the owner of folders.
      if getuid() == 0 { throw POSIXError(.EIO) }
      return
    }
    let outcome = try await Self.outcome("uses: file.exists\n    with: { path: sub }", in: program)
    #expect(outcome.code == 73)
    #expect(
      outcome.error.contains(
        what == "owner"
          ? "error: the state folder '\(state)' belongs to the user nobody, and this is root; "
            + "run as that user, or take it over with: chown -R root '\(state)'"
          : "error: other users may write to the state folder '\(state)'; forbid it with: chmod go-w '\(state)'"))
    #expect(!FileManager.default.fileExists(atPath: "\(state)/agent.lock"))
    await program.remove()
  }

  @Test func `a recording of what was refused before it began is not kept`() async throws {
    let program = try await ServeTests.program(["done.yaml": ServeTests.done])
    let serve = try program.serve("serve")
    await serve.line(with: "serves")
    let refused = try await program.call("run", "recipes/done.yaml", "--record", "kept.json")
    #expect(refused.code == 75, "\(refused.error)")
    #expect(!FileManager.default.fileExists(atPath: program.folder.appending(path: "kept.json").path))
    serve.signal(SIGTERM)
    #expect(await serve.end() == 0)
    #expect(try await program.call("run", "recipes/done.yaml", "--record", "kept.json").code == 0)
    #expect(FileManager.default.fileExists(atPath: program.folder.appending(path: "kept.json").path))
    await program.remove()
  }

  @Test func `a lock that is a symbolic link is refused, and what it leads to stays as it is`() async throws {
    let program = try await Self.program()
    try program.write("mine", to: "sub/victim")
    guard symlink("\(program.folder.path)/sub/victim", "\(program.folder.path)/data/agent.lock") == 0 else {
      throw POSIXError(.EIO)
    }
    let outcome = try await Self.outcome("uses: file.exists\n    with: { path: sub }", in: program)
    #expect(outcome.code == 73)
    #expect(try String(contentsOf: program.folder.appending(path: "sub/victim"), encoding: .utf8) == "mine")
    await program.remove()
  }

  @Test func `new files are as open as the process's mask lets them be`() async throws {
    let program = try await Program()
    try program.write(
      """
      steps:
        - { uses: file.write, with: { path: a/one, text: x } }
        - { uses: json.write, with: { path: two, value: [1] } }
        - { uses: csv.write, with: { path: three, rows: [{ a: 1 }] } }
        - { uses: file.append, with: { path: four, text: x } }
      """, to: "try.yaml")
    for (mask, file, folder) in [("077", 0o600, 0o700), ("027", 0o640, 0o750), ("002", 0o664, 0o775)] {
      let outcome = try await program.shell(
        "rm -rf a two three four; umask \(mask); exec \(Program.binary.path) run try.yaml")
      #expect(outcome.code == 0)
      let modes = try ["a/one", "two", "three", "four", "a"].map { name in
        try FileManager.default.attributesOfItem(atPath: program.folder.appending(path: name).path)[.posixPermissions]
          as? Int
      }
      #expect(modes == [file, file, file, file, folder])
    }
    await program.remove()
  }

  @Test func `a file left by a kill doesn't stop the resumed run`() async throws {
    let program = try await Program()
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "out"), withIntermediateDirectories: true)
    try program.write("half", to: "out/.errand-99999-1.new")
    try program.write(
      """
      steps:
        - { uses: file.write, with: { path: out/x, text: x } }
        - { uses: file.delete, with: { path: out/x } }
        - { uses: file.delete, with: { path: out } }
      """, to: "try.yaml")
    let outcome = try await program.call("run", "try.yaml")
    #expect(outcome.code == 0)
    await program.remove()
  }

  @Test func `files and folders move to another file system`() async throws {
    let program = try await Program()
    let other = "/dev/shm/errand-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: other) }
    var (here, there) = (stat(), stat())
    guard stat(program.folder.path, &here) == 0, stat(other, &there) == 0, here.st_dev != there.st_dev else {
      print("skipped: /dev/shm isn't a separate file system")
      return await program.remove()
    }
    try program.write("  file: { others: [\(other)] }\n", after: "errand.yaml")
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "tree/deep"), withIntermediateDirectories: true)
    try program.write("inside", to: "tree/deep/file")
    try program.write("whole", to: "one")
    try program.write(
      """
      steps:
        - { uses: file.move, with: { from: one, to: \(other)/new/one } }
        - { uses: file.move, with: { from: tree, to: \(other)/tree } }
      """, to: "try.yaml")
    let outcome = try await program.call("run", "try.yaml")
    #expect(outcome.code == 0, "\(outcome.error)")
    #expect(try String(contentsOfFile: "\(other)/new/one", encoding: .utf8) == "whole")
    #expect(try String(contentsOfFile: "\(other)/tree/deep/file", encoding: .utf8) == "inside")
    #expect(!FileManager.default.fileExists(atPath: program.folder.appending(path: "tree").path))
    #expect(!FileManager.default.fileExists(atPath: program.folder.appending(path: "one").path))
    await program.remove()
  }

  @Test func `names in other Unicode forms are reported`() async throws {
    let program = try await Program()
    let folder = program.folder.path
    try FileManager.default.createDirectory(atPath: "\(folder)/in", withIntermediateDirectories: true)
    let latin: [UInt8] = Array("\(folder)/in/caf".utf8) + [0xE9, 0]
    let descriptor = latin.withUnsafeBytes { bytes in
      open(
        bytes.baseAddress?.assumingMemoryBound(to: CChar.self) ?? UnsafePointer(strdup("")), O_CREAT | O_WRONLY, 0o600)
    }
    #expect(descriptor >= 0)
    close(descriptor)
    #expect(FileManager.default.createFile(atPath: "\(folder)/in/cafe\u{301}.txt", contents: Data("x".utf8)))
    let listed = try await Self.outcome("uses: file.list\n    with: { folder: in, pattern: 'caf\u{E9}*' }", in: program)
    let result = listed.json["outputs"]?["result"]
    let names = result?["entries"]?.list?.compactMap { $0["name"]?.string?.unicodeScalars.map(\.value) }
    #expect(names == ["cafe\u{301}.txt".unicodeScalars.map(\.value)])
    #expect(result?["unreadable"]?.list?.compactMap(\.string) == [#"caf\xE9"#])
    let read = try await Self.outcome("uses: file.read\n    with: { path: \"in/caf\u{E9}.txt\" }", in: program)
    #expect(read.code == 1)
    #expect(read.json["error"]?["message"]?.string?.contains("in another Unicode form") == true)
    await program.remove()
  }
}

extension Program {
  /// Appends to a file.
  func write(_ text: String, after name: String) throws {
    let old = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
    try write(old + text, to: name)
  }
}
