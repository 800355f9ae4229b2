import CBaselines
import Foundation
import HTTPClient

/// Many requests at once, against libcurl asking one after another.
struct FanOut {
  func rows() async throws -> [Row] {
    let server = try LoopbackServer()
    defer { server.end() }
    let url = server.url

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
        "HTTP, 64 in flight", rate, "/s", .atLeast(40_000), beside: "\(shown(floor))/s: libcurl, one by one"),
      Row("HTTP, processor time of a request", cost, "µs", .atMost(25)),
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
