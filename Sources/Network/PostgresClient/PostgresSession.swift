import Basics
import CPostgres
import Glibc
import Threads

/// The answer that a caller waits for: the results of its statements.
typealias PostgresAnswer = Result<[PostgresResult], PostgresError>

/// Statements that are sent together and end with one synchronization, and their answer.
final class PostgresGroup {
  /// Where a group belongs.
  enum Place {
    /// It is a transaction by itself.
    case alone
    /// It is within the transaction of this number.
    case within(Int)
    /// It ends the transaction of this number.
    case ending(Int)

    var transaction: Int? {
      switch self {
      case .alone: nil
      case .within(let number), .ending(let number): number
      }
    }
  }

  /// The commands that were sent for it; they are answered in this order.
  enum Command {
    case preparation(PostgresPlan, name: String)
    case statement
  }

  var statements: [(text: String, parameters: PostgresParameters)]
  let place: Place
  /// Whether the first of its statements is the transaction's `begin`, which the caller didn't ask for.
  var isFirst = false
  let continuation: CheckedContinuation<PostgresAnswer, Never>
  var commands: [Command] = []
  /// How many commands were answered.
  var answered = 0
  var results: [PostgresResult] = []
  var error: PostgresError?
  /// The reason to doubt the server's own answer.
  var doubt: PostgresError?
  var deadline = ContinuousClock.now

  init(
    _ statements: [(text: String, parameters: PostgresParameters)], _ place: Place,
    _ continuation: CheckedContinuation<PostgresAnswer, Never>
  ) {
    self.statements = statements
    self.place = place
    self.continuation = continuation
  }
}

/// A text that is prepared once for its types of parameters.
struct PostgresPlan: Hashable {
  let text: String
  let types: [UInt32]
}

/// A connection's state: the statements that were sent, that wait, and that were prepared.
///
/// One group of statements is under way at a time; the others wait here, so that none of their statements was sent when
/// the connection breaks. A group is a pipeline of libpq: it is sent at once and ends with one synchronization, which
/// commits it unless a transaction is open. So an answer counts only with the synchronization: the server reports a
/// statement as done before it commits, and an error or a warning of the commit comes after that.
///
/// Callers and the loop's thread use it, with the monitor held. Continuations are resumed after it is released.
final class PostgresSession: @unchecked Sendable {
  // Unchecked, because what changes is touched only with the monitor held.

  /// A continuation to resume when the monitor is released.
  private enum Resumption {
    case answer(CheckedContinuation<PostgresAnswer, Never>, PostgresAnswer)
    case turn(CheckedContinuation<Result<Int, PostgresError>, Never>, Result<Int, PostgresError>)
  }

  /// An entry of the queue of waiting work.
  private enum Entry {
    case group(PostgresGroup)
    case transaction(CheckedContinuation<Result<Int, PostgresError>, Never>)
  }

  /// The most texts that are prepared for good; what comes after them is prepared each time.
  private static let mostPlans = 500

  private let settings: PostgresSettings
  private let notifications: AsyncStream<PostgresNotification>.Continuation
  private let monitor = Monitor(conditions: 0)
  /// Nil once it is closed.
  private var connection: OpaquePointer?
  private var closedBecause = ""
  private var current: PostgresGroup?
  private var waiting: [Entry] = []
  /// Groups of the open transaction, which go first.
  private var waitingWithin: [PostgresGroup] = []
  /// The transaction that has the connection for itself.
  private var transaction: Int?
  private var transactions = 0
  /// Whether the transaction has begun, which it does with its first statements.
  private var hasBegun = false
  private var plans: [PostgresPlan: String] = [:]
  private var planSerial = 0
  /// The server's last complaint outside of statements, which tells why a connection ends.
  private var lastWord: PostgresError?
  private var resumptions: [Resumption] = []
  /// Whether libpq has bytes that the socket didn't take.
  private var hasUnsent = false
  /// The state that the loop's thread knows: until when it sleeps (nil: for ever), and whether it sends unsent bytes.
  private var sleepsUntil: ContinuousClock.Instant?
  private var awaitsSending = false
  /// Whether anything was sent since the thread was told how long to sleep.
  private var isBusy = true

  /// Takes over a connection that is open and set to pipelines.
  init(
    owning connection: OpaquePointer, _ settings: PostgresSettings,
    _ notifications: AsyncStream<PostgresNotification>.Continuation
  ) {
    self.connection = connection
    self.settings = settings
    self.notifications = notifications
    // The session ends the connection before it goes itself, so the pointer stays valid.
    _ = cpostgres.setNoticeReceiver(
      connection,
      { context, result in
        guard let context else { return }
        Unmanaged<PostgresSession>.fromOpaque(context).takeUnretainedValue().noticed(result)
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  deinit { if let connection { cpostgres.finish(connection) } }

  private func locked(_ body: () -> Void) {
    monitor.lock()
    body()
    var resumptions: [Resumption] = []
    swap(&resumptions, &self.resumptions)
    monitor.unlock()
    for resumption in resumptions {
      switch resumption {
      case .answer(let continuation, let answer): continuation.resume(returning: answer)
      case .turn(let continuation, let turn): continuation.resume(returning: turn)
      }
    }
  }

  // MARK: For callers

  var isClosed: Bool { monitor.withLock { connection == nil } }

  func submit(_ group: PostgresGroup) {
    locked {
      let number = group.place.transaction
      if connection == nil {
        refuse(group)
      } else if let number, number != transaction {
        let error = PostgresError(.invalid, "the transaction is over")
        resumptions.append(.answer(group.continuation, .failure(error)))
      } else {
        if number == nil { waiting.append(.group(group)) } else { waitingWithin.append(group) }
        advance()
      }
    }
  }

  /// Waits until no other transaction and no group is under way, and has the connection for itself then.
  func beginTransaction() async throws(PostgresError) -> Int {
    let turn = await withCheckedContinuation { continuation in
      locked {
        if connection == nil {
          resumptions.append(.turn(continuation, .failure(unreachable)))
        } else {
          waiting.append(.transaction(continuation))
          advance()
        }
      }
    }
    return try turn.get()
  }

  /// Lets others have the connection again.
  func endTransaction(_ number: Int) {
    locked {
      guard transaction == number else { return }
      transaction = nil
      for group in waitingWithin {
        resumptions.append(.answer(group.continuation, .failure(PostgresError(.invalid, "the transaction is over"))))
      }
      waitingWithin = []
      advance()
    }
  }

  func close() { locked { shut("it was closed") } }

  // MARK: For the loop's thread

  /// The socket that the thread has to wait for, and until when.
  func wish() -> (socket: Int32, events: Int16, until: ContinuousClock.Instant?) {
    monitor.withLock {
      guard let connection else { return (-1, 0, nil) }
      // After a statement another one is to be expected, which then needn't wake the thread for its deadline.
      sleepsUntil = current?.deadline ?? (isBusy ? .now + limit : nil)
      isBusy = false
      awaitsSending = hasUnsent
      return (cpostgres.socket(connection), Int16(POLLIN | (hasUnsent ? POLLOUT : 0)), sleepsUntil)
    }
  }

  /// Reads and sends what it can.
  func proceed(_ events: Int16, _ now: ContinuousClock.Instant) {
    locked {
      if events != 0 { receive() }
      if let current, now >= current.deadline {
        shut("PostgreSQL at \(settings) didn't answer within \(settings.answerWithin)")
      }
    }
  }

  // MARK: With the monitor held

  private var limit: Duration { .nanoseconds(settings.answerWithin.nanoseconds) }

  /// Sends what is next, if nothing is under way.
  private func advance() {
    while current == nil, connection != nil {
      if transaction != nil {
        if waitingWithin.isEmpty { return }
        send(waitingWithin.removeFirst())
      } else {
        if waiting.isEmpty { return }
        switch waiting.removeFirst() {
        case .group(let group): send(group)
        case .transaction(let continuation):
          transactions += 1
          transaction = transactions
          hasBegun = false
          resumptions.append(.turn(continuation, .success(transactions)))
        }
      }
    }
  }

  private func send(_ group: PostgresGroup) {
    guard let connection else { return }
    current = group
    isBusy = true
    group.deadline = .now + limit
    if case .within = group.place, !hasBegun, let begin = try? PostgresParameters([]) {
      group.statements.insert(("begin", begin), at: 0)
      (group.isFirst, hasBegun) = (true, true)
    }
    for statement in group.statements where !send(statement.text, statement.parameters, in: group, connection) {
      // Without the synchronization nothing is committed.
      current = nil
      shut("libpq can't send: \(complaint)")
      return refuse(group)
    }
    guard cpostgres.pipelineSync(connection) == 1 else { return shut("libpq can't send: \(complaint)") }
    flush()
    // The thread would sleep past the deadline, or not look at the socket's other side.
    if sleepsUntil.map({ group.deadline < $0 }) ?? true || (hasUnsent && !awaitsSending) { PostgresLoop.shared.wake() }
  }

  private func send(
    _ text: String, _ parameters: PostgresParameters, in group: PostgresGroup, _ connection: OpaquePointer
  ) -> Bool {
    let plan = PostgresPlan(text: text, types: parameters.types)
    let count = Int32(truncatingIfNeeded: parameters.types.count)
    var name = plans[plan]
    if name == nil {
      for case .preparation(plan, let given) in group.commands where !given.isEmpty { name = given }
    }
    let statement: String
    if let name {
      statement = name
    } else {
      planSerial += 1
      statement = plans.count < PostgresSession.mostPlans ? "s\(planSerial)" : ""
      guard cpostgres.sendPrepare(connection, statement, text, count, parameters.types) == 1 else { return false }
      group.commands.append(.preparation(plan, name: statement))
    }
    group.commands.append(.statement)
    let formats = [Int32](repeating: 1, count: parameters.types.count)
    return parameters.bytes.withUnsafeBytes { bytes in
      let values = parameters.offsets.map { offset in
        offset.flatMap { offset in bytes.baseAddress.map { ($0 + offset).assumingMemoryBound(to: CChar.self) } }
      }
      return cpostgres.sendQueryPrepared(connection, statement, count, values, parameters.lengths, formats, 1) == 1
    }
  }

  private func flush() {
    guard let connection else { return }
    switch cpostgres.flush(connection) {
    case 0: hasUnsent = false
    case 1: hasUnsent = true
    default: shut(complaint)
    }
  }

  private func receive() {
    guard let connection else { return }
    let isOpen = cpostgres.consumeInput(connection) == 1
    // Results that came before the end count.
    readResults(connection)
    while self.connection != nil, let notification = cpostgres.notifies(connection) {
      let (name, payload) = (notification.pointee.relname, notification.pointee.extra)
      notifications.yield(
        PostgresNotification(
          channel: name.map { String(cString: $0) } ?? "", payload: payload.map { String(cString: $0) } ?? ""))
      cpostgres.freemem(notification)
    }
    if self.connection == nil { return }
    if !isOpen || cpostgres.status(connection) == CONNECTION_BAD { return shut(complaint) }
    if hasUnsent { flush() }
    advance()
  }

  private func readResults(_ connection: OpaquePointer) {
    var isBetween = false
    while let group = current, cpostgres.isBusy(connection) == 0 {
      guard let result = cpostgres.getResult(connection) else {
        // Nothing separates two results but one nothing.
        if isBetween {
          if cpostgres.status(connection) == CONNECTION_BAD { return }
          return garbled()
        }
        isBetween = true
        continue
      }
      isBetween = false
      read(result, of: group)
      if self.connection == nil { return }
    }
  }

  private func read(_ pointer: OpaquePointer, of group: PostgresGroup) {
    let result = PostgresResult(owning: pointer)
    switch cpostgres.resultStatus(pointer) {
    case PGRES_PIPELINE_SYNC: return end(group)
    case PGRES_PIPELINE_ABORTED: break
    case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY:
      guard group.answered < group.commands.count else { return garbled() }
      switch group.commands[group.answered] {
      case .preparation(let plan, let name): if !name.isEmpty { plans[plan] = name }
      case .statement: group.results.append(result)
      }
    case PGRES_FATAL_ERROR: if group.error == nil { group.error = error(of: pointer) }
    default: return garbled()
    }
    group.answered += 1
  }

  /// The server has answered all of a group, and committed it unless it is within a transaction.
  private func end(_ group: PostgresGroup) {
    let isOpen: Bool
    switch group.place {
    case .alone, .ending: isOpen = false
    case .within: isOpen = true
    }
    let status = connection.map { cpostgres.transactionStatus($0) }
    let isAsExpected = status == PQTRANS_IDLE ? !isOpen || group.error != nil : isOpen
    guard isAsExpected, group.error != nil || group.results.count == group.statements.count else { return garbled() }
    current = nil
    if let error = group.error {
      // The schema has changed, or the statement was dropped: it is prepared anew when it is sent again.
      if error.sqlState == "0A000" || error.sqlState == "26000" {
        for statement in group.statements {
          plans[PostgresPlan(text: statement.text, types: statement.parameters.types)] = nil
        }
      }
      resumptions.append(.answer(group.continuation, .failure(error)))
    } else if let doubt = group.doubt {
      resumptions.append(.answer(group.continuation, .failure(doubt)))
    } else {
      if group.isFirst { group.results.removeFirst() }
      resumptions.append(.answer(group.continuation, .success(group.results)))
    }
  }

  /// Receives what the server says beside its answers.
  private func noticed(_ result: OpaquePointer?) {
    var notice = error(of: result)
    // Outside of statements libpq gives errors as notices.
    if notice.severity != "WARNING" {
      if ["ERROR", "FATAL", "PANIC"].contains(notice.severity) { lastWord = notice }
      return
    }
    // A wait for the standby that was cancelled, or ended with the server: committed here, perhaps nowhere else. It has
    // no code of its own, and its text is in the server's language.
    guard let current, ["01000", "57P01"].contains(notice.sqlState) else { return }
    if case .within = current.place { return }
    notice.message = "PostgreSQL at \(settings) warned about the commit, which may be lost: \(notice.message)"
    notice.kind = .unknown
    current.doubt = notice
  }

  private func error(of result: OpaquePointer?) -> PostgresError {
    func part(_ part: Int) -> String { PostgresResult.part(part, of: result) }
    var error = PostgresError(.refused, part(CPostgresMessage))
    error.sqlState = part(CPostgresState)
    error.severity = part(CPostgresSeverity)
    error.detail = part(CPostgresDetail)
    error.constraint = part(CPostgresConstraint)
    error.table = part(CPostgresTable)
    // Without a code it is libpq's word on the connection, which is told when that is closed.
    if error.sqlState.isEmpty { return error }
    if error.severity == "WARNING" { return error }
    // Messages about data quote them.
    error.message =
      error.sqlState.hasPrefix("22")
      ? "PostgreSQL refused a value (\(error.sqlState))" : "PostgreSQL refused: \(error.message) (\(error.sqlState))"
    if error.hasSharedSession { error.message += "; \(PostgresError.needsSessions)" }
    return error
  }

  /// libpq's error of the connection, in one line.
  private var complaint: String {
    let text = connection.flatMap { cpostgres.errorMessage($0) }.map { String(cString: $0) } ?? ""
    return text.split(separator: "\n").first.map { String($0).shortened(to: 300) } ?? "it broke"
  }

  private func garbled() {
    let group = current
    current = nil
    shut("PostgreSQL at \(settings) answered what wasn't asked")
    if let group {
      resumptions.append(.answer(group.continuation, .failure(PostgresError(.protocolError, closedBecause))))
    }
  }

  private var unreachable: PostgresError {
    var error = PostgresError(.unreachable, "the connection to PostgreSQL at \(settings) is closed: \(closedBecause)")
    error.sqlState = lastWord?.sqlState ?? ""
    return error
  }

  private func refuse(_ group: PostgresGroup) {
    resumptions.append(.answer(group.continuation, .failure(unreachable)))
  }

  /// Closes the connection; the outcome of sent statements is unknown then, and waiting statements are refused.
  private func shut(_ reason: String) {
    guard let connection else { return }
    self.connection = nil
    closedBecause = lastWord?.message ?? reason
    if let group = current {
      // The server's word, if it had one: an end in the middle.
      var error = group.error?.sqlState.isEmpty == false ? group.error : lastWord
      closedBecause = error?.message ?? closedBecause
      error = error ?? PostgresError(.unknown, "")
      error?.kind = .unknown
      error?.message = "the statement may have been carried out: \(closedBecause)"
      if let error { resumptions.append(.answer(group.continuation, .failure(error))) }
      if lastWord == nil, group.error?.sqlState.isEmpty == false { lastWord = group.error }
    }
    current = nil
    for group in waitingWithin { refuse(group) }
    for entry in waiting {
      switch entry {
      case .group(let group): refuse(group)
      case .transaction(let continuation): resumptions.append(.turn(continuation, .failure(unreachable)))
      }
    }
    (waiting, waitingWithin, plans) = ([], [], [:])
    cpostgres.finish(connection)
    notifications.finish()
    PostgresLoop.shared.remove(self)
  }
}
