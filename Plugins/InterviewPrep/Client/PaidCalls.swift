import ActionKit
import HTTPClient
import Synchronization

// The account of paid calls.
//
// The backend has no accounts, no request ids and no way to fetch an earlier answer, so a lost answer is lost although
// it was paid for. As for every action, the run's journal records that an attempt is about to start. Each run also has
// an account of the calls that it may have paid for, over all steps and restarts. The account is a note of the run in
// the state, one for each connection, named `paidCalls/<connection>`.
//
// A call is entered before it is sent, with a hash of its body, and is on disk by then. Its outcome is entered when it
// ends. A call counts unless it certainly cost nothing, because there was no connection or the backend refused it. A
// run with a full account makes no more calls. A call without an outcome was interrupted by the end of the program. The
// first time this happens to a step, the call is made once more; the second time the step fails, so that it doesn't pay
// again and again.
//
// If an account cannot be read or written, the run makes no calls: no call is better than an uncounted one. Without a
// state, as in a program that uses only the client, the account is in memory.

/// The account of the calls that runs may have paid for.
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

  /// Enters the outcome of a call.
  ///
  /// An error while writing the outcome is ignored: the call then counts as possibly paid, and its answer, which is
  /// worth more, isn't lost.
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
