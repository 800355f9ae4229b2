// The keys of tests of recipes.
import Basics

extension KeySet {
  /// The keys of both a file and each of its cases.
  private static let shared = [
    Key("start", .instant, "What the clock shows at first."),
    Key("inputs", .object, "The inputs of each run."),
    Key("secrets", .map(of: .text()), "Made-up secrets, by their names."),
    Key(
      "files", .map(of: .either([.text(), .keys(.fileContent)])),
      "The files that are there before anything happens, by their paths."),
    Key("sandboxes", .definition("sandboxes"), "What the sandboxes are told before anything happens."),
    Key("replay", .text(), "A recording that answers in place of every service, relative to the file."),
  ]

  static let testFile = KeySet(
    [Key("recipe", .text(), "The recipe that is tested, relative to the file.", isRequired: true)] + shared + [
      Key(
        "cases", .list(of: .definition("case"), isFilled: true), "Each with an agent, a state and services of its own.",
        isRequired: true)
    ], notTogether: ["replay", "sandboxes"])

  static let testCase = KeySet(
    [Key("case", .text(), "What is tested, in a few words.", isRequired: true)] + shared + [
      Key(
        "do",
        .list(of: .when("string", then: .choice(RecipeTestReader.bare), else: .definition("happening"))),
        "What happens, in order, and what is expected.", isRequired: true)
    ], notTogether: ["replay", "sandboxes"])

  static let happening = KeySet([
    Key("run", .object, "A person starts the recipe, with these inputs beside those of the file.", isKind: true),
    Key("serve", .bool, "The agent fires schedules from now on.", isKind: true),
    Key("advance", .duration(), "Time passes.", isKind: true),
    Key("advanceTo", .instant, "Time passes until then.", isKind: true),
    Key("setClock", .instant, "The clock is set, and no time passes.", isKind: true),
    Key("stop", .bool, "The agent ends.", isKind: true),
    Key("restart", .bool, "An agent begins where the last one ended.", isKind: true),
    Key("signal", .either([.text(), .keys(.signal)]), "An event comes.", isKind: true),
    Key("file", .keys(.testedFile), "A file comes, changes or goes.", isKind: true),
    Key("approve", .definition("decision"), "A person approves what the run asks.", isKind: true),
    Key("reject", .definition("decision"), "A person rejects what the run asks.", isKind: true),
    Key("cancel", .bool, "A person cancels the run.", isKind: true),
    Key("trigger", .text(), "A schedule starts a run out of turn.", isKind: true),
    Key(
      "fault", .map(names: "plugin", of: .definition("parameters")),
      "A sandbox fails from now on, as in { markbook: { kind: refuse, times: 2 } }.", isKind: true),
    Key("sandbox", .definition("sandboxes"), isKind: true),
    Key("expect", .definition("expectation")),
  ])

  static let signal = KeySet([
    Key("name", .text(), "What the event is called.", isRequired: true),
    Key("id", .text(), "What makes it one of its kind."),
    Key("data", .any, "What it carries."),
  ])

  static let testedFile = KeySet(
    [
      Key("path", .text(), "Where it is, from the folder of errand.yaml.", isRequired: true),
      Key("text", .text(), "What it holds; without it and 'base64', the file goes."),
    ] + otherContent, notTogether: ["text", "base64"])

  /// The content of a test's file that isn't plain text in UTF-8.
  static let fileContent = KeySet(
    [Key("text", .text(), "What it holds.")] + otherContent, notTogether: ["text", "base64"])

  private static let otherContent = [
    Key.choice("encoding", RecipeTest.Encoding.utf8, "How the text is written.", with: ["text"]),
    Key("base64", .text(), "The bytes that it holds, in base64."),
  ]

  static let decision = KeySet([
    Key("step", .text(), "The path of the step that asks."),
    Key("by", .text(), "Who decides."),
    Key("comment", .text(), "What they say about it."),
  ])

  static let expectation = KeySet([
    Key("status", .choice(RecipeTestReader.states), "The status of the last run."),
    Key("error", .keys(.expectedError), "The last run's error, by its members."),
    Key("waitsUntil", .instant, "When the last run resumes."),
    Key(
      "steps", .map(of: .choice(RecipeTestReader.stepStates)), "The status of steps of the last run, by their paths."),
    Key("outputs", .object, "The outputs of the last run, by name."),
    Key("runs", .list(of: .text()), "Every run's status, in the order of their beginning."),
    Key("requests", .list(of: .text()), "Every request, as GET /catalog.json 200."),
    Key("slots", .list(of: .text()), "The outcome of every slot, as 2026-11-20T09:00:00Z started."),
    Key(
      "that", .when("array", then: .list(of: .expression), else: .expression),
      "Conditions on run, runs, steps, outputs, requests, slots and now."),
  ])

  static let expectedError = KeySet([
    Key("kind", .choice(of: ErrorKind.self), "What went wrong, as a word."),
    Key("message", .text(), "What went wrong, as a sentence."),
    Key("detail", .text(), "What the service said beyond that."),
    Key("status", .types(["integer"]), "The HTTP status."),
    Key("step", .text(), "The path of the step that failed."),
  ])
}

/// The definitions of the schema of tests that follow from declarations.
let testDefinitionKeys = [
  Key("testFile", .keys(.testFile)),
  Key("case", .keys(.testCase)),
  Key("happening", .keys(.happening)),
  Key("decision", .either([.text(), .keys(.decision)]), "The step that asks, or who decides what and why."),
  Key(
    "sandboxes", .map(names: "plugin", of: .map(of: .definition("parameters"))),
    "Commands of sandboxes with their parameters, by plugin."),
  Key("expectation", .keys(.expectation), "What must hold afterwards."),
]
