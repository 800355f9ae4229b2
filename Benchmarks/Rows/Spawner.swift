import Foundation

/// The resources that a process used from its start to its end.
struct Usage {
  /// Seconds of wall time.
  var seconds: Double
  /// Seconds of processor time.
  var processor: Double
  /// The most memory that it held at once.
  var megabytes: Double
  var pageFaults: Double

  var milliseconds: Double { seconds * 1000 }
}

/// Runs whole processes, each started by a small C program: a child's peak of memory is never below its parent's, and
/// this process is large.
struct Spawner {
  /// The C program, which is also what `errand` is measured beside.
  static let floors = WorkFolder.programs.appending(path: "floors").path
  static let errand = WorkFolder.programs.appending(path: "errand").path

  let folder: WorkFolder

  init(_ folder: WorkFolder) { self.folder = folder }

  /// Runs a command in the work folder; a command that fails gives no measurement.
  func usage(of command: [String]) throws -> Usage {
    let figures = try figures("spawn", command, count: 4)
    return Usage(seconds: figures[0], processor: figures[1], megabytes: figures[2] / 1024, pageFaults: figures[3])
  }

  /// The megabytes that a command holds at its end: its own, and pages of files.
  func memory(of command: [String]) throws -> (own: Double, files: Double) {
    let figures = try figures("memory", command, count: 2)
    return (figures[0] / 1024, figures[1] / 1024)
  }

  /// The figures that the C program prints of a command that succeeds.
  private func figures(_ mode: String, _ command: [String], count: Int) throws -> [Double] {
    for program in [Self.floors, command[0]] where program.hasPrefix("/") {
      if !FileManager.default.isExecutableFile(atPath: program) {
        throw NotMeasured("there is no \(program); 'make bench' builds it")
      }
    }
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(filePath: Self.floors)
    process.arguments = [mode] + command
    process.currentDirectoryURL = folder.url
    process.standardOutput = output
    let errors = folder.path("errors")
    try Data().write(to: URL(filePath: errors))
    process.standardError = try FileHandle(forWritingTo: URL(filePath: errors))
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    // `waitUntilExit` looks only every 50 ms, which is longer than most of the measured times.
    while process.isRunning { usleep(100) }
    let figures = text.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
    guard figures.count == count + 1, figures[0] == 0 else {
      let why = try String(contentsOfFile: errors, encoding: .utf8).prefix(500)
      throw NotMeasured("'\(command.joined(separator: " "))' failed: \(text)\(why)")
    }
    return Array(figures.dropFirst())
  }

  /// Runs commands in turn, so that a disturbance affects all, and gives the usages of each command, round by round.
  ///
  /// A command is made anew in each round, so that it may name a new folder.
  func rounds(_ count: Int, _ commands: [(_ round: Int) throws -> [String]]) throws -> [[Usage]] {
    var usages = commands.map { _ in [Usage]() }
    for round in 0..<count {
      for (index, command) in commands.enumerated() { usages[index].append(try usage(of: try command(round))) }
    }
    return usages
  }

  /// The least times of each command, because every disturbance adds, and the median of its memory.
  func least(of count: Int, _ commands: [(_ round: Int) throws -> [String]]) throws -> [Usage] {
    try rounds(count, commands).map { rounds in
      Usage(
        seconds: rounds.map(\.seconds).min() ?? 0, processor: rounds.map(\.processor).min() ?? 0,
        megabytes: rounds.median(by: \.megabytes).megabytes,
        pageFaults: rounds.median(by: \.pageFaults).pageFaults)
    }
  }
}
