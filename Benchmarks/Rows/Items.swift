import Foundation

/// Measures what an item of a loop costs: memory, time, and bytes of the journal.
struct Items {
  private let folder: WorkFolder

  init(_ folder: WorkFolder) { self.folder = folder }

  func rows() throws -> [Row] {
    let recipe = try folder.write(
      """
      inputs:
        count: { type: int }
      steps:
        - id: each
          forEach: lists.range(inputs.count)
          as: number
          maxParallel: 16
          uses: json.parse
          with: { text: "[${{ number }}, ${{ number }}]" }

      """, to: "items.yaml")
    let spawner = Spawner(folder)
    let runs = WholeRuns(folder)
    func usage(_ count: Int, _ rounds: Int) throws -> Usage {
      let usage = try spawner.least(
        of: rounds, [{ round in runs.run(recipe, "-i", "count=\(count)")(count * 10 + round) }])[0]
      return usage
    }
    let (few, some, many) = (1000, 10_000, 100_000)
    let usages = [try usage(few, 5), try usage(some, 5), try usage(many, 2)]
    let kilobytes = (usages[2].megabytes - usages[0].megabytes) * 1024 / Double(many - few)
    // An item's own time, without the program's start.
    let (small, large) = (
      (usages[1].seconds - usages[0].seconds) / Double(some - few),
      (usages[2].seconds - usages[1].seconds) / Double(many - some)
    )
    return [
      Row(
        "forEach of 100,000: memory of an item", kilobytes, "KB", .atMost(1),
        beside: "\(displayed(usages[2].megabytes)) MB, 1,000 items: \(displayed(usages[0].megabytes)) MB"),
      Row(
        "forEach of 100,000: time of an item beside 10,000", large / small, "×",
        .atMost(1.3).missed(
          at: 1.33, because: "larger tables of steps miss the caches, on either side of the bar from run to run"),
        of: "\(displayed(large * 1e6)) µs",
        beside: "\(displayed(small * 1e6)) µs; all: \(displayed(usages[2].seconds)) s"),
      // For a number of items that leaves the journal in one file.
      Row(
        "forEach: the journal's bytes of an item",
        try journalBytes(of: folder.path("state-items-\(few * 10)")) / Double(few),
        "B", .atMost(375).missed(at: 377, because: "ids and instants of each attempt are kept")),
    ]
  }
}

/// The bytes of the journal's files.
func journalBytes(of state: String) throws -> Double {
  let files = try FileManager.default.contentsOfDirectory(
    at: URL(filePath: state), includingPropertiesForKeys: [.fileSizeKey])
  let journals = files.filter { $0.lastPathComponent.hasPrefix("journal-") }
  let bytes = try journals.reduce(0) { try $0 + ($1.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0) }
  // The journal of the run is there until a second one is begun after it.
  guard bytes > 100_000 else { throw NotMeasured("the journal isn't there") }
  return Double(bytes)
}
