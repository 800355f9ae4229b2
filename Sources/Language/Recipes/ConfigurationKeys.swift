// The keys of errand.yaml; what a connection takes is declared by its plugin.
import Basics

extension KeySet {
  static let configuration = KeySet([
    Key(
      "state", .text(),
      "The folder of the state, from this file's folder, or the URL of a PostgreSQL database that several machines share, such as postgres://errand@db.example.org/errand; .errand if left out."
    ),
    Key("postgres", .keys(.postgres), "How the database is reached that 'state' names."),
    Key("worker", .keys(.worker), "Which runs this machine takes up, where several share a database."),
    Key("zone", .zone, "The zone of recipes that name none: of their schedules and functions of times."),
    Key("recipes", .texts, "The folders of the recipes; recipes if left out."),
    Key("secrets", .keys(.secrets), "Where secrets come from."),
    Key("connections", .definition("connections")),
    Key(
      "onFailure", .text(),
      "The file of a recipe that is run whenever a run of another recipe fails, times out or becomes uncertain."),
    Key("history", .keys(.history), "How long finished runs and slots are kept."),
    Key(
      "server", .keys(.server), "Where browsers and programs reach errand serve; without it, only through its sockets."),
  ])

  static let postgres = KeySet([
    Key("password", .text(pattern: #"\$\{\{"#), "The password, such as ${{ secrets.ERRAND_DB }}."),
    Key(
      "rootCertificate", .text(),
      "The file of the authorities that may sign the server's certificate; those of the system if left out."),
    Key(
      "answerWithin", .duration(atLeast: .seconds(1)),
      "How long the server may take to answer, before the connection is given up; 10s if left out."),
  ])

  static let worker = KeySet([
    Key("name", .text(), "What people call this machine; the host's name if left out."),
    Key("queues", .texts, "The queues of the runs that it takes up; default if left out."),
    Key(
      "capacity", .int(WorkerSettings.capacities), "How many runs it holds at once.",
      default: .int(WorkerSettings().capacity)),
    Key(
      "sharedFolder", .bool,
      "Whether all machines have this folder's files, so that runs that work with files go on at any of them.",
      default: .bool(WorkerSettings().sharedFolder)),
  ])

  static let secrets = KeySet([
    Key("environment", .bool, "Whether environment variables are secrets of their names.", default: .bool(true)),
    Key("files", .texts, "Files that only you can read, each a mapping from names to secrets."),
    Key("age", .keys(.ageFiles), "Such files, encrypted with age."),
    Key(
      "commands",
      .map(of: .when("object", then: .keys(.secretCommand), else: .definition("command"))),
      "Programs that print one secret each, by the secret's name."),
  ])

  static let ageFiles = KeySet([
    Key("files", .texts, "The files that age encrypted.", isRequired: true),
    Key("identity", .text(), "The file of the identity that opens them, of mode 0600.", isRequired: true),
  ])

  static let secretCommand = KeySet([
    Key("run", .definition("command"), isRequired: true),
    Key("timeout", .duration(atLeast: .seconds(1)), "How long it may take; 30s if left out."),
    Key(
      "renew", .duration(atLeast: .seconds(10)),
      "How old the secret may become before the program runs again, such as 50m for a token of an hour."),
  ])

  /// How many runs `keepRuns` may keep.
  static let keptRuns = 100...1_000_000_000

  /// How many calls `maxParallel` of a connection may allow.
  static let parallelCalls = 1...1000
  /// How many requests `requests` of a connection may allow.
  static let limitedRequests = 1...10_000

  static let limits = KeySet([
    Key("maxParallel", .int(parallelCalls), "How many calls may be under way at once, over all runs."),
    Key(
      "requests", .int(limitedRequests),
      "How many HTTP requests may go out in any span of 'per', over all runs; calls, where the plugin doesn't use HTTP."
    ),
    Key("per", .duration(atLeast: .seconds(1)), "The length of time that 'requests' counts in."),
  ])

  static let server = KeySet([
    Key("listen", .definition("texts"), "The addresses with their ports, such as 127.0.0.1:7373."),
    Key(
      "publicURL", .text(pattern: "^https?://[^/?#@]+/?$"),
      "The address that people use, if a proxy is in front, such as https://errand.example.org."),
    Key(
      "allowRemote", .bool, "Whether 'listen' may name addresses that other machines can reach.", default: .bool(false)),
    Key("mcp", .keys(.mcp), "What assistants that speak MCP may do, through errand mcp and POST /mcp."),
  ])

  static let mcp = KeySet([
    Key(
      "recipes", .texts,
      "Names of recipes that are tools besides those with 'mcp: true'; * stands for any part of a name."),
    .choice(
      "confirm", ToolSettings.Confirmation.person,
      "How a run that writes is confirmed after the assistant was shown its plan."),
  ])

  static let history = KeySet([
    Key(
      "keepRuns", .either([.constant("forever"), .int(keptRuns)]), "How many finished runs at most.",
      default: .string("forever")),
    Key("keepFor", .definition("keeping"), "How long finished runs are kept; 365d if left out."),
    Key("keepSlotsFor", .definition("keeping"), "How long slots are kept; 90d if left out."),
    Key(
      "keepDataFor", .definition("keeping"),
      "How long the data of finished runs is kept: inputs, outputs, requests and logs; as long as the runs if left out."
    ),
  ])
}

/// The definitions of the schema of errand.yaml that follow from declarations.
let configurationDefinitionKeys = [
  Key("configuration", .keys(.configuration)),
  Key(
    "command", .list(of: .text(), isFilled: true),
    "The program and each argument, such as [pass, show, school]; no shell reads them."),
  Key(
    "keeping", .either([.constant("forever"), .duration(atLeast: .seconds(86_400))]),
    "A length of time of at least a day, or forever."),
  Key(
    "limits", .keys(.limits), "What the connection may be asked for; what comes too early is queued."),
  Key(
    "connections", .map(names: "name", of: .definition("connection")),
    "The services, each under a name: that of its plugin, or another one beside 'plugin'."),
]
