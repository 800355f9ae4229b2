import Foundation

/// Measures whole processes, from spawning to their end.
struct Start {
  private let folder: WorkFolder
  private let errand = WorkFolder.programs.appending(path: "errand").path

  init(_ folder: WorkFolder) { self.folder = folder }

  func rows() throws -> [Row] {
    guard let size = try? FileManager.default.attributesOfItem(atPath: errand)[.size] as? Int else {
      throw NotMeasured("there is no \(errand); build it with 'swift build -c release --product errand'")
    }
    let small = try folder.write(recipe(steps: 2), to: "small.yaml")
    let large = try folder.write(recipe(steps: 80), to: "large.yaml")
    let calls = [["/usr/bin/true"], [errand, "--help"], [errand, "check", small], [errand, "check", large]]
    // In turn, so that a disturbance affects all; and the least of many, because every disturbance adds.
    var times = calls.map { _ in Double.infinity }
    for _ in 0..<100 {
      for (index, call) in calls.enumerated() { times[index] = min(times[index], try spawn(call) * 1000) }
    }
    let bar = max(3, 3 * times[0] + 1)
    let baseline = "\(shown(times[0])) ms: a C program's start"
    func start(_ what: String, _ figure: Double) -> Row {
      Row(
        what: what, figure: "\(shown(figure)) ms", bar: "≤ \(shown(bar)) ms", baseline: baseline, isMet: figure <= bar)
    }
    return [
      start("errand --help", times[1]), start("errand check, 20 lines", times[2]),
      Row(
        what: "errand check, 500 lines", figure: "\(shown(times[3])) ms", bar: "≤ 10 ms", baseline: baseline,
        isMet: times[3] <= 10),
      Row(
        what: "size of errand", figure: "\(shown(Double(size) / 1e6)) MB", bar: "≤ 20 MB", baseline: "",
        isMet: size <= 20_000_000),
    ]
  }

  /// A recipe of six lines a step and eight more.
  private func recipe(steps: Int) -> String {
    var text = """
      recipe: generated
      summary: Reads a markbook again and again.

      inputs:
        markbook: { type: int, summary: Key of the markbook. }
        into: { type: string, default: Average, summary: Name of a task. }

      steps:

      """
    for step in 0..<steps {
      text += """
          - id: book\(step)
            uses: markbook.getMarkbook
            with:
              markbookKey: ${{ inputs.markbook + \(step) }}
          - let:
              found\(step): ${{ steps.book\(step).tasks.filter(t, t.name == inputs.into && t.key > \(step)) }}

        """
    }
    return text
  }

  /// The seconds that a process takes; a failed one is no measurement.
  private func spawn(_ words: [String]) throws -> Double {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for output in [STDOUT_FILENO, STDERR_FILENO] {
      posix_spawn_file_actions_addopen(&actions, output, "/dev/null", O_WRONLY, 0)
    }
    var arguments = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var process = pid_t()
    var status: Int32 = 0
    let start = ContinuousClock.now
    guard posix_spawn(&process, words[0], &actions, nil, &arguments, environ) == 0 else {
      throw NotMeasured("cannot start \(words[0])")
    }
    waitpid(process, &status, 0)
    let duration = start.duration(to: .now)
    guard status == 0 else { throw NotMeasured("'\(words.joined(separator: " "))' failed") }
    return duration.seconds
  }
}
