import Testing

@Suite struct `Checking recipes` {
  @Test(arguments: [
    "toplevel", "inputs", "steps", "actions", "expressions", "blocks", "calls", "rounds", "cases", "schedules",
    "notations", "shapes", "webhooks",
  ])
  func `Each fault is said once, at its place`(_ table: String) throws {
    try CaseFile(table).expect(\.diagnostics)
  }

  @Test func `What is right is passed over in silence`() throws {
    try CaseFile("right").expect(\.diagnostics)
  }

  @Test func `Twenty faults are twenty errors and nothing else`() throws {
    let file = CaseFile("twenty")
    try file.expect(\.diagnostics)
    let lines = file.cases.map(\.says).joined().split(separator: "\n")
    #expect(lines.count { $0.contains(": error: ") } == 20)
  }
}
