import Basics
import Foundation
import HTTPServer
import Synchronization
import Testing

/// The averages' recipe, which the repository ships.
private let averages = Program.root.appending(path: "recipes/markbook-averages.yaml").path

@Suite(.timeLimit(.minutes(20))) struct PlanTests {
  /// Steps that each do something twice, and the lines of their plan.
  @Test(arguments: [
    (
      ["uses: shell.run, with: { effect: idempotentWrite, program: mkdir, arguments: [NAME] }"],
      ["This machine: would run mkdir NAME"]
    ),
    (["uses: shell.run, with: { effect: write, script: echo NAME }"], ["This machine: would run sh -c 'echo NAME' sh"]),
    (
      ["uses: mail.send, with: { to: [ana@example.org], subject: NAME, text: x }"], ["A mail to ana@example.org: NAME"]
    ),
    (["uses: notify.ntfy, with: { message: NAME }"], ["A topic of 127.0.0.1: NAME"]),
    (["uses: http.post, with: { url: /items, json: NAME }"], ["POST http://127.0.0.1:9/items: NAME"]),
    (["uses: http.patch, with: { url: /items, json: NAME }"], ["PATCH http://127.0.0.1:9/items: NAME"]),
  ])
  func `what is done has nothing before it, and a line of its own`(_ steps: [String], _ lines: [String]) async throws {
    let program = try await Program()
    try program.write(
      """
      connections:
        http: { baseURL: "http://127.0.0.1:9" }
        mail: { host: 127.0.0.1, from: a@example.org, security: none }
        notify: { ntfyURL: "http://127.0.0.1:9", topic: a-topic-of-tests }
      """, to: "errand.yaml")
    let all = ["one", "two"].flatMap { name in steps.map { $0.replacingOccurrences(of: "NAME", with: name) } }
    try program.write("steps:\n" + all.map { "  - { \($0) }\n" }.joined(), to: "try.yaml")
    let plan = try await program.call("plan", "try.yaml")
    #expect(plan.code == 0, "\(plan.error)")
    for name in ["one", "two"] {
      for line in lines.map({ $0.replacingOccurrences(of: "NAME", with: name) }) {
        #expect(plan.out.contains("\n  \(line)\n"), "\(plan.out)")
      }
    }
    #expect(!plan.out.contains("before"), "\(plan.out)")
    #expect(plan.out.hasSuffix("\nplan of try: 2 to do. Nothing was written.\n"), "\(plan.out)")
    let document = try await program.call("plan", "try.yaml", "--json").json
    #expect(document["writes"]?.list?.map { $0["isDone"]?.bool } == [true, true], "\(document)")
    await program.remove()
  }

  /// A markbook with a class and students; each write needs the result of the previous one.
  private static let newMarkbook = """
    recipe: new-markbook
    steps:
      - { id: users, uses: markbook.userList }
      - id: made
        uses: markbook.createMarkbook
        with:
          markbookName: 2027 Y9 Science
          markbookYear: Year 9
          markbookCourse: Science
          ownerKey: ${{ steps.users.users[0].key }}
      - if: steps.made.isRenamed
        fail: "The name was taken; it is ${{ steps.made.markbookName }} now."
      - id: group
        uses: markbook.createClass
        with:
          markbookKey: ${{ steps.made.markbookKey }}
          name: 9SCI-1
          teacherFamilyName: Franklin
          teacherGivenName: Rosa
      - id: enrol
        forEach: "['S1', 'S2']"
        as: sid
        uses: markbook.createStudent
        with:
          markbookKey: ${{ steps.made.markbookKey }}
          sid: ${{ sid }}
          familyName: Ng
          givenName: ${{ 'Student ' + sid }}
          gender: other
          classKey: ${{ steps.group.classKey }}
      - id: book
        uses: markbook.getMarkbook
        with: { markbookKey: "${{ steps.made.markbookKey }}" }
      - id: rename
        forEach: ${{ steps.book.students }}
        as: student
        uses: markbook.updateStudent
        with:
          markbookKey: ${{ steps.made.markbookKey }}
          studentKey: ${{ student.key }}
          sid: ${{ student.sid }}
          familyName: Ngata
          givenName: ${{ student.givenName }}
          preferredName: ""
          gender: other
    outputs:
      markbook: ${{ steps.made.markbookKey }}
      students: ${{ steps.enrol.size() }}
    """

  private static let newMarkbookPlan = """

    markbook  made  markbook.createMarkbook: 1 added
      what                        before  after
      Markbook '2027 Y9 Science'          0 classes, 0 students

    markbook  group  markbook.createClass: 1 write shown by input
      it needs a value that is known after 'made'
      markbookKey        (known after 'made')
      name               9SCI-1
      teacherFamilyName  Franklin
      teacherGivenName   Rosa

    markbook  enrol  markbook.createStudent: 2 writes shown by input
      it needs a value that is known after 'made'
      markbookKey           sid  familyName  givenName   gender  classKey
      (known after 'made')  S1   Ng          Student S1  other   (known after 'group')
      (known after 'made')  S2   Ng          Student S2  other   (known after 'group')

    markbook  rename  markbook.updateStudent: 1 write shown by input
      for each item of `steps.book.students` (known after 'book')
      it needs a value that is known after 'made'
      markbookKey    (known after 'made')
      studentKey     (known after 'book')
      sid            (known after 'book')
      familyName     Ngata
      givenName      (known after 'book')
      preferredName  \("")
      gender         other

    on the way
      #3    if `steps.made.isRenamed` (known after 'made'): the run may fail here: The name was taken; it is (known after 'made') now.
      book  markbook.getMarkbook can only be called in the run: its input is known after 'made'

    markbook: (known after 'made')
    students: 2

    plan of new-markbook: 1 added, 4 writes shown by input (1 of these perhaps). Nothing was written.

    """

  @Test func `a plan shows the results that the run then writes, student by student, and writes none`() async throws {
    let program = try await Program()
    let arguments = [averages, "--config", "errand.yaml", "-i", "markbook=1207731", "-i", "into=Average", "--json"]
    let first = try await program.start(["plan"] + arguments).outcome()
    #expect(first.code == 0, "\(first.error)")
    #expect(try await program.control("log")["writes"] == .map(ValueMap()))
    // No trace in the state, which isn't even created.
    #expect(!FileManager.default.fileExists(atPath: program.folder.appending(path: ".errand").path))
    let writes = try #require(first.json["writes"]?.list)
    #expect(writes.count == 23)
    #expect(writes.first?["changes"]?.list?.first?["subject"]?.string == "Average of Lachlan Abernethy (0047218)")

    let run = try await program.start(["run"] + arguments).outcome()
    #expect(run.code == 0, "\(run.error)")
    #expect(run.json["outputs"] == first.json["outputs"])
    let keys = writes.map { write in
      ["markbookKey", "studentKey", "taskKey"].map { "\(write["input"]?[$0]?.int ?? 0)" }.joined(separator: "/")
    }
    #expect(try await program.writes("putstudentresult").keys.sorted() == keys.sorted())

    // The data is now exactly as planned.
    let second = try await program.start(["plan"] + arguments).outcome()
    func results(_ plan: Program.Outcome, _ member: String) -> [String] {
      (plan.json["writes"]?.list ?? []).flatMap { $0["changes"]?.list ?? [] }
        .map { "\($0["subject"]?.string ?? ""): \($0[member]?.string ?? "")" }
    }
    #expect(results(second, "before") == results(first, "after"))
    #expect(second.json["tally"]?["unchanged"] == .int(23))
    await program.remove()
  }

  @Test func `a recipe that creates a markbook and then fills it is planned, and run as planned`() async throws {
    let program = try await Program()
    try program.write(PlanTests.newMarkbook, to: "new.yaml")
    let plan = try await program.call("plan", "new.yaml")
    #expect(plan.out == PlanTests.newMarkbookPlan)
    #expect(plan.code == 0, "\(plan.error)")
    #expect(try await program.control("log")["writes"] == .map(ValueMap()))
    let run = try await program.call("run", "new.yaml", "--json")
    #expect(run.code == 0, "\(run.error)")
    let key = try #require(run.json["outputs"]?["markbook"]?.int)
    #expect(try await program.writes("createmarkbook") == ["2027 Y9 Science": 1])
    #expect(try await program.writes("createclass") == ["\(key)/9SCI-1": 1])
    #expect(try await program.writes("createstudent") == ["\(key)/S1": 1, "\(key)/S2": 1])
    #expect(try await program.writes("updatestudent") == ["\(key)/S1": 1, "\(key)/S2": 1])
    await program.remove()
  }

  @Test func `a run keeps to a plan, and is refused when the data has changed`() async throws {
    let program = try await Program()
    let arguments = [averages, "--config", "errand.yaml"]
    let plan = try await program.start(
      ["plan", "-i", "markbook=1207731", "--out", "plan.json", "--detailed-exitcode"] + arguments
    ).outcome()
    #expect(plan.code == 2, "\(plan.error)")
    #expect(plan.error.contains("kept in plan.json; run it with --plan plan.json"))
    let file = program.folder.appending(path: "plan.json").path
    #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)

    let other = try await program.start(["run", "--plan", "plan.json", "-i", "markbook=1207732"] + arguments).outcome()
    #expect(other.code == 1)
    #expect(other.error.contains("changed: input 'markbook' was 1207731, and is 1207732\n"))
    #expect(try await program.control("log")["writes"] == .map(ValueMap()))

    let run = try await program.start(["run", "--plan", "plan.json", "--json"] + arguments).outcome()
    #expect(run.code == 0, "\(run.error)")
    #expect(run.json["outputs"]?["written"] == .int(23))

    let again = try await program.start(["run", "--plan", "plan.json"] + arguments).outcome()
    #expect(again.code == 1)
    #expect(
      again.error.hasPrefix("changed: 'book' (markbook.getMarkbook) reads other values in 'students'\n"),
      "\(again.error)")
    #expect(
      again.error.contains(
        "changed: Average of Lachlan Abernethy (0047218): planned nothing → \"80.0\", now \"80.0\" → \"80.0\"\n"
      ))
    #expect(
      again.error.hasSuffix(
        "error: the plan no longer holds; nothing was started. Plan again and review the changes\n"))
    #expect(try await program.writes("putstudentresult").values.allSatisfy { $0 == 1 })
    // Nothing is left to change.
    let rest = try await program.start(
      ["plan", "-i", "markbook=1207731", "--detailed-exitcode"] + arguments
    ).outcome()
    #expect(rest.code == 0, "\(rest.error)")
    #expect(rest.out.contains("markbook  put/write  markbook.putStudentResult: 23 unchanged, 1 left out\n"))
    #expect(rest.out.hasSuffix("\nplan of markbook-averages: no changes. Nothing was written.\n"))
    await program.remove()
  }

  /// A page whose header fields change with each request, and whose text can be set.
  private final class Page: Sendable {
    let text = Mutex("one")
    private let count = Mutex(0)

    func answer(_ request: HTTPServerRequest) -> HTTPServerResponse {
      var response = HTTPServerResponse.text(text.withLock { $0 })
      let count = count.withLock { count in
        count += 1
        return count
      }
      response.headers["Date"] = "Mon, 05 Jan 2026 09:00:\(count + 10) GMT"
      return response
    }
  }

  @Test func `a plan holds if the date of an answer changes, but not if its body or a written date does`()
    async throws
  {
    let program = try await Program()
    let page = Page()
    let server = try HTTPServer { page.answer($0) }
    try program.write("connections: { http: { baseURL: \"\(server.baseURL)\" } }\n", to: "errand.yaml")
    func keep(_ what: String) async throws {
      try program.write(
        """
        recipe: page
        steps:
          - { id: page, uses: http.get, with: { url: /page } }
          - { id: copy, uses: http.put, with: { url: /copy, json: "${{ steps.page.\(what) }}" } }

        """, to: "page.yaml")
      let plan = try await program.call("plan", "page.yaml", "--out", "plan.json")
      #expect(plan.code == 0, "\(plan.error)")
    }
    let end = "error: the plan no longer holds; nothing was started. Plan again and review the changes\n"

    try await keep("body")
    let run = try await program.call("run", "page.yaml", "--plan", "plan.json")
    #expect(run.code == 0, "\(run.error)")
    page.text.withLock { $0 = "two" }
    let moved = try await program.call("run", "page.yaml", "--plan", "plan.json")
    #expect(moved.code == 1)
    #expect(
      moved.error == "changed: 'page' (http.get) reads other values in 'body'\n"
        + "changed: PUT \(server.baseURL)/copy: planned nothing → \"one\", now nothing → \"two\"\n\(end)")

    try await keep("headers.date")
    let dated = try await program.call("run", "page.yaml", "--plan", "plan.json")
    #expect(dated.code == 1)
    #expect(dated.error.hasPrefix("changed: PUT \(server.baseURL)/copy: planned nothing → \"Mon, "), "\(dated.error)")
    #expect(dated.error.hasSuffix(end))
    await server.stop()
    await program.remove()
  }

  @Test func `a run that asks needs a terminal, and a yes`() async throws {
    let program = try await Program()
    let command = "run \(averages) --config errand.yaml -i markbook=1207731 --confirm"
    let unasked = try await program.start(command.split(separator: " ").map(String.init)).outcome()
    #expect(unasked.code == 64)
    #expect(
      unasked.error
        == "error: --confirm needs a terminal; use 'errand plan --out' and --plan\n")
    for (answer, count) in [("n", 0), ("y", 23)] {
      let outcome = try await program.shell(
        "printf '\(answer)\\n' | script -qec '\(Program.binary.path) \(command)' /dev/null")
      #expect(outcome.out.contains("Run markbook-averages? [y/N]"), "\(outcome.out) \(outcome.error)")
      #expect(outcome.out.contains("23 added. Nothing was written."))
      #expect(try await program.writes("putstudentresult").count == count)
      #expect(outcome.code == (count == 0 ? 1 : 0))
    }
    await program.remove()
  }

  @Test func `a plan sees the values that runs left in the state, and leaves the state alone`() async throws {
    let program = try await Program()
    try program.write(
      """
      recipe: count
      steps:
        - { id: last, uses: store.get, with: { name: n } }
        - { id: add, uses: store.increment, with: { name: n } }
      outputs: { last: "${{ steps.last.?value.orValue(0) }}" }

      """, to: "count.yaml")
    for _ in 0..<2 {
      let run = try await program.call("run", "count.yaml")
      #expect(run.code == 0, "\(run.error)")
    }
    let state = program.folder.appending(path: ".errand").path
    func contents() throws -> [String: Data] {
      let names = try FileManager.default.subpathsOfDirectory(atPath: state)
      return Dictionary(
        uniqueKeysWithValues: names.map { ($0, FileManager.default.contents(atPath: "\(state)/\($0)") ?? Data()) })
    }
    let before = try contents()
    let plan = try await program.call("plan", "count.yaml")
    #expect(
      plan.out == """

        store  add  store.increment: 1 changed
          what                  before  after
          The stored value 'n'       2      3

        last: 2

        plan of count: 1 changed. Nothing was written.

        """, "\(plan.error)")
    #expect(try contents() == before)
    await program.remove()
  }

  @Test func `a plan of a run that would fail says so`() async throws {
    let program = try await Program()
    let outcome = try await program.call(
      "plan", averages, "--config", "errand.yaml", "-i", "markbook=1207731", "-i", "into=Nothing")
    #expect(outcome.code == 1)
    #expect(outcome.error.contains("error: 0 tasks are named 'Nothing'; exactly one is needed.\n"))
    #expect(outcome.out == "\nplan of markbook-averages: no changes; the run would fail. Nothing was written.\n")
    await program.remove()
  }
}
