import Foundation

/// Measures other tools at the work that Errand does in the rows of whole processes, for the page.
///
/// The Python packages are in `.build/peers`, where `make speed` installs them if PyPI is reached; tools that aren't
/// there are left out.
struct WholePeers {
  /// The cases that are measured for each tool.
  enum Case: String, CaseIterable {
    case step, chain, crowd, http

    var title: String {
      switch self {
      case .step: "one durable step"
      case .chain: "chain of 1,000"
      case .crowd: "64 × 200"
      case .http: "2,000 answers"
      }
    }
  }

  struct Figures {
    let name: String
    /// The data that it keeps of each step.
    let keeps: String
    var usages: [Case: Usage]
  }

  private struct Package {
    let module: String
    let keeps: String
    let cases: [Case]
  }

  private static let python = "\(FileManager.default.currentDirectoryPath)/.build/peers/bin/python"
  private static let program = "\(FileManager.default.currentDirectoryPath)/Benchmarks/Peers/peers.py"
  private static let packages = [
    Package(module: "huey", keeps: "a queue and its results in SQLite", cases: Case.allCases),
    Package(module: "dbos", keeps: "workflows and steps in SQLite", cases: Case.allCases),
    Package(module: "aiohttp", keeps: "nothing", cases: [.http]),
  ]

  private let folder: WorkFolder
  private let spawner: Spawner

  init(_ folder: WorkFolder) {
    self.folder = folder
    spawner = Spawner(folder)
  }

  /// The Python packages that aren't there.
  func missing() -> [String] {
    Self.packages.map(\.module).filter { (try? spawner.usage(of: [Self.python, "-c", "import \($0)"])) == nil }
  }

  func figures() throws -> [Figures] {
    try folder.empty()
    let server = try LoopbackServer()
    defer { server.end() }
    let figures =
      try [errand(server), floors(server), make()] + [
        script("python", "a Python script", "lines, appended and synced", [.step, .chain, .crowd], server)
      ]
      + Self.packages.filter { !missing().contains($0.module) }.map {
        try script($0.module, "\($0.module) \(try version(of: $0.module))", $0.keeps, $0.cases, server)
      }
    return figures.filter { !$0.usages.isEmpty }
  }

  // MARK: Each

  private func errand(_ server: LoopbackServer) throws -> Figures {
    let runs = WholeRuns(folder)
    var figures = Figures(name: "**Errand**", keeps: "typed steps, results and decisions in a journal", usages: [:])
    for (test, text) in [
      (Case.step, WholeRuns.chain(1)), (.chain, WholeRuns.chain(1000)), (.crowd, WholeRuns.crowd(64, 200)),
      (.http, WholeRuns.answers),
    ] {
      let recipe = try folder.write(text, to: "\(test).yaml")
      let command = test == .http ? runs.run(recipe, "-i", "server=\(server.url)") : runs.run(recipe)
      figures.usages[test] = try spawner.least(of: Self.rounds(test), [command])[0]
    }
    return figures
  }

  private func floors(_ server: LoopbackServer) throws -> Figures {
    let path = folder.path("floor")
    var commands: [Case: [String]] = [
      .chain: [Spawner.floors, "append", path, "1000"], .crowd: [Spawner.floors, "group", path, "64", "200"],
    ]
    commands[.http] = LoopbackServer.curl(server.url, 2000)
    var usages = try commands.mapValues { command in try spawner.least(of: 5, [{ _ in command }])[0] }
    usages[.step] = try spawner.least(of: 20, [{ [folder] in [Spawner.floors, "step", folder.path("floor-\($0)")] }])[0]
    return Figures(name: "C, and `curl -Z`", keeps: "lines, appended and synced; answers not at all", usages: usages)
  }

  /// GNU make, each of whose steps is a shell that makes a file after the one before it.
  private func make() throws -> Figures {
    var figures = Figures(name: "GNU make", keeps: "a file for each step, not synced", usages: [:])
    guard FileManager.default.isExecutableFile(atPath: "/usr/bin/make") else { return figures }
    for (test, chains, steps) in [(Case.step, 1, 1), (.chain, 1, 1000), (.crowd, 64, 200)] {
      var text = "all: " + (0..<chains).map { "c\($0)s\(steps - 1)" }.joined(separator: " ") + "\n"
      for chain in 0..<chains {
        for step in 0..<steps {
          text += "c\(chain)s\(step): \(step > 0 ? "c\(chain)s\(step - 1)" : "")\n\t@echo \(step) > $@\n"
        }
      }
      let file = try folder.write(text, to: "\(test).make")
      figures.usages[test] = try spawner.least(
        of: 1,
        [
          { [folder] round in
            let work = folder.path("make-\(test)-\(round)")
            try FileManager.default.createDirectory(atPath: work, withIntermediateDirectories: true)
            return ["/usr/bin/make", "--silent", "-j64", "-C", work, "-f", file]
          }
        ])[0]
    }
    return figures
  }

  private func script(
    _ peer: String, _ name: String, _ keeps: String, _ cases: [Case], _ server: LoopbackServer
  ) throws -> Figures {
    let python = FileManager.default.isExecutableFile(atPath: Self.python) ? Self.python : "/usr/bin/python3"
    var figures = Figures(name: name, keeps: keeps, usages: [:])
    for test in cases {
      do {
        figures.usages[test] = try spawner.least(
          of: test == .step ? 3 : 1,
          [
            { [folder] round in
              [python, Self.program, peer, test.rawValue, folder.path("\(peer)-\(test)-\(round)"), server.url]
            }
          ])[0]
      } catch {
        print("\(peer), \(test.title): not measured: \(error)")
      }
    }
    return figures
  }

  private func version(of module: String) throws -> String {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(filePath: Self.python)
    process.arguments = [
      "-c", "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))", module,
    ]
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return text.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  private static func rounds(_ test: Case) -> Int { test == .step ? 20 : 5 }
}
