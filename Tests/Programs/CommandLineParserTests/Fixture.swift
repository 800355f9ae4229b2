import CommandLineParser

/// A small program with one of everything.
let program = Command(
  "errand", "Runs recipes.",
  options: [
    .option("config", "FILE", "Reads the configuration from this file.", .file),
    .flag("quiet", short: "q", "Says less."),
    .flag("verbose", short: "v", "Says more."),
  ],
  subcommands: [
    Command(
      "run", "Runs a recipe.",
      arguments: [.required("recipe", "The recipe's file.", .file)],
      options: [
        .option("input", short: "i", "KEY=VALUE", "Sets an input.", repeats: true),
        .option("format", "FORMAT", "How the result is written.", .choice(["text", "json"])),
        .option("timeout", "SPAN", "How long it may take.", .duration),
        .option("tries", "COUNT", "How often it is tried.", .int(1...10)),
        .option("at", "INSTANT", "When it starts.", .timestamp),
      ],
      examples: [.init("run averages.yaml -i markbook=1207731 -i 'into=The average'", "Runs it with two inputs.")]),
    Command("check", "Checks recipes.", arguments: [.repeated("recipe", "The files; all if left out.", .file)]),
    Command(
      "runs", "Shows and steers runs.",
      subcommands: [
        Command("list", "Lists runs.", arguments: [.optional("recipe", "Only the runs of this one.")]),
        Command("show", "Shows a run.", arguments: [.required("run", "The run's id.")]),
      ], defaultSubcommand: "list"),
    Command("serve", "Runs until it's stopped."),
  ])
