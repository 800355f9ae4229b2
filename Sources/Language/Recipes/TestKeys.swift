// The keys of tests of recipes.
import Basics

extension KeySet {
  /// The keys of both a file and each of its cases.
  private static let shared = [
    Key("start", .instant, "The time that the clock shows at the start."),
    Key("inputs", .object, "The inputs of each run."),
    Key("secrets", .map(of: .text()), "Made-up secrets, by their names."),
    Key(
      "files", .map(of: .either([.text(), .keys(.fileContent)])),
      "The files that exist at the start, by path."),
    Key("sandboxes", .definition("sandboxes"), "The commands that the sandboxes get at the start."),
    Key("replay", .text(), "The path, relative to this file, of a recording that answers in place of every service."),
  ]

  static let testFile = KeySet(
    [Key("recipe", .text(), "The path of the tested recipe, relative to this file.", isRequired: true)] + shared + [
      Key(
        "cases", .list(of: .definition("case"), isFilled: true),
        "The cases; each has its own agent, state and services.",
        isRequired: true)
    ], notTogether: ["replay", "sandboxes"])

  static let testCase = KeySet(
    [Key("case", .text(), "The tested behaviour, in a few words.", isRequired: true)] + shared + [
      Key(
        "do",
        .list(of: .when("string", then: .choice(RecipeTestReader.bare), else: .definition("happening"))),
        "The items of the test, in order: things that happen, and expectations.", isRequired: true)
    ], notTogether: ["replay", "sandboxes"])

  static let happening = KeySet([
    Key(
      "run", .object, "A person starts the recipe with these inputs, in addition to the file's inputs.", isKind: true),
    Key("serve", .bool, "The agent fires schedules from now on.", isKind: true),
    Key("advance", .duration(), "This much time passes.", isKind: true),
    Key("advanceTo", .instant, "Time passes until this instant.", isKind: true),
    Key("setClock", .instant, "The clock is set to this instant, and no time passes.", isKind: true),
    Key("stop", .bool, "The agent stops.", isKind: true),
    Key("restart", .bool, "A new agent starts where the last one stopped.", isKind: true),
    Key("signal", .either([.text(), .keys(.signal)]), "An event arrives.", isKind: true),
    Key("file", .keys(.testedFile), "A file is added, changed or removed.", isKind: true),
    Key("approve", .definition("decision"), "A person approves the run's question.", isKind: true),
    Key("reject", .definition("decision"), "A person rejects the run's question.", isKind: true),
    Key("answer", .keys(.testedAnswer), "A person gives the values that the run asks for.", isKind: true),
    Key("cancel", .bool, "A person cancels the run.", isKind: true),
    Key("trigger", .text(), "A schedule starts a run now, before its next slot.", isKind: true),
    Key(
      "fault", .map(names: "plugin", of: .definition("parameters")),
      "A sandbox fails from now on, as in { markbook: { kind: refuse, times: 2 } }.", isKind: true),
    Key("sandbox", .definition("sandboxes"), isKind: true),
    Key("expect", .definition("expectation")),
  ])

  static let signal = KeySet([
    Key("name", .text(), "The event's name.", isRequired: true),
    Key("id", .text(), "The event's unique id."),
    Key("data", .any, "The event's data."),
  ])

  static let testedFile = KeySet(
    [
      Key("path", .text(), "The file's path, relative to the folder of errand.yaml.", isRequired: true),
      Key("text", .text(), "The file's text; without 'text' and 'base64', the file is removed."),
    ] + otherContent, notTogether: ["text", "base64"])

  /// The content of a test's file that isn't plain text in UTF-8.
  static let fileContent = KeySet(
    [Key("text", .text(), "The file's text.")] + otherContent, notTogether: ["text", "base64"])

  private static let otherContent = [
    Key.choice("encoding", RecipeTest.Encoding.utf8, "The encoding of the text.", with: ["text"]),
    Key("base64", .text(), "The file's bytes, in base64."),
  ]

  static let decision = KeySet([
    Key("step", .text(), "The path of the step that asks."),
    Key("by", .text(), "The person who decides."),
    Key("comment", .text(), "The person's comment."),
  ])

  static let testedAnswer = KeySet([
    Key("step", .text(), "The path of the step that asks."),
    Key("fields", .object, "The values, by the names of the fields.", isRequired: true),
    Key("by", .text(), "The person who answers."),
    Key("comment", .text(), "The person's comment."),
  ])

  static let expectation = KeySet([
    Key("status", .choice(RecipeTestReader.states), "The status of the last run."),
    Key("error", .keys(.expectedError), "The members of the last run's error."),
    Key("waitsUntil", .instant, "When the last run resumes."),
    Key(
      "steps", .map(of: .choice(RecipeTestReader.stepStates)), "The statuses of the last run's steps, by path."),
    Key("outputs", .object, "The outputs of the last run, by name."),
    Key("runs", .list(of: .text()), "The statuses of all runs, in the order of their start."),
    Key("requests", .list(of: .text()), "All requests, each written like GET /catalog.json 200."),
    Key("slots", .list(of: .text()), "The outcomes of all slots, each written like 2026-11-20T09:00:00Z started."),
    Key(
      "that", .when("array", then: .list(of: .expression), else: .expression),
      "Conditions on run, runs, steps, outputs, requests, slots and now."),
  ])

  static let expectedError = KeySet([
    Key("kind", .choice(of: ErrorKind.self), "The kind of the error."),
    Key("message", .text(), "The error's message, a sentence."),
    Key("detail", .text(), "Further details from the service."),
    Key("status", .types(["integer"]), "The HTTP status."),
    Key("step", .text(), "The path of the step that failed."),
  ])
}

/// The definitions of the schema of tests that follow from declarations.
let testDefinitionKeys = [
  Key("testFile", .keys(.testFile)),
  Key("case", .keys(.testCase)),
  Key("happening", .keys(.happening)),
  Key(
    "decision", .either([.text(), .keys(.decision)]),
    "The path of the step that asks, or the step, the person and a comment."),
  Key(
    "sandboxes", .map(names: "plugin", of: .map(of: .definition("parameters"))),
    "Commands for sandboxes with their parameters, by plugin."),
  Key("expectation", .keys(.expectation), "The expectations to check afterwards."),
]
