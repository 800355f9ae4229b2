package import Basics

/// A test file: a recipe, and cases with events and the expectations about them.
package struct RecipeTestFile: Sendable {
  package var source: Source
  package var recipe: Recipe
  package var cases: [RecipeTest]
}

/// One case: an agent of its own, with a state and services of its own, on a clock that only the case moves.
package struct RecipeTest: Sendable {
  package var name: String
  /// The place of its name.
  package var location: Diagnostic.Location?
  /// The time of the clock at the start; nil for the start of the recording, or a Monday.
  package var start: Timestamp?
  /// The recording that answers in place of every service, by its path as it is read; nil for the sandboxes.
  package var replay: (path: String, location: Diagnostic.Location?)?
  /// Made-up secrets, by their names.
  package var secrets: [String: String]
  /// The files that are there before anything happens.
  package var files: [(path: String, bytes: [UInt8])]
  /// The commands that the sandboxes get before anything happens.
  package var sandboxes: [SandboxCall]
  package var actions: [Action]

  /// One thing that happens.
  package struct Action: Sendable {
    package var kind: Kind
    package var location: Diagnostic.Location?
    /// The conditions that must hold afterwards.
    package var expectations: [Expectation]
  }

  /// How the text of a file is written.
  enum Encoding: String, CaseIterable {
    case utf8 = "utf-8"
    case utf16 = "utf-16"
    case latin1 = "latin-1"
    case windows1252 = "windows-1252"

    var charset: Charset {
      switch self {
      case .utf8: .utf8
      case .utf16: .utf16
      case .latin1: .latin1
      case .windows1252: .windows1252
      }
    }
  }

  /// The things that can happen in a case.
  package enum Kind: Sendable {
    /// Nothing: only the expectations are looked at.
    case nothing
    /// A person starts the recipe.
    case run(inputs: ValueMap)
    /// The agent fires schedules from now on.
    case serve
    /// Time passes.
    case advance(TimeSpan)
    /// Time passes until an instant.
    case advanceTo(Timestamp)
    /// The wall clock is set, and no time passes.
    case setClock(Timestamp)
    /// The agent ends.
    case stop
    /// An agent begins where the last one ended.
    case restart
    case signal(name: String, id: String?, data: Value?)
    /// A file is written in the folder, or removed.
    case file(path: String, bytes: [UInt8]?)
    case decide(step: String?, isApproved: Bool, by: String, comment: String?)
    /// A person answers a question for values.
    case answer(step: String?, fields: ValueMap, by: String, comment: String?)
    case cancel
    /// A schedule starts a run out of turn; nil for the only one.
    case trigger(schedule: String?)
    case sandboxes([SandboxCall])
  }

  /// A command for a sandbox, outside its service's own API: `/sandbox/COMMAND?PARAMETERS`.
  package struct SandboxCall: Sendable {
    package var plugin: String
    package var command: String
    package var parameters: [(name: String, value: String)]
    package var location: Diagnostic.Location?
  }

  /// Something that has to hold.
  package enum Expectation: Sendable {
    /// The value at a path of the results, such as `["outputs", "written"]`, with the range of the file that expects
    /// it.
    case equals(path: [String], Value, Diagnostic.Location?, Range<Int>)
    /// A condition.
    case holds(RecipeExpression, Diagnostic.Location?)
  }

  /// The first names of the paths in expectations.
  package enum Subject: String, CaseIterable, Sendable {
    /// The status of the last run.
    case status
    /// The last run's error, by its members.
    case error
    /// When the last run resumes.
    case waitsUntil
    /// The status of each step of the last run, by its path.
    case steps
    /// The outputs of the last run, by name.
    case outputs
    /// Every run's status, in the order of their beginning.
    case runs
    /// Every request that was sent, as `GET /catalog.json 200`.
    case requests
    /// The outcome of every slot, as `2026-11-20T09:00:00Z started`.
    case slots
  }
}

extension RecipeTypes {
  /// The variables in conditions of a test, in the order of an environment's values.
  ///
  /// - Parameter outputs: The type of the recipe's outputs.
  static func test(outputs: ValueType) -> [(name: String, type: ValueType)] {
    [
      ("run", .object(testedRun)), ("steps", .map(.string, .object(testedStep))), ("outputs", outputs),
      ("runs", .list(.object(testedRun))), ("requests", .list(.object(testedRequest))),
      ("slots", .list(.object(testedSlot))), ("now", .timestamp),
    ]
  }

  private static let testedRun = ObjectType(
    "run",
    fields: [
      .init("recipe", .string, summary: "The recipe's name."),
      .init("status", .string, summary: "The status."),
      .init("startedAt", .timestamp, summary: "When it was created."),
      .init("endedAt", .timestamp, isOptional: true, summary: "When it ended."),
      .init("wakeAt", .timestamp, isOptional: true, summary: "When it resumes."),
      .init("reason", .string, isOptional: true, summary: "Why the run waits or is held."),
      .init("slot", .timestamp, isOptional: true, summary: "The due time of the schedule that started it."),
      .init("error", .object(error), isOptional: true, summary: "Why it failed."),
    ])

  private static let testedStep = ObjectType(
    "step",
    fields: [
      .init("status", .string, summary: "The status."),
      .init("attempts", .int, summary: "How many attempts the step had."),
      .init("output", .dyn, isOptional: true, summary: "The step's output."),
      .init("error", .object(error), isOptional: true, summary: "Why it failed."),
    ])

  private static let testedRequest = ObjectType(
    "request",
    fields: [
      .init("connection", .string, summary: "The connection's name."),
      .init("method", .string),
      .init("path", .string, summary: "The path of its URL."),
      .init("query", .map(.string, .string), summary: "The query of its URL, without secrets."),
      .init("status", .int, isOptional: true, summary: "The answer's status, if one came."),
    ])

  private static let testedSlot = ObjectType(
    "slot",
    fields: [
      .init("schedule", .string),
      .init("slot", .timestamp, summary: "When it was due."),
      .init("count", .int, summary: "How many slots one row stands for."),
      .init("outcome", .string, summary: "The outcome."),
      .init("reason", .string, isOptional: true),
    ])
}
