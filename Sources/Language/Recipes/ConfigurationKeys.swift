// The keys of errand.yaml; what a connection takes is declared by its plugin.
import Basics

extension KeySet {
  static let configuration = KeySet([
    Key(
      "state", .text(),
      "The folder of the state, relative to this file's folder, or the URL of a PostgreSQL database that several machines share, such as postgres://errand@db.example.org/errand; .errand if left out."
    ),
    Key("postgres", .keys(.postgres), "How to reach the database that 'state' names."),
    Key("worker", .keys(.worker), "Which runs this machine claims, if several machines share a database."),
    Key("zone", .zone, "The time zone of recipes that name none, for their schedules and time functions."),
    Key("recipes", .texts, "The folders of the recipes; 'recipes' if left out."),
    Key("secrets", .keys(.secrets), "The sources of secrets."),
    Key("connections", .definition("connections")),
    Key(
      "onFailure", .text(),
      "The file of a recipe that runs whenever a run of another recipe fails, times out or becomes uncertain."),
    Key("history", .keys(.history), "How long finished runs and slots are kept."),
    Key(
      "server", .keys(.server),
      "Where browsers and programs reach errand serve; without 'server', they reach it only through its socket."),
  ])

  static let postgres = KeySet([
    Key("password", .text(pattern: #"\$\{\{"#), "The password, such as ${{ secrets.ERRAND_DB }}."),
    Key(
      "rootCertificate", .text(),
      "The file with the authorities that may sign the server's certificate; the system's authorities if left out."),
    Key(
      "answerWithin", .duration(atLeast: .seconds(1)),
      "How long the server may take to answer before Errand gives up the connection; 10s if left out."),
  ])

  static let worker = KeySet([
    Key("name", .text(), "The worker's name; the host's name if left out."),
    Key("queues", .texts, "The queues that the worker claims runs from; 'default' if left out."),
    Key(
      "capacity", .int(WorkerSettings.capacities), "How many runs the worker holds at once.",
      default: .int(WorkerSettings().capacity)),
    Key(
      "sharedFolder", .bool,
      "Whether all machines have this folder's files, so that any of them can continue a run that works with files.",
      default: .bool(WorkerSettings().sharedFolder)),
  ])

  static let secrets = KeySet([
    Key("environment", .bool, "Whether each environment variable is a secret of the same name.", default: .bool(true)),
    Key("files", .texts, "Files that only you can read, each a mapping from names to secrets."),
    Key("age", .keys(.ageFiles), "Files with secrets, encrypted with age."),
    Key(
      "commands",
      .map(of: .when("object", then: .keys(.secretCommand), else: .definition("command"))),
      "Programs that print one secret each, by the secret's name."),
  ])

  static let ageFiles = KeySet([
    Key("files", .texts, "The encrypted files.", isRequired: true),
    Key("identity", .text(), "The file with the identity that decrypts them, of mode 0600.", isRequired: true),
  ])

  static let secretCommand = KeySet([
    Key("run", .definition("command"), isRequired: true),
    Key("timeout", .duration(atLeast: .seconds(1)), "How long the program may take; 30s if left out."),
    Key(
      "renew", .duration(atLeast: .seconds(10)),
      "How old the secret may become before the program runs again, such as 50m for a token that is valid for an hour."),
  ])

  /// How many runs `keepRuns` may keep.
  static let keptRuns = 100...1_000_000_000

  /// How many calls `maxParallel` of a connection may allow.
  static let parallelCalls = 1...1000
  /// How many requests `requests` of a connection may allow.
  static let limitedRequests = 1...10_000

  static let limits = KeySet([
    Key("maxParallel", .int(parallelCalls), "How many calls may be in flight at once, across all runs."),
    Key(
      "requests", .int(limitedRequests),
      "How many HTTP requests may be sent in any span of 'per', across all runs; counts calls if the plugin doesn't use HTTP."
    ),
    Key("per", .duration(atLeast: .seconds(1)), "The length of time for 'requests'."),
  ])

  static let server = KeySet([
    Key("listen", .definition("texts"), "The addresses to listen on, with their ports, such as 127.0.0.1:7373."),
    Key(
      "publicURL", .text(pattern: "^https?://[^/?#@]+/?$"),
      "The address that people use, if a proxy is in front, such as https://errand.example.org."),
    Key(
      "allowRemote", .bool, "Whether 'listen' may name addresses that other machines can reach.", default: .bool(false)),
    Key(
      "edit", .bool,
      "Whether tokens with the scope 'edit' may change recipes, their tests and this file. Whoever can change a recipe can run any program as the agent's account.",
      default: .bool(false)),
    Key("mcp", .keys(.mcp), "The permissions of assistants that use MCP, through errand mcp and POST /mcp."),
    Key(
      "name", .text(),
      "Who asks people, such as School office; on the page of a link to a question and on the login page."),
    Key("contact", .text(), "Where these people can ask back, such as office@example.org."),
  ])

  static let mcp = KeySet([
    Key(
      "recipes", .texts,
      "The names of more recipes that are tools, besides recipes with 'mcp: true'; * matches any part of a name."),
    .choice(
      "confirm", ToolSettings.Confirmation.person,
      "How a run that writes is confirmed after the assistant has seen its plan."),
  ])

  static let history = KeySet([
    Key(
      "keepRuns", .either([.constant("forever"), .int(keptRuns)]), "How many finished runs to keep at most.",
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
    "limits", .keys(.limits), "The limits of the connection's calls; calls beyond the limits are queued."),
  Key(
    "connections", .map(names: "name", of: .definition("connection")),
    "The services by name: the name of the plugin, or another name together with 'plugin'."),
]
