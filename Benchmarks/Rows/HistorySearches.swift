import Basics
import Foundation
import RunState

/// Measures a history of a million finished runs, in a new process, with a warm disk cache only.
struct HistorySearches {
  private let folder: WorkFolder

  init(_ folder: WorkFolder) { self.folder = folder }

  static let folderName = "history"
  private static let runs = 1_000_000
  /// The runs are spread over a year before this instant.
  private static let end = Timestamp("2026-11-20T09:00:00Z") ?? .latest

  func rows() async throws -> [Row] {
    let path = folder.path(Self.folderName)
    try await fill(path)
    let sync = 1 / (try Durability(folder).syncsPerSecond(500))
    let lines = try ownOutput(Self.searchingWord, path).split(separator: "\n")
    let rows = lines.compactMap { line -> Row? in
      let parts = line.split(separator: "\t")
      guard parts.count == 4, let figure = Double(parts[1]), let bar = Double(parts[2]) else { return nil }
      let what = "a million runs: \(parts[0])"
      switch parts[3] {
      case Measure.processor.rawValue: return .processor("\(what): processor", figure, .atMost(bar))
      case Measure.syncs.rawValue:
        return Row(
          what, figure / sync, "×", .atMost(bar), of: displayedTime(figure),
          beside: "\(displayedTime(sync)): C append + fdatasync")
      default: return Row(what, figure, "MB", .atMost(bar))
      }
    }
    guard rows.count == 13 else { throw NotMeasured("the searches ended early: \(lines)") }
    return rows
  }

  /// The id of the run of that number: of every hundredth, one that was created two days before it ended.
  private static func id(_ number: Int, _ end: Timestamp = HistorySearches.end) -> String {
    var random = SystemRandomNumberGenerator()
    let created = end.advanced(by: .seconds((number - runs) * 31 - (number % 100 == 0 ? 172_800 : 0))) ?? end
    return UUID7(at: created, using: &random).description
  }

  private static func recipe(_ number: Int) -> String { number % 333_333 == 7 ? "rare" : "recipe-\(number % 20)" }

  /// - Parameters:
  ///   - end: When the last run ended.
  ///   - failing: One run in so many failed; the failures of a recipe are of one in five kinds.
  func fill(_ path: String, until end: Timestamp = HistorySearches.end, failing: Int = 50_000) async throws {
    let store = try await FileStateStore.open(path, program: "benchmark")
    for start in stride(from: 0, to: Self.runs, by: 1000) {
      var events: [StateEvent] = []
      for number in start..<start + 1000 {
        let run = Self.id(number, end)
        let at = end.advanced(by: .seconds((number - Self.runs) * 31)) ?? end
        events.append(
          .runCreated(
            RunCreated(
              run: run, at: at, recipe: Self.recipe(number), file: "recipes/report.yaml",
              texts: .inline(.map(ValueMap())),
              inputs: .object(["number": .int(number)]), program: "benchmark")))
        let hasFailed = number % failing == 9
        let message = "no answer from \(["a", "b", "c", "d", "e"][number / failing % 5]) after \(number) s"
        events.append(
          .runEnded(
            RunEnded(
              run: run, at: at, status: hasFailed ? .failed : .succeeded,
              error: hasFailed ? RunError(.network, message, step: "read") : nil)))
      }
      try await store.append(events)
    }
    try await store.close()
  }

  /// The argument that makes this program search a history and print how long that takes.
  static let searchingWord = "search"

  /// The measure that a figure is compared with.
  private enum Measure: String {
    case processor, syncs, none
  }

  static func search(_ path: String) async throws -> Never {
    func report(_ what: String, _ figure: Double, bar: Double, _ measure: Measure = .processor) {
      print("\(what)\t\(figure)\t\(bar)\t\(measure.rawValue)")
    }
    /// The time of one call, the median of many.
    func median(_ body: () async throws -> Void) async rethrows -> (wall: Double, processor: Double) {
      var times: [(wall: Double, processor: Double)] = []
      for _ in 0..<21 { times.append(try await spent(body)) }
      return (times.median(by: \.wall).wall, times.median(by: \.processor).processor)
    }
    let start = processorSeconds()
    let store = try await FileStateStore.open(path, program: "benchmark")
    report("open", processorSeconds() - start, bar: 4)
    let before = try residentBytes()
    // Some runs all over the year.
    let some = try await store.finishedRuns(HistoryQuery(limit: 20, recipe: "rare"))
    guard some.count == 3, let old = some.last else { throw NotMeasured("the rare runs are not there") }
    for (what, query, bar) in [
      ("the last 20", HistoryQuery(limit: 20), 0.4), ("a rare recipe", HistoryQuery(limit: 20, recipe: "rare"), 4),
      ("the last 20 that failed", HistoryQuery(limit: 20, statuses: [.failed]), 7),
      ("by the beginning of an id", HistoryQuery(limit: 3, idPrefix: String(old.id.prefix(13))), 3.6),
    ] {
      report(what, try await median { _ = try await store.finishedRuns(query) }.processor, bar: bar)
    }
    report("by an id", try await median { _ = try await store.finishedRun(old.id) }.processor, bar: 3.6)
    report(
      "by an id that is not there", try await median { _ = try await store.finishedRun(id(7)) }.processor, bar: 3.4)
    // The last two months are counted with the first question.
    let since = end.advanced(by: .seconds(-30 * 86_400)) ?? end
    let day = RunSumQuery(firstDay: RunSum.day(of: since))
    report(
      "statistics of 30 days, for the first time", try await spent { _ = try await store.runSums(day) }.processor,
      bar: 1500)
    report("statistics of 30 days", try await median { _ = try await store.runSums(day) }.processor, bar: 2)
    report("failures of 30 days", try await median { _ = try await store.failures(from: since) }.processor, bar: 2)
    let recipes = (0..<20).map { "recipe-\($0)" }
    report(
      "the last ten results of 20 recipes",
      try await median { _ = try await store.latestResults(of: recipes, from: since) }.processor, bar: 2)
    report("memory of that", max(0, Double(try residentBytes() - before) / 1_048_576), bar: 4, .none)
    report(
      "the end of a run, and a snapshot",
      try await median {
        let run = id(runs)
        let created = RunCreated(
          run: run, at: end, recipe: "recipe-1", file: "recipes/report.yaml", texts: .inline(.map(ValueMap())),
          inputs: .map(ValueMap()), program: "benchmark")
        try await store.append([.runCreated(created), .runEnded(RunEnded(run: run, at: end, status: .succeeded))])
        try await store.compact()
      }.wall, bar: 16, .syncs)
    exit(0)
  }
}
