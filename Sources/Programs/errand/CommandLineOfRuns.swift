import CommandLineParser
import RunState

// The commands that show and steer runs and schedules, and show the agent that has them.

private func run(_ runs: Named.Runs = .all) -> Command.Argument {
  .required(
    "run", "The run: its id, the beginning or end of it, a recipe's name, last or last:RECIPE.", .name(.run(runs)))
}
private let json = Command.Option.flag("json", "Prints JSON.")
private let finalJSON = Command.Option.flag("json", "Prints one JSON document when the run is over.")

/// The options that choose runs.
private let runFilters: [Command.Option] = [
  .option("recipe", "NAME", "Only runs of that recipe.", .name(.recipe)),
  .option("name", "TEXT", "Only runs of recipes whose names contain that.", .text),
  .option(
    "status", "STATUS", "Only runs with that status.", .choice(RunStatus.allCases.map(\.rawValue)), repeats: true),
  .option("since", "TIME", "Only runs created since then: 2026-11-20, '2026-11-20 17:30', 17:30 or 7d.", .text),
  .option("until", "TIME", "Only runs created before then.", .text),
  .option("text", "TEXT", "Only runs whose reason, as the list shows it, contains that.", .text),
  .option("input", short: "i", "NAME=VALUE", "Only runs that were started with that input.", .text, repeats: true),
  .option(
    "cause", "CAUSE", "Only runs with that cause.", .choice(RunCause.Kind.allCases.map(\.rawValue)), repeats: true),
  .option("failure", "ID", "Only runs that failed like the others of that group.", .text),
]

let runsCommand = Command(
  "runs", "Lists, shows and steers runs.",
  subcommands: [
    Command(
      "list", "Lists the open runs with the reasons for their waits, and the latest finished runs.",
      options: [
        .option("limit", short: "n", "COUNT", "The maximum number of finished runs (20).", .int(1...10_000)),
        .option("after", "RUN", "The next page: the finished runs after that one.", .name(.run(.ended))), json,
      ] + runFilters,
      examples: [
        .init("runs list --status failed --since 7d", "Shows the failed runs of the last week."),
        .init("runs list --recipe weekly-report -n 5", "Shows the latest five runs of a recipe."),
        .init("runs list --name report -i class=7a", "Shows the runs of some recipes that were started with an input."),
      ]),
    Command(
      "count", "Counts runs by their statuses.", options: runFilters + [json],
      examples: [.init("runs count --since 1d", "Counts the runs of the last day.")]),
    Command(
      "steer", "Retries or cancels many runs: those that are named, or all that match.",
      arguments: [
        .required("verb", "What to do: retry or cancel.", .choice(["retry", "cancel"])),
        .repeated("runs", "The runs, as for show, at most 200.", .name(.run(.all))),
      ],
      options: runFilters + [
        .option(
          "expected", "COUNT", "How many runs are meant, instead of asking; if more match, nothing is changed.",
          .int(0...1_000)),
        .flag("yes", short: "y", "Changes the runs that match without asking."),
        .option("reason", "TEXT", "The reason to record with a cancellation.", .text),
        .option("key", "KEY", "Changes each run once, however often the command is repeated.", .text), json,
      ],
      examples: [
        .init("runs steer retry 8f3a21 9c0b77", "Retries two runs."),
        .init("runs steer retry --recipe quick --status failed", "Retries all failed runs of a recipe, after asking."),
      ]),
    Command(
      "approvals", "Lists the questions of open runs that wait for a decision, the oldest run's first.",
      options: [
        .option("limit", short: "n", "COUNT", "The maximum number of runs (50).", .int(1...200)),
        .option("after", "RUN", "The next page: the runs after that one.", .name(.run(.asking))), json,
      ],
      examples: [.init("runs approvals", "Shows who may decide, until when, and the command to type.")]),
    Command(
      "failures", "Lists the failures of the last 30 days in groups of failures that look alike.",
      options: [
        .option("recipe", "NAME", "Only failures of that recipe.", .name(.recipe)),
        .flag("all", "Lists the groups, too, that a person dismissed."),
        .option("limit", short: "n", "COUNT", "The maximum number of groups (100).", .int(1...1000)), json,
      ],
      examples: [.init("runs failures", "Shows which failures need a person, how often, and since when.")]),
    Command(
      "dismiss", "Dismisses failures that look alike: they aren't listed until a run fails so again.",
      arguments: [.required("failures", "The id of the group, as 'runs failures' lists it.", .text)],
      options: [.option("note", "TEXT", "The note to record.", .text)],
      examples: [
        .init("runs dismiss 3fa91c05d2b7e684 --note 'The service was down.'", "Dismisses them, and says why.")
      ]),
    Command(
      "statistics", "Counts the runs of recipes that succeeded and failed, and says how long they took.",
      arguments: [.optional("recipe", "The recipe's name; all recipes if left out.", .name(.recipe))],
      options: [
        .option("days", "COUNT", "The number of days, today included (30).", .int(1...366)),
        .flag("daily", "Counts each day; days are those of UTC."), json,
      ],
      examples: [.init("runs statistics weekly-report --days 7 --daily", "Shows the results of each day of a week.")]),
    Command(
      "watch", "Prints a line for each change of a run: when it begins, waits, pauses or ends. Ctrl-C ends it.",
      options: [.flag("json", "Prints a JSON object for each change.")],
      examples: [.init("runs watch", "Shows the changes of all runs of the folder's agent.")]),
    Command(
      "start", "Starts a recipe that an agent serves, by its name.",
      arguments: [.required("recipe", "The recipe's name.", .name(.recipe))],
      options: inputOptions + [
        runKey, .option("like", "RUN", "Uses the inputs of that run again, besides secrets.", .name(.run(.all))),
      ],
      examples: [
        .init("runs start weekly-report -i week=46", "Prints the id of the run, which the agent runs."),
        .init("runs start weekly-report --like last:weekly-report", "Starts a run with the inputs of the latest one."),
        .init(
          "runs start weekly-report -i week=46 --key week-46", "Starts one run, however often the command is repeated."),
      ]),
    Command(
      "show", "Shows one run with its cause, steps, inputs and outputs, or the input and output of one step.",
      arguments: [run(), .optional("step", "The step's path, such as put[3]/write.", .name(.step(.begun)))],
      options: [json],
      examples: [
        .init("runs show last", "Shows the run that was started last."),
        .init("runs show last:weekly-report averages", "Shows the input and output of a step."),
      ]),
    Command(
      "delete", "Deletes a run that has ended, with its values and the lines that its commands printed.",
      arguments: [run(.ended)], examples: [.init("runs delete 8f3a21", "Leaves nothing of it in the state.")]),
    Command(
      "logs", "Shows the attempts of one run, with their requests and the lines that their programs printed.",
      arguments: [
        run(),
        .optional(
          "step", "The step's path, such as backup or put[3]/write; all steps if left out.",
          .name(.step(.begun))),
      ],
      options: [
        .flag("follow", "Shows new lines until the run ends; with --json, each line is an object."), json,
      ],
      examples: [.init("runs logs last backup --follow", "Shows the lines that the step 'backup' prints.")]),
    Command("follow", "Follows a run that the folder's agent is running.", arguments: [run(.open)]),
    Command(
      "resume", "Resumes an interrupted or paused run, or all interrupted runs.",
      arguments: [
        .optional(
          "run", "The run, as for show; all open runs that aren't paused if left out.",
          .name(.run(.resumable)))
      ],
      options: [finalJSON]),
    Command(
      "pause", "Pauses a run: no further step begins until it is resumed.",
      arguments: [run(.open)], options: [.option("reason", "TEXT", "The reason to record.", .text)],
      examples: [
        .init("runs pause 0199a --reason 'The service is being moved.'", "Pauses the run until 'errand runs resume'.")
      ]),
    Command(
      "retry", "Retries a run that ended badly: a new run keeps what succeeded.",
      arguments: [
        run(.endedBadly),
        .optional(
          "step", "With --output: the step's path; not needed if only one step qualifies.", .name(.step(.begun))),
      ],
      options: [
        finalJSON,
        .option(
          "output", "JSON",
          "The output of a write whose answer didn't match its shape; the write counts as done. Without it, the kept answer is checked again.",
          .text),
      ],
      examples: [
        .init("runs retry 0199a", "Runs the steps that didn't succeed."),
        .init("runs retry 0199a order --output '{\"id\": 7}'", "Continues after a write whose answer didn't match."),
      ]),
    Command(
      "cancel", "Cancels a run: its running attempts finish, then its finally steps run.",
      arguments: [run(.open)], options: [.option("reason", "TEXT", "The reason to record.", .text)]),
    Command(
      "resolve", "Records the outcome of uncertain steps, so that their run can resume.",
      arguments: [
        run(.uncertain),
        .repeated(
          "step", "The steps' paths, such as put[3]/write; put[*]/write names the steps of all items.",
          .name(.step(.uncertain)), atLeast: 1),
      ],
      options: [
        .flag("done", "They were done."),
        .option(
          "output", "JSON",
          "With --done: the step's output; needed if it has required fields, which the refusal lists.",
          .text),
        .flag("retry", "They were not done; do them now."),
        .flag("fail", "They count as failed."),
      ],
      examples: [
        .init("runs resolve 0199a 'put[3]/write' --retry", "Repeats the write."),
        .init("runs resolve 0199a 'put[*]/write' --done", "Settles all items at once."),
      ]),
    deciding("approve", "Approves a step of a run that asks for approval, so that the run continues."),
    deciding("reject", "Rejects a step of a run that asks for approval."),
    Command(
      "answer", "Gives the values that a step of a run asks for, so that the run continues.",
      arguments: [asked.run, asked.step],
      options: [
        .option(
          "field", short: "f", "NAME=VALUE", "A field: a value, JSON for lists and maps, @FILE for a file's text.",
          .text, repeats: true),
        .option("fields", "FILE", "Fields from a JSON or YAML file.", .file),
      ] + asked.options,
      examples: [
        .init("runs answer 0199a -f room=B12 -f seats=30", "Answers the only question of the run."),
        .init("runs answer 0199a room --fields room.yaml", "Answers the step 'room' with a file's values."),
      ]),
    Command(
      "link", "Prints a link that carries a person's right to answer a question, once.",
      arguments: [asked.run, asked.step],
      options: [.option("for", "NAME", "The person whose right it is; not needed if only one is asked.", .text)],
      examples: [.init("runs link 0199a decision --for ann", "Prints the link to send to ann.")]),
    Command(
      "unlink", "Ends links to the questions of a run, or all links.",
      arguments: [
        .optional("run", "The run, as for show; left out with --all.", .name(.run(.asking))),
        .optional("step", "The step whose links end; all steps if left out.", .name(.step(.asking))),
      ],
      options: [
        .option("for", "NAME", "The person whose links end; all people if left out.", .text),
        .flag("all", "Ends every link of all runs, by a new key."),
      ],
      examples: [
        .init("runs unlink 0199a --for ann", "Ends the links that were sent to ann."),
        .init("runs unlink --all", "Ends every link, for example after a mailbox was opened by others."),
      ]),
    Command(
      "signal", "Sends an event to a run that waits for it, or to the first run that takes it.",
      arguments: [
        .required("run", "The run, as for show; or any.", .name(.run(.waiting))),
        .required("event", "The event's name, as recipes wait for it.", .name(.event)),
      ],
      options: [
        .option("data", "JSON", "The event's data: JSON, or @FILE.", .text),
        .option("id", "ID", "The event's id; a second event with the same id is dropped.", .text),
        json,
      ],
      examples: [
        .init("runs signal 0199a paid --data '{\"amount\": 12}'", "Wakes the run that waits for it."),
        .init("runs signal any delivered --id mail-4711", "Wakes the first run that waits for it."),
      ]),
  ],
  defaultSubcommand: "list", otherWords: .ofRuns)

private let asked = (
  run: run(.asking),
  step: Command.Argument.optional(
    "step", "The step that asks; not needed if only one does.", .name(.step(.asking))),
  options: [
    Command.Option.option("by", "NAME", "The name of the person who decides ($USER, or the account's name).", .text),
    .option("comment", "TEXT", "The comment to record.", .text),
  ]
)

private func deciding(_ name: String, _ summary: String) -> Command {
  Command(
    name, summary, arguments: [asked.run, asked.step], options: asked.options,
    examples: [.init("runs \(name) 0199a --comment 'As agreed on the phone.'", "Decides, and says why.")])
}

private func schedule(isPaused: Bool? = nil) -> Command.Argument {
  .required(
    "schedule", "The recipe's name; with the entry's id after a slash if it has several.",
    .name(.schedule(isPaused: isPaused)))
}
private let anySchedule = Command.Argument.optional(
  "schedule", "The recipe's name, with the entry's id after a slash if it has several; all if left out.",
  .name(.schedule()))
private let overlap = Command.Option.option(
  "overlap", "POLICY", "The overlap policy if a run is open, instead of the recipe's policy.",
  .choice(["skip", "bufferOne", "bufferAll", "cancelOther", "terminateOther", "allowAll"]))

let scheduleCommand = Command(
  "schedule", "Shows and steers schedules: when they run, and the outcome of every slot.",
  subcommands: [
    Command("list", "Lists the schedules with their next slot and their last run.", options: [json]),
    Command(
      "show", "Shows a schedule: when it is due, since when it is late, and the inputs that it gives its runs.",
      arguments: [schedule()], options: [json],
      examples: [.init("schedule show weekly-report", "Shows the inputs of its runs.")]),
    Command(
      "next", "Lists the next slots, in each schedule's zone.", arguments: [anySchedule],
      options: [.option("count", short: "n", "COUNT", "The number of slots (10).", .int(1...1000)), json],
      examples: [.init("schedule next weekly-report -n 5", "Lists its next five slots.")]),
    Command(
      "log", "Shows the ledger: every slot that was due and its outcome, latest first.",
      arguments: [anySchedule],
      options: [
        .option("count", short: "n", "COUNT", "The maximum number of lines (20).", .int(1...10_000)),
        .option("from", "TIME", "Only slots from then on: a date, a time of today, both, or RFC 3339.", .text),
        .option("to", "TIME", "Only slots before then.", .text), json,
      ],
      examples: [.init("schedule log weekly-report --from 2026-11-01", "Shows the outcomes of this month's slots.")]),
    Command(
      "pause", "Pauses a schedule: it starts nothing until it is resumed; its slots are recorded as paused.",
      arguments: [schedule(isPaused: false)], options: [.option("note", "TEXT", "The reason to record.", .text)],
      examples: [
        .init("schedule pause weekly-report --note 'Holidays.'", "Pauses the schedule until 'errand schedule resume'.")
      ]),
    Command("resume", "Lets a paused schedule start runs again.", arguments: [schedule(isPaused: true)]),
    Command(
      "reset",
      "Decides the slots again that were decided while the clock was ahead; a slot that has a run doesn't start a second one.",
      arguments: [schedule()],
      examples: [
        .init("schedule reset weekly-report", "Helps if 'schedule list' says that nothing starts for some time.")
      ]
    ),
    Command(
      "trigger", "Starts a schedule's run now, out of turn.", arguments: [schedule()],
      options: inputOptions + [overlap],
      examples: [
        .init(
          "schedule trigger order-received -i number=17 -i total=9.5",
          "Gives the inputs that an event would have given.")
      ]),
    Command(
      "backfill", "Starts runs for past slots that have none.", arguments: [schedule()],
      options: [
        .option("from", "TIME", "The first instant: a date, a time of today, both, or RFC 3339.", .text),
        .option("to", "TIME", "The first instant that no longer counts.", .text), overlap,
        .flag("dry-run", "Only lists the slots."),
        .flag("yes", short: "y", "Starts the runs without asking."),
      ],
      examples: [.init("schedule backfill weekly-report --from 2026-11-01 --to 2026-11-08 --dry-run", "Lists them.")]),
  ],
  defaultSubcommand: "list", otherWords: .ofSchedule)

let statusCommand = Command(
  "status", "Shows whether an agent is running, and its workload.", options: [json],
  examples: [.init("status", "Shows the process, the open runs, the recipes and the next slot.")])

let reloadCommand = Command(
  "reload", "Tells errand serve to read errand.yaml, the secrets and the recipes again, as SIGHUP does.",
  examples: [.init("reload", "Changes nothing if errand.yaml is faulty; the faults are printed.")])

let recipesCommand = Command(
  "recipes", "Lists the recipes that an agent serves, or shows one.",
  subcommands: [
    Command(
      "list", "Lists the served recipes, and the files with errors.", options: [json],
      examples: [.init("recipes list", "Shows the names for 'errand runs start'.")]),
    Command(
      "show", "Shows a served recipe: its inputs, schedules, actions, steps, findings and text.",
      arguments: [.required("recipe", "The recipe's name.", .name(.recipe))], options: [json],
      examples: [.init("recipes show hello", "Shows the inputs that a run of it takes.")]),
  ],
  defaultSubcommand: "list")

let connectionsCommand = Command(
  "connections", "Lists the connections of errand.yaml and the secrets that they and the recipes need, without values.",
  options: [json],
  examples: [.init("connections", "Shows the recipes that use each service, and the missing secrets.")])

let whyCommand = Command(
  "why", "Explains the state of a run, or why a schedule ran or didn't.",
  arguments: [
    .required("subject", "A run, as for runs show; or a recipe or schedule by its name.", .name(.runOrSchedule))
  ],
  options: [
    .option("at", "TIME", "For a recipe: the time to explain; a date, a time of today, both, or RFC 3339.", .text),
    json,
  ],
  examples: [
    .init("why 0199a", "Explains why the run started, which way it took, and why it waits."),
    .init("why weekly-report --at '2026-11-20 17:30'", "Explains why it ran then, or didn't."),
  ])
