import Foundation

/// The page "How fast it is".
struct SpeedPage {
  /// The version, date and commit of the measured program, as it prints them.
  let program: String
  let measured: [(group: Group, rows: [Row])]
  let peers: [WholePeers.Figures]
  /// The Python packages of peers that weren't there.
  let missing: [String]

  var text: String {
    """
    # How fast it is

    This page shows the time and memory that Errand needs: \(program), measured on \(date) in one run on one machine: \(machine). `make speed` measures again and rewrites this page, in some minutes; `make bench` only prints the rows.

    A bar is a ratio to another measurement of the same run, because times of two machines, or of two days, can't be compared:

    * A *floor* is a C program in [`floors.c`](../Benchmarks/Floors/floors.c) that does the least work to keep as much: it starts, appends a line for each step and syncs it, with one sync for all lines that wait at once. A *baseline* is another way to do the same.
    * A *unit* is a hundredth of the processor time of a fixed loop in C, which runs before and after each group of rows. In this run a unit took \(units).
    * Sizes, memory and counts are the same on every machine. Waits that people feel have bars in milliseconds: those are promises.

    A row without a bar is for orientation. A row that misses its bar says why, if the reason is known.

    ## Whole processes, as you start them

    The time is from the start of the process to its end, and includes everything in between: the program's start, reading and checking the recipe, a new state folder, every sync, and the end of the run in the history. It is the shortest time of several runs, because every disturbance adds to it. Where the disk decides, it comes from the pair of a run and its floor whose ratio is the median. Memory is the peak, the median of the runs.

    \(table(.whole))

    * A durable step is `json.parse` of one number. Its result is on disk before the next step begins.
    * The answers come from a server on the same machine, which shares its processors with the program that asks.
    * *Start with more plugins* is a program that checks a recipe of 20 lines, linked with the shipped plugins and so many made-up ones, as [`PluginStart`](../Benchmarks/PluginStart/main.swift) shows.
    * *Its own memory* is the memory that a run holds at its end and shares with no other process; *pages of files* are the pages of the program and its libraries that the run touched, which all processes share.

    ## Beside other tools

    The same work, each tool as a whole process in the same run. A cell is the time, and the most memory that a process of the tool held.

    \(peerTable)
    \(missing.isEmpty ? "" : "\nNot measured, because PyPI wasn't reached: \(missing.joined(separator: ", ")).\n")
    The table doesn't show that Errand checks the whole recipe and every type before the first step, keeps each attempt with its instants and its outcome, and can explain its decisions afterwards. The C programs and the Python script keep a line for each step, and can't resume where they stopped. GNU make resumes from the existing files, but syncs none of them. huey keeps a queue and the results, and is set to sync each commit; the tasks decide their own order. dbos resumes workflows from their last step; its steps are functions of one Python program, whose types it doesn't check before it starts. aiohttp and curl keep nothing. Servers that run jobs for many machines aren't here, because a step there includes a network and a database server.

    The programs of the peers are in [`peers.py`](../Benchmarks/Peers/peers.py).

    ## Inside a process

    These rows measure the parts without the program's start: they call the modules from one process that is already warm.

    \(table(.inProcess))

    Not measured: several agents on several machines, other file systems, and services over a real network, where waiting for the answer takes longer than everything above.

    """
  }

  private var machine: String {
    let information = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
    let model = information.split(separator: "\n").first { $0.hasPrefix("model name") }?.split(separator: ":").last
    let name = model.map { $0.trimmingCharacters(in: .whitespaces) } ?? "an unknown processor"
    let count = ProcessInfo.processInfo.processorCount
    let memory = Double(ProcessInfo.processInfo.physicalMemory) / 1_073_741_824
    return "\(name) with \(count) processors and \(Int(memory.rounded())) GB"
  }

  /// How long a unit took, in the fastest and the slowest group.
  private var units: String {
    let times = measured.flatMap(\.rows).compactMap { $0.measure?.seconds }.sorted()
    guard let least = times.first, let most = times.last else { return "an unknown time" }
    return "\(displayedTime(least)) to \(displayedTime(most))"
  }

  private var date: String { Date.now.formatted(.iso8601.year().month().day()) }

  private func table(_ scope: Group.Scope) -> String {
    let rows = measured.filter { $0.group.scope == scope }.flatMap(\.rows)
    return markdown(
      ["Measurement", "Figure", "Bar", scope == .whole ? "Floor, or beside it" : "Baseline", ""],
      rows.map { row in
        [row.what.replacing("in process: ", with: ""), row.figure, row.target, row.baseline, row.verdict]
      })
  }

  private var peerTable: String {
    markdown(
      ["Tool", "Keeps"] + WholePeers.Case.allCases.map(\.title),
      peers.map { peer in
        [peer.name, peer.keeps]
          + WholePeers.Case.allCases.map { test in
            peer.usages[test].map { usage in
              (usage.seconds < 0.1 ? "\(displayed(usage.milliseconds)) ms" : "\(displayed(usage.seconds)) s")
                + ", \(displayed(usage.megabytes)) MB"
            } ?? ""
          }
      })
  }

  private func markdown(_ heading: [String], _ rows: [[String]]) -> String {
    ([heading, heading.map { _ in "---" }] + rows).map { "| \($0.joined(separator: " | ")) |" }.joined(separator: "\n")
  }
}
