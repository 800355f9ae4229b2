import Basics
import Foundation
import Glibc
import HTTPClient
import Testing

/// Editing over HTTP, with the real program.
@Suite(.timeLimit(.minutes(20))) struct EditingTests {
  private static let report = "recipe: report\nsteps:\n  - let: { n: 1 }\noutputs: { n: \"${{ n }}\" }\n"

  private static func bench(_ settings: String = ", edit: true") async throws -> (APITests.Bench, token: String) {
    let bench = try await APITests.Bench(settings: settings, ["report": report])
    let made = try await bench.program.call(
      "token", "new", "bob", "--scope", "edit", "--scope", "start", "--scope", "data")
    #expect(made.code == 0, "\(made.error)")
    #expect(made.error.contains("added the scope 'read'"), "\(made.error)")
    #expect(
      made.error.contains(
        "this token can change recipes, and whoever can change a recipe can run any program as the agent's account"))
    #expect(made.error.contains("it edits nothing until errand.yaml allows it") == settings.isEmpty)
    return (bench, made.out.trimmingCharacters(in: .newlines))
  }

  private static func body(_ members: [(String, Value)]) throws -> String { try JSON.text(.map(ValueMap(members))) }

  private static func saving(_ text: String, base: String?, path: String = "recipes/report.yaml") throws -> String {
    try body(
      [("path", .string(path)), ("text", .string(text))] + (base.map { [("base", .string($0))] } ?? []))
  }

  @Test func `without permission in errand yaml nothing is edited`() async throws {
    let (bench, token) = try await Self.bench("")
    let before = try bench.program.read("recipes/report.yaml")
    for (method, path, body) in [
      ("GET", "/api/v1/files", nil), ("GET", "/api/v1/files/text?path=recipes/report.yaml", nil),
      ("POST", "/api/v1/files", try Self.saving("steps: []", base: nil)),
      ("POST", "/api/v1/editor/check", #"{"path":"recipes/report.yaml","text":""}"#), ("GET", "/api/v1/templates", nil),
    ] as [(String, String, String?)] {
      let answer = try await bench.send(method, path, token, body)
      #expect(answer.status == 403, "\(path)")
      #expect(
        answer.json["detail"]?.string == "errand.yaml doesn't allow editing over HTTP; write server: { edit: true }")
    }
    #expect(try bench.program.read("recipes/report.yaml") == before)
    await bench.end()
  }

  @Test func `a text is checked, planned, tested and saved, and the next run is of it`() async throws {
    let (bench, token) = try await Self.bench()
    let read = try await bench.send("GET", "/api/v1/files/text?path=recipes/report.yaml", token)
    let digest = try #require(read.json["digest"]?.string)
    #expect(read.status == 200 && read.json["text"]?.string == Self.report && read.json["served"]?.string == digest)

    let text = Self.report.replacing("n: 1", with: "n: 2")
    let path = ("path", Value.string("recipes/report.yaml"))
    let check = try await bench.send(
      "POST", "/api/v1/editor/check", token, Self.body([path, ("text", .string(text))]))
    #expect(
      check.json["isSavable"]?.bool == true
        && check.json["faults"]?.list?.contains { $0["severity"]?.string == "error" } == false, "\(check.json)")
    let plan = try await bench.send(
      "POST", "/api/v1/editor/plans", token, Self.body([path, ("text", .string(text))]))
    #expect(plan.status == 200 && plan.json["recipe"]?.string == "report", "\(plan.json)")
    // The plan of an unsaved text starts nothing.
    let start = try await bench.send(
      "POST", "/api/v1/recipes/report/runs", token,
      #"{"plan":"\#(plan.json["digest"]?.string ?? "")"}"#)
    #expect(start.status == 404)
    let none = try await bench.send(
      "POST", "/api/v1/editor/tests", token, Self.body([path, ("text", .string(text))]))
    #expect(none.status == 200 && none.json["files"]?.list?.isEmpty == true)

    // A test begins with the text that the agent makes, and fails with another text of the recipe.
    let new = try await bench.send("POST", "/api/v1/files/new", token, #"{"test":"recipes/report.yaml"}"#)
    #expect(new.json["path"]?.string == "recipes/tests/report.test.yaml", "\(new.json)")
    let test = (new.json["text"]?.string ?? "").replacing("status: succeeded", with: "outputs: { n: 1 }")
    let saved = try await bench.send(
      "POST", "/api/v1/files", token, Self.saving(test, base: nil, path: "recipes/tests/report.test.yaml"))
    #expect(saved.status == 200, "\(saved.json)")
    for (text, passed) in [(Self.report, 1), (text, 0)] {
      let outcome = try await bench.send(
        "POST", "/api/v1/editor/tests", token, Self.body([path, ("text", .string(text))]))
      #expect(outcome.json["passed"]?.int == passed && outcome.json["failed"]?.int == 1 - passed, "\(outcome.json)")
      #expect(outcome.json["files"]?.list?.first?["path"]?.string == "recipes/tests/report.test.yaml")
      #expect(!JSON.displayed(outcome.json).contains(bench.program.folder.path))
    }

    let save = try await bench.send("POST", "/api/v1/files", token, Self.saving(text, base: digest))
    #expect(save.status == 200 && save.json["servedAt"] != nil && save.json["version"]?.string == "2", "\(save.json)")
    #expect(try bench.program.read("recipes/report.yaml") == text)
    let run = try await bench.send(
      "POST", "/api/v1/recipes/report/runs", token, "{}", headers: ["Prefer": "wait=60"])
    #expect(run.json["outputs"]?["n"]?.int == 2, "\(run.json)")

    let stale = try await bench.send("POST", "/api/v1/files", token, Self.saving(Self.report, base: digest))
    #expect(stale.status == 409 && stale.json["kind"]?.string == "conflict")
    #expect(stale.json["current"]?["text"]?.string == text)
    #expect(stale.json["current"]?["digest"]?.string == save.json["digest"]?.string)
    let faulty = try await bench.send(
      "POST", "/api/v1/files", token, Self.saving("steps: [{ lett: {} }]", base: save.json["digest"]?.string))
    #expect(faulty.status == 422 && faulty.json["kind"]?.string == "inputs")
    #expect(faulty.json["faults"]?.list?.first?["message"]?.string?.hasPrefix("recipes/report.yaml:1:") == true)
    let large = try await bench.send(
      "POST", "/api/v1/files", token, Self.saving(String(repeating: "#", count: 257 << 10), base: nil))
    #expect(large.status == 413 && large.json["kind"]?.string == "tooLarge")

    let versions = try await bench.send("GET", "/api/v1/files/versions?path=recipes/report.yaml", token)
    #expect(versions.json["items"]?.list?.map { $0["by"]?.string } == ["bob", ""])
    let restored = try await bench.send(
      "POST", "/api/v1/files/restore", token,
      Self.body([path, ("version", .string("1")), ("base", save.json["digest"] ?? .null)]))
    #expect(restored.status == 200 && restored.json["digest"]?.string == digest)
    #expect(try bench.program.read("recipes/report.yaml") == Self.report)
    await bench.end()
  }

  @Test func `a path that leads elsewhere is refused, however it is encoded`() async throws {
    let (bench, token) = try await Self.bench()
    for path in [
      "..%2Ferrand.yaml", "%2e%2e/errand.yaml", "%252e%252e/errand.yaml", "recipes/..%2F..%2Fetc/passwd",
      "%2Fetc%2Fpasswd",
      "recipes/a%0Ab.yaml", ".errand/state.json",
    ] {
      let answer = try await bench.send("GET", "/api/v1/files/text?path=\(path)", token)
      #expect(answer.status == 403, "\(path): \(answer.json)")
      #expect(answer.json["detail"]?.string?.contains("can't be edited here: ") == true, "\(path): \(answer.json)")
    }
    await bench.end()
  }

  @Test func `templates begin recipes that can be saved`() async throws {
    let (bench, token) = try await Self.bench()
    let templates = try await bench.send("GET", "/api/v1/templates", token).json["items"]?.list ?? []
    for kind in ["empty", "template", "action", "test"] { #expect(templates.contains { $0["kind"]?.string == kind }) }
    for body in [#"{"name":"mine"}"#, #"{"from":"hello","name":"greeting"}"#, #"{"uses":"file.read"}"#] {
      let new = try await bench.send("POST", "/api/v1/files/new", token, body)
      let path = try #require(new.json["path"]?.string, "\(new.json)")
      let saved = try await bench.send(
        "POST", "/api/v1/files", token, Self.saving(new.json["text"]?.string ?? "", base: nil, path: path))
      #expect(saved.status == 200 && saved.json["servedAt"] != nil, "\(body): \(saved.json)")
      let again = try await bench.send("POST", "/api/v1/files/new", token, body)
      #expect(again.status == 409)
    }
    for (body, status) in [
      (#"{"from":"helo"}"#, 404), (#"{"uses":"http.gett"}"#, 404), (#"{"test":"recipes/nothing.yaml"}"#, 404),
      (#"{"name":"a b"}"#, 400), (#"{"from":"hello","uses":"http.get"}"#, 400),
    ] {
      #expect(try await bench.send("POST", "/api/v1/files/new", token, body).status == status, "\(body)")
    }
    await bench.end()
  }

  @Test func `an agent that is killed during the commit leaves the new file, and the next save commits it`()
    async throws
  {
    let (bench, token) = try await Self.bench()
    let git = "git -c user.name=cara -c user.email=cara@example.org"
    let made = try await bench.program.shell(
      "printf '.errand\\n' > .gitignore && \(git) init -q -b main . && git add . && \(git) commit -q -m Begin")
    #expect(made.code == 0, "\(made.error)")
    try bench.program.write("#!/bin/sh\nkill -9 \(bench.agent.pid)\nsleep 60\n", to: ".git/hooks/pre-commit")
    #expect(chmod("\(bench.program.folder.path)/.git/hooks/pre-commit", 0o755) == 0)
    let digest = try await bench.send("GET", "/api/v1/files/text?path=recipes/report.yaml", token).json["digest"]?
      .string
    let text = Self.report.replacing("n: 1", with: "n: 2")
    await #expect(throws: (any Error).self) {
      _ = try await bench.send("POST", "/api/v1/files", token, Self.saving(text, base: digest))
    }
    #expect(await bench.agent.end() == -SIGKILL)
    #expect(try bench.program.read("recipes/report.yaml") == text)
    #expect(try await bench.program.shell("git log -1 --format=%s").out == "Begin\n")
    #expect(unlink("\(bench.program.folder.path)/.git/hooks/pre-commit") == 0)
    // Git's own lock is left by the kill, as by any kill of Git; a person removes it.
    unlink("\(bench.program.folder.path)/.git/index.lock")

    let agent = try bench.program.serve("serve")
    let line = try #require(await agent.line(with: "listens on http://"))
    let url = "http://" + (line.components(separatedBy: "http://").last ?? "")
    _ = await agent.line(with: " serves ")
    let again = try await HTTPClient().send(
      HTTPRequest(
        "POST", url + "/api/v1/files",
        headers: ["Authorization": "Bearer \(token)", "Content-Type": "application/json"],
        body: Array(try Self.saving(text, base: digest).utf8)))
    let answer = try JSON.parse(again.body)
    #expect(again.status == 200 && answer["commit"] != nil, "\(answer)")
    #expect(
      try await bench.program.shell("git log -1 --format='%an %s'").out
        == "bob Edit recipes/report.yaml in the browser\n")
    agent.signal(SIGTERM)
    #expect(await agent.end() == 0)
    await bench.program.remove()
  }
}
