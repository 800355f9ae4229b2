import ActionTestKit
import Basics
import Foundation
import ProcessTestKit
import Recipes
import Testing

@testable import SecretSources

/// A folder with sources of secrets.
private struct Sources {
  let folder: String
  var settings = SecretSettings()
  var environment = ["PATH": "/usr/local/bin:/usr/bin:/bin"]

  init() throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "secrets-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  func remove() { try? FileManager.default.removeItem(atPath: folder) }

  func write(_ text: String, to name: String, mode: Int = 0o600) throws {
    let path = "\(folder)/\(name)"
    try FileManager.default.createDirectory(
      atPath: URL(filePath: path).deletingLastPathComponent().path, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(filePath: path))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
  }

  var sources: SecretSources { SecretSources(settings, folder: folder, environment: environment) }

  /// The source and the value of a secret, or the error.
  func find(_ name: String, runsCommands: Bool = true) async -> String {
    do throws(SecretError) {
      guard let found = try await sources.find(name, runsCommands: runsCommands) else { return "nowhere" }
      return "\(found.origin.text): \(found.value ?? "?")".replacingOccurrences(of: folder, with: "FOLDER")
    } catch {
      return "fault: \(error.message)".replacingOccurrences(of: folder, with: "FOLDER")
    }
  }
}

@Suite(.timeLimit(.minutes(20))) struct `Where secrets come from` {
  @Test func `the first source that has a secret counts`() async throws {
    var sources = try Sources()
    defer { sources.remove() }
    try sources.write("A: one\nB: one\n", to: "one.yaml")
    try sources.write("B: two\nC: two\n", to: "two.yaml")
    for name in ["A", "C", "D"] { try sources.write("given \(name)\n", to: "credentials/\(name)", mode: 0o440) }
    sources.settings.files = ["one.yaml", "\(sources.folder)/two.yaml"]
    sources.settings.commands = ["A": SecretSettings.Command(["printf", "%s\n", "printed"])]
    sources.environment["CREDENTIALS_DIRECTORY"] = "\(sources.folder)/credentials"
    for name in ["A", "B", "C", "D", "E"] { sources.environment[name] = "set" }
    let wanted = [
      "A": "the command 'printf '%s\n' printed': printed",
      "B": "'one.yaml': one",
      "C": "'FOLDER/two.yaml': two",
      "D": "the systemd credential 'FOLDER/credentials/D': given D",
      "E": "the environment: set",
      "F": "nowhere",
    ]
    for (name, text) in wanted { #expect(await sources.find(name) == text) }
    sources.environment["not-a-name"] = "set"
    sources.settings.commands["G"] = SecretSettings.Command(["program-that-is-not-there"])
    let names: Set = ["A", "B", "C", "D", "E", "G", "PATH", "CREDENTIALS_DIRECTORY"]
    #expect(await sources.sources.names() == names)
    #expect(sources.sources.namesWithoutCommands() == ["A", "B", "C", "D", "G"])
    sources.settings.environment = false
    #expect(await sources.find("E") == "nowhere")
    #expect(await sources.sources.names() == ["A", "B", "C", "D", "G"])
  }

  @Test func `what a command printed is read again when it is too old`() async throws {
    var sources = try Sources()
    defer { sources.remove() }
    let script = "echo x >> calls; wc -l < calls"
    sources.settings.commands = [
      "OLD": SecretSettings.Command(["sh", "-c", script]),
      "TOKEN": SecretSettings.Command(["sh", "-c", script.replacing("calls", with: "tokens")], renew: .seconds(3000)),
    ]
    let time = TestTime()
    let found = SecretSources(
      sources.settings, folder: sources.folder, environment: sources.environment, time: time)
    func read(_ name: String) async throws -> String { try await found.find(name)?.value ?? "nothing" }
    #expect(found.growOld(["OLD"]) == false)
    #expect(found.growOld(["OLD", "TOKEN"]))
    #expect(await found.due(of: ["TOKEN"]) == nil)
    #expect(try await [read("OLD"), read("TOKEN")] == ["1", "1"])
    #expect(await found.due(of: ["OLD", "TOKEN"]) == time.elapsed() + .seconds(3000))
    time.advance(by: .seconds(2999))
    #expect(try await [read("OLD"), read("TOKEN")] == ["1", "1"])
    time.advance(by: .seconds(1))
    #expect(try await [read("OLD"), read("TOKEN")] == ["1", "2"])
    #expect(await found.due(of: ["TOKEN"]) == time.elapsed() + .seconds(3000))
  }

  @Test func `a failing source is reported, and no other replaces it`() async throws {
    var sources = try Sources()
    defer { sources.remove() }
    try sources.write("B: one\n", to: "open.yaml", mode: 0o640)
    sources.environment["A"] = "set"
    sources.environment["B"] = "set"
    sources.settings.commands = ["A": SecretSettings.Command(["false"])]
    sources.settings.files = ["open.yaml"]
    #expect(
      await sources.find("A") == "fault: the command of the secret 'A': 'false' exited with code 1; "
        + "run it by hand to see why")
    #expect(
      await sources.find("B")
        == "fault: 'FOLDER/open.yaml' can be read by others; make it private with: chmod 600 FOLDER/open.yaml")
  }

  // MARK: Files

  @Test(arguments: [(0o600, true), (0o400, true), (0o640, false), (0o604, false), (0o622, false)])
  func `a file is read only if no other user may read it`(_ mode: Int, _ isRead: Bool) async throws {
    var sources = try Sources()
    defer { sources.remove() }
    try sources.write("A: one\nB: 'two'\n", to: "s.yaml", mode: mode)
    sources.settings.files = ["s.yaml"]
    let refusal = "'\(sources.folder)/s.yaml' can be read by others; make it private with: chmod 600 "
    #expect(
      await sources.find("B")
        == (isRead ? "'s.yaml': two" : "fault: \(refusal)FOLDER/s.yaml")
        .replacingOccurrences(of: sources.folder, with: "FOLDER"))
    #expect(await sources.sources.faults().map(\.message) == (isRead ? [] : ["\(refusal)\(sources.folder)/s.yaml"]))
  }

  @Test func `a secret is the text as written, whatever its type in YAML`() async throws {
    var sources = try Sources()
    defer { sources.remove() }
    try sources.write("A: 0047\nB: 1e3\nC: true\nD: ' x '\nE: \"a\\nb\"\n", to: "s.yaml")
    sources.settings.files = ["s.yaml"]
    for (name, value) in ["A": "0047", "B": "1e3", "C": "true", "D": " x ", "E": "a\nb"] {
      #expect(await sources.find(name) == "'s.yaml': \(value)")
    }
  }

  @Test(arguments: [
    ("- sesame", "'FOLDER/s.yaml' must be a mapping from names to secrets"),
    (
      "A: ok\nB: *sesame\n",
      "'FOLDER/s.yaml' cannot be read as YAML, line 2; put secrets in 'single quotes', and name each once"
    ),
    (
      "A: [sesame\n",
      "'FOLDER/s.yaml' cannot be read as YAML, line 1; put secrets in 'single quotes', and name each once"
    ),
    ("A: 1\nB: [sesame]\n", "'FOLDER/s.yaml': 'B' isn't text, line 2"),
    ("A:\n", "'FOLDER/s.yaml': 'A' isn't text, line 1"),
  ])
  func `no message about a file shows what is in it`(_ text: String, _ message: String) async throws {
    var sources = try Sources()
    defer { sources.remove() }
    try sources.write(text, to: "s.yaml")
    sources.settings.files = ["s.yaml"]
    #expect(await sources.find("A") == "fault: \(message)")
  }

  // MARK: Commands

  struct Command: Sendable, CustomTestStringConvertible {
    var script: String
    var wanted: String
    var testDescription: String { script }
  }

  private static let failed = "fault: the command of the secret 'A': '/bin/sh -c 'SCRIPT''"

  @Test(arguments: [
    Command(script: "printf 'two words\\n'", wanted: "two words"),
    Command(script: "printf 'crlf\\r\\n'", wanted: "crlf"),
    Command(script: "printf 'no end'", wanted: "no end"),
    Command(script: "printf ' a\\n\\n'", wanted: " a\n"),
    Command(script: "printf '\\n'", wanted: "\(failed) printed nothing; run it by hand to see why"),
    Command(script: "echo noise >&2; printf '%s' \"$HOME\"", wanted: "/home/ann"),
    Command(script: "cat; pwd", wanted: "FOLDER"),
    Command(script: ":", wanted: "\(failed) printed nothing; run it by hand to see why"),
    Command(
      script: "printf '\\377'", wanted: "\(failed) printed text that isn't valid UTF-8; run it by hand to see why"),
    Command(
      script: "echo sesame; echo sesame >&2; exit 3",
      wanted: "\(failed) exited with code 3; run it by hand to see why"),
    Command(script: "kill -9 $$", wanted: "\(failed) was killed by signal 9; run it by hand to see why"),
    Command(script: "yes sesame", wanted: "\(failed) printed more than 65536 bytes; run it by hand to see why"),
    Command(script: "exec sleep 1000", wanted: "\(failed) timed out after 1s; run it by hand to see why"),
  ])
  func `a command prints a secret, or it is said what it did instead`(_ command: Command) async throws {
    var sources = try Sources()
    defer { sources.remove() }
    sources.environment["HOME"] = "/home/ann"
    sources.settings.commands = [
      "A": SecretSettings.Command(["/bin/sh", "-c", command.script], timeout: .seconds(1))
    ]
    let line = "/bin/sh -c \(command.script.shellQuoted)"
    let found = await sources.find("A")
    if command.wanted.hasPrefix("fault: ") {
      #expect(found == command.wanted.replacingOccurrences(of: "/bin/sh -c 'SCRIPT'", with: line))
    } else {
      #expect(found == "the command '\(line)': \(command.wanted)")
    }
    #expect(await sources.find("A", runsCommands: false) == "the command '\(line)': ?")
  }

  @Test func `a command is run once, and again only if it failed`() async throws {
    var sources = try Sources()
    defer { sources.remove() }
    let script = "echo x >> count; test -e open && echo sesame"
    sources.settings.commands = ["A": SecretSettings.Command(["sh", "-c", script])]
    let found = sources.sources
    await #expect(throws: SecretError.self) { try await found.find("A") }
    try sources.write("", to: "open")
    async let first = found.find("A")
    async let second = found.find("A")
    #expect(try await [first?.value, second?.value, found.find("A")?.value] == ["sesame", "sesame", "sesame"])
    #expect(try String(contentsOfFile: "\(sources.folder)/count", encoding: .utf8) == "x\nx\n")
  }

  @Test func `a program that is not installed is found out beforehand`() async throws {
    var sources = try Sources()
    defer { sources.remove() }
    sources.settings.commands = ["A": SecretSettings.Command(["no-such-manager", "a"])]
    sources.settings.files = ["none.yaml"]
    sources.settings.ageFiles = ["none.age"]
    sources.settings.ageIdentity = "~/key.txt"
    sources.environment = ["PATH": "/nowhere", "HOME": sources.folder]
    #expect(
      await sources.sources.faults().map { $0.message.replacingOccurrences(of: sources.folder, with: "FOLDER") } == [
        "cannot read 'FOLDER/none.yaml': no such file or folder (ENOENT)",
        "cannot read the age identity '~/key.txt': no such file or folder (ENOENT)",
        "files encrypted with age need the program 'age'; install the package 'age'",
        "cannot read 'none.age': no such file or folder (ENOENT)",
        "the command of the secret 'A': there is no program 'no-such-manager'; install it, or give its path",
      ])
  }

  // MARK: systemd

  @Test(arguments: ["../outside", ".hidden", "", "a/b", "folder"])
  func `a credential is a file of the folder itself`(_ name: String) async throws {
    var sources = try Sources()
    defer { sources.remove() }
    for file in ["outside", "credentials/.hidden", "credentials/a/b", "credentials/folder/x"] {
      try sources.write("sesame", to: file)
    }
    sources.environment["CREDENTIALS_DIRECTORY"] = "\(sources.folder)/credentials"
    let found = await sources.find(name)
    #expect(!found.contains("sesame"))
    #expect(found == "nowhere" || name == "folder" && found.hasPrefix("fault: "), "\(found)")
  }

  @Test func `a credential that everybody can read is refused`() async throws {
    var sources = try Sources()
    defer { sources.remove() }
    try sources.write("sesame", to: "c/A", mode: 0o644)
    sources.environment["CREDENTIALS_DIRECTORY"] = "\(sources.folder)/c"
    #expect(
      await sources.find("A")
        == "fault: 'FOLDER/c/A' can be read by every user; make it private with: chmod 600 FOLDER/c/A")
  }

  // MARK: age

  /// Runs a program of the system; false if it is not there or fails.
  private static func runs(_ words: [String]) -> Bool {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = words
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    guard (try? process.startAlone()) != nil else { return false }
    return process.awaitEnd() == 0
  }

  @Test func `a file that age encrypted is opened with its identity`() async throws {
    var sources = try Sources()
    defer { sources.remove() }
    let folder = sources.folder
    guard Self.runs(["age-keygen", "-o", "\(folder)/key.txt"]) else {
      print("skipped: the package 'age' is not installed")
      return
    }
    #expect(Self.runs(["age-keygen", "-o", "\(folder)/other.txt"]))
    try sources.write("A: sesame\nB: 0047\n", to: "plain.yaml")
    #expect(
      Self.runs([
        "sh", "-c", "age -r $(age-keygen -y \(folder)/key.txt) -o \(folder)/s.age \(folder)/plain.yaml",
      ]))
    try FileManager.default.removeItem(atPath: "\(folder)/plain.yaml")
    sources.settings.ageFiles = ["s.age"]
    sources.settings.ageIdentity = "key.txt"
    #expect(await sources.sources.faults() == [])
    #expect(await sources.find("A") == "'s.age', encrypted with age: sesame")
    #expect(await sources.find("B") == "'s.age', encrypted with age: 0047")
    #expect(await sources.find("C") == "nowhere")
    sources.settings.ageIdentity = "other.txt"
    #expect(
      await sources.find("A")
        == "fault: 's.age' cannot be decrypted: 'age --decrypt --identity FOLDER/other.txt FOLDER/s.age' exited with "
        + "code 1; run it by hand to see why")
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: "\(folder)/other.txt")
    #expect(
      await sources.find("A")
        == "fault: 'FOLDER/other.txt' can be read by others; make it private with: chmod 600 FOLDER/other.txt")
  }

  @Test func `what age printed is displayed in no message`() async throws {
    var sources = try Sources()
    defer { sources.remove() }
    try sources.write("#!/bin/sh\nfor file; do :; done\ncat \"$file\"\n", to: "age", mode: 0o700)
    try sources.write("A: *sesame\n", to: "s.age")
    try sources.write("", to: "key.txt")
    sources.settings.ageFiles = ["s.age"]
    sources.settings.ageIdentity = "key.txt"
    sources.environment["PATH"] = "\(sources.folder):/usr/bin:/bin"
    #expect(
      await sources.find("A")
        == "fault: 's.age' cannot be read as YAML, line 1; put secrets in 'single quotes', and name each once")
  }
}
