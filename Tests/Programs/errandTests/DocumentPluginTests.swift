import Basics
import Foundation
import HTTPServer
import Synchronization
import Testing

@testable import errand

/// Runs and plans with a plugin from an OpenAPI document, at a service that answers over HTTP.
@Suite(.timeLimit(.minutes(20))) struct DocumentPluginTests {
  private static let document = """
    {"openapi": "3.1.0", "info": {"title": "Notes", "version": "1"},
     "paths": {
       "/notes": {"post": {"operationId": "addNote", "requestBody": {"required": true, "content":
         {"application/json": {"schema": {"type": "object", "properties": {"text": {"type": "string"}}}}}},
         "responses": {"200": {"description": "ok", "content": {"application/json": {"schema":
           {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}}}}}}},
       "/notes/{name}": {
         "parameters": [{"name": "name", "in": "path", "required": true, "schema": {"type": "string"}}],
         "get": {"operationId": "getNote", "responses": {"200": {"description": "ok", "content":
           {"application/json": {"schema": {"type": "object", "properties": {"text": {"type": "string"}}}}}}}},
         "put": {"operationId": "putNote", "requestBody": {"required": true, "content":
           {"application/json": {"schema": {"type": "object", "properties": {"text": {"type": "string"}}}}}},
           "responses": {"204": {"description": "put"}}},
         "patch": {"operationId": "renameNote", "requestBody": {"required": true, "content":
           {"application/json": {"schema": {"type": "object", "properties": {"name": {"type": "string"}}}}}},
           "responses": {"204": {"description": "renamed"}}},
         "delete": {"operationId": "deleteNote", "responses": {"204": {"description": "gone"}}}}}}
    """

  private final class Asked: Sendable {
    let requests = Mutex<[String]>([])
  }

  /// A folder with the plugin 'notes' at a service that answers as a test says.
  private static func with(
    _ answer: @escaping @Sendable (HTTPServerRequest) -> HTTPServerResponse,
    _ test: (Program, _ asked: () -> [String]) async throws -> Void
  ) async throws {
    let asked = Asked()
    let server = try HTTPServer { request in
      asked.requests.withLock { $0.append("\(request.method) \(request.target)") }
      return answer(request)
    }
    let program = try await Program()
    let outcome: Result<Void, any Error>
    do {
      try program.write(document, to: "notes.json")
      #expect(try await program.call("plugin", "add", "openapi", "notes", "notes.json").code == 0)
      try program.write("connections:\n  notes: { baseURL: \"\(server.baseURL)\" }\n", to: "errand.yaml")
      outcome = .success(try await test(program) { asked.requests.withLock { $0 } })
    } catch {
      outcome = .failure(error)
    }
    await server.stop()
    await program.remove()
    try outcome.get()
  }

  private static func json(_ text: String, status: Int = 200) -> HTTPServerResponse {
    .text(text, status: status, type: "application/json")
  }

  private static func redirect(_ status: Int, to target: String) -> HTTPServerResponse {
    var response = HTTPServerResponse(status: status)
    response.headers["Location"] = target
    return response
  }

  @Test func `a run begins nothing with what the check refuses`() async throws {
    try await Self.with { _ in
      Self.json(#"{"id": 1}"#)
    } _: { program, asked in
      let recipe = """
        steps:
          - { uses: notes.addNote, with: { body: { text: a } } }
          - { uses: notes.getNote, with: { name: ".." } }
        """
      try program.write(recipe, to: "r.yaml")
      let checked = try await program.call("check", "r.yaml")
      #expect(checked.code == 3)
      for command in [["run"], ["plan"], ["run", "--sandbox"]] {
        let outcome = try await program.call(command + ["r.yaml"])
        #expect(outcome.code == 3, "\(command): \(outcome.error)")
        #expect(outcome.error.contains("r.yaml:3:42: error: 'name' can't be '..'"), "\(outcome.error)")
      }
      #expect(asked() == [])
    }
  }

  @Test func `a recipe of a service without a sandbox is tested with a recording`() async throws {
    try await Self.with { _ in
      Self.json("{}")
    } _: { program, _ in
      try program.write("steps: [{ uses: notes.deleteNote, with: { name: b } }]", to: "r.yaml")
      let made = try await program.call("new", "test", "r.yaml")
      #expect(
        made.error
          == "error: nothing was written: 'notes' has no sandbox; record a run with 'errand run r.yaml --record "
          + "FILE', and have a case replay it ('errand help replay')\n")
    }
  }

  @Test func `a plan doesn't compare with what an earlier step changes`() async throws {
    try await Self.with { request in
      request.target == "/notes/b" ? Self.json("{}", status: 404) : Self.json(#"{"text": "old"}"#)
    } _: { program, asked in
      let recipe = """
        steps:
          - { id: one, uses: notes.putNote, with: { name: a, body: { text: new } } }
          - { id: two, uses: notes.putNote, with: { name: c, body: { text: new } } }
          - { id: moved, uses: notes.renameNote, with: { name: a, body: { name: b } } }
          - { id: gone, uses: notes.deleteNote, with: { name: b } }
          - { id: more, uses: notes.addNote, with: { body: { text: last } } }
        """
      try program.write(recipe, to: "r.yaml")
      let plan = try await program.call("plan", "r.yaml")
      #expect(plan.out.contains("'moved' writes there before; it sends "), "\(plan.out)")
      #expect(!plan.out.contains("no change"), "\(plan.out)")
      // A request without a comparison is shown, whatever an earlier step wrote.
      for line in ["PATCH ", "POST "] { #expect(plan.out.contains(line), "\(plan.out)") }
      #expect(plan.out.contains(#"{"text":"last"}"#), "\(plan.out)")
      #expect(asked() == ["GET /notes/a", "GET /notes/c"])
    }
  }

  @Test func `a write that was done isn't done again by a retry, which is told what it gave`() async throws {
    try await Self.with { _ in
      Self.json(#"{"id": "one"}"#)
    } _: { program, asked in
      let recipe = """
        steps:
          - { id: added, uses: notes.addNote, with: { body: { text: a } } }
        outputs: { id: "${{ steps.added.body.id }}" }
        """
      try program.write(recipe, to: "r.yaml")
      let run = try await program.call("run", "r.yaml")
      #expect(run.code != 0 && run.error.contains("The write itself was done"), "\(run.error)")
      let why = try await program.call("why", "last:r")
      #expect(why.out.contains("'added' was done, so a retry doesn't do it again"), "\(why.out)")
      let refused = try await program.call("runs", "retry", "last:r")
      #expect(refused.code != 0)
      #expect(refused.error.contains("'added' was done, but its answer can't be used"), "\(refused.error)")
      let given = #"{"status": 200, "body": {"id": 7}}"#
      let retried = try await program.call("runs", "retry", "last:r", "added", "--output", given)
      #expect(retried.code == 0, "\(retried.error)")
      #expect(retried.out.contains("7"), "\(retried.out)")
      #expect(asked() == ["POST /notes"])
    }
  }

  @Test func `an answer at another address says nothing of the write that led there`() async throws {
    try await Self.with { request in
      request.method == "GET" ? Self.json("{}", status: 404) : Self.redirect(303, to: "/notes/list")
    } _: { program, asked in
      for (name, step) in [
        ("add", "notes.addNote, with: { body: { text: a } }"),
        ("rename", "notes.renameNote, with: { name: a, body: {} }"),
      ] {
        try program.write("steps: [{ uses: \(step) }]", to: "\(name).yaml")
        let run = try await program.call("run", "\(name).yaml")
        #expect(run.code != 0)
        let message = "/notes/list, which was answered with HTTP status 404; that says nothing of the write."
        #expect(run.error.contains("was answered with a redirect (303) to "), "\(run.error)")
        #expect(run.error.contains(message), "\(run.error)")
        let status = try await program.call("runs", "show", "last:\(name)", "--json").json["status"]?.string
        #expect(status == "uncertain", "\(name): \(status ?? "")")
      }
      // A DELETE counts as done if the item isn't there, and this 404 doesn't tell whether it was.
      try program.write("steps: [{ uses: notes.deleteNote, with: { name: a } }]", to: "delete.yaml")
      #expect(try await program.call("run", "delete.yaml").code == 1)
      #expect(asked().count == 6)
    }
  }

  @Test func `a write that leads to a page that asks to log in is uncertain`() async throws {
    try await Self.with { request in
      request.target == "/login"
        ? HTTPServerResponse.text("<html>Log in</html>", type: "text/html")
        : Self.redirect(request.method == "PATCH" ? 303 : 302, to: "/login")
    } _: { program, asked in
      try program.write("steps: [{ uses: notes.renameNote, with: { name: a, body: { name: b } } }]", to: "r.yaml")
      let run = try await program.call("run", "r.yaml")
      #expect(run.error.contains("was answered with a web page at another address, where no"), "\(run.error)")
      #expect(try await program.call("runs", "list").out.contains("uncertain"))
      try program.write("steps: [{ uses: notes.deleteNote, with: { name: a } }]", to: "d.yaml")
      let deleted = try await program.call("run", "d.yaml")
      #expect(deleted.code != 0 && deleted.error.contains("The DELETE isn't sent there as well"), "\(deleted.error)")
      #expect(asked() == ["PATCH /notes/a", "GET /login", "DELETE /notes/a"])
    }
    try await Self.with { _ in
      .text("<html>Log in</html>", type: "text/html; charset=utf-8")
    } _: { program, _ in
      try program.write("steps: [{ uses: notes.renameNote, with: { name: a, body: { name: b } } }]", to: "r.yaml")
      let run = try await program.call("run", "r.yaml")
      #expect(run.error.contains("was answered with a web page, where no content was expected"), "\(run.error)")
    }
  }
}
