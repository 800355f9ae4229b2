import CommandLineParser

/// The one description of the command line: parsing, help, completion and suggestions are read from it.
let program = Command(
  "errand", "Runs recipes: YAML files that chain typed actions of services.",
  options: [
    .option("config", "FILE", "The configuration, instead of the errand.yaml found upward from the recipe.", .file),
    .option("state", "DIR", "The folder of the state, instead of the one the configuration names.", .folder),
    .flag("quiet", short: "q", "Says only results and errors."),
    .flag("verbose", short: "v", "Says more."),
    .flag("no-color", "Uses no colours."),
    .flag("version", "Prints the version, as the only word."),
  ],
  examples: [
    .init("check recipes/*.yaml", "Finds every fault before anything runs."),
    .init(
      "run recipes/markbook-averages.yaml --sandbox -i markbook=1207731", "Tries a recipe without the real service."),
  ],
  subcommands: [runCommand, checkCommand, runsCommand, actionsCommand, evalCommand, sandboxCommand, completionsCommand])

private let inputOptions: [Command.Option] = [
  .option(
    "input", short: "i", "NAME=VALUE",
    "An input: a value, JSON for lists and maps, @FILE for a file's text, @secret:NAME for a secret.", repeats: true),
  .option("inputs", "FILE", "Inputs from a JSON or YAML file.", .file),
]

private let runCommand = Command(
  "run", "Runs a recipe, and shows how it goes on.",
  arguments: [.required("recipe", "The recipe's file.", .file)],
  options: inputOptions + [
    .flag("sandbox", "Runs against made-up services in this process, with a state that is thrown away."),
    .option(
      "set", "PATH=VALUE", "Overrides one setting, such as connections.markbook.baseURL=http://127.0.0.1:8081.",
      repeats: true),
    .flag("json", "Prints one JSON document when the run is over."),
    .option(
      "log-format", "FORMAT", "How progress is shown: text, json or github.",
      .choice(ProgressDisplay.Format.allCases.map(\.rawValue))),
  ],
  examples: [
    .init("run recipes/markbook-averages.yaml -i markbook=1207731 -i into=Average", "Runs with two inputs."),
    .init("run report.yaml --inputs inputs.json --json", "For other programs."),
  ])

private let checkCommand = Command(
  "check", "Finds every fault of recipes, and runs nothing.",
  arguments: [.repeated("recipe", "The recipes; those of the configured folders if none is given.", .file, atLeast: 0)],
  options: [
    .option("format", "FORMAT", "How faults are written.", .choice(["text", "json", "github", "sarif"]))
  ],
  examples: [
    .init("check recipes/weekly.yaml", "Checks one recipe."),
    .init("check --format github", "Marks the faults in a pull request."),
  ])

private let runArgument = Command.Argument.required("run", "The run's id, or the beginning of it.", .text)

private let runsCommand = Command(
  "runs", "Lists, shows and steers runs.",
  subcommands: [
    Command(
      "list", "Lists the open runs and the latest finished ones.",
      options: [
        .option("limit", short: "n", "COUNT", "At most that many finished runs (20).", .int(1...10_000)),
        .option("recipe", "NAME", "Only runs of that recipe.", .text),
        .flag("json", "Prints JSON."),
      ]),
    Command(
      "show", "Shows one run with its steps, inputs and outputs.", arguments: [runArgument],
      options: [.flag("json", "Prints JSON.")]),
    Command(
      "logs", "Shows the attempts and requests of one run.", arguments: [runArgument],
      options: [.flag("json", "Prints JSON.")]),
    Command("follow", "Follows a run that the folder's agent carries on.", arguments: [runArgument]),
    Command(
      "resume", "Goes on with an interrupted run, or with all of them.",
      arguments: [.optional("run", "The run's id, or the beginning of it; all open runs if left out.", .text)],
      options: [.flag("json", "Prints one JSON document when the run is over.")]),
    Command(
      "cancel", "Ends a run: what is in flight finishes, then its finally steps run.",
      arguments: [runArgument], options: [.option("reason", "TEXT", "What to write down about it.", .text)]),
    Command(
      "resolve", "Says what became of an uncertain step, so that its run can go on.",
      arguments: [runArgument, .required("step", "The step's path, such as put[3]/write.", .text)],
      options: [
        .flag("done", "It was done."),
        .option("output", "JSON", "With --done: what the step gave, if later steps read it.", .text),
        .flag("retry", "It was not done; do it now."),
        .flag("fail", "It counts as failed."),
      ],
      examples: [.init("runs resolve 0199a 'put[3]/write' --retry", "Does it again.")]),
  ],
  defaultSubcommand: "list")

private let actionsCommand = Command(
  "actions", "Lists the actions there are, or shows one with its fields.",
  arguments: [.optional("name", "A plugin, or an action such as markbook.getMarkbook.", .text)],
  options: [.flag("json", "Prints JSON, with JSON Schema for inputs.")],
  examples: [.init("actions markbook.putStudentResult", "Shows its inputs, outputs and an example.")])

private let evalCommand = Command(
  "eval", "Computes an expression, and prints its value and type.",
  arguments: [.required("expression", "The expression, in CEL.", .text)],
  options: [
    .option("with", "FILE", "A JSON or YAML file whose members are variables.", .file),
    .flag("json", "Prints only the value, as JSON."),
  ],
  examples: [.init("eval 'stats.mean([1.0, 2.5])'", "Prints 1.75 and its type.")])

private let sandboxCommand = Command(
  "sandbox", "Keeps a plugin's made-up service running, to try recipes and programs against.",
  arguments: [.required("plugin", "The plugin.", .text)],
  options: [.option("port", "PORT", "The port on 127.0.0.1; any free one if left out.", .int(0...65_535))],
  examples: [.init("sandbox markbook --port 8081", "Then run with --set connections.markbook.baseURL=….")])

private let completionsCommand = Command(
  "completions", "Prints the completion script of a shell.",
  arguments: [.required("shell", "bash, zsh or fish.", .choice(Shell.allCases.map(\.rawValue)))],
  examples: [.init("completions bash", "Prints it; save it in ~/.local/share/bash-completion/completions/errand.")])
