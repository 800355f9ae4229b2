import ActionKit
import Synchronization

/// A lending library, as small as a plugin can be that uses everything the kit offers.
enum LibraryPlugin: Plugin {
  static let name = "library"
  static let summary = "Lends books."
  static let actions: [any Action<Library>.Type] = [FindBooks.self, LendBook.self, AddBook.self, RenewCard.self]

  struct Configuration: FieldSet {
    @Field("The service's address.", .pattern(.baseURL)) var baseURL = "https://library.example/api"
    @Field("The word that opens it.") var password: Secret<String>
    @Field("How many requests may be under way at once.", .min(1), .max(16)) var concurrency = 4
  }

  static func connect(_ configuration: Configuration, in context: PluginContext) async throws -> Library {
    Library(password: configuration.password)
  }
}

/// The service: titles by key.
final class Library: Sendable {
  let password: Secret<String>
  let books = Mutex([1: "Emma", 2: "Ulysses"])

  init(password: Secret<String> = Secret("sesame")) { self.password = password }
}

enum FindBooks: RenamedAction {
  static let name = "findBooks"
  static let formerNames = ["searchBooks"]
  static let summary = "Finds books by words of their titles."
  static let effect = Effect.read
  static let examples = [Example("All of them", "")]

  struct Input: FieldSet {
    @Field("Words of the title; all books if left out.", .notEmpty) var words: String?
  }

  struct Output: FieldSet {
    @Field("The books found.") var books: [Book]
  }

  struct Book: FieldSet {
    @Field("The book's key.") var key: Int
    @Field("Its title | subtitle.") var title: String
    @Field("When it has to be back.") var due: Timestamp?
  }

  static func run(_ input: Input, on library: Library, in context: ActionContext) async throws -> Output {
    let found = library.books.withLock { $0.filter { input.words.map($0.value.contains) ?? true } }
    context.report("Searching", completed: found.count, of: 2)
    if found.isEmpty { throw ActionError(.notFound, "no title contains '\(input.words ?? "")'", status: 404) }
    return try Output {
      $0.books = try found.sorted { $0.key < $1.key }.map { key, title in
        try Book {
          $0.key = key
          $0.title = title
        }
      }
    }
  }
}

enum LendBook: PreviewingAction, TimedAction {
  static let name = "lendBook"
  static let summary = "Lends a book for some time."
  static let effect = Effect.idempotentWrite(within: .sameDay(zone: "Europe/Bucharest"))
  static let timeout = TimeSpan.seconds(90)
  static let examples = [Example("For two weeks", "key: 1\nuntil:\n  date: \"2026-12-04\"")]

  struct Input: ValidatedFieldSet {
    @Field("The book's key.") var key: Int
    @Field("When it has to be back.") var until: Until
    @Field("To how many people.", aliases: ["count"]) var people = 1

    func conflicts() -> [Conflict] {
      people > 1 && key == 1 ? [Conflict("can be lent to one person only", at: "key")] : []
    }
  }

  struct Until: FieldSet {
    @Field("The last day.", .pattern(.date)) var date: String
  }

  struct Output: FieldSet {
    @Field("The book's title.") var title: String
  }

  static func run(_ input: Input, on library: Library, in context: ActionContext) async throws -> Output {
    try Output { output in
      library.books.withLock { if let title = $0[input.key] { output.title = title } }
    }
  }

  static func preview(_ input: Input, on library: Library, in context: ActionContext) async throws -> [Change] {
    [Change("Book \(input.key)", from: "here", to: "lent until \(input.until.date)")]
  }
}

enum AddBook: ReconcilingAction, KeyedAction, RetryingAction {
  static let name = "addBook"
  static let summary = "Adds a book."
  static let effect = Effect.write
  static let retry = RetrySchedule(after: [.milliseconds(200), .seconds(1)])
  static let examples = [Example("A new book", "title: Middlemarch")]

  struct Input: FieldSet {
    @Field("Its title.", .maxLength(200)) var title: String
    @Field("Its kind.") var kind: Kind = .novel
    @Field("Words to find it by.", .each(.notEmpty), deprecated: "Put them into the title.") var words: [String] = []
  }

  enum Kind: String, Choice {
    case novel
    case poems
  }

  struct Output: FieldSet {
    @Field("The new book's key.") var key: Int
  }

  struct Baseline: FieldSet {
    @Field("Keys of the books that have the title already.") var keys: [Int]
  }

  static func run(_ input: Input, on library: Library, in context: ActionContext) async throws -> Output {
    let key = library.books.withLock { books in
      books[books.count + 1] = input.title
      return books.count
    }
    return try Output { $0.key = key }
  }

  static func baseline(_ input: Input, on library: Library, in context: ActionContext) async throws -> Baseline {
    let keys = library.books.withLock { $0.filter { $0.value == input.title }.keys.sorted() }
    return try Baseline { $0.keys = keys }
  }

  static func reconcile(
    _ input: Input, with baseline: Baseline, startedAt: Timestamp, on library: Library, in context: ActionContext
  ) async throws -> Reconciliation<Output> {
    let keys = library.books.withLock { $0.filter { $0.value == input.title }.keys.sorted() }
    let new = keys.filter { !baseline.keys.contains($0) }
    guard let key = new.first else { return .notDone }
    return new.count == 1
      ? .done(try Output { $0.key = key }) : .unknown("\(new.count) books are titled '\(input.title)'")
  }
}

enum RenewCard: Action {
  static let name = "renewCard"
  static let summary = "Renews the card, which costs one credit."
  static let effect = Effect.consume(repeats: 1)
  static let examples = [Example("The card of the connection", "")]

  struct Input: FieldSet {}

  struct Output: FieldSet {}

  struct Broken: Error { let url = "https://library.example/?password=sesame" }

  static func run(_ input: Input, on library: Library, in context: ActionContext) async throws -> Output {
    throw Broken()
  }
}
