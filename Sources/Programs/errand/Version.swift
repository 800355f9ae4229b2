import CProgram
import RunState

/// The version of the program, which runs keep with their records.
let version = "0.7.0"
/// The day of the version, which manual pages and packages show.
let versionDate = "2026-12-01"

/// The output of `--version`; the package reads it.
var versionText: String {
  let commit = String(cString: cprogram_commit())
  return
    "errand \(version) of \(versionDate)\(commit.isEmpty ? "" : ", commit \(commit)"), state of format \(StateFormat.version)"
}
