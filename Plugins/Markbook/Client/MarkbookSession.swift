// The session policy.
//
// A session is opened when it is first needed. Every call uses it until it is 19 minutes old, counted on a monotonic
// clock from the arrival of the login's answer; the service keeps it for 20. It is unknown whether use extends a
// session, or whether a new login ends the previous session. So the policy relies on neither, and keeps one session at
// a time.
//
// Calls that need a session during a login wait for that login. Each of them can be cancelled separately; the login
// continues for the others, and ends early only when no call waits for it any more.
//
// It is unknown how the service refuses an ended session, and it may end one early. So a refused call forgets its
// session, and calls that are refused during the following login share that login. A read or an idempotent write is
// then sent once more. A plain write fails, and its error says that the session may be the cause; its action looks
// whether the write was done, and sends it once more only if not (`Actions/EndedSession.swift`). A call that is refused
// under the new session too has failed.
//
// A refused login is remembered for a minute, and every call in that minute fails at once: a hundred calls with a wrong
// password should not lock the account.

import ActionKit
import Synchronization

/// The session that a login opens.
struct MarkbookSession: Hashable, Sendable {
  var token: String
  var key: Int
  /// The school's name as the login's answer had it.
  var schoolName: String?
}

extension MarkbookSession {
  /// Reads the payload of a login; nil if the service said OKAY and gave no session.
  init?(_ answer: Payload, schoolName: String?) throws(MarkbookError) {
    let token = try answer.text("sessiontoken")
    let key = try answer.int("sessionkey")
    guard !token.isEmpty, key != 0 else { return nil }
    self.init(token: token, key: key, schoolName: schoolName)
  }
}

/// The state of the session and of the calls that wait for it, with the transitions.
///
/// Pure; `SessionKeeper` performs the effects.
struct SessionMachine<Waiter> {
  static var renewal: TimeSpan { .seconds(19 * 60) }
  static var refusalIsKept: TimeSpan { .seconds(60) }

  enum State {
    case closed
    /// A login is under way for the calls that wait.
    case opening(number: Int, waiters: [(id: Int, waiter: Waiter)])
    case open(MarkbookSession, since: TimeSpan)
    case refused(MarkbookError, since: TimeSpan)
  }

  enum Next {
    case use(MarkbookSession)
    case refuse(MarkbookError)
    /// Wait for the login under way.
    case wait
    /// Start this login and wait for it.
    case logIn(number: Int)
  }

  private(set) var state = State.closed
  private var logins = 0

  /// How many wait for the login under way.
  var waiting: Int { if case .opening(_, let waiters) = state { waiters.count } else { 0 } }

  /// Decides how a call that needs a session now gets one.
  ///
  /// If the call has to wait, `waiter` is added to the queue.
  mutating func ask(at now: TimeSpan, id: Int, waiter: Waiter) -> Next {
    switch state {
    case .opening(let number, var waiters):
      waiters.append((id, waiter))
      state = .opening(number: number, waiters: waiters)
      return .wait
    case .open(let session, let since) where now - since < Self.renewal:
      return .use(session)
    case .refused(let error, let since) where now - since < Self.refusalIsKept:
      return .refuse(error)
    case .closed, .open, .refused:
      logins += 1
      state = .opening(number: logins, waiters: [(id, waiter)])
      return .logIn(number: logins)
    }
  }

  /// Ends the login, and gives the calls that waited for it.
  ///
  /// No call waits for a login that was given up.
  mutating func loginEnded(
    _ number: Int, _ result: Result<MarkbookSession, MarkbookError>, at now: TimeSpan
  ) -> [Waiter] {
    guard case .opening(number, let waiters) = state else { return [] }
    switch result {
    case .success(let session):
      state = .open(session, since: now)
    case .failure(let error):
      if case .authenticationFailed(let underlying) = error.kind, case .apiError = underlying.kind {
        state = .refused(error, since: now)
      } else {
        state = .closed
      }
    }
    return waiters.map(\.waiter)
  }

  /// Stops a call's waiting; gives its waiter, if it still waits, and whether no other call needs the login.
  mutating func leave(id: Int) -> (waiter: Waiter?, isLoginAbandoned: Bool) {
    guard case .opening(let number, var waiters) = state, let index = waiters.firstIndex(where: { $0.id == id }) else {
      return (nil, false)
    }
    let waiter = waiters.remove(at: index).waiter
    state = waiters.isEmpty ? .closed : .opening(number: number, waiters: waiters)
    return (waiter, waiters.isEmpty)
  }

  /// A session was refused: it is not used again.
  ///
  /// Does nothing if another one has taken its place.
  mutating func forget(_ session: MarkbookSession) {
    if case .open(session, _) = state { state = .closed }
  }
}

/// Hands out the session, logging in when the policy says so.
final class SessionKeeper: Sendable {
  typealias Outcome = Result<MarkbookSession, MarkbookError>

  private struct Content {
    var machine = SessionMachine<CheckedContinuation<Outcome, Never>>()
    var login: Task<Void, Never>?
    var calls = 0
  }

  private let content = Mutex(Content())
  private let time: any TimeSource
  private let logIn: @Sendable () async -> Outcome

  init(time: any TimeSource, logIn: @escaping @Sendable () async -> Outcome) {
    self.time = time
    self.logIn = logIn
  }

  /// The session to use.
  func session() async throws(MarkbookError) -> MarkbookSession {
    let id = content.withLock {
      $0.calls += 1
      return $0.calls
    }
    let outcome = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let now = time.elapsed()
        let known: Outcome? = content.withLock { content in
          switch content.machine.ask(at: now, id: id, waiter: continuation) {
          case .use(let session): return .success(session)
          case .refuse(let error): return .failure(error)
          case .wait: return nil
          case .logIn(let number):
            // Ends within the client's time limits; cancelled when the last call that waits for it is cancelled.
            content.login = Task { [self] in
              let outcome = await logIn()
              finish(number, outcome)
            }
            return nil
          }
        }
        if let known {
          continuation.resume(returning: known)
        } else if Task.isCancelled {
          // Cancelled before it waited, when the handler below found nothing to do.
          leave(id)
        }
      }
    } onCancel: {
      leave(id)
    }
    return try outcome.get()
  }

  /// How many calls wait for a login.
  var waiting: Int { content.withLock { $0.machine.waiting } }

  /// The session was refused.
  func forget(_ session: MarkbookSession) {
    content.withLock { $0.machine.forget(session) }
  }

  private func finish(_ number: Int, _ outcome: Outcome) {
    let now = time.elapsed()
    let waiters = content.withLock { $0.machine.loginEnded(number, outcome, at: now) }
    for waiter in waiters { waiter.resume(returning: outcome) }
  }

  private func leave(_ id: Int) {
    let (waiter, abandoned) = content.withLock { content in
      let (waiter, isLoginAbandoned) = content.machine.leave(id: id)
      return (waiter, isLoginAbandoned ? content.login : nil)
    }
    abandoned?.cancel()
    waiter?.resume(
      returning: .failure(
        MarkbookError(.cancelled, action: "authentication", message: "Cancelled while logging in to Markbook Online.")))
  }
}
