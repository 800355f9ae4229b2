import Foundation

// Prints the figures of the project's budgets. A figure with a baseline is compared in the same run, because the
// figures of two machines, or of two days, say nothing about each other.

if CommandLine.arguments.dropFirst().first == FanOut.serverWord {
  try await FanOut.serve()
}
if CommandLine.arguments.count == 3, CommandLine.arguments[1] == Durability.openingWord {
  try await Durability.open(CommandLine.arguments[2])
}
if CommandLine.arguments.count == 3, CommandLine.arguments[1] == HistorySearches.searchingWord {
  try await HistorySearches.search(CommandLine.arguments[2])
}
if CommandLine.arguments.dropFirst().first == Schedules.millionWord {
  try Schedules.holdAMillion()
}

let folder = try WorkFolder()
let groups: [(name: String, rows: () async throws -> [Row])] = [
  ("start", { try Start(folder).rows() }),
  ("chain", { [try await Durability(folder).chain()] }),
  ("crowd", { [try await Durability(folder).crowd()] }),
  ("restart", { [try await Durability(folder).restart()] }),
  (
    "history",
    {
      let rows = try await HistorySearches(folder).rows()
      // In the folder that the searches left, where it has to be as fast as in an empty one.
      return rows + [
        try await Durability(folder).chain(in: HistorySearches.folderName, "a million runs: durable chain")
      ]
    }
  ),
  ("expressions", { try Expressions().rows() }),
  ("peers", { try ExpressionPeers().rows() }),
  ("texts", { try Texts().rows() }),
  ("idle", { try Serving(folder).idle() }),
  ("lateness", { [try Serving(folder).lateness(), try Serving(folder).latenessBesideRunaways()] }),
  ("memory", { try await Serving(folder).growth() + [try Serving(folder).cases()] }),
  ("schedules", { try Schedules().rows() }),
  ("rail", { try await RailFile(folder).rows() }),
  ("http", { try await FanOut().rows() }),
]
/// Measurements that take so long that they run only on request.
let longGroups: [(name: String, rows: () async throws -> [Row])] = [("hours", { [try await Hours(folder).row()] })]
let wanted = Set(CommandLine.arguments.dropFirst())
print(Row.heading)
var isWhole = true
for group in groups + longGroups.filter({ wanted.contains($0.name) })
where wanted.isEmpty || wanted.contains(group.name) {
  do {
    for row in try await group.rows() { print(row.text) }
  } catch {
    isWhole = false
    print("\(group.name): not measured: \(error)")
  }
}
folder.remove()
exit(isWhole ? 0 : 1)
