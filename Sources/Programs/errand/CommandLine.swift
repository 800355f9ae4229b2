import CommandLineParser
import Recipes
import RunState

/// The only description of the command line: parsing, help, completion and suggestions read it.
let program = Command(
  "errand", "Runs recipes: YAML files that chain typed actions of services.",
  options: [
    .option("config", "FILE", "The configuration, instead of the errand.yaml found upward from the recipe.", .file),
    .option("state", "DIR", "The state folder, instead of the folder that the configuration names.", .folder),
    .option(
      "remote", "URL", "Asks the agent at an address, with a token, instead of the folder's ($ERRAND_REMOTE).", .text),
    .option(
      "token-file", "FILE", "With --remote: a file with the token, which only you may read ($ERRAND_TOKEN_FILE).", .file
    ),
    .option(
      "token-secret", "NAME", "With --remote: the secret that holds the token, from the sources of errand.yaml.",
      .name(.secret)),
    .flag("quiet", short: "q", "Prints only results and errors."),
    .flag("verbose", short: "v", "Prints more."),
    .flag("no-color", "Uses no colours."),
    .flag("version", "Prints the version and exits."),
  ],
  examples: [
    .init("check recipes/*.yaml", "Finds every fault before anything runs."),
    .init(
      "run recipes/markbook-averages.yaml --sandbox -i markbook=1207731", "Tries a recipe without the real service."),
  ],
  subcommands: [
    runCommand, checkCommand, lintCommand, planCommand, testCommand, serveCommand, statusCommand, reloadCommand,
    runsCommand,
    scheduleCommand, recipesCommand, connectionsCommand, whyCommand, graphCommand, actionsCommand, evalCommand,
    newCommand, pluginCommand, schemaCommand, lspCommand,
    mcpCommand,
    sandboxCommand,
    secretsCommand, tokenCommand, formCommand, openCommand, stateCommand, workersCommand, doctorCommand,
    completionsCommand, manualCommand, helpCommand,
  ], otherWords: .ofProgram)

let inputOptions: [Command.Option] = [
  .option(
    "input", short: "i", "NAME=VALUE",
    "An input: a value, JSON for lists and maps, @FILE for a file's text, @secret:NAME for a secret.",
    .name(.input), repeats: true),
  .option("inputs", "FILE", "Inputs from a JSON or YAML file.", .file),
]

private let overrides = Command.Option.option(
  "set", "PATH=VALUE", "Overrides one setting, such as connections.markbook.baseURL=http://127.0.0.1:8081.",
  .name(.setting), repeats: true)

let runKey = Command.Option.option(
  "key", "KEY", "Starts only one run of the recipe with this key; if there is one already, shows it.", .text)

private let runCommand = Command(
  "run", "Runs a recipe and shows its progress.",
  arguments: [
    .required(
      "recipe", "The recipe's file; with --remote, the name of a recipe that is served there.", .name(.recipeFile))
  ],
  options: inputOptions + [
    .flag("sandbox", "Runs against made-up services in this process, with a state that is thrown away."),
    overrides,
    runKey,
    .flag("confirm", "Plans the run first, shows the plan, and asks."),
    .option(
      "plan", "FILE", "Runs with the inputs of a plan from 'errand plan --out', and only if the plan still holds.",
      .file),
    .option("record", "FILE", "Records the answers from outside in a file, without secrets.", .file),
    .flag("force", "Replaces an existing recording."),
    .option(
      "replay", "FILE",
      "Replays a recording: takes the answers from outside from it, with a state that is thrown away.", .file),
    .flag("detach", "Hands the run to the folder's agent, prints its id, and does not wait for it."),
    .flag("json", "Prints one JSON document when the run is over."),
    .option(
      "log-format", "FORMAT", "The format of the progress: text, json or github.",
      .choice(ProgressDisplay.Format.allCases.map(\.rawValue))),
  ],
  examples: [
    .init("run recipes/markbook-averages.yaml -i markbook=1207731 -i into=Average", "Runs with two inputs."),
    .init("run report.yaml --inputs inputs.json --json", "Prints one JSON document, for other programs."),
    .init(
      "run report --remote https://errand.example.org --token-file token",
      "Starts and follows a run on another machine."),
    .init(
      "run report.yaml -i month=2026-11 --key 2026-11",
      "Starts one run for the month, however often the command is repeated."),
  ])

private let checkCommand = Command(
  "check", "Finds every fault in recipes without running them.",
  arguments: [
    .repeated(
      "recipe", "The recipes; all recipes of the configured folders if left out.", .name(.recipeFile), atLeast: 0)
  ],
  options: [
    .option("format", "FORMAT", "The format of the faults.", .choice(["text", "json", "github", "sarif"])),
    .flag("fix", "Applies the unambiguous fixes, and shows them as a diff."),
    .flag("dry-run", "With --fix, shows the diff and changes no file."),
  ],
  examples: [
    .init("check recipes/weekly.yaml", "Checks one recipe."),
    .init("check --fix --dry-run", "Shows the unambiguous fixes."),
    .init("check --format github", "Marks the faults in a pull request."),
  ])

private let lintCommand = Command(
  "lint", "Suggests simpler or safer forms for recipes that pass the check: hints, not errors.",
  arguments: [
    .repeated(
      "recipe", "The recipes; all recipes of the configured folders if left out.", .name(.recipeFile), atLeast: 0)
  ],
  options: [
    .option("format", "FORMAT", "The format of the hints.", .choice(["text", "json", "github", "sarif"])),
    .flag("strict", "Exits with 1 if there is a hint."),
  ],
  examples: [
    .init("lint", "Checks every recipe in the recipe folders."),
    .init("lint recipes/weekly.yaml --strict", "Fails if there is a hint, for a build."),
  ])

private let planCommand = Command(
  "plan", "Shows the changes that a run would make: reads for real, and writes nothing.",
  arguments: [.optional("recipe", "The recipe's file; required, except with --show.", .name(.recipeFile))],
  options: inputOptions + [
    .flag("sandbox", "Plans against made-up services in this process."),
    overrides,
    .option("out", "FILE", "Writes the plan to a file, for 'errand run --plan'.", .file),
    .option(
      "show", "DIGEST", "Shows a plan that an agent made within the last hour, instead of making one.", .text),
    .flag("json", "Prints the plan as one JSON document."),
    .flag("detailed-exitcode", "Exits with 2 if there are changes, and with 0 if there are none."),
  ],
  examples: [
    .init("plan recipes/markbook-averages.yaml -i markbook=1207731", "Shows each result that would be written."),
    .init("plan report.yaml --out plan.json", "Keeps the plan; then run report.yaml --plan plan.json."),
    .init("plan --show DIGEST", "Shows a plan of the pages or the API; its digest is the end of its address."),
  ])

private let testCommand = Command(
  "test",
  "Tests recipes in sandboxes, on a clock of their own, so that days pass in milliseconds; also tests plugins from outside.",
  arguments: [
    .repeated(
      "file", "The test files; if left out, all files in the folder 'tests' of the recipes, and the folder's plugins.",
      .name(.testFile),
      atLeast: 0)
  ],
  options: [
    .option("format", "FORMAT", "The format of the outcomes.", .choice(["text", "json", "junit", "github"])),
    .flag("update", "Writes the results into the test files, where outputs, runs, requests and slots are recorded."),
    .flag("watch", "Repeats the tests whenever a recipe or a test file changes."),
  ],
  examples: [
    .init("test", "Runs every test of the recipes' folders."),
    .init("test recipes/tests/weekly.test.yaml --watch", "Repeats the test while you write the recipe."),
  ])

private let serveCommand = Command(
  "serve", "Runs the agent: starts scheduled runs, wakes waiting runs and resumes interrupted ones.",
  options: [
    .option(
      "log-format", "FORMAT", "The format of the log: text, json or github.",
      .choice(ProgressDisplay.Format.allCases.map(\.rawValue))),
    .option(
      "queue", "Q,…", "The queues whose runs it claims from a database, instead of the queues in errand.yaml.",
      .text),
    .option(
      "capacity", "N", "The number of runs of a database that it holds at once, instead of the number in errand.yaml.",
      .text),
    .flag(
      "no-schedules", "Leaves the schedules of a database to other workers, as a machine without their recipes must."),
    .flag("sandbox", "Serves against made-up services, with a temporary state and temporary files."),
    .flag("systemd-unit", "Prints a systemd unit with this folder's paths and exits."),
    .flag("user", "With --systemd-unit: a unit for your own systemd, without restrictions."),
  ],
  examples: [
    .init("serve", "Serves the recipes of the folders that errand.yaml names, or of 'recipes'."),
    .init("serve --sandbox", "Lets you try the recipes and the pages without the real services."),
    .init("serve --systemd-unit", "Prints a unit to save as errand.service, so that systemd keeps the agent running."),
  ])

private let actionsCommand = Command(
  "actions", "Lists the actions, or shows one with its fields.",
  arguments: [.optional("name", "A plugin, or an action such as markbook.getMarkbook.", .name(.pluginOrAction))],
  options: [.flag("json", "Prints JSON, with JSON Schema for inputs.")],
  examples: [.init("actions markbook.putStudentResult", "Shows its inputs, outputs and an example.")])

private let evalCommand = Command(
  "eval", "Evaluates an expression and prints its value and type.",
  arguments: [.required("expression", "The expression, in CEL.", .text)],
  options: [
    .option("with", "FILE", "A JSON or YAML file whose members are variables.", .file),
    .flag("json", "Prints only the value, as JSON."),
  ],
  examples: [.init("eval 'stats.mean([1.0, 2.5])'", "Prints 1.75 and its type.")])

private let graphCommand = Command(
  "graph", "Draws a recipe's steps and the data between them, or their outcomes in a run.",
  arguments: [
    .required(
      "subject", "A recipe's file, or a run: its id, the beginning or end of it, or last.", .name(.recipeFileOrRun))
  ],
  options: [
    .option(
      "format", "FORMAT", "text (if left out), mermaid, dot for Graphviz, or svg, which Graphviz draws.",
      .choice(["text", "mermaid", "dot", "svg"]))
  ],
  examples: [
    .init(
      "graph recipes/markbook-averages.yaml", "Shows the steps, and the values that each step reads, with their types."),
    .init("graph 0199a --format svg", "Draws a run, with times and states, to standard output."),
  ])

private let newCommand = Command(
  "new", "Creates a starter file.",
  subcommands: [
    Command(
      "recipe",
      "Creates a recipe that passes the check: from a template, an action, a crontab, or your answers to questions.",
      arguments: [
        .optional(
          "name", "The name of the recipe and of its file; derived from the template or action if left out.", .text)
      ],
      options: [
        .option("from", "TEMPLATE", "The template to start from.", .choice(RecipeTemplates.all.map(\.name))),
        .option("uses", "ACTION", "The action to start from, such as markbook.getMarkbook.", .name(.action)),
        .option("cron", "TIMES", "With --uses: the times of its schedule, such as '30 17 * * FRI'.", .text),
        .option("from-crontab", "FILE", "A crontab; each line of it becomes a recipe; - for standard input.", .file),
        .flag(
          "user-column",
          "With --from-crontab: each line names a user, as in /etc/crontab and /etc/cron.d, which don't need this flag."
        ),
      ],
      examples: [
        .init("new recipe", "Asks which template, and for its inputs."),
        .init("new recipe my-averages --from markbook-averages", "Writes recipes/my-averages.yaml."),
        .init("new recipe --uses timetable.today --cron '0 6 * * *'", "Runs an action each morning."),
        .init("new recipe --from-crontab -", "Reads what 'crontab -l' pipes into it."),
      ]),
    Command(
      "test", "Creates a first test of a recipe, which passes.",
      arguments: [.required("recipe", "The recipe's file.", .name(.recipeFile))],
      examples: [.init("new test recipes/weekly.yaml", "Writes recipes/tests/weekly.test.yaml.")]),
    Command(
      "shape", "Prints the types of JSON samples, for the key 'shape' of a step.",
      arguments: [
        .repeated("file", "Files with a JSON document each; - for standard input.", .file, atLeast: 1)
      ],
      examples: [
        .init("new shape jobs.json jobs-empty.json", "Finds what may be absent by comparing two answers."),
        .init("new shape -", "Reads what a program such as curl pipes into it."),
      ]),
    Command(
      "plugin", "Creates a plugin in another language: one file, and its test.",
      arguments: [
        .required("language", "The plugin's language: python.", .choice(["python"])),
        .required("name", "The plugin's name, which recipes write before the names of its actions.", .text),
      ],
      examples: [.init("new plugin python notes", "Writes plugins/notes.py and plugins/test_notes.py.")]),
    Command(
      "folder", "Creates a folder for recipes: errand.yaml, a first recipe with its test, and schemas for editors.",
      arguments: [.optional("dir", "The folder; this one if left out.", .folder)],
      examples: [.init("new folder errands", "Creates the folder 'errands'.")]),
  ])

private func effectOption(_ more: String = "") -> Command.Option {
  .option(
    "effect", "NAME=EFFECT",
    "Sets the effect of an action or tool: pure, read, consume, idempotentWrite, idempotentWrite:1d or write\(more).",
    .text, repeats: true)
}

private let datesOption = Command.Option.option(
  "dates", "HOW",
  "'text' reads dates and times as texts, for services and servers that leave out the zone; 'typed' undoes that.",
  .choice(["text", "typed"]))

private let pluginCommand = Command(
  "plugin", "Manages plugins that are made from OpenAPI documents and MCP servers.",
  subcommands: [
    Command(
      "list", "Lists the folder's plugins, with the source of each and whether it can be used.",
      options: [.flag("json", "Prints JSON.")]),
    Command(
      "add", "Adds a plugin: writes plugins/NAME.lock.json beside errand.yaml.",
      arguments: [
        .required("kind", "The kind of the source.", .choice(["openapi", "mcp"])),
        .required("name", "The plugin's name, which recipes write before the names of its actions."),
        .repeated(
          "source", "For openapi: a document, as a file or a URL. For mcp: a URL, or -- and a command.",
          .file, atLeast: 1, mayBeCommand: true),
      ],
      options: [
        .option(
          "only", "WHAT",
          "For openapi: adds only an operation, a path such as /pets/*, or a tag such as tag:pets.", .text,
          repeats: true),
        datesOption, effectOption(),
        .flag("trust-hints", "For mcp: trusts the server's hints about tools that only read or can be repeated."),
        .option(
          "env", "NAME", "For mcp: passes a secret to the command as an environment variable of the same name.",
          .name(.secret),
          repeats: true),
        .option("token", "NAME", "For mcp at a URL: sends a secret as a bearer token.", .name(.secret)),
      ],
      examples: [
        .init("plugin add openapi shop http://127.0.0.1:8000/openapi.json", "Reads a service's own document."),
        .init("plugin add openapi shop shop.yaml --only tag:orders", "Adds some operations of a file."),
        .init(
          "plugin add mcp clock -- mcp-server-time --local-timezone UTC", "Starts a server and asks for its tools."),
      ]),
    Command(
      "update", "Reads a plugin's source again, shows the differences, and checks all recipes before it writes.",
      arguments: [
        .required("name", "The plugin.", .name(.lockedPlugin)),
        .repeated(
          "source", "The plugin's new source, if its document, server or program has moved.", .file,
          mayBeCommand: true),
      ],
      options: [
        .option("only", "WHAT", "For openapi: replaces the earlier choice of operations.", .text, repeats: true),
        datesOption, effectOption("; or default, to undo an earlier setting"),
        .flag("trust-hints", "For mcp: trusts the server's hints from now on."),
        .flag("distrust-hints", "For mcp: no longer trusts the server's hints."),
        .flag("dry-run", "Writes nothing."),
        .flag("force", "Writes the lock even if recipes no longer check."),
      ],
      examples: [
        .init("plugin update shop --dry-run", "Exits with 2 if something would change."),
        .init("plugin update shop api/shop.yaml", "Reads the document at its new place."),
      ]),
    Command(
      "remove", "Removes a plugin that no recipe uses.",
      arguments: [.required("name", "The plugin.", .name(.lockedPlugin))],
      options: [.flag("force", "Removes it even if recipes use it.")]),
  ], defaultSubcommand: "list", otherWords: .ofPlugin)

private let schemaCommand = Command(
  "schema", "Prints the JSON Schema that editors use to complete and check files.",
  arguments: [
    .optional(
      "file", "recipe (if left out), for recipes and their tests; test; or errand, for errand.yaml.",
      .choice(FileSchema.allCases.map(\.rawValue)))
  ],
  examples: [
    .init("schema recipe", "Save it as recipe.schema.json, which a recipe's first line names for editors.")
  ])

private let lspCommand = Command(
  "lsp",
  "Serves an editor over standard input and output: faults while you type, completion, and explanations (LSP 3.17).",
  options: [
    .flag("stdio", "Changes nothing: standard input and output are used in any case. Some editors add it.")
  ],
  examples: [
    .init(
      "lsp",
      "Serves an editor that starts this command for YAML files; docs/editors.md has the settings of several editors.")
  ])

private let mcpCommand = Command(
  "mcp",
  "Offers recipes to an assistant as tools, over standard input and output (MCP). The user confirms their writes.",
  options: [.flag("sandbox", "Runs recipes against made-up services, with a state that is thrown away.")],
  examples: [
    .init("mcp", "Serves an assistant that starts this command; docs/assistants.md has its settings."),
    .init("mcp --sandbox", "Lets an assistant try the tools without the real services."),
  ])

private let sandboxCommand = Command(
  "sandbox", "Runs a plugin's sandbox: a made-up service, to try recipes and programs against.",
  arguments: [.required("plugin", "The plugin.", .name(.plugin))],
  options: [.option("port", "PORT", "The port on 127.0.0.1; any free one if left out.", .int(0...65_535))],
  examples: [.init("sandbox markbook --port 8081", "Then run with --set connections.markbook.baseURL=….")])

private let openCommand = Command(
  "open", "Opens the pages of errand serve in a browser, logged in.",
  options: [
    .flag("print", "Prints the link instead of opening it; it works once, within a minute."),
    .flag("log-out", "Opens nothing, and ends your logins in all browsers."),
    .flag("everyone", "With --log-out: ends the logins of all people, also those with tokens."),
  ],
  examples: [
    .init("open", "Opens the pages without a token, on the agent's machine."),
    .init("open --log-out --everyone", "Every browser has to log in again; the tokens stay valid."),
  ])

private let formCommand = Command(
  "form", "Makes links to the forms of recipes.",
  subcommands: [
    Command(
      "link", "Prints a link that lets its owner send a form with 'open: link'.",
      arguments: [.required("schedule", "The entry of the form: RECIPE, or RECIPE/ID.", .name(.schedule()))],
      options: [
        .option("for", "DURATION", "How long the link is valid, such as 7d; 30d if left out, at most 90d.", .text),
        .option("uses", "N", "How many times the form may be sent with it; once if left out.", .int(1...1000)),
      ],
      examples: [
        .init("form link rooms/request --for 7d --uses 30", "Lets thirty people send the form within a week.")
      ])
  ])

private let tokenCommand = Command(
  "token", "Makes, lists and revokes tokens for programs and people that use errand serve over HTTP.",
  subcommands: [
    Command(
      "new", "Makes a token and prints it once; the state keeps only its hash.",
      arguments: [.required("name", "The token's name; decisions are recorded under it.", .text)],
      options: [
        .option(
          "scope", "SCOPE", "A scope that the token allows; repeat it for more scopes. Default: read.",
          .choice(TokenScope.allCases.map(\.rawValue)),
          repeats: true),
        .option(
          "recipe", "NAME", "Limits the token to this recipe; repeat it for more recipes.", .name(.recipe),
          repeats: true),
        .option("expires", "DURATION", "How long the token is valid, such as 90d. Default: for ever.", .text),
      ],
      examples: [
        .init("token new phone --scope read --scope approve --expires 90d", "Lets a phone see and approve runs."),
        .init("token new shop --scope start --recipe invoice", "Lets a shop start one recipe."),
        .init(
          "token new admin --scope read --scope start --scope tokens",
          "Lets a program give others tokens that read and start."),
      ]),
    Command(
      "list", "Lists the tokens, with the scopes and recipes that they allow.", options: [.flag("json", "Prints JSON.")]
    ),
    Command(
      "revoke", "Revokes a token at once.", arguments: [.required("name", "The token's name.", .name(.token))],
      examples: [.init("token revoke phone", "The phone can no longer log in or use the API.")]),
  ])

private let workerArgument = Command.Argument.required(
  "worker", "The worker: its name, or its id if several have that name.", .name(.worker))

private let workersCommand = Command(
  "workers", "Lists, drains and evicts the agents that share a state in PostgreSQL.",
  subcommands: [
    Command(
      "list", "Lists the workers, with their queues, the number of runs that they hold and the ends of their leases.",
      options: [.flag("json", "Prints JSON, with everything that each worker offers.")],
      examples: [
        .init("workers", "Shows the machines that claim runs, and the leader, which decides on the schedules.")
      ]),
    Command(
      "drain",
      "Stops a worker from claiming runs: it finishes its running runs, and gives up its waiting runs and the lead of "
        + "the schedules.",
      arguments: [workerArgument],
      options: [.flag("undo", "Lets it claim runs again; a restart does so, too.")],
      examples: [.init("workers drain lab-3", "Empties a machine before it is stopped.")]),
    Command(
      "evict",
      "Ends a worker's lease, so that other workers take over its runs at once. If it is still running, it may repeat "
        + "another worker's actions, until it notices within seconds; then it comes back with a new lease.",
      arguments: [workerArgument],
      options: [.flag("force", "Evicts it before its lease expires, because you know that it is gone.")],
      examples: [.init("workers evict lab-3 --force", "Doesn't wait for the lease of a machine that lost its power.")]),
  ], defaultSubcommand: "list")

private let secretsCommand = Command(
  "secrets", "Checks secrets without revealing them.",
  subcommands: [
    Command(
      "check", "Shows the secrets that recipes need, the source of each, and missing secrets and faulty sources.",
      arguments: [
        .repeated(
          "recipe", "The recipes; all recipes of errand.yaml's folders if left out.", .name(.recipeFile), atLeast: 0
        )
      ],
      options: [.flag("json", "Prints JSON.")],
      examples: [.init("secrets check", "Exits with 1 if a secret is missing or a source is faulty.")])
  ])

private let stateCommand = Command(
  "state",
  "Exports and imports the whole state: open runs, history, slots and large values; creates one in a database.",
  subcommands: [
    Command(
      "export", "Writes the state to one file, also while agents work on it.",
      arguments: [.required("file", "The file to write; - for standard output.", .file)],
      options: [
        .flag("force", "Replaces an existing file."),
        .flag("move", "Closes the state; it continues only where the file is imported."),
      ],
      examples: [
        .init("state export errand-backup.archive", "Makes a backup."),
        .init("state export --move errand.archive", "Moves the state; see docs/several-machines.md."),
      ]),
    Command(
      "import", "Imports an exported state, as a whole or not at all.",
      arguments: [.required("file", "The file to read; - for standard input.", .file)],
      options: [.flag("replace", "Replaces the existing state, which is kept aside.")],
      examples: [.init("state import errand-backup.archive --replace", "Restores a backup.")]),
    Command(
      "init", "Creates the tables of a state in the database that errand.yaml names.",
      options: [
        .option("worker", "ROLE", "Lets a role of the database work on the state, without changing tables.", .text)
      ],
      examples: [
        .init("state init", "Creates the tables; its role owns them."),
        .init(
          "--config owner.yaml state init --worker errand", "Creates them with another role than the machines use."),
      ]),
    Command(
      "migrate", "Brings the tables of an older version up to date, while machines work.",
      examples: [.init("state migrate", "Makes the missing changes.")]),
  ])

private let doctorCommand = Command(
  "doctor", "Finds faults in the state and says how to fix them.",
  options: [
    .flag("repair", "Makes the repairs that lose nothing."),
    .flag(
      "keep-until-damage", "With --repair, keeps the part of a damaged journal before the damage, and pauses its runs."),
    .flag("json", "Prints JSON."),
  ],
  examples: [.init("doctor", "Examines everything and changes nothing.")])

private let completionsCommand = Command(
  "completions", "Prints the completion script of a shell.",
  arguments: [
    .required("shell", "bash, zsh or fish.", .choice(Shell.allCases.map(\.rawValue))),
    .repeated("word", "The words typed so far, from the script: prints the words that may follow.", .text),
  ],
  examples: [.init("completions bash", "Prints it; save it in ~/.local/share/bash-completion/completions/errand.")])

private let manualCommand = Command(
  "manual", "Prints a manual page, for man(1).",
  arguments: [
    .optional(
      "page", "errand (if left out), errand-recipe or errand.yaml.", .choice(Manual.allCases.map(\.rawValue)))
  ],
  examples: [.init("manual errand-recipe", "Prints it, for 'man -l -' to show.")])

private let helpCommand = Command(
  "help", "Explains a command, or a key of a recipe, of a test or of errand.yaml, with an example.",
  arguments: [
    .repeated(
      "topic", "A command such as run, or a key such as retry; all topics if left out.", .name(.topic), atLeast: 0)
  ],
  examples: [
    .init("help retry", "Shows the key's meaning, its values and an example."),
    .init("help errand.yaml", "Shows the keys of a file."),
  ])
