import RunState

/// The version of the program, which runs keep with their records.
let version = "0.2.0"
/// The day of the version, which manual pages and packages show.
let versionDate = "2026-11-23"

/// What `--version` prints; the package reads it.
var versionText: String { "errand \(version) of \(versionDate), state of format \(StateFormat.version)" }
