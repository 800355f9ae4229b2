import CommandLineParser

// The words that users of cron, systemd, Docker, kubectl, Terraform, Dagu or Temporal type. The answer to each word is
// the command to type here. None is a second name for it, because scripts and pages should all say the same.

extension [Command.OtherWords] {
  /// For `errand WORD`.
  static let ofProgram: Self = [
    .init("ps list ls history jobs top", "runs list"),
    .init("log logs", "runs logs"),
    .init("describe info inspect show", "runs show"),
    .init("attach follow tail", "runs follow"),
    .init("watch", "runs watch"),
    .init("approvals questions", "runs approvals"),
    .init("start submit", "run", "errand runs start NAME starts a recipe of errand serve by its name"),
    .init("apply exec execute launch", "run", "errand plan shows first the changes that it would make"),
    .init("abort cancel terminate", "runs cancel"),
    .init("kill stop", "runs cancel", "errand serve ends by Ctrl-C, or by 'kill' and the pid that errand doctor shows"),
    .init("down quit shutdown", "doctor", "it shows the pid of errand serve, which 'kill PID' ends cleanly"),
    .init("pause suspend", "runs pause"),
    .init("continue restart resume", "runs resume", "errand runs retry runs a failed run again"),
    .init("redo rerun retry", "runs retry"),
    .init("accept approve", "runs approve"),
    .init("deny reject", "runs reject"),
    .init("answer", "runs answer"),
    .init("resolve", "runs resolve"),
    .init("emit event send signal", "runs signal"),
    .init("create generate scaffold", "new recipe"),
    .init("init setup", "new folder"),
    .init("lint-recipe validate verify", "check"),
    .init("diff dry-run preview", "plan"),
    .init("agent daemon scheduler server up worker", "serve"),
    .init("cron crontab schedules timers", "schedule list"),
    .init("next upcoming", "schedule next"),
    .init("slots", "schedule log"),
    .init("fire trigger", "schedule trigger"),
    .init("backfill", "schedule backfill"),
    .init("explain", "why"),
    .init("dag draw", "graph"),
    .init("catalog nodes services tasks", "actions"),
    .init("extension extensions plugins", "plugin"),
    .init("calc evaluate expr", "eval"),
    .init("mock simulate", "sandbox"),
    .init("credentials secret vault", "secrets check"),
    .init("backup export", "state export"),
    .init("import restore", "state import"),
    .init("diagnose fsck health repair", "doctor"),
    .init("autocomplete completion", "completions"),
    .init("man", "manual"),
    .init("version", "--version"),
  ]

  /// For `errand runs WORD`.
  static let ofRuns: Self = [
    .init("history ls ps", "runs list"),
    .init("describe get info inspect status", "runs show"),
    .init("log", "runs logs"),
    .init("errors failed", "runs failures"),
    .init("ack acknowledge", "runs dismiss"),
    .init("stats", "runs statistics"),
    .init("attach tail", "runs follow"),
    .init("abort kill stop terminate", "runs cancel"),
    .init("suspend", "runs pause"),
    .init("continue unpause", "runs resume"),
    .init("redo rerun restart", "runs retry"),
    .init("accept", "runs approve"),
    .init("deny", "runs reject"),
    .init("emit event send", "runs signal"),
    .init("create new run submit", "run"),
  ]

  /// For `errand plugin WORD`.
  static let ofPlugin: Self = [
    .init("ls", "plugin list"),
    .init("import install", "plugin add"),
    .init("refresh upgrade", "plugin update"),
    .init("delete rm uninstall", "plugin remove"),
    .init("describe inspect show", "actions"),
    .init("create new", "new plugin"),
  ]

  /// For `errand schedule WORD`.
  static let ofSchedule: Self = [
    .init("ls status", "schedule list"),
    .init("upcoming", "schedule next"),
    .init("history ledger logs slots", "schedule log"),
    .init("disable stop suspend", "schedule pause"),
    .init("continue enable unpause", "schedule resume"),
    .init("fire run start", "schedule trigger"),
    .init("catchup", "schedule backfill"),
  ]
}
