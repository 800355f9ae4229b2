import Basics
import Foundation
import Recipes
import RunState

/// Measures a `repeat` with memory over many rounds: walking it, its journal, and resuming it in its last round.
struct Rounds {
  private let folder: WorkFolder

  init(_ folder: WorkFolder) { self.folder = folder }

  private static let run = "rounds"
  private static let many = 10_000

  func rows() async throws -> [Row] {
    let few = 1000
    let small = try await walked(few) / Double(few)
    let large = try await walked(Self.many) / Double(Self.many)
    let path = path(Self.many)
    let words = try ownOutput(Self.resumingWord, path).split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
    guard words.count == 1 else { throw NotMeasured("the run of \(Self.many) rounds was not resumed") }
    return [
      .processor("10,000 rounds of 'repeat': resumed in the last: processor", words[0], .atMost(500)),
      Row(
        "10,000 rounds of 'repeat': time of a round beside 1,000", large / small, "×",
        .atMost(1.3).missed(at: 1.53, because: "not explained yet: a round takes longer the more came before it"),
        of: displayedTime(large), beside: displayedTime(small)),
      Row(
        "10,000 rounds of 'repeat': the journal's bytes of a round",
        try journalBytes(of: path) / Double(Self.many), "B", .atMost(1100)),
    ]
  }

  private func path(_ rounds: Int) -> String { folder.path("rounds-\(rounds)") }

  /// A block whose last round waits, so that a run that is resumed is in the middle of it.
  private static func recipe(_ rounds: Int) throws -> Recipe {
    try Durability.recipe(
      """
      steps:
        - id: pages
          repeat:
            carry: { page: 0 }
            next: { page: "${{ result.asked.next }}" }
            collect: "${{ [result.asked.next] }}"
            until: page == \(rounds)
            maxRounds: \(rounds)
          steps:
            - { id: asked, uses: trivial.count, with: { from: "${{ page }}" } }
            - { if: page == \(rounds - 1), wait: 1d }

      """)
  }

  /// The seconds of all rounds up to the wait; the rounds stay in one journal.
  private func walked(_ rounds: Int) async throws -> Double {
    let store = try await FileStateStore.open(
      path(rounds), program: "benchmark", compaction: CompactionRule(smallest: .max))
    let recipe = try Self.recipe(rounds)
    try await store.append(.runCreated(Durability.created(Self.run, recipe.name)))
    // Dropped without closing, as by a crash: closing would write a snapshot.
    return try await spent { try await Durability.walk(Self.run, of: recipe, in: store, until: .waiting) }.wall
  }

  /// The argument that makes this program open the state, resume the run until it waits again, and print the processor
  /// time of that.
  static let resumingWord = "resume"

  static func resume(_ path: String) async throws -> Never {
    let recipe = try recipe(many)
    let start = processorSeconds()
    let store = try await FileStateStore.open(path, program: "benchmark")
    try await Durability.walk(run, of: recipe, in: store, until: .waiting)
    print(processorSeconds() - start)
    exit(0)
  }
}
