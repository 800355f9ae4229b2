import ActionKit
import ActionTestKit
import Foundation
import Testing

@testable import InterviewPrepPlugin

/// The account of what runs may have had to pay for.
@Suite struct PaidCallTests {
  private static func context(
    _ step: String = "week", attempt: Int = 1, run: String = "0190"
  ) -> ActionContext {
    var context = ActionContext.testing(step: step, attempt: attempt)
    context.run = run
    return context
  }

  /// Makes a call that comes to nothing, with an error or without.
  private static func pay(
    _ calls: PaidCalls, _ context: ActionContext, failing kind: InterviewPrepError.Kind? = nil, isPaid: Bool = false
  ) async throws {
    try await calls.pay("generateRoutine", body: Array("{}".utf8), in: context) { () async throws(InterviewPrepError) in
      guard let kind else { return }
      var error = InterviewPrepError(kind, "")
      error.mayBePaid = isPaid
      throw error
    }
  }

  private static let full =
    "configuration: This run has made 2 calls that may have been paid, which is as many as the connection "
    + "'interviewPrep' allows; raise its 'maxPaidCalls' if there should be more."

  @Test(arguments: [true, false])
  func `a run makes so many calls, over steps and restarts`(_ isOnDisk: Bool) async throws {
    let folder = Folder()
    func account() -> PaidCalls {
      PaidCalls(folder: isOnDisk ? folder.path : nil, connection: "interviewPrep", limit: 2)
    }
    var calls = account()
    try await Self.pay(calls, Self.context())
    // What was not paid does not count.
    try? await Self.pay(calls, Self.context(attempt: 2), failing: .unknown)
    try? await Self.pay(calls, Self.context(attempt: 3), failing: .timeout, isPaid: true)
    if isOnDisk { calls = account() }
    await #expect { try await Self.pay(calls, Self.context("links")) } throws: { "\($0)" == Self.full }
    try await Self.pay(calls, Self.context(run: "0191"))
    if isOnDisk { #expect(try folder.files() == ["interviewPrep-0190.json", "interviewPrep-0191.json"]) }
  }

  @Test func `a call is on disk before it is sent, and its outcome when it is over`() async throws {
    let folder = Folder()
    let calls = PaidCalls(folder: folder.path, connection: "interviewPrep", limit: 9)
    @Sendable func account() throws -> String {
      let path = "\(folder.path)/interviewPrep-0190.json"
      let text = try String(contentsOfFile: path, encoding: .utf8)
      return try JSON.text(JSON.parse(text))
    }
    let entry =
      #"{"calls":[{"at":"2026-11-20T09:30:00Z","step":"put[3].week","attempt":2,"call":"generatePrep","#
      + #""body":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a""#
    let before = try await calls.pay(
      "generatePrep", body: Array("{}".utf8), in: Self.context("put[3].week", attempt: 2)
    ) { () async throws(InterviewPrepError) in (try? account()) ?? "" }
    #expect(before == entry + "}]}")
    #expect(try account() == entry + #","outcome":"answered"}]}"#)
  }

  @Test func `a call in which the program ended is made again once`() async throws {
    let folder = Folder()
    let calls = PaidCalls(folder: folder.path, connection: "c", limit: 9)
    try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
    func write(_ attempts: [Int]) throws {
      let entries = attempts.map {
        #"{"at":"2026-11-20T09:30:00Z","step":"week","attempt":\#($0),"call":"generateRoutine"}"#
      }
      let text = #"{"calls":[\#(entries.joined(separator: ","))]}"#
      try text.write(toFile: "\(folder.path)/c-0190.json", atomically: true, encoding: .utf8)
    }
    try write([1])
    try await Self.pay(calls, Self.context(attempt: 2))
    try write([1, 2])
    try await Self.pay(calls, Self.context("other", attempt: 3))
    await #expect { try await Self.pay(calls, Self.context(attempt: 3)) } throws: { error in
      "\(error)" == "conflict: The program ended 2 times while generateRoutine was under way for 'week'; each of these "
        + "calls may have been paid, so it is not made again. Start another run if it should be."
    }
  }

  @Test func `nothing is paid for that cannot be counted`() async throws {
    let folder = Folder()
    let calls = PaidCalls(folder: folder.path, connection: "c", limit: 9)
    try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
    let path = "\(folder.path)/c-0190.json"
    try "{".write(toFile: path, atomically: true, encoding: .utf8)
    await #expect { try await Self.pay(calls, Self.context()) } throws: { error in
      "\(error)" == "configuration: Nothing is paid for that cannot be counted: '\(path)' is no account of paid calls; "
        + "remove it, and counting starts anew."
    }
    let nowhere = PaidCalls(folder: "/proc/nowhere", connection: "c", limit: 9)
    await #expect { try await Self.pay(nowhere, Self.context()) } throws: { error in
      "\(error)".hasPrefix("configuration: Nothing is paid for that cannot be counted: ")
    }
  }
}
