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
    let spent = try await spent { try await fetch(url, with: client, each: each) }
    let count = Double(64 * each)
    let rate = count / spent.wall
    return [
      Row(
        "HTTP, 64 in flight", rate / floor, "×",
        .atLeast(7).missed(
          at: 4.03, because: "the floor is libcurl without threads; here each answer changes threads twice"),
        of: "\(displayed(rate))/s",
        beside: "\(displayed(floor))/s: libcurl, one by one"),
      .processor(
        "1,000 HTTP requests, 64 in flight: processor", spent.processor * 1000 / count,
        .atMost(25).missed(at: 52.2, because: "each answer changes threads twice, to the loop of libcurl and back")),
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
}
