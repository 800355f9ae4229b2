import Foundation

// Prints the figures of the project's budgets. A figure with a floor or a baseline is compared in the same run, because
// the figures of two machines, or of two days, say nothing about each other.
//
//   Benchmarks [--times N] [GROUP…]   all groups or some; with --times the median of so many measurements of each row
//   Benchmarks page FILE              all groups and the peers, as the page "How fast it is"

switch CommandLine.arguments.dropFirst().first {
case LoopbackServer.word: try await LoopbackServer.serve()
case Durability.openingWord where CommandLine.arguments.count == 3: try await Durability.open(CommandLine.arguments[2])
case HistorySearches.searchingWord where CommandLine.arguments.count == 3:
  try await HistorySearches.search(CommandLine.arguments[2])
case Rounds.resumingWord where CommandLine.arguments.count == 3: try await Rounds.resume(CommandLine.arguments[2])
case ToolCalls.word: ToolCalls.serve()
case Schedules.millionWord: try Schedules.holdAMillion()
default: break
}

let folder = try WorkFolder()
let groups = [
  Group("start", .whole) { try Start(folder).rows() },
  Group("locks", .whole) { [try LockedStart(folder).row()] },
  Group("editing", .whole) { try Editing(folder).rows() },
  Group("assistants", .whole) { try Assistants(folder).rows() },
  Group("step", .whole) { try WholeRuns(folder).step() },
  Group("steps", .whole) { try WholeRuns(folder).chain() + WholeRuns(folder).crowd() },
  Group("answers", .whole) { try WholeRuns(folder).fanOut() },
  Group("items", .whole) { try Items(folder).rows() },
  Group("outputs", .whole) { try LargeOutputs(folder).rows() },
  Group("plugins", .whole) { try PluginStarts(folder).rows() },
  Group("open", .whole) {
    [try await Serving(folder).runsInFlight()] + (try await Serving(folder).waitingRuns())
  },
  Group("entries", .whole) { try Serving(folder).entries() },
  Group("idle", .whole) { try Serving(folder).idle() },
  Group("lateness", .whole) { [try Serving(folder).lateness(), try Serving(folder).latenessBesideRunaways()] },
  Group("reach", .whole) { try await Reach(folder).programs() },
  Group("hooks", .whole) { try await Reach(folder).webhooks() },
  Group("rest", .whole) { try Reach(folder).rest() },
  Group("dashboard", .whole) { try await Reach(folder).history() },
  Group("memory", .whole) { try await Serving(folder).growth() + [try Serving(folder).cases()] },
  Group("chain", .inProcess) { [try await Durability(folder).chain()] },
  Group("crowd", .inProcess) { [try await Durability(folder).crowd()] },
  Group("shared", .inProcess) { try await SharedStates().rows() },
  Group("restart", .inProcess) { [try await Durability(folder).restart()] },
  Group("rounds", .inProcess) { try await Rounds(folder).rows() },
  Group("history", .inProcess) {
    let rows = try await HistorySearches(folder).rows()
    // In the folder that the searches left, where it has to be as fast as in an empty one.
    return rows + [try await Durability(folder).chain(in: HistorySearches.folderName, "a million runs: durable chain")]
  },
  Group("expressions", .inProcess) { try Expressions().rows() },
  Group("peers", .inProcess) { try ExpressionPeers().rows() },
  Group("texts", .inProcess) { try Texts().rows() },
  Group("schedules", .inProcess) { try Schedules().rows() },
  Group("rail", .inProcess) { try await RailFile(folder).rows() },
  Group("http", .inProcess) { try await FanOut().rows() },
  Group("tools", .inProcess) { try await ToolCalls().rows() },
]
/// Measurements that take so long that they run only on request.
let longGroups = [Group("hours", .whole) { [try await Hours(folder).row()] }]

var words = Array(CommandLine.arguments.dropFirst())
let page = words.first == "page" && words.count == 2 ? words.popLast() : nil
if page != nil { words = [] }
var times = 1
if words.first == "--times", words.count > 1 {
  times = max(1, Int(words[1]) ?? 1)
  words.removeFirst(2)
}
print(Row.heading)
var isWhole = true
var measured: [(group: Group, rows: [Row])] = []
for group in groups + longGroups.filter({ words.contains($0.name) }) where words.isEmpty || words.contains(group.name) {
  do {
    // A folder of its own each time, since a state that is there already isn't what is measured.
    let rows = try await group.rows(times: times) { try folder.empty() }
    for row in rows { print(row.text) }
    fflush(nil)
    measured.append((group, rows))
  } catch {
    isWhole = false
    print("\(group.name): not measured: \(error)")
  }
}
if let page {
  let peers = WholePeers(folder)
  let text = SpeedPage(measured: measured, peers: try peers.figures(), missing: peers.missing()).text
  try Data(text.utf8).write(to: URL(filePath: page))
  print("written: \(page)")
}
folder.remove()
exit(isWhole ? 0 : 1)
