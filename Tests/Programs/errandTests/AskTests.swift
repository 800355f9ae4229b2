import Basics
import Foundation
import HTTPClient
import Testing

@testable import errand

/// `ask`: questions for values, answered over real HTTP, on the pages without scripts, and by commands.
@Suite(.timeLimit(.minutes(20))) struct AskTests {
  private static let room = """
    inputs: { people: { type: int, default: 12 } }
    steps:
      - id: room
        ask:
          prompt: Which room for ${{ inputs.people }}?
          fields:
            room: { type: string, pattern: "[A-Z][0-9]+", summary: "The room, such as B12." }
            seats: { type: int, min: 1, max: 200, default: "${{ inputs.people }}" }
            days: { type: list(string), default: [] }
            isOpen: { type: bool, default: false }
            note: string?
    outputs:
      room: ${{ steps.room.fields.room }}
      seats: ${{ steps.room.fields.seats }}
      days: ${{ steps.room.fields.days }}
      hasNote: ${{ has(steps.room.fields.note) }}
      by: ${{ steps.room.by }}
    """

  /// Starts a run, and waits until it asks.
  private func asking(_ bench: APITests.Bench, _ token: String) async throws -> String {
    let started = try await bench.send("POST", "/api/v1/recipes/room/runs", token, "{}")
    let run = try #require(started.json["run"]?.string, "\(started.json)")
    while try await bench.send("GET", "/api/v1/runs/\(run)", token).json["status"]?.string != "waiting" {}
    return run
  }

  @Test func `the API lists what is asked, refuses wrong fields each with its place, and takes one answer`()
    async throws
  {
    let bench = try await APITests.Bench(["room": AskTests.room])
    let ada = try await bench.token(
      "ada", "--scope", "read", "--scope", "data", "--scope", "start", "--scope", "approve")
    let blind = try await bench.token("blind", "--scope", "read", "--scope", "approve")
    let reader = try await bench.token("reader", "--scope", "read", "--scope", "data")
    let run = try await asking(bench, ada)
    let path = "/api/v1/runs/\(run)/answers"

    let list = try await bench.send("GET", "/api/v1/approvals", ada).json["items"]?.list?.first
    #expect(list?["step"]?.string == "room" && list?["prompt"]?.string == "Which room for 12?")
    #expect(list?["fields"]?["required"] == .list([.string("room")]))
    #expect(list?["fields"]?["properties"]?["seats"]?["default"]?.int == 12)
    let hidden = try await bench.send("GET", "/api/v1/approvals", blind).json["items"]?.list?.first
    #expect(hidden?["step"]?.string == "room" && hidden?["fields"] == nil && hidden?["prompt"] == nil)
    let open = try await bench.send("GET", "/api/v1/runs/\(run)", ada).json["openSteps"]?.list?.first
    #expect(open?["waitsFor"]?.string == "ask" && open?["fields"]?["properties"]?["room"] != nil)

    #expect(try await bench.send("POST", path, reader, #"{"fields":{"room":"B12"}}"#).status == 403)
    let wrong = try await bench.send("POST", path, ada, #"{"step":"room","fields":{"room":12,"seats":900,"x":1}}"#)
    #expect(wrong.status == 422 && wrong.json["kind"]?.string == "inputs", "\(wrong.json)")
    #expect(
      wrong.json["faults"]?.list?.compactMap { $0["pointer"]?.string }
        == ["/fields/room", "/fields/seats", "/fields/x"], "\(wrong.json)")
    let missing = try await bench.send("POST", path, ada, "{}")
    #expect(
      missing.status == 422
        && missing.json["detail"]?.string == "field 'room' (string) is missing: The room, such as B12",
      "\(missing.json)")
    let decided = try await bench.send("POST", "/api/v1/runs/\(run)/decisions", ada, #"{"approved":true}"#)
    #expect(decided.status == 409 && decided.json["detail"]?.string?.contains("errand runs answer") == true)
    for body in ["[]", #"{"fields":[]}"#, #"{"fields":{"room":"B1"},"step":"rom"}"#, #"{"fild":{}}"#] {
      #expect([400, 409].contains(try await bench.send("POST", path, ada, body).status), "\(body)")
    }

    // A token without 'data' may answer over the API.
    let key: HTTPHeaders = ["Idempotency-Key": "answer-1"]
    let body = #"{"step":"room","fields":{"room":"B12","note":null},"comment":"with a piano"}"#
    let first = try await bench.send("POST", path, blind, body, headers: key)
    #expect(first.status == 200 && first.json["step"]?.string == "room", "\(first.json)")
    while try await bench.send("GET", "/api/v1/runs/\(run)", ada).json["endedAt"] == nil {}
    let shown = try await bench.send("GET", "/api/v1/runs/\(run)", ada).json
    #expect(
      shown["outputs"]
        == .object([
          "room": .string("B12"), "seats": .int(12), "days": .list([]), "hasNote": .bool(false), "by": .string("blind"),
        ]), "\(shown)")
    #expect(try await bench.send("POST", path, blind, body, headers: key).json == first.json)
    let late = try await bench.send("POST", path, ada, #"{"fields":{"room":"C1"}}"#)
    #expect(
      late.status == 409
        && late.json["detail"]?.string?.contains("'room' was answered by blind at ") == true, "\(late.json)")
    let why = try await bench.send("GET", "/api/v1/runs/\(run)/why", ada)
    #expect(why.json["text"]?.string?.contains("blind answered 'room' on ") == true, "\(why.json)")
    await bench.end()
  }

  @Test func `the page has a form, shows each fault beside its field, and keeps what was typed`() async throws {
    let bench = try await APITests.Bench(["room": AskTests.room])
    let browser = try await PagesTests.Browser(bench)
    let path = try #require(try await browser.post("/recipes/room/start", [:]).headers["Location"])
    let run = String(path.dropFirst("/runs/".count))
    let question = "/approvals/\(run)/room"
    var page = try await browser.get(question).text
    while !page.contains("field.room") { page = try await browser.get(question).text }
    #expect(page.contains("<h1>Which room for 12?</h1>"))
    #expect(page.contains("action=\"/runs/\(run)/answer\""))
    for name in ["room", "seats", "days", "isOpen", "note"] { #expect(page.contains("name=\"field.\(name)\"")) }
    #expect(page.contains("name=\"field.seats\" type=\"number\" value=\"12\""), "\(page)")
    #expect(try await browser.get("/approvals").text.contains(">Answer<span class=\"hidden\">"))
    #expect(try await browser.get(path).text.contains("An answer is needed"))

    let digest = try #require(page.components(separatedBy: "name=\"question\" value=\"").last?.prefix { $0 != "\"" })
    var form: HTTPQuery = [
      "question": String(digest), "step": "room", "field.room": "b12", "field.seats": "900",
      "field.days": "Monday\nTuesday",
      "field.isOpen": "true", "field.note": "", "comment": "as <i>typed</i>",
    ]
    let wrong = try await browser.post("/runs/\(run)/answer", form)
    #expect(wrong.status == 422)
    #expect(
      wrong.text.contains("id=\"field-room-wrong\">&#39;fields.room&#39; must be of the form [A-Z][0-9]+")
        || wrong.text.contains("id=\"field-room-wrong\">'fields.room' must be of the form [A-Z][0-9]+"), "\(wrong.text)"
    )
    #expect(wrong.text.contains("id=\"field-seats-wrong\""))
    #expect(
      wrong.text.contains("value=\"b12\"")
        && wrong.text.contains("as &lt;i>typed") != wrong.text.contains("as &lt;i&gt;typed"))
    // Nothing was recorded, and another site's form records nothing either.
    #expect(try await browser.get(question).text.contains("field.room"))
    #expect(try await browser.post("/runs/\(run)/answer", form, origin: "https://evil.example").status == 403)

    form.items.removeAll { ["field.room", "field.seats"].contains($0.name) }
    form.items.append(.init("field.room", "B12"))
    form.items.append(.init("field.seats", ""))
    #expect(try await browser.post("/runs/\(run)/answer", form).headers["Location"] == question)
    page = try await browser.ended(path)
    #expect(page.contains("B12") && page.contains("Monday"))
    // A double click is one answer; another one is too late.
    #expect(try await browser.post("/runs/\(run)/answer", form).headers["Location"] == question)
    form.items.removeAll { $0.name == "question" }
    let late = try await browser.post("/runs/\(run)/answer", form)
    #expect(late.status == 409 && late.text.contains("<h1>Your answer is recorded.</h1>"), "\(late.text)")
    #expect(late.text.contains("You answered on "), "\(late.text)")
    await bench.end()
  }

  @Test func `a page answers only for those whom the step asks`() async throws {
    let bench = try await APITests.Bench()
    let browser = try await PagesTests.Browser(bench)
    _ = try await browser.recipe(
      "closed", "steps: [{ id: a, ask: { prompt: Go?, fields: { n: int }, by: [zoe] } }]\n")
    let path = try #require(try await browser.post("/recipes/closed/start", [:]).headers["Location"])
    let run = String(path.dropFirst("/runs/".count))
    var page = try await browser.get("/approvals/\(run)/a").text
    while !page.contains("This question is for zoe; you are logged in as ") {
      page = try await browser.get("/approvals/\(run)/a").text
    }
    #expect(!page.contains("field.n"))
    #expect(try await browser.post("/runs/\(run)/answer", ["step": "a", "field.n": "1"]).status == 403)
    await bench.end()
  }

  /// Sends each person a link by a file in the folder.
  private static let linked = """
    steps:
      - id: room
        ask:
          prompt: Which room is free?
          fields:
            room: { type: string, pattern: "[A-Z][0-9]+" }
            days: { type: list(string), default: [] }
          by: [ann, bob]
          timeout: 2d
          yes: Enters it in the calendar.
          link: { for: 1d }
          tell:
            - forEach: ${{ question.links }}
              as: person
              steps:
                - uses: file.write
                  with: { path: "mail-${{ person.name }}.txt", text: "${{ person.link }}" }
      - uses: file.write
        with: { path: done.txt, text: "${{ steps.room.fields.room }} ${{ steps.room.by }} ${{ steps.room.via }}" }
    """

  @Test func `a link shows the fields, keeps what was typed, and takes one answer`() async throws {
    let bench = try await APITests.Bench(["room": AskTests.linked])
    let started = try await bench.program.call("runs", "start", "room")
    let run = started.out.trimmingCharacters(in: .newlines)
    _ = await bench.agent.line(with: "\(run) waits")
    let ann = LinkTests.Stranger(bench, try bench.program.read("mail-ann.txt"))
    let bob = LinkTests.Stranger(bench, try bench.program.read("mail-bob.txt"))
    let page = try await ann.send("GET")
    #expect(page.status == 200 && page.text.utf8.count <= 12 << 10)
    for part in [
      "<h1>Which room is free?</h1>", "asks you, ann", "<strong>If you answer:</strong> Enters it in the calendar.",
      "<strong>If nobody answers</strong> by ", "name=\"field.room\"", "name=\"field.days\"", ">Answer</button>",
    ] { #expect(page.text.contains(part), "\(part): \(page.text)") }
    for part in [run, ann.text, "edl_", "/runs/", "errand runs", "If you reject", ">Reject</button>", "bob"] {
      #expect(!page.text.contains(part), "\(part): \(page.text)")
    }

    let question = try await ann.question()
    func answer(
      _ person: LinkTests.Stranger, _ room: String, _ more: [(String, String)] = [], question: String? = nil
    ) async throws -> (status: Int, text: String) {
      let sent = try await person.decide("", [("field.room", room)] + more, question: question)
      return (sent.status, sent.text)
    }
    let wrong = try await answer(ann, "b12", [("field.days", "Monday\nTuesday"), ("comment", "as typed")])
    #expect(wrong.status == 422 && wrong.text.contains("id=\"field-room-wrong\""), "\(wrong.text)")
    #expect(wrong.text.contains("value=\"b12\"") && wrong.text.contains("Monday\nTuesday</textarea>"))
    #expect(wrong.text.contains("as typed</textarea>") && wrong.text.contains("Look at the marked fields"))
    let missing = try await ann.decide("approve")
    #expect(missing.status == 422 && missing.text.contains("This is needed."), "\(missing.text)")
    #expect(try await answer(ann, "B12", [("field.floor", "1")]).status == 422)
    let other = try await answer(ann, "B12", question: "0011")
    #expect(other.status == 409 && other.text.contains("Another question is asked now."), "\(other.text)")
    #expect(other.text.contains("value=\"B12\""))
    #expect(try await ann.decide("", [("field.room", "B12")], origin: "https://evil.example").status == 403)

    // A link that is ended carries no right any more; another one does.
    #expect(try await bench.program.call("runs", "unlink", run, "room", "--for", "bob").code == 0)
    #expect(try await bob.send("GET").status == 404)
    #expect(try await answer(bob, "B12", question: question).status == 404)
    let made = try await bench.program.call("runs", "link", run, "--for", "bob")
    let again = LinkTests.Stranger(bench, made.out)
    #expect(made.code == 0 && again.text != bob.text, "\(made)")
    #expect(try await again.send("GET").text.contains("asks you, bob"))

    let answered = try await answer(ann, "B12", [("field.days", "Monday")])
    #expect(answered.status == 200 && answered.text.contains("<h1>Your answer is recorded.</h1>"), "\(answered.text)")
    #expect(answered.text.contains("You answered on ") && !answered.text.contains("/runs/"))
    // The same answer again, and a look at the link later; another answer is too late.
    #expect(try await answer(ann, "B12", [("field.days", "Monday")], question: question).status == 200)
    #expect(try await ann.send("GET").text.contains("Your answer is recorded."))
    let changed = try await answer(ann, "B13", [("field.days", "Monday")], question: question)
    #expect(changed.status == 409 && changed.text.contains("ann answered this by link on "), "\(changed.text)")
    let late = try await answer(again, "B12", [("field.days", "Monday")], question: question)
    #expect(late.status == 409 && late.text.contains("ann answered this by link on "), "\(late.text)")

    _ = try await bench.program.call("runs", "follow", run)
    #expect(try bench.program.read("done.txt") == "B12 ann link")
    #expect(try await bench.program.call("why", run).out.contains("ann answered 'room' by link on "))
    let token = try await bench.token("all", "--scope", "read", "--scope", "data")
    let steps = try await bench.send("GET", "/api/v1/runs/\(run)/steps", token).json["items"]?.list ?? []
    let decision = steps.first { $0["path"]?.string == "room" }?["decision"]
    #expect(decision?["by"]?.string == "ann" && decision?["via"]?.string == "link", "\(steps)")
    let runPage = try await ann.send("GET", ["Authorization": "Bearer \(token)"], path: "/runs/\(run)")
    #expect(runPage.text.contains("answered by ann by link on "), "\(runPage.text)")
    await bench.end()
  }

  @Test func `anyone who answers by a link says their name`() async throws {
    let bench = try await APITests.Bench([
      "open": """
      steps:
        - id: seats
          ask: { prompt: How many seats?, fields: { count: int }, link: true }
        - { uses: file.write, with: { path: said.txt, text: "${{ steps.seats.fields.count }} ${{ steps.seats.by }}" } }
      """
    ])
    let run = try await bench.program.call("runs", "start", "open").out.trimmingCharacters(in: .newlines)
    _ = await bench.agent.line(with: "\(run) waits")
    #expect(try await bench.program.call("runs", "show", run).out.contains("/approvals/\(run)/seats"))
    let stranger = LinkTests.Stranger(bench, try await bench.program.call("runs", "link", run).out)
    let unnamed = try await stranger.decide("", [("field.count", "30")])
    #expect(unnamed.status == 422 && unnamed.text.contains("Give your name"), "\(unnamed.text)")
    #expect(unnamed.text.contains("value=\"30\""))
    #expect(try await stranger.decide("", [("name", "Ann"), ("field.count", "many")]).status == 422)
    #expect(try await stranger.decide("", [("name", "Ann"), ("field.count", "30")]).status == 200)
    _ = try await bench.program.call("runs", "follow", run)
    #expect(try bench.program.read("said.txt") == "30 Ann (by link)")
    await bench.end()
  }

  @Test func `commands say what is asked, and answer it`() async throws {
    let program = try await Program()
    try program.write(AskTests.room, to: "room.yaml")
    let agent = try program.serve("serve")
    _ = await agent.line(with: " serves ")
    let plan = try await program.call("plan", "room.yaml")
    #expect(
      plan.out.contains("would ask for room, seats, days, isOpen, note: Which room for 12? (assumed answered)"),
      "\(plan)")
    let started = try await program.call("run", "room.yaml", "--detach")
    let run = started.out.trimmingCharacters(in: .newlines)
    _ = await agent.line(with: "\(run) waits")
    let shown = try await program.call("runs", "show", run)
    #expect(
      shown.out.contains(
        """
        asks: Which room for 12?
            room (string): The room, such as B12.
            seats (int, 12 if left out)
            days (list(string), [] if left out)
            isOpen (bool, false if left out)
            note (string, may be left out)
            errand runs answer \(run) room -f room=…

        """), "\(shown)")
    #expect(
      try await program.call("why", run).out.hasPrefix(
        "room waits for a person to answer, in 'room': Which room for 12?"))
    let list = try await program.call("runs", "approvals")
    #expect(list.out.contains("Which room for 12?") && list.error.contains("runs answer RUN STEP -f NAME=VALUE"))

    let approved = try await program.call("runs", "approve", run)
    #expect(
      approved.code != 0 && approved.error.contains("asks for an answer; use errand runs answer \(run) room -f room=…"),
      "\(approved)")
    let wrong = try await program.call("runs", "answer", run, "-f", "room=12", "-f", "seats=many")
    #expect(wrong.code != 0)
    #expect(
      wrong.error.contains("'fields.room' must be of the form [A-Z][0-9]+, but is '12'")
        && wrong.error.contains("'fields.seats' must be an int, but found 'many'"), "\(wrong)")
    try program.write("room: B12\ndays: [Monday]\n", to: "room.fields.yaml")
    let answered = try await program.call(
      "runs", "answer", run, "room", "--fields", "room.fields.yaml", "-f", "seats=40", "--by", "ann", "--comment",
      "with a piano")
    #expect(answered.code == 0 && answered.error == "answered 'room' of \(run) as ann\n", "\(answered)")
    let followed = try await program.call("runs", "follow", run)
    #expect(followed.out.contains("room: B12") && followed.out.contains("seats: 40"), "\(followed)")
    let late = try await program.call("runs", "answer", run, "-f", "room=C1", "--by", "ben")
    #expect(late.code != 0 && late.error.contains("'room' was answered by ann at "), "\(late)")

    agent.signal(SIGTERM)
    #expect(await agent.end() == 0)
    await program.remove()
  }

  @Test func `an answer that was recorded is repeated by a replay`() async throws {
    let program = try await Program()
    try program.write(
      """
      steps:
        - id: room
          ask: { prompt: Which room?, fields: { room: string, from: timestamp } }
        - { id: kept, uses: store.put, with: { name: room, value: "${{ steps.room.fields.room }}" } }
      outputs: { room: "${{ steps.room.fields.room }}", from: "${{ steps.room.fields.from }}" }
      """, to: "room.yaml")
    let running = try program.serve("run", "room.yaml", "--record", "exchanges.json")
    let began = try #require(await running.line(with: "room  run "), "\(running.before)")
    let run = try #require(began.components(separatedBy: " ").last)
    _ = await running.line(with: "waiting for an answer: Which room?")
    #expect(await running.line(with: "answer with: errand runs answer \(run) room -f room=… -f from=…") != nil)
    let answered = try await program.call(
      "runs", "answer", run, "-f", "room=B12", "-f", "from=2026-11-20T09:30:00Z")
    #expect(answered.code == 0, "\(answered)")
    #expect(await running.end() == 0)
    let replayed = try await program.call("run", "room.yaml", "--replay", "exchanges.json")
    #expect(
      replayed.code == 0 && replayed.out.contains("room: B12") && replayed.out.contains("2026-11-20T09:30:00Z"),
      "\(replayed)")
    await program.remove()
  }
}
