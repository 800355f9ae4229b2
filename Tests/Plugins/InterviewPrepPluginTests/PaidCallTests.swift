import ActionKit
import ActionTestKit
import Foundation
import Synchronization
import Testing

@testable import InterviewPrepPlugin

/// The notes of a run, as the state keeps them between two lives of a program.
private final class Notes: RunNotes {
  let notes = Mutex<[String: Value]>([:])

  func change(_ name: String, _ decide: (_ current: Value?) throws(ActionError) -> Value) throws(ActionError) {
    try notes.withLock { notes throws(ActionError) in notes[name] = try decide(notes[name]) }
  }

  func text(_ name: String) -> String? { notes.withLock { $0[name] }.flatMap { try? JSON.text($0) } }
}

/// Counting the calls that a run may have paid for.
@Suite struct PaidCallTests {
  private static func context(
    _ step: String = "week", attempt: Int = 1, run: String = "0190", in notes: Notes? = nil
  ) -> ActionContext {
    var context = ActionContext.testing(step: step, attempt: attempt)
    context.run = run
    context.notes = notes
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
  func `a run makes so many calls, over steps and restarts`(_ isKept: Bool) async throws {
    let notes = isKept ? Notes() : nil
    func account() -> PaidCalls { PaidCalls(connection: "interviewPrep", limit: 2) }
    var calls = account()
    try await Self.pay(calls, Self.context(in: notes))
    // Calls that weren't paid aren't counted.
    try? await Self.pay(calls, Self.context(attempt: 2, in: notes), failing: .unknown)
    try? await Self.pay(calls, Self.context(attempt: 3, in: notes), failing: .timeout, isPaid: true)
    if isKept { calls = account() }
    await #expect { try await Self.pay(calls, Self.context("links", in: notes)) } throws: { "\($0)" == Self.full }
    try await Self.pay(calls, Self.context(run: "0191", in: isKept ? Notes() : nil))
    // Each connection has an account of its own.
    try await Self.pay(PaidCalls(connection: "other", limit: 1), Self.context("links", in: notes))
  }

  @Test func `a call is noted before it is sent, and its outcome when it is over`() async throws {
    let (notes, calls) = (Notes(), PaidCalls(connection: "interviewPrep", limit: 9))
    let entry =
      #"{"calls":[{"at":"2026-11-20T09:30:00Z","step":"put[3].week","attempt":2,"call":"generatePrep","#
      + #""body":"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a""#
    func account() -> String { notes.text("paidCalls/interviewPrep").map { $0 } ?? "" }
    let before = try await calls.pay(
      "generatePrep", body: Array("{}".utf8), in: Self.context("put[3].week", attempt: 2, in: notes)
    ) { () async throws(InterviewPrepError) in account() }
    #expect(
      before.replacingOccurrences(of: #"{"$timestamp":"2026-11-20T09:30:00Z"}"#, with: #""2026-11-20T09:30:00Z""#)
        == entry + "}]}")
    #expect(account().hasSuffix(#","outcome":"answered"}]}"#))
  }

  @Test func `a call in which the program ended is made again once`() async throws {
    let (notes, calls) = (Notes(), PaidCalls(connection: "c", limit: 9))
    func write(_ attempts: [Int]) throws {
      let entries = attempts.map {
        #"{"at":"2026-11-20T09:30:00Z","step":"week","attempt":\#($0),"call":"generateRoutine"}"#
      }
      let account = try JSON.parse(#"{"calls":[\#(entries.joined(separator: ","))]}"#)
      notes.notes.withLock { $0["paidCalls/c"] = account }
    }
    try write([1])
    try await Self.pay(calls, Self.context(attempt: 2, in: notes))
    try write([1, 2])
    try await Self.pay(calls, Self.context("other", attempt: 3, in: notes))
    await #expect { try await Self.pay(calls, Self.context(attempt: 3, in: notes)) } throws: { error in
      "\(error)" == "conflict: The program ended 2 times while generateRoutine was under way for 'week'; each of these "
        + "calls may have been paid, so it is not made again. Start another run if it should be."
    }
  }

  @Test func `nothing is paid for that cannot be counted`() async throws {
    let (notes, calls) = (Notes(), PaidCalls(connection: "c", limit: 9))
    notes.notes.withLock { $0["paidCalls/c"] = .string("{") }
    await #expect { try await Self.pay(calls, Self.context(in: notes)) } throws: { error in
      "\(error)"
        == "configuration: No call is paid for that cannot be counted: the run's note 'paidCalls/c' isn't an account "
        + "of paid calls."
    }
  }
}
