import Foundation

/// Measures how the start grows with the number of plugins.
///
/// A program that checks a recipe as `errand check` does, linked with the shipped plugins and none, ten or twenty more,
/// each made from one source and with a client, an action and an error of its own: so the larger file, its relocations
/// and the look-ups of types are in the figure, and the registration as well.
struct PluginStarts {
  private let folder: WorkFolder

  init(_ folder: WorkFolder) { self.folder = folder }

  func rows() throws -> [Row] {
    let recipe = try folder.write(Start.recipe(steps: 2), to: "few.yaml")
    let counts = [0, 10, 20]
    let usages = try Spawner(folder).least(
      of: 200,
      counts.map { count in { _ in [WorkFolder.programs.appending(path: "PluginStart-\(count)").path, recipe] } })
    let times = usages.map(\.processor)
    return zip(counts, times).map { count, time in
      .processor("start with \(count == 0 ? "no" : "\(count)") more plugins: processor", time, nil)
    } + [
      // The line that is nearest to three figures at equal distances goes from the first to the last.
      .processor(
        "start: processor of 100 more plugins", max(0, (times[2] - times[0]) * 100 / Double(counts[2])),
        .atMost(1).missed(
          at: 2.07, because: "each plugin is listed with its actions at the start; the row is coarse, from 20 plugins"),
        beside: "\(displayedTime(times[0])) without")
    ]
  }
}
