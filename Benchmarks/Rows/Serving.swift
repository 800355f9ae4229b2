import Basics
import Foundation
import Glibc

/// Measures `errand serve` itself: its cost while nothing is due, and how late its runs begin.
struct Serving {
  let folder: WorkFolder
  let errand = WorkFolder.programs.appending(path: "errand")

  init(_ folder: WorkFolder) { self.folder = folder }

  // MARK: Idle

  /// A thousand recipes, each with a schedule whose next slot is months or years away.
  func idle(_ name: String = "idle", _ configuration: String = "") throws -> [Row] {
    let count = 1000
    let home = folder.url.appending(path: name)
    for number in 0..<count {
      try write("cron: \"\(number % 60) \(number / 60) 29 2 *\"", to: "recipe\(number)", in: home)
    }
    let server = try serve(home, configuration)
    defer { end(server) }
    // Until all recipes are read and the initial work is over.
    try wait(for: 30, server) { try log(home).contains("\"serving\"") }
    Thread.sleep(forTimeInterval: 3)
    let before = try processorSeconds(of: server)
    Thread.sleep(forTimeInterval: 10)
    let used = try processorSeconds(of: server) - before
    let megabytes = Double(try residentBytes(of: server.processIdentifier)) / 1_048_576
    return [
      Row(
        "idle serve, 1,000 schedules: memory", megabytes, "MB",
        .atMost(20).missed(at: 25.3, because: "most of it are pages of the program of 25 MB, which processes share")),
      .processor("idle serve, 1,000 schedules: processor of 10 s", used, .atMost(10)),
    ]
  }

  // MARK: Lateness

  /// The time between each slot and the instant when its run was accepted, from the journal.
  func lateness() throws -> Row {
    let slots = 30
    let home = folder.url.appending(path: "lateness")
    try write("every: 1s", to: "often", in: home)
    let server = try serve(home)
    defer { end(server) }
    try wait(for: Double(slots) + 30, server) { try lateness(in: home).count >= slots }
    // The first one may be as late as the start.
    let late = try lateness(in: home).dropFirst().sorted()
    let worst = late[min(late.count - 1, late.count * 99 / 100)] * 1000
    return Row("lateness of a slot, p99 of \(late.count)", worst, "ms", .atMost(5))
  }

  /// The same beside two runs that compute without a break, and two whose values double until they are refused.
  func latenessBesideRunaways() throws -> Row {
    let slots = 10
    let home = folder.url.appending(path: "runaways")
    try write("every: 2s", to: "often", in: home)
    func doubled(_ times: Int, then rest: String) -> Data {
      let lets = (0..<times).map { "      v\($0 + 1): ${{ [v\($0), v\($0)] }}\n" }.joined()
      return Data("steps:\n  - let:\n      v0: [1, 2]\n\(lets)\(rest)".utf8)
    }
    // A million numbers, written again and again.
    let again =
      "  - forEach: ${{ lists.range(100000) }}\n    as: n\n"
      + "    steps: [{ let: { m: \"${{ json.format(v19).size() + n }}\" } }]\n"
    try doubled(19, then: again).write(to: home.appending(path: "busy.yaml"))
    try doubled(40, then: "outputs: { n: \"${{ v40 }}\" }\n").write(to: home.appending(path: "doubling.yaml"))
    let server = try serve(home)
    defer { kill(server) }
    try wait(for: 30, server) { try log(home).contains("\"serving\"") }
    for recipe in ["busy.yaml", "busy.yaml", "doubling.yaml", "doubling.yaml"] {
      let run = Process()
      run.executableURL = errand
      run.arguments = ["run", recipe, "--detach"]
      run.currentDirectoryURL = home
      run.standardOutput = FileHandle.nullDevice
      run.standardError = FileHandle.nullDevice
      try run.run()
      run.waitUntilExit()
      guard run.terminationStatus == 0 else { throw NotMeasured("errand run \(recipe) failed") }
    }
    let begun = try lateness(in: home).count
    try wait(for: Double(slots) * 2 + 30, server) { try lateness(in: home).count >= begun + slots }
    let worst = (try lateness(in: home).dropFirst(max(1, begun)).max() ?? .infinity) * 1000
    return Row("lateness of a slot beside runaways, worst of \(slots)", worst, "ms", .atMost(250))
  }

  /// Ends a server that has more work than is worth waiting for.
  func kill(_ server: Process) {
    Glibc.kill(server.processIdentifier, SIGKILL)
    server.waitUntilExit()
  }

  private func lateness(in home: URL) throws -> [Double] {
    let state = home.appending(path: ".errand").path
    var late: [Double] = []
    // It is created a moment after the start.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: state)) ?? []
    for name in names where name.hasPrefix("journal-") {
      for line in try Files.read("\(state)/\(name)").split(separator: UInt8(ascii: "\n")) {
        // The last line may be incomplete.
        guard let event = try? JSON.parse(Array(line)), event["event"]?.string == "runCreated",
          let at = event["at"]?.string.flatMap({ Timestamp($0) }),
          let slot = event["cause"]?["slot"]?.string.flatMap({ Timestamp($0) }), let span = at.span(since: slot)
        else { continue }
        late.append(span.inSeconds)
      }
    }
    return late
  }

  // MARK: The process

  private func write(_ trigger: String, to name: String, in home: URL) throws {
    let recipes = home.appending(path: "recipes")
    try FileManager.default.createDirectory(at: recipes, withIntermediateDirectories: true)
    let text = """
      recipe: \(name)
      summary: Does nothing.
      on:
        - \(trigger)
          zone: UTC
      steps:
        - let: { nothing: "${{ 1 }}" }

      """
    try Data(text.utf8).write(to: recipes.appending(path: "\(name).yaml"))
  }

  func serve(_ home: URL, _ configuration: String = "") throws -> Process {
    guard FileManager.default.isExecutableFile(atPath: errand.path) else {
      throw NotMeasured("there is no \(errand.path); 'make bench' builds it")
    }
    try Data("zone: UTC\n\(configuration)".utf8).write(to: home.appending(path: "errand.yaml"))
    try Data().write(to: home.appending(path: "log"))
    let server = Process()
    server.executableURL = errand
    server.arguments = ["serve", "--log-format", "json"]
    server.currentDirectoryURL = home
    server.standardOutput = FileHandle.nullDevice
    server.standardError = try FileHandle(forWritingTo: home.appending(path: "log"))
    try server.run()
    return server
  }

  func end(_ server: Process) {
    server.terminate()
    server.waitUntilExit()
  }

  func log(_ home: URL) throws -> String {
    String(decoding: try Data(contentsOf: home.appending(path: "log")), as: UTF8.self)
  }

  func wait(for seconds: Double, _ server: Process, until isThere: () throws -> Bool) throws {
    let end = ContinuousClock.now + .seconds(seconds)
    while try !isThere() {
      if !server.isRunning { throw NotMeasured("serve ended early") }
      if ContinuousClock.now > end { throw NotMeasured("serve did not come that far in \(displayed(seconds)) s") }
      Thread.sleep(forTimeInterval: 0.1)
    }
  }
}
