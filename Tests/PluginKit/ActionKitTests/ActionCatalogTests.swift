import ActionKit
import ActionTestKit
import Synchronization
import Testing

@Suite struct ActionCatalogTests {
  static let catalog = ActionCatalog([LibraryPlugin.self])

  func action(_ name: String) throws -> ActionDescriptor { try #require(ActionCatalogTests.catalog.action(name)) }

  @Test(arguments: [
    ("library.lendBook", "library.lendBook"), ("library.searchBooks", "library.findBooks"),
    ("library.lendbook", nil), ("library", nil), ("library.lendBook.x", nil), (".lendBook", nil), ("", nil),
    // The Kelvin sign, which Swift takes for a K.
    ("library.lendBoo\u{212A}", nil), ("library.lendBook\u{301}", nil),
  ])
  func `finds actions by their ids and former ids, and by nothing else`(id: String, expected: String?) {
    // Twice, because the second lookup uses the result of the first.
    for _ in 1...2 { #expect(ActionCatalogTests.catalog.action(id)?.id == expected) }
  }

  @Test func `knows names for guesses`() {
    let catalog = ActionCatalogTests.catalog
    #expect(
      catalog.actionIDs == ["library.findBooks", "library.lendBook", "library.addBook", "library.renewCard"])
    #expect(catalog.nearestAction(to: "library.lendBok") == "library.lendBook")
    #expect(catalog.plugin("library")?.summary == "Lends books.")
    #expect(catalog.plugin("libary") == nil)
  }

  @Test func `reads from a declaration what it can do`() throws {
    let add = try action("library.addBook")
    #expect(add.acceptsKey && add.canReconcile && !add.canPreview)
    #expect(add.retry?.maxAttempts == 3)
    #expect(add.timeout == ActionDescriptor.standardTimeout)
    let lend = try action("library.lendBook")
    #expect(!lend.acceptsKey && !lend.canReconcile && lend.canPreview)
    #expect(lend.retry == .standard)
    #expect(lend.timeout == .seconds(90))
    #expect(try action("library.renewCard").retry == nil)
  }

  @Test func `runs an action from value to value, without what is absent`() async throws {
    let reports = Mutex<[ActionContext.Progress]>([])
    let context = ActionContext.testing { progress in reports.withLock { $0.append(progress) } }
    let output = try await action("library.searchBooks").run(
      .object(["words": .string("Em")]), on: Library(), in: context)
    #expect(try JSON.text(output) == #"{"books":[{"key":1,"title":"Emma"}]}"#)
    #expect(reports.withLock { $0 } == [ActionContext.Progress("Searching", completed: 1, of: 2)])
  }

  @Test(
    arguments: [
      (
        "library.lendBook", #"{"key": "1", "people": 2}"#, .validation,
        """
        'input' needs 'until' (object): When it has to be back; \
        'input.key' must be an int, but found a string; write it without quotes, 1
        """, .none
      ),
      (
        "library.lendBook", #"{"key": 1, "people": 2, "until": {"date": "2026-12-04"}}"#, .validation,
        "'input.key' can be lent to one person only", .none
      ),
      (
        "library.lendBook", #"{"key": 9, "until": {"date": "2026-12-04"}}"#, .plugin,
        "Output.title was never set", .unknown
      ),
      ("library.findBooks", #"{"words": "Zen"}"#, .notFound, "no title contains 'Zen'", .none),
      ("library.renewCard", "{}", .plugin, "the action failed with Broken", .unknown),
    ] as [(String, String, ErrorKind, String, ActionError.Effect)])
  func `fails in one way`(
    id: String, input: String, kind: ErrorKind, message: String, effect: ActionError.Effect
  ) async throws {
    let action = try action(id)
    let error = await #expect(throws: ActionError.self) {
      try await action.run(try JSON.parse(input), on: Library(), in: .testing())
    }
    #expect(error?.kind == kind)
    #expect(error?.message == message)
    #expect(error?.effect == effect)
  }

  @Test func `refuses another plugin's connection`() async throws {
    let action = try action("library.findBooks")
    let error = await #expect(throws: ActionError.self) {
      try await action.run(.object([:]), on: "no library", in: .testing())
    }
    #expect(error?.message == "'findBooks' works on Library, and was handed String")
    #expect(error?.effect == ActionError.Effect.none)
  }

  @Test func `looks whether a write was done`() async throws {
    let action = try action("library.addBook")
    let library = Library()
    let input = Value.object(["title": .string("Emma")])
    let baseline = try #require(try await action.baseline(input, on: library, in: .testing()))
    #expect(baseline == .object(["keys": .list([.int(1)])]))
    func outcome() async throws -> Reconciliation<Value> {
      try await action.reconcile(input, with: baseline, startedAt: TestTime.start, on: library, in: .testing())
    }
    guard case .notDone = try await outcome() else { throw ValueError("nothing was added yet") }
    #expect(try await action.run(input, on: library, in: .testing()) == .object(["key": .int(3)]))
    guard case .done(let output) = try await outcome() else { throw ValueError("one was added") }
    #expect(output == .object(["key": .int(3)]))
    _ = try await action.run(input, on: library, in: .testing())
    guard case .unknown(let look) = try await outcome() else { throw ValueError("two were added") }
    #expect(look == "2 books are titled 'Emma'")
  }

  @Test func `shows changes where an action can`() async throws {
    let input = Value.object(["key": .int(1), "until": .object(["date": .string("2026-12-04")])])
    let changes = try await action("library.lendBook").preview(input, on: Library(), in: .testing())
    #expect(changes == [Change("Book 1", from: "here", to: "lent until 2026-12-04")])
    #expect(try await action("library.findBooks").preview(.object([:]), on: Library(), in: .testing()) == nil)
  }

  @Test func `connects by a configuration, and says what is wrong in it`() async throws {
    let plugin = try #require(ActionCatalogTests.catalog.plugin("library"))
    let context = PluginContext(connection: "town", time: TestTime())
    let service = try await plugin.connect(.object(["password": .string("open")]), in: context)
    #expect((service as? Library)?.password.reveal() == "open")
    let error = await #expect(throws: ActionError.self) {
      try await plugin.connect(.object(["baseURL": .string("library"), "password": .string("x")]), in: context)
    }
    #expect(error?.kind == .configuration)
    #expect(
      error?.message == """
        'connections.town.baseURL' must be an address such as https://example.org/api, \
        without a slash, query or fragment at its end, but is 'library'
        """)
    #expect(try await plugin.startSandbox(SandboxOptions(time: TestTime())) == nil)
  }

  @Test func `is well formed`() { expectWellFormed(LibraryPlugin.self) }

  @Test func `writes its page`() throws {
    let plugin = try #require(ActionCatalogTests.catalog.plugin("library"))
    expectSnapshot("library.md", plugin.markdown())
  }

  @Test func `writes its JSON Schema`() throws {
    expectSnapshot("lendBook.schema.json", try JSON.text(action("library.lendBook").jsonSchema(), .pretty) + "\n")
    expectSnapshot("addBook.schema.json", try JSON.text(action("library.addBook").jsonSchema(), .pretty) + "\n")
  }
}
