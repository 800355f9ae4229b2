import Foundation

/// Measures whole processes of `errand run` beside C programs that do the least that keeps as much.
struct WholeRuns {
  private let folder: WorkFolder
  private let spawner: Spawner

  init(_ folder: WorkFolder) {
    self.folder = folder
    spawner = Spawner(folder)
  }

  /// The recipe of a number of steps; each step is kept.
  static func chain(_ steps: Int) -> String {
    "steps:\n" + (0..<steps).map { "  - { uses: json.parse, with: { text: \"\($0)\" } }\n" }.joined()
  }

  /// The recipe of a number of concurrent chains.
  static func crowd(_ chains: Int, _ steps: Int) -> String {
    "steps:\n  - forEach: lists.range(\(chains))\n    as: chain\n    maxParallel: \(chains)\n    "
      + chain(steps).replacing("\n", with: "\n    ") + "\n"
  }

  static let answerCount = 2000
  /// The recipe that asks a server so often, 64 times at once.
  static let answers = """
    inputs:
      server: { type: string }
    steps:
      - forEach: lists.range(\(answerCount))
        as: number
        maxParallel: 64
        uses: http.get
        with: { url: "${{ inputs.server }}/${{ number }}" }

    """

  /// The command that runs a recipe in a new state folder, which is the only thing that it shares with no other.
  func run(_ recipe: String, _ arguments: String...) -> (Int) -> [String] {
    let state = URL(filePath: recipe).deletingPathExtension().lastPathComponent
    return { [folder] round in
      [Spawner.errand, "run", recipe, "--state", folder.path("state-\(state)-\(round)")] + arguments
    }
  }

  private func floor(_ words: String...) -> (Int) -> [String] { { _ in [Spawner.floors] + words } }

  // MARK: One step

  func step() throws -> [Row] {
    let recipe = try folder.write(Self.chain(1), to: "one.yaml")
    let run = run(recipe)
    let syncs = 200
    let path = folder.path("append")
    let usages = try spawner.least(
      of: 30,
      [
        floor("start"), { [folder] round in [Spawner.floors, "step", folder.path("step-\(round)")] }, run,
        floor("append", path, "0"), floor("append", path, "\(syncs)"),
      ])
    let (start, step, whole) = (usages[0], usages[1], usages[2])
    let sync = (usages[4].milliseconds - usages[3].milliseconds) / Double(syncs)
    let name = "one durable step, new folder"
    // Where no process may trace another, they can't be measured.
    var memory: [(own: Double, files: Double)] = []
    var obstacle = ""
    for round in 0..<5 {
      do { memory.append(try spawner.memory(of: run(-2 - round))) } catch { obstacle = Self.line(error) }
    }
    var rows = [
      Row(
        "\(name): beside 3 starts and 4 syncs", whole.milliseconds / (3 * start.milliseconds + 4 * sync), "×",
        .atMost(1).missed(at: 2.6, because: "8 syncs instead of 4, and a program of 25 MB instead of a small one"),
        of: "\(displayed(whole.milliseconds)) ms",
        beside: "3 × \(displayed(start.milliseconds)) ms: C, start + 4 × \(displayed(sync)) ms: a sync"),
      Row(
        "\(name): beside C that does both", whole.seconds / step.seconds, "×",
        .atMost(3).missed(at: 4.82, because: "8 syncs instead of 4, and a program of 25 MB instead of a small one"),
        of: "\(displayed(whole.milliseconds)) ms",
        beside: "\(displayed(step.milliseconds)) ms: C, start, folder, 4 syncs"),
      .processor(
        "\(name): processor", whole.processor,
        .atMost(5).missed(at: 5.69, because: "the start of the program is more than a third of it")),
      Row("\(name): page faults", whole.pageFaults, "", nil, beside: "\(displayed(start.pageFaults)): C"),
    ]
    if memory.isEmpty {
      rows += ["its own memory", "pages of files in memory"].map { Row.skipped("\(name): \($0)", because: obstacle) }
    } else {
      rows += [
        Row("\(name): its own memory", memory.median(by: \.own).own, "MB", .atMost(3)),
        Row(
          "\(name): pages of files in memory", memory.median(by: \.files).files, "MB",
          // The kernel decides how many pages it maps around each one.
          .atMost(10).missed(
            at: 14.5, because: "the kernel maps 16 pages around each one that the program of 25 MB uses"
          ).smoke(at: 17),
          beside: "\(displayed(whole.megabytes)) MB: the peak of both; \(displayed(start.megabytes)) MB: C"),
      ]
    }
    do {
      let calls = try systemCalls(of: run(-1))
      rows.append(Row("\(name): syncs", calls.syncs, "", nil))
      rows.append(Row("\(name): threads", calls.threads, "", nil))
    } catch {
      rows += ["syncs", "threads"].map { Row.skipped("\(name): \($0)", because: Self.line(error)) }
    }
    return rows
  }

  /// An error on one line, for a table.
  private static func line(_ error: any Error) -> String {
    "\(error)".split(separator: "\n").joined(separator: " ")
  }

  /// How often a command syncs and how many threads it has in all.
  private func systemCalls(of command: [String]) throws -> (syncs: Double, threads: Double) {
    let tracer = "/usr/bin/strace"
    guard FileManager.default.isExecutableFile(atPath: tracer) else { throw NotMeasured("there is no \(tracer)") }
    let trace = folder.path("trace")
    _ = try spawner.usage(
      of: [tracer, "-f", "-qq", "-e", "trace=fsync,fdatasync,sync_file_range,clone,clone3", "-o", trace] + command)
    let lines = try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n")
    // A call that another thread interrupts has a second line, without its parenthesis.
    func count(_ call: String) -> Double { Double(lines.count { $0.contains(" \(call)") && $0.contains("(") }) }
    return (count("fsync(") + count("fdatasync(") + count("sync_file_range("), 1 + count("clone(") + count("clone3("))
  }

  // MARK: Many steps

  func chain() throws -> [Row] {
    let steps = 1000
    let recipe = try folder.write(Self.chain(steps), to: "chain.yaml")
    let usages = try spawner.rounds(9, [floor("append", folder.path("append"), "\(steps)"), run(recipe)])
    return rows(
      "chain of 1,000 durable steps", steps, usages,
      wall: .atLeast(0.75).missed(at: 0.48, because: "a step computes for longer than it waits for its sync"),
      processor: .atMost(110).missed(
        at: 177, because: "a quarter is the kernel's part of the syncs, and the rest is spread"), memory: nil,
      beside: "C append + fdatasync")
  }

  func crowd() throws -> [Row] {
    let (chains, steps) = (64, 200)
    let recipe = try folder.write(Self.crowd(chains, steps), to: "crowd.yaml")
    let usages = try spawner.rounds(
      9, [floor("group", folder.path("group"), "\(chains)", "\(steps)"), run(recipe)])
    return rows(
      "64 × 200 durable steps", chains * steps, usages,
      // On a slower machine the ratio was about half of that on the page: a run computes, and its floor waits for the disk.
      wall: .atLeast(0.6).missed(
        at: 0.33, because: "a step computes for longer than it waits for a shared sync"
      ).smoke(at: 0.12),
      processor: .atMost(600),
      memory: .atMost(40), beside: "C group commit")
  }

  /// Rows of the floor's rounds and a run's rounds.
  ///
  /// The speed of disks varies for seconds at a time: so each run is compared with the floor just before it, and the
  /// median pair counts.
  private func rows(
    _ what: String, _ steps: Int, _ rounds: [[Usage]], wall: Bar, processor: Bar, memory: Bar?, beside name: String
  ) -> [Row] {
    let (floor, whole) = zip(rounds[0], rounds[1]).map { ($0, $1) }.median { $0.seconds / $1.seconds }
    return [
      Row(
        what, floor.seconds / whole.seconds, "×", wall,
        of: "\(displayed(whole.seconds)) s, \(displayed(Double(steps) / whole.seconds)) steps/s",
        beside: "\(displayed(floor.seconds)) s: \(name)"),
      .processor(
        "\(what): processor", rounds[1].map(\.processor).min() ?? 0, processor,
        beside: "\(displayedTime(rounds[0].map(\.processor).min() ?? 0)): \(name)"),
      Row("\(what): memory", rounds[1].median(by: \.megabytes).megabytes, "MB", memory),
    ]
  }

  // MARK: Many requests

  /// Asks a server of this machine, and keeps each answer.
  func fanOut() throws -> [Row] {
    let count = Self.answerCount
    let recipe = try folder.write(Self.answers, to: "answers.yaml")
    let server = try LoopbackServer()
    defer { server.end() }
    let curl = LoopbackServer.curl(server.url, count)
    let commands = [run(recipe, "-i", "server=\(server.url)")] + (curl.map { call in [{ _ in call }] } ?? [])
    let usages = try spawner.least(of: 7, commands)
    let what = "2,000 HTTP answers, 64 in flight, each durable"
    var rows = [
      Row.processor("\(what): processor of 1,000", usages[0].processor * 1000 / Double(count), .atMost(300)),
      Row(
        "\(what): memory", usages[0].megabytes, "MB",
        // How many answers wait for a sync at once, and so are held, depends on the disk.
        .atMost(30).missed(
          at: 37.1, because: "64 requests at once, and 12 MB of the program and its libraries"
        ).smoke(at: 44)),
    ]
    if usages.count == 1 {
      rows.insert(.skipped(what, because: "there is no \(LoopbackServer.curlProgram) to compare with"), at: 0)
    } else {
      rows.insert(
        Row(
          what, usages[1].seconds / usages[0].seconds, "×",
          .atLeast(0.5).missed(at: 0.24, because: "each answer is a step that is kept and synced, and curl keeps none"),
          of: "\(displayed(usages[0].seconds)) s, \(displayed(Double(count) / usages[0].seconds)) /s",
          beside: "\(displayed(usages[1].seconds)) s, \(displayed(usages[1].megabytes)) MB: curl -Z, keeps nothing"),
        at: 0)
    }
    return rows
  }
}
