import ActionKit
import HTTPClient
import Synchronization

// The account of paid calls.
//
// The backend has no accounts, no request ids and no way to fetch an earlier answer, so that a lost answer is lost and
// paid. That a try is about to be made is in the run's journal, as of every action; beyond that, each run has an account
// of what it may have had to pay for, over all steps and restarts: a note of the run in the state, one per connection,
// by the name `paidCalls/<connection>`.
//
// A call is entered, with a hash of what is sent, and on disk, before it is sent; its outcome is entered when it is over.
// A call counts unless it is known that nothing had to be paid (no connection, or the backend refused it). A run whose
// account is full makes no more. A call without outcome is one in which the program ended: a step may be in that place
// once, and is then made once more; the second time it fails instead of paying again and again.
//
// An account that cannot be read or written stops the run's calls: better none than uncounted ones. Where no state is kept
// (in a program that uses the client alone) the account is in memory.

/// What runs may have had to pay for.
final class PaidCalls: Sendable {
  /// One call.
  struct Entry: FieldSet {
    @Field("When it was about to be sent.") var at: Timestamp
    @Field("The step.") var step: String
    @Field("Which try of the step it was.") var attempt: Int
    @Field("What was asked for.") var call: String
    @Field("SHA-256 of what was sent.") var body: String?
    @Field("The outcome; absent while it is unknown.") var outcome: Outcome?
  }

  enum Outcome: String, Choice {
    /// There is an answer, good or canned.
    case answered
    /// There is none, and it may have been paid.
    case failed
    /// It was not paid.
    case unpaid
  }

  private struct Account: FieldSet {
    @Field("The calls, in order.") var calls: [Entry] = []
  }

  private let connection: String
  private let limit: Int
  /// The accounts that are in no state.
  private let accounts = Mutex<[String: Account]>([:])

  init(connection: String = "", limit: Int = .max) {
    self.connection = connection
    self.limit = limit
  }

  /// Makes a call for a step of a run, with its place in the account.
  func pay<Output: Sendable>(
    _ call: String, body: [UInt8], in context: ActionContext, _ work: () async throws(InterviewPrepError) -> Output
  ) async throws -> Output {
    var entry = Entry()
    entry.at = context.time.now()
    entry.step = context.step
    entry.attempt = context.attempt
    entry.call = call
    entry.body = SHA256.digest(of: body)
    var index = 0
    try await change(context) { account throws(ActionError) in
      try admit(entry, to: account)
      index = account.calls.count
      account.calls.append(entry)
    }
    do throws(InterviewPrepError) {
      let output = try await work()
      await close(index, .answered, context)
      return output
    } catch {
      await close(index, error.mayBePaid ? .failed : .unpaid, context)
      throw error
    }
  }

  private func admit(_ entry: Entry, to account: Account) throws(ActionError) {
    let paid = account.calls.filter { $0.outcome != .unpaid }
    guard paid.count < limit else {
      throw ActionError(
        .configuration,
        "This run has made \(paid.count) calls that may have been paid, which is as many as the connection "
          + "'\(connection)' allows; raise its 'maxPaidCalls' if there should be more.")
    }
    let lost = paid.filter { $0.outcome == nil && $0.step == entry.step && $0.attempt < entry.attempt }
    guard lost.count < 2 else {
      throw ActionError(
        .conflict,
        "The program ended \(lost.count) times while \(entry.call) was under way for '\(entry.step)'; each of these "
          + "calls may have been paid, so it is not made again. Start another run if it should be.")
    }
  }

  /// Enters what came of a call.
  ///
  /// An outcome that cannot be written is left out: the call counts as one that may have been paid, and its answer, which
  /// is worth more, is not lost over it.
  private func close(_ index: Int, _ outcome: Outcome, _ context: ActionContext) async {
    try? await change(context) { account throws(ActionError) in
      if account.calls.indices.contains(index) { account.calls[index].outcome = outcome }
    }
  }

  /// Changes a run's account and keeps it.
  private func change(
    _ context: ActionContext, _ body: (inout Account) throws(ActionError) -> Void
  ) async throws(ActionError) {
    guard let notes = context.notes else {
      return try accounts.withLock { accounts throws(ActionError) in
        try body(&accounts[context.run, default: Account()])
      }
    }
    let name = "paidCalls/\(connection)"
    try await notes.change(name) { current throws(ActionError) in
      var account = Account()
      if let current {
        guard let read = try? Account(answer: current, as: "account") else {
          throw ActionError(
            .configuration,
            "No call is paid for that cannot be counted: the run's note '\(name)' isn't an account of paid calls.")
        }
        account = read
      }
      try body(&account)
      do { return try account.encoded() } catch { throw ActionError(error) }
    }
  }
}
