import Foundation

// Prints the figures of the project's budgets. What is compared with a baseline is compared in the same run, because
// the figures of two machines, or of two days, say nothing about each other.

if CommandLine.arguments.dropFirst().first == FanOut.serverWord {
  try await FanOut.serve()
}
if CommandLine.arguments.count == 3, CommandLine.arguments[1] == Durability.openingWord {
  try await Durability.open(CommandLine.arguments[2])
}

let folder = try WorkFolder()
let groups: [(name: String, rows: () async throws -> [Row])] = [
  ("start", { try Start(folder).rows() }),
  ("durability", { try await Durability(folder).rows() }),
  ("expressions", { try Expressions().rows() }),
  ("peers", { try ExpressionPeers().rows() }),
  ("texts", { try Texts().rows() }),
  ("schedules", { try Schedules().rows() }),
  ("http", { try await FanOut().rows() }),
]
let wanted = Set(CommandLine.arguments.dropFirst())
print(Row.heading)
var isWhole = true
for group in groups where wanted.isEmpty || wanted.contains(group.name) {
  do {
    for row in try await group.rows() { print(row.text) }
  } catch {
    isWhole = false
    print("\(group.name): not measured: \(error)")
  }
}
folder.remove()
exit(isWhole ? 0 : 1)
