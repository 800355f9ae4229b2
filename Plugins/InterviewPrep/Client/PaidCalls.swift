import ActionKit
import HTTPClient
import Synchronization

// The account of paid calls.
//
// The backend has no accounts, no request ids and no way to fetch an earlier answer, so that a lost answer is lost and
// paid. That a try is about to be made is in the run's journal, as of every action; beyond that, each run has an account
// here of what it may have had to pay for, over all steps and restarts:
//
//     <cache folder>/paid-calls/<connection>-<run>.json
//
// A call is entered, with a hash of what is sent, and synced, before it is sent; its outcome is entered when it is over.
// A call counts unless it is known that nothing had to be paid (no connection, or the backend refused it). A run whose
// account is full makes no more. A call without outcome is one in which the program ended: a step may be in that place
// once, and is then made once more; the second time it fails instead of paying again and again.
//
// An account that cannot be read or written stops the run's calls: better none than uncounted ones. The cache folder may
// be emptied at any time, and then counting starts anew. Without a folder (in a sandbox, or in a program that uses the
// client alone) the account is in memory.

/// What runs may have had to pay for.
final class PaidCalls: Sendable {
  /// One call.
  struct Entry: FieldSet {
    @Field("When it was about to be sent.") var at: Timestamp
    @Field("The step.") var step: String
    @Field("Which try of the step it was.") var attempt: Int
    @Field("What was asked for.") var call: String
    @Field("SHA-256 of what was sent.") var body: String?
    @Field("What came of it; absent while nobody knows.") var outcome: Outcome?
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

  private let folder: String?
  private let connection: String
  private let limit: Int
  /// The accounts that are in no file; with a folder nothing, and the lock alone puts writers in a row.
  private let accounts = Mutex<[String: Account]>([:])

  init(folder: String? = nil, connection: String = "", limit: Int = .max) {
    self.folder = folder
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
    let new = entry
    let index = try await change(context.run) { account throws(ActionError) in
      try self.admit(new, to: account)
      account.calls.append(new)
      return account.calls.count - 1
    }
    do throws(InterviewPrepError) {
      let output = try await work()
      await close(index, .answered, context.run)
      return output
    } catch {
      await close(index, error.mayBePaid ? .failed : .unpaid, context.run)
      throw error
    }
  }

  private func admit(_ entry: Entry, to account: Account) throws(ActionError) {
    let paid = account.calls.filter { $0.outcome != .unpaid }
    guard paid.count < limit else {
      throw ActionError(
        .configuration,
        "This run has made \(paid.count) calls that may have been paid, which is as many as the connection "
          + "'\(connection)' allows; raise its 'maxPaidCalls' if there should be more.",
        effect: ActionError.Effect.none)
    }
    let lost = paid.filter { $0.outcome == nil && $0.step == entry.step && $0.attempt < entry.attempt }
    guard lost.count < 2 else {
      throw ActionError(
        .conflict,
        "The program ended \(lost.count) times while \(entry.call) was under way for '\(entry.step)'; each of these "
          + "calls may have been paid, so it is not made again. Start another run if it should be.",
        effect: ActionError.Effect.none)
    }
  }

  /// An outcome that cannot be written is left out: the call counts as one that may have been paid, and its answer, which
  /// is worth more, is not lost over it.
  private func close(_ index: Int, _ outcome: Outcome, _ run: String) async {
    try? await change(run) { account throws(ActionError) in
      if account.calls.indices.contains(index) { account.calls[index].outcome = outcome }
    }
  }

  // MARK: Storage

  /// Changes a run's account and keeps it.
  private func change<Output: Sendable>(
    _ run: String, _ body: @escaping @Sendable (inout Account) throws(ActionError) -> Output
  ) async throws(ActionError) -> Output {
    guard let folder else {
      return try accounts.withLock { accounts throws(ActionError) in
        try body(&accounts[run, default: Account()])
      }
    }
    let path = "\(folder)/\(Self.fileName(connection))-\(Self.fileName(run)).json"
    let result: Result<Output, ActionError> = await onThread { [self] in
      Result { () throws(ActionError) in
        // On a thread of its own, so that nobody who waits for the lock keeps others from their work.
        try accounts.withLock { _ throws(ActionError) in
          var account = try Self.read(path)
          let output = try body(&account)
          try Self.write(account, to: path, in: folder)
          return output
        }
      }
    }
    return try result.get()
  }

  private static func read(_ path: String) throws(ActionError) -> Account {
    let bytes: [UInt8]
    do throws(FileError) {
      bytes = try Files.read(path, limit: 64 << 20)
    } catch {
      if error.isNotFound { return Account() }
      throw failure("\(error)", error)
    }
    guard let value = try? JSON.parse(bytes), let account = try? Account(answer: value, as: "account") else {
      throw failure("'\(path)' is no account of paid calls; remove it, and counting starts anew", nil)
    }
    return account
  }

  private static func write(_ account: Account, to path: String, in folder: String) throws(ActionError) {
    do {
      try Files.makeFolder(folder)
      try Files.write(JSON.write(account.encoded(), .pretty), to: path)
    } catch {
      throw failure("\(error)", error)
    }
  }

  private static func failure(_ what: String, _ cause: (any Error)?) -> ActionError {
    ActionError(
      .configuration, "Nothing is paid for that cannot be counted: \(what).", effect: ActionError.Effect.none,
      cause: cause)
  }

  /// A name of which a part of a file's name can be made as it is: ids of runs and names of connections are such names.
  private static func fileName(_ name: String) -> String {
    String(
      decoding: name.utf8.map { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"): byte
        default: UInt8(ascii: "_")
        }
      }, as: UTF8.self)
  }
}
