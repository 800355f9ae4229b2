import ActionTestKit
import Basics
import HTTPClient
import Testing

@testable import SandboxKit

@Suite struct SandboxServerTests {
  /// A service that tells its time, and how often it was asked to.
  private static func withServer(
    _ test: (_ server: SandboxServer, _ ask: (String) async -> String) async throws -> Void
  ) async throws {
    let server = try SandboxServer(port: 0, time: TestTime()) { _, now in
      .json(.object(["now": .string(now.description)]))
    }
    let http = HTTPClient()
    try await test(server) { path in
      do throws(HTTPError) {
        let limits = HTTPLimits(maxBodyBytes: 400)
        let answer = try await http.send(HTTPRequest("GET", server.baseURL + path, limits: limits))
        return "\(answer.status) \(String(decoding: answer.body, as: UTF8.self))"
      } catch {
        return "\(error.kind)"
      }
    }
    await server.stop()
  }

  @Test(arguments: [
    ("refuse", "interrupted"), ("lostAnswer", "interrupted"), ("truncated", "interrupted"), ("oversized", "tooLarge"),
    ("wrongType", "200 [[]]"), ("badUTF8", "200 {\"\u{FFFD}now\"\u{FFFD}:\"\u{FFFD}2026-11-20T09:30:00Z\"\u{FFFD}}"),
    ("html", "200 <!DOCTYPE html>\n<title>Down for maintenance</title>\n<h1>Down for maintenance</h1>\n"),
    ("status&status=429", "429 <!DOCTYPE html>\n<title>Not today</title>\n<h1>Not today</h1>\n"),
    ("redirect", "redirect"), ("redirectLoop&times=9", "redirect"),
  ])
  func `makes calls go wrong, as often as it is told to`(_ kind: String, _ outcome: String) async throws {
    try await Self.withServer { server, ask in
      let well = #"200 {"now":"2026-11-20T09:30:00Z"}"#
      #expect(await ask("/sandbox/fault?kind=\(kind)&call=/a&skip=1").hasPrefix(#"200 {"fault":""#))
      #expect(await ask("/b") == well)
      #expect(await ask("/a") == well)
      #expect(await ask("/a") == outcome)
      #expect(await ask("/sandbox/fault?kind=none") == #"200 {"faults":"none"}"#)
      #expect(await ask("/a") == well)
      #expect(server.count("/b") == 1)
    }
  }

  @Test(arguments: [
    ("", "An order says its 'kind': refuse, "),
    ("kind=status&tmes=2", "An order of 'status' says no 'tmes'; did you mean 'times'?"),
    ("kind=refuse&action=x", "An order of 'refuse' says no 'action'; did you mean 'call'?"),
    ("kind=slow&status=429", "An order of 'slow' says no 'status'; it says kind, call, skip, times, delay."),
    ("kind=none&call=x", "An order of 'none' says no 'call'; it says kind."),
    ("kind=refuse&times=0", "'times' is a whole number from 1 to 2147483647, not '0'."),
    ("kind=refuse&skip=-1", "'skip' is a whole number from 0 to 2147483647, not '-1'."),
    ("kind=status&status=42", "'status' is a whole number from 200 to 599, not '42'."),
    ("kind=slow&delay=soon", "'delay' is a time such as 2s, not 'soon'."),
    ("kind=refuse&times=1&times=2", "An order says 'times' once."),
  ])
  func `an order that says something else strikes nothing`(_ order: String, _ words: String) async throws {
    try await Self.withServer { _, ask in
      let answer = await ask("/sandbox/fault?\(order)")
      #expect(answer.hasPrefix("400 \(words)"), "\(answer)")
      #expect(await ask("/a") == #"200 {"now":"2026-11-20T09:30:00Z"}"#)
    }
  }

  @Test func `lets time pass, and takes down what was asked`() async throws {
    try await Self.withServer { _, ask in
      #expect(await ask("/sandbox/clock?advance=25h") == #"200 {"now":"2026-11-21T10:30:00Z"}"#)
      #expect(await ask("/a?b=c") == #"200 {"now":"2026-11-21T10:30:00Z"}"#)
      #expect(await ask("/sandbox/clock?set=2026-03-10T09:00:00Z") == #"200 {"now":"2026-03-10T09:00:00Z"}"#)
      #expect(await ask("/a") == #"200 {"now":"2026-03-10T09:00:00Z"}"#)
      #expect(await ask("/sandbox/clock").hasPrefix("400 Say by how much"))
      let unknown = await ask("/sandbox/fault?kind=boom")
      #expect(unknown.hasPrefix("400 There is no fault 'boom'; there are refuse, lostAnswer, "))
      #expect(await ask("/sandbox/log") == #"200 {"requests":2,"calls":{"GET /a":2}}"#)
    }
  }

  @Test(arguments: OddNumbers.texts)
  func `answers odd numbers`(_ odd: String) async throws {
    try await Self.withServer { _, ask in
      for path in [
        "fault?kind=refuse&skip=", "fault?kind=refuse&times=", "fault?kind=status&status=",
        "fault?kind=oversized&size=",
        "fault?kind=slow&delay=", "clock?set=",
      ] {
        let answer = await ask("/sandbox/\(path)\(odd)")
        #expect(answer.hasPrefix("200 ") || answer.hasPrefix("400 "), "\(path): \(answer)")
        #expect(await ask("/sandbox/fault?kind=none") == #"200 {"faults":"none"}"#)
      }
      // The clock stays within what a timestamp can hold.
      for span in ["106751d", "106751d", "-106751d", "-106751d", "-106751d", odd] {
        let answer = await ask("/sandbox/clock?advance=\(span)")
        #expect(answer.hasPrefix("200 ") || answer.hasPrefix("400 "), "\(span): \(answer)")
        #expect(await ask("/a").hasPrefix(#"200 {"now":""#))
      }
    }
  }
}
