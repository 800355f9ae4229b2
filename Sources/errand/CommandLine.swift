import CommandLineParser

/// The one description of the command line: parsing, help, completion and suggestions are read from it.
let program = Command(
  "errand", "Runs recipes: YAML files that chain typed actions of services.",
  options: [
    .option("config", value: "FILE", .file, "The configuration, instead of the errand.yaml found upward from the recipe."),
    .option("state", value: "DIR", .folder, "The folder of the state, instead of the one the configuration names."),
    .flag("quiet", short: "q", "Says only results and errors."),
    .flag("verbose", short: "v", "Says more."),
    .flag("no-color", "Uses no colours."),
  ],
  examples: [
    .init("errand check recipes/*.yaml", "finds every fault before anything runs"),
    .init("errand run recipes/markbook-averages.yaml --sandbox -i markbook=1207731", "tries a recipe without the real service"),
  ],
  subcommands: [runCommand, checkCommand, runsCommand, actionsCommand, evalCommand, sandboxCommand, completionsCommand])

private let inputOptions: [Command.Option] = [
  .option("input", short: "i", value: "NAME=VALUE", repeats: true,
    "An input: a value, JSON for lists and maps, @FILE for a file's text, @secret:NAME for a secret."),
  .option("inputs", value: "FILE", .file, "Inputs from a JSON or YAML file."),
]

private let runCommand = Command(
  "run", "Runs a recipe, and shows how it goes on.",
  arguments: [.required("recipe", .file, "The recipe's file.")],
  options: inputOptions + [
    .flag("sandbox", "Runs against made-up services in this process, with a state that is thrown away."),
    .option("set", value: "PATH=VALUE", repeats: true, "Overrides one setting, such as connections.markbook.baseURL=http://127.0.0.1:8081."),
    .flag("json", "Prints one JSON document when the run is over."),
    .option("log-format", value: "FORMAT", .choice(ProgressDisplay.Format.allCases.map(\.rawValue)), "How progress is shown: text, json or github."),
  ],
  examples: [
    .init("errand run recipes/markbook-averages.yaml -i markbook=1207731 -i into=Average", "runs with two inputs"),
    .init("errand run report.yaml --inputs inputs.json --json", "for other programs"),
  ])

private let checkCommand = Command(
  "check", "Finds every fault of recipes, and runs nothing.",
  arguments: [.repeated("recipe", .file, "The recipes; those of the configured folders if none is given.", atLeast: 0)],
  options: [
    .option("format", value: "FORMAT", .choice(["text", "json", "github", "sarif"]), "How faults are written.")
  ],
  examples: [
    .init("errand check recipes/weekly.yaml", "checks one recipe"),
    .init("errand check --format github", "marks the faults in a pull request"),
  ])

private let runArgument = Command.Argument.required("run", .text, "The run's id, or the beginning of it.")

private let runsCommand = Command(
  "runs", "Lists, shows and steers runs.",
  subcommands: [
    Command("list", "Lists the open runs and the latest finished ones.",
      options: [
        .option("limit", short: "n", value: "COUNT", .int(1...10_000), "At most that many finished runs (20)."),
        .option("recipe", value: "NAME", .text, "Only runs of that recipe."),
        .flag("json", "Prints JSON."),
      ]),
    Command("show", "Shows one run with its steps, inputs and outputs.", arguments: [runArgument], options: [.flag("json", "Prints JSON.")]),
    Command("logs", "Shows the attempts and requests of one run.", arguments: [runArgument], options: [.flag("json", "Prints JSON.")]),
    Command("follow", "Follows a run that the folder's agent carries on.", arguments: [runArgument]),
    Command("resume", "Goes on with an interrupted run, or with all of them.",
      arguments: [.optional("run", .text, "The run's id, or the beginning of it; all open runs if left out.")],
      options: [.flag("json", "Prints one JSON document when the run is over.")]),
    Command("cancel", "Ends a run: what is in flight finishes, then its finally steps run.",
      arguments: [runArgument], options: [.option("reason", value: "TEXT", .text, "What to write down about it.")]),
    Command("resolve", "Says what became of an uncertain step, so that its run can go on.",
      arguments: [runArgument, .required("step", .text, "The step's path, such as put[3]/write.")],
      options: [
        .flag("done", "It was done."),
        .option("output", value: "JSON", .text, "With --done: what the step gave, if later steps read it."),
        .flag("retry", "It was not done; do it now."),
        .flag("fail", "It counts as failed."),
      ],
      examples: [.init("errand runs resolve 0199a 'put[3]/write' --retry", "does it again")]),
  ],
  defaultSubcommand: "list")

private let actionsCommand = Command(
  "actions", "Lists the actions there are, or shows one with its fields.",
  arguments: [.optional("name", .text, "A plugin, or an action such as markbook.getMarkbook.")],
  options: [.flag("json", "Prints JSON, with JSON Schema for inputs.")],
  examples: [.init("errand actions markbook.putStudentResult", "shows its inputs, outputs and an example")])

private let evalCommand = Command(
  "eval", "Computes an expression, and prints its value and type.",
  arguments: [.required("expression", .text, "The expression, in CEL.")],
  options: [
    .option("with", value: "FILE", .file, "A JSON or YAML file whose members are variables."),
    .flag("json", "Prints only the value, as JSON."),
  ],
  examples: [.init("errand eval 'stats.mean([1.0, 2.5])'", "prints 1.75 and its type")])

private let sandboxCommand = Command(
  "sandbox", "Keeps a plugin's made-up service running, to try recipes and programs against.",
  arguments: [.required("plugin", .text, "The plugin.")],
  options: [.option("port", value: "PORT", .int(0...65_535), "The port on 127.0.0.1; any free one if left out.")],
  examples: [.init("errand sandbox markbook --port 8081", "then run with --set connections.markbook.baseURL=…")])

private let completionsCommand = Command(
  "completions", "Prints the completion script of a shell.",
  arguments: [.required("shell", .choice(Shell.allCases.map(\.rawValue)), "bash, zsh or fish.")],
  examples: [.init("errand completions bash > ~/.local/share/bash-completion/completions/errand", "installs it")])
