import CBaselines
import Foundation
import HTTPClient
import HTTPServer

/// Many requests at once, against libcurl asking one after another.
///
/// The server is a process of its own, so that only the client's processor time is counted.
struct FanOut {
  /// The argument that makes this program the server.
  static let serverWord = "serve"

  static func serve() async throws -> Never {
    let server = try HTTPServer { _ in .text("ok") }
    print(server.baseURL)
    fflush(nil)
    // Ends when the parent process closes its standard input.
    while readLine() != nil {}
    await server.stop()
    exit(0)
  }

  func rows() async throws -> [Row] {
    let server = Process()
    server.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    server.arguments = [Self.serverWord]
    let (input, output) = (Pipe(), Pipe())
    server.standardInput = input
    server.standardOutput = output
    try server.run()
    defer {
      try? input.fileHandleForWriting.close()
      server.waitUntilExit()
    }
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    let url = line.trimmingCharacters(in: .whitespacesAndNewlines)

    let blocking = 4000
    let floorSeconds = cbaselines_fetch(url, Int32(blocking))
    if floorSeconds <= 0 { throw NotMeasured("libcurl cannot fetch '\(url)'") }
    let floor = Double(blocking) / floorSeconds

    let client = HTTPClient(configuration: HTTPClientConfiguration(proxy: .none))
    try await fetch(url, with: client, each: 20)
    let each = 400
    let (start, processor) = (ContinuousClock.now, Self.processorSeconds())
    try await fetch(url, with: client, each: each)
    let count = Double(64 * each)
    let rate = count / start.duration(to: .now).seconds
    let cost = (Self.processorSeconds() - processor) / count * 1e6
    return [
      Row(
        what: "HTTP, 64 in flight", figure: "\(shown(rate))/s = \(shown(rate / floor)) ×", bar: "≥ 40,000/s",
        baseline: "\(shown(floor))/s: libcurl, one by one", isMet: rate >= 40_000),
      Row(
        what: "HTTP, processor time of a request", figure: "\(shown(cost)) µs", bar: "≤ 25 µs", baseline: "",
        isMet: cost <= 25),
    ]
  }

  private func fetch(_ url: String, with client: HTTPClient, each: Int) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<64 {
        group.addTask {
          for _ in 0..<each { _ = try await client.send(HTTPRequest("GET", url)) }
        }
      }
      try await group.waitForAll()
    }
  }

  private static func processorSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
