import ActionKit

/// Actions of every effect and with every kind of field, which are never run.
enum DeskPlugin: Plugin {
  static let name = "desk"
  static let summary = "Files papers."
  static let actions: [any Action<Desk>.Type] = [
    Find.self, Read.self, File.self, Post.self, Stamp.self, Copy.self, Weigh.self,
    Fetch.self, Answer.self,
  ]

  struct Configuration: FieldSet {
    @Field("Where the desk is.", .pattern(.baseURL)) var baseURL = "https://desk.example"
    @Field("The key of its drawers.") var key: Secret<String>
    @Field("How many drawers it has.", .min(1), .max(12)) var drawers = 4
  }

  static func connect(_ configuration: Configuration, in context: PluginContext) async throws -> Desk { Desk() }
}

struct Desk: Sendable {}

private func never<Result>() throws -> Result { throw ActionError(.internal, "nobody runs this") }

enum Find: Action {
  static let name = "find"
  static let summary = "Finds papers."
  static let effect = Effect.read
  static let examples = [Example("All", "")]

  struct Input: FieldSet {
    @Field("Words of the title.", .notEmpty) var words: String?
    @Field("How many at most.", .range(1...100)) var limit = 10
    @Field("Not before that.") var since: Timestamp?
    @Field("Not older than that.") var age: TimeSpan?
    @Field("With whom.") var people: [String] = []
    @Field("In which order.") var order: Order = .title
    @Field("Also those that were thrown away.") var all = false
    @Field("What the reader needs to see them.") var pass: Secret<String>?
  }

  enum Order: String, Choice { case title, date }

  struct Output: FieldSet {
    @Field("The papers.") var papers: [Paper]
    @Field("What is on top.") var top: Paper?
    @Field("How many there are.") var count: Int
  }

  struct Paper: FieldSet {
    @Field("The key.") var key: Int
    @Field("The title.") var title: String
    @Field("The weight.") var weight: Double?
    @Field("The state.") var state: State
  }

  enum State: String, Choice { case draft, final }

  static func run(_ input: Input, on desk: Desk, in context: ActionContext) async throws -> Output { try never() }
}

/// Takes one paper; what the actions below share.
struct PaperInput: FieldSet {
  @Field("The paper's key.") var key: Int
  @Field("What to do with it.", .pattern(.date)) var day: String?
}

struct Nothing: FieldSet {}

enum Read: Action {
  static let name = "read"
  static let summary = "Reads a paper, which costs something."
  static let effect = Effect.consume(repeats: 1)
  static let examples = [Example("One", "key: 1")]

  typealias Input = PaperInput

  struct Output: FieldSet {
    @Field("How far the reader is.") var state: State
    @Field("What it says, if it was read.") var text: String?
  }

  enum State: String, Choice { case pending, done }

  static func run(_ input: Input, on desk: Desk, in context: ActionContext) async throws -> Output { try never() }
}

enum File: Action {
  static let name = "file"
  static let summary = "Files a paper."
  static let effect = Effect.write
  static let examples = [Example("One", "key: 1")]
  typealias Input = PaperInput
  typealias Output = Nothing
  static func run(_ input: Input, on desk: Desk, in context: ActionContext) async throws -> Output { try never() }
}

enum Post: KeyedAction {
  static let name = "post"
  static let summary = "Posts a paper, once for a key."
  static let effect = Effect.write
  static let examples = [Example("One", "key: 1")]
  typealias Input = PaperInput
  typealias Output = Nothing
  static func run(_ input: Input, on desk: Desk, in context: ActionContext) async throws -> Output { try never() }
}

enum Stamp: Action {
  static let name = "stamp"
  static let summary = "Stamps a paper."
  static let effect = Effect.idempotentWrite(within: .forever)
  static let examples = [Example("One", "key: 1")]
  typealias Input = PaperInput
  typealias Output = Nothing
  static func run(_ input: Input, on desk: Desk, in context: ActionContext) async throws -> Output { try never() }
}

enum Copy: ReconcilingAction {
  static let name = "copy"
  static let summary = "Copies a paper, and can look whether it did."
  static let effect = Effect.write
  static let examples = [Example("One", "key: 1")]
  typealias Input = PaperInput
  typealias Output = Nothing
  typealias Baseline = Nothing
  static func run(_ input: Input, on desk: Desk, in context: ActionContext) async throws -> Output { try never() }
  static func baseline(_ input: Input, on desk: Desk, in context: ActionContext) async throws -> Baseline {
    try never()
  }
  static func reconcile(
    _ input: Input, with baseline: Baseline, startedAt: Timestamp, on desk: Desk, in context: ActionContext
  ) async throws -> Reconciliation<Output> { try never() }
}

enum Answer: Action {
  static let name = "answer"
  static let summary = "Asks another desk."
  static let effect = Effect.read
  static let examples = [Example("All", "")]
  typealias Input = Nothing

  struct Output: FieldSet {
    @Field("When it came.", .pattern(.date)) var day: String
    @Field("What came.") var body: Value
  }

  static func run(_ input: Input, on desk: Desk, in context: ActionContext) async throws -> Output { try never() }
}

enum Fetch: Action {
  static let name = "fetch"
  static let summary = "Fetches what other desks have."
  static let effect = Effect.read
  static let examples = [Example("All", "")]
  typealias Input = Nothing

  struct Output: FieldSet {
    @Field("How many there are.") var count: Int
    @Field("What came.") var body: Value
    @Field("What came beside it.") var rest: Value?
    @Field("Line by line.") var lines: [Value]
    @Field("By name.") var named: [String: Value]
    @Field("The parcel.") var parcel: Parcel
    @Field("What opens it.") var key: Secret<String>
  }

  struct Parcel: FieldSet {
    @Field("The weight.") var weight: Double
    @Field("What is inside.") var inside: Value
  }

  static func run(_ input: Input, on desk: Desk, in context: ActionContext) async throws -> Output { try never() }
}

enum Weigh: RenamedAction {
  static let name = "weigh"
  static let formerNames = ["balance"]
  static let summary = "Weighs papers."
  static let effect = Effect.pure
  static let examples = [Example("Two", "weights: [1.5, 2]")]

  struct Input: FieldSet {
    @Field("Their weights.", .notEmpty) var weights: [Double]
    @Field("What the parts weigh.") var parts: [String: Double] = [:]
  }

  struct Output: FieldSet {
    @Field("The sum.") var sum: Double
  }

  static func run(_ input: Input, on desk: Desk, in context: ActionContext) async throws -> Output { try never() }
}
