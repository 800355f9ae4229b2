import Foundation

// Prints the figures of the project's budgets, as ratios to floors, baselines and units that the same run measures,
// because the times of two machines, or of two days, say nothing about each other.
//
//   Benchmarks [--times N] [GROUP…]   all groups or some; with --times the median of so many measurements of each row
//   Benchmarks --smoke                some groups in a minute, with wider bars; exits with 1 if a row misses one
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
  Group("watching", .whole) { try await Reach(folder).watching() },
  Group("hooks", .whole) { try await Reach(folder).webhooks() },
  Group("rest", .whole) { [try Reach(folder).rest()] },
  Group("dashboard", .whole) { try await Reach(folder).history() },
  Group("memory", .whole) { try await Serving(folder).growth() + [try Serving(folder).cases()] },
  Group("chain", .inProcess) { try await Durability(folder).chain() },
  Group("crowd", .inProcess) { try await Durability(folder).crowd() },
  Group("shared", .inProcess) { try await SharedStates().rows() },
  Group("restart", .inProcess) { [try await Durability(folder).restart()] },
  Group("rounds", .inProcess) { try await Rounds(folder).rows() },
  Group("history", .inProcess) {
    let rows = try await HistorySearches(folder).rows()
    // In the folder that the searches left, where it has to be as fast as in an empty one.
    return rows + (try await Durability(folder).chain(in: HistorySearches.folderName, "a million runs: durable chain"))
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
/// The groups that show within about a minute that a step has become dear.
let smokeGroups = [
  "start", "step", "steps", "answers", "items", "idle", "expressions", "texts", "schedules",
]

var words = Array(CommandLine.arguments.dropFirst())
let page = words.first == "page" && words.count == 2 ? words.popLast() : nil
if page != nil { words = [] }
let isSmoke = words.first == "--smoke"
if isSmoke { words = smokeGroups }
var times = 1
if words.first == "--times", words.count > 1 {
  times = max(1, Int(words[1]) ?? 1)
  words.removeFirst(2)
}
if let unknown = words.first(where: { word in !(groups + longGroups).contains { $0.name == word } }) {
  print("no group is named '\(unknown)'; there are \((groups + longGroups).map(\.name).joined(separator: ", "))")
  exit(64)
}
print(Row.heading)
/// The lines that are printed at the end; the program fails if there are any.
var faults: [String] = []
var measured: [(group: Group, rows: [Row])] = []
for group in groups + longGroups.filter({ words.contains($0.name) }) where words.isEmpty || words.contains(group.name) {
  do {
    var rows = try await group.rows(times: times, in: folder)
    if isSmoke, rows.contains(where: { $0.wideMiss != nil }) {
      // Another program may have disturbed it, and does so less probably twice.
      for row in rows { print(row.text) }
      rows = try await group.rows(times: times, in: folder)
    }
    for row in rows { print(row.text) }
    fflush(nil)
    measured.append((group, rows))
    if isSmoke { faults += rows.compactMap(\.wideMiss).map { "missed: \($0)" } }
  } catch {
    faults.append("\(group.name): not measured: \(error)")
  }
}
if let page {
  let peers = WholePeers(folder)
  let text = SpeedPage(
    program: try Serving(folder).version(), measured: measured, peers: try peers.figures(), missing: peers.missing()
  ).text
  try Data(text.utf8).write(to: URL(filePath: page))
  print("written: \(page)")
  faults += measured.flatMap(\.rows).filter { $0.isMissed && $0.bar?.reason.isEmpty == true }.map {
    "missed without a reason: \($0.what)"
  }
}
folder.remove()
for fault in faults { print(fault) }
exit(faults.isEmpty ? 0 : 1)
