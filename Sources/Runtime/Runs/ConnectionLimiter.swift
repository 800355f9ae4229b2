// The limits of a connection, kept over all runs of the program.
//
// A call waits in one queue until a place is free and the window has room, and takes both at once. Its further requests
// wait in another queue, for the window alone, so that a call that holds a place never waits behind one that waits for
// a place. If the heads of both queues may go, the one that came first goes. The window slides, and the permission for
// a request is in the state before the request goes (`ConnectionUsed`). A request counts until `per` after it arrived
// at the service. Opening a connection delays the arrival, and if the request counted from its start, the next one,
// over the open connection, would arrive too early. When it arrived isn't known: its answer came later, but a slow
// answer must not slow down the others for long. So it counts from its answer, or from a fourth of `per`, and a second
// at most, after it was sent. A request that is read from the state counts a second longer than from its instant, for
// the same reason.
//
// Each waiter holds a continuation; one sleeper serves all. A waiter is woken when it may go, or at an instant of its
// own, to see whether a time limit has passed. No waiter is moved in the queue, and leaving it is marking a number, so
// that ten thousand cost as much each as ten.
//
// If several programs share the state, each lets through as much as its own limiter allows, and then asks the others: a
// call queues behind their calls, and a request is refused while they have sent as many as the limit allows. The window
// is measured by the database's clock, and each request counts there for as long as it may take to arrive.
//
// On the clock of a test time jumps, so the sleeper waits until no call is under way (`CallPace`).
import ActionKit
import Basics
import Recipes
import RunState
import Synchronization

/// Lets calls and requests of one connection through, as its limits allow.
package final class ConnectionLimiter: Sendable {
  /// Why a waiter is woken.
  enum Waking: Sendable {
    /// It may go.
    case granted
    /// Its alarm rang, or its call or scope is over.
    case woken
  }

  private struct Waiter {
    var isCall: Bool
    /// The call that a further request belongs to.
    var permit: CallPermit?
    /// Whether `CallPace` counts its call, except while it waits.
    var isCounted = false
    var alarm: TimeSpan?
    var isGranted = false
    /// Whether it was woken before it waited.
    var isWoken = false
    var continuation: CheckedContinuation<Waking, Never>?
  }

  /// The numbers of the waiters, in the order they came; some have left.
  private struct Line {
    private var numbers: [Int] = []
    private var start = 0

    mutating func add(_ number: Int) { numbers.append(number) }

    /// The first who is still there.
    mutating func first(of waiters: borrowing [Int: Waiter]) -> Int? {
      while start < numbers.count, waiters[numbers[start]].map(\.isGranted) ?? true { start += 1 }
      if start > 64, start * 2 > numbers.count {
        numbers.removeFirst(start)
        start = 0
      }
      return start < numbers.count ? numbers[start] : nil
    }

    /// About how many are before a number.
    func place(of number: Int) -> Int {
      var (low, high) = (start, numbers.count)
      while low < high {
        let middle = (low + high) / 2
        if numbers[middle] < number { low = middle + 1 } else { high = middle }
      }
      return low - start
    }
  }

  private struct State {
    var limits: ConnectionLimits
    /// How many calls hold a place.
    var running = 0
    /// How many may be sent and are not counted in `sent` yet.
    var reserved = 0
    /// Until when each request counts, the earliest first.
    var counted: [TimeSpan] = []
    var start = 0
    var heldUntil: TimeSpan?
    var waiters: [Int: Waiter] = [:]
    var calls = Line()
    var requests = Line()
    var last = 0
    /// No waiter's alarm is earlier.
    var firstAlarm: TimeSpan?
    var sleeper: Task<Void, Never>?
    var sleepsUntil: TimeSpan?

    var live: Int { counted.count - start }

    mutating func drop(at now: TimeSpan) {
      while start < counted.count, counted[start] <= now { start += 1 }
      if start > 64, start * 2 > counted.count {
        counted.removeFirst(start)
        start = 0
      }
    }

    func isHeld(at now: TimeSpan) -> Bool { heldUntil.map { $0 > now } ?? false }
    var hasRoom: Bool { limits.requests.map { live + reserved < $0 } ?? true }
    var hasPlace: Bool { limits.maxParallel.map { running < $0 } ?? true }

    mutating func count(until end: TimeSpan) {
      // Almost always at the end.
      let place = counted[start...].lastIndex { $0 <= end }.map { $0 + 1 } ?? start
      counted.insert(end, at: place)
    }
  }

  let name: String
  let time: any TimeSource
  private let pace: CallPace?
  private let sharing: (any StateSharing)?
  private let keep: @Sendable (ConnectionUsed) async throws(StateError) -> Void
  private let state: Mutex<State>

  /// - Parameters:
  ///   - use: The recorded use of the connection in the state.
  ///   - sharing: The programs that share the limits.
  ///   - keep: Puts a use on disk.
  init(
    _ name: String, _ limits: ConnectionLimits, after use: ConnectionUse?, sharing: (any StateSharing)? = nil,
    time: any TimeSource, pace: CallPace?,
    keep: @escaping @Sendable (ConnectionUsed) async throws(StateError) -> Void
  ) {
    self.name = name
    self.time = time
    self.pace = pace
    self.sharing = sharing
    self.keep = keep
    var state = State(limits: limits)
    let (now, elapsed) = (time.now(), time.elapsed())
    func left(_ end: Timestamp?) -> TimeSpan? {
      guard let end, end > now else { return nil }
      // Never longer than if the clock had not been set back.
      let longest = limits.per + .seconds(1)
      return min(end.span(since: now) ?? longest, longest)
    }
    for sent in use?.sent ?? [] {
      if let left = left(sent.advanced(by: limits.per + .seconds(1))) { state.count(until: elapsed + left) }
    }
    if let held = use?.heldUntil, held > now {
      // Likewise never longer than any hold is, even if the clock was set back since.
      state.heldUntil = elapsed + min(held.span(since: now) ?? .zero, LimitedTransport.longestHold)
    }
    self.state = Mutex(state)
  }

  /// Sets other limits, because `errand.yaml` was read again.
  func use(_ limits: ConnectionLimits) {
    if state.withLock({ $0.limits }) != limits { change { $0.limits = limits } }
  }

  /// The limits, for messages.
  var limitsInWords: String {
    let limits = state.withLock { $0.limits }
    let parts = [
      limits.requests.map { "\(counted($0, "request")) in \(limits.per.written)" },
      limits.maxParallel.map { "\(counted($0, "call")) at once" },
    ].compactMap { $0 }
    return "'\(name)' allows \(parts.joined(separator: " and "))"
  }

  /// How often a call asks whether it may go, that waits for other programs.
  static let pause = TimeSpan.milliseconds(200)

  private static let watches = Mutex(0)

  /// A number for watching a scope, which no wait of a run has.
  static func nextWatch() -> Int {
    watches.withLock { watches in
      watches -= 1
      return watches
    }
  }

  // MARK: Waiting

  /// Puts a call in its queue.
  func enter() -> Int {
    change { state in
      state.last += 1
      state.waiters[state.last] = Waiter(isCall: true)
      state.calls.add(state.last)
      return state.last
    }
  }

  /// Puts a further request of a call in its queue; nil if it may go at once.
  private func enterRequest(of permit: CallPermit?, isCounted: Bool) -> Int? {
    let now = time.elapsed()
    return change { state in
      state.drop(at: now)
      // A call that is before it waits for a place.
      if state.hasRoom, !state.isHeld(at: now) {
        state.reserved += 1
        return nil
      }
      permit?.stop(at: now, pace)
      if isCounted { pace?.end() }
      state.last += 1
      state.waiters[state.last] = Waiter(isCall: false, permit: permit, isCounted: isCounted)
      state.requests.add(state.last)
      return state.last
    }
  }

  /// Waits until the number may go or is woken, by its alarm at the latest.
  func wait(_ number: Int, until alarm: TimeSpan? = nil) async -> Waking {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let waking = change { state -> Waking? in
          guard var waiter = state.waiters[number] else { return .woken }
          if waiter.isGranted {
            state.waiters[number] = nil
            return .granted
          }
          if waiter.isWoken || alarm.map({ $0 <= time.elapsed() }) ?? false {
            state.waiters[number]?.isWoken = false
            return .woken
          }
          waiter.continuation = continuation
          waiter.alarm = alarm
          state.waiters[number] = waiter
          if let alarm { state.firstAlarm = min(alarm, state.firstAlarm ?? alarm) }
          return nil
        }
        if let waking { continuation.resume(returning: waking) }
      }
    } onCancel: {
      wake(number)
    }
  }

  /// Wakes a waiter, so that it checks whether its call or scope is over.
  func wake(_ number: Int) {
    let continuation = state.withLock { state -> CheckedContinuation<Waking, Never>? in
      guard let waiter = state.waiters[number], !waiter.isGranted else { return nil }
      state.waiters[number]?.continuation = nil
      if waiter.continuation == nil { state.waiters[number]?.isWoken = true }
      return waiter.continuation
    }
    continuation?.resume(returning: .woken)
  }

  /// Takes a number out of its queue; what it was granted meanwhile is free again.
  ///
  /// - Returns: Whether it was granted.
  @discardableResult
  func leave(_ number: Int) -> Bool {
    change { state in
      guard let waiter = state.waiters.removeValue(forKey: number), waiter.isGranted else { return false }
      state.reserved -= 1
      guard waiter.isCall else { return true }
      state.running -= 1
      pace?.end()
      return true
    }
  }

  /// Gives a call's place back, and the request that it didn't send.
  ///
  /// - Parameter isCounted: Whether `CallPace` counts it now.
  func end(unsent: Bool, isCounted: Bool = true) {
    change { state in
      state.running -= 1
      if unsent { state.reserved -= 1 }
      if isCounted { pace?.end() }
    }
  }

  // MARK: Sending

  /// A request that may go out.
  struct Sent {
    fileprivate var per = TimeSpan.zero
    /// Until when it counts; nil where nothing is counted.
    fileprivate var end: TimeSpan?
  }

  /// Puts on disk that a request is about to go out, and counts it.
  ///
  /// - Parameter permit: The call that it belongs to; the call's time is paused while other programs come first.
  /// - Returns: Nil if the task was cancelled while it waited for them.
  @discardableResult
  func send(of permit: CallPermit? = nil, tell: (String) -> Void = { _ in }) async throws(StateError) -> Sent? {
    let limits = state.withLock { $0.limits }
    guard let most = limits.requests else {
      return change { state in
        state.reserved -= 1
        return Sent()
      }
    }
    let arrival = min(TimeSpan(nanoseconds: limits.per.nanoseconds / 4), .seconds(1))
    let use = ConnectionUsed(
      at: time.now(), connection: name, requests: 1, per: sharing == nil ? limits.per : limits.per + arrival,
      limit: sharing == nil ? nil : most)
    do throws(StateError) {
      var wasSlow = false
      var isTold = false
      while true {
        let began = time.elapsed()
        let isKept = try await isKept(use, permit) {
          if !isTold { tell("\(limitsInWords), on all machines together") }
          isTold = true
        }
        // On a disk that was that slow its instant is too early, for a program that reads it; so once more.
        let isSlow = isKept && !wasSlow && time.elapsed() - began > .seconds(1)
        if isKept, !isSlow { break }
        wasSlow = wasSlow || isSlow
        if Task.isCancelled {
          change { $0.reserved -= 1 }
          return nil
        }
      }
    } catch {
      change { $0.reserved -= 1 }
      throw error
    }
    return change { state in
      state.reserved -= 1
      let end = time.elapsed() + limits.per + arrival
      state.count(until: end)
      return Sent(per: limits.per, end: end)
    }
  }

  /// Puts a request on disk; false after a wait if programs that share the state have sent as many as may be sent.
  private func isKept(
    _ use: ConnectionUsed, _ permit: CallPermit?, tell: () -> Void
  ) async throws(StateError) -> Bool {
    var use = use
    use.at = time.now()
    do throws(StateError) {
      try await keep(use)
      return true
    } catch {
      guard let wait = error.wait else { throw error }
      tell()
      permit?.stop(at: time.elapsed(), pace)
      // Ends early if the task is cancelled.
      try? await time.sleep(for: max(wait, .milliseconds(1)))
      permit?.proceed(at: time.elapsed(), pace)
      return false
    }
  }

  // MARK: Sharing

  /// Whether a call that has its place here may go, as far as programs are concerned that share the state.
  func mayGo(_ permit: CallPermit) async throws(StateError) -> Bool {
    guard let sharing, let most = state.withLock({ $0.limits.maxParallel }) else { return true }
    return try await sharing.queue(permit.ticket, on: name) < most
  }

  /// Whether calls have to ask programs that share the state.
  var isShared: Bool { sharing != nil }

  fileprivate func end(ticket: String) {
    guard let sharing else { return }
    // The caller doesn't wait for this, and nothing cancels it.
    Task { await sharing.endCall(ticket) }
  }

  /// Counts a request from now, because its answer is there, unless it counts from an earlier instant.
  func arrived(_ sent: Sent) {
    let end = time.elapsed() + sent.per
    guard let known = sent.end, end < known else { return }
    change { state in
      guard let place = state.counted[state.start...].lastIndex(of: known) else { return }
      state.counted.remove(at: place)
      state.count(until: end)
    }
  }

  /// Sends nothing more for a while, because the service asked for it.
  func hold(for span: TimeSpan) async {
    let until = time.elapsed() + span
    let per = state.withLock { state in
      state.heldUntil = max(until, state.heldUntil ?? until)
      return state.limits.per
    }
    // If the state takes nothing more, the run ends with that.
    try? await keep(
      ConnectionUsed(
        at: time.now(), connection: name, per: per, heldUntil: time.now().advanced(by: span) ?? .latest,
        limit: sharing == nil ? nil : .max))
    change { _ in }
  }

  /// Waits until a request may go out, and counts it; nil if the task was cancelled meanwhile.
  ///
  /// - Parameters:
  ///   - permit: The call that it belongs to; the call's time is paused meanwhile.
  ///   - isCounted: Whether it is made during a call that `CallPace` counts.
  func admitRequest(
    of permit: CallPermit?, isCounted: Bool, tell: (String) -> Void
  ) async throws(StateError) -> Sent? {
    if permit?.takeRequest() != true, let number = enterRequest(of: permit, isCounted: isCounted) {
      tell(reason(of: number).text)
      var waking = await wait(number)
      while case .woken = waking, !Task.isCancelled { waking = await wait(number) }
      if case .woken = waking {
        if !leave(number) {
          if isCounted { pace?.begin() }
          permit?.proceed(at: time.elapsed(), pace)
        }
        return nil
      }
    }
    return try await send(of: permit, tell: tell)
  }

  /// Why a waiter has to wait, and about when its wait ends, if that is known.
  func reason(of number: Int) -> (text: String, due: Timestamp?) {
    let now = time.elapsed()
    return state.withLock { state in
      let isCall = state.waiters[number]?.isCall ?? true
      func instant(_ elapsed: TimeSpan) -> Timestamp? { time.now().advanced(by: elapsed - now) }
      if state.isHeld(at: now) {
        return ("'\(name)' asked to wait", state.heldUntil.flatMap(instant))
      }
      if let most = state.limits.requests, !state.hasRoom {
        // Removes waiters that have left, because they are no longer before it.
        _ = isCall ? state.calls.first(of: state.waiters) : state.requests.first(of: state.waiters)
        let place = (isCall ? state.calls : state.requests).place(of: number)
        let (rounds, rest) = place.quotientAndRemainder(dividingBy: most)
        let first = rest < state.live ? state.counted[state.start + rest] : now + state.limits.per
        let more = TimeSpan(
          nanoseconds: state.limits.per.nanoseconds.multipliedReportingOverflow(by: rounds).partialValue)
        return (
          "'\(name)' allows \(counted(most, "request")) in \(state.limits.per.written)", instant(first + more)
        )
      }
      let most = state.limits.maxParallel ?? 1
      return ("'\(name)' allows \(counted(most, "call")) at once", nil)
    }
  }

  // MARK: Letting through

  /// Changes the state, lets all through that may go, and sets the sleeper for the others.
  @discardableResult
  private func change<Output>(_ body: (inout State) -> Output) -> Output {
    let now = time.elapsed()
    let (output, woken) = state.withLock { state -> (Output, [(CheckedContinuation<Waking, Never>, Waking)]) in
      let output = body(&state)
      let woken = letThrough(&state, at: now)
      setSleeper(&state, at: now)
      return (output, woken)
    }
    for (continuation, waking) in woken { continuation.resume(returning: waking) }
    return output
  }

  private func letThrough(_ state: inout State, at now: TimeSpan) -> [(CheckedContinuation<Waking, Never>, Waking)] {
    var woken: [(CheckedContinuation<Waking, Never>, Waking)] = []
    state.drop(at: now)
    while !state.isHeld(at: now), state.hasRoom {
      let call = state.calls.first(of: state.waiters)
      let request = state.requests.first(of: state.waiters)
      guard let number = [state.hasPlace ? call : nil, request].compactMap({ $0 }).min() else { break }
      state.reserved += 1
      // From now on it is under way, so that no clock jumps before it begins.
      if number == call {
        state.running += 1
        pace?.begin()
      } else if let waiter = state.waiters[number] {
        if waiter.isCounted { pace?.begin() }
        waiter.permit?.proceed(at: now, pace)
      }
      if let continuation = state.waiters[number]?.continuation {
        state.waiters[number] = nil
        woken.append((continuation, .granted))
      } else {
        state.waiters[number]?.isGranted = true
      }
    }
    guard let alarm = state.firstAlarm, alarm <= now else { return woken }
    state.firstAlarm = nil
    var ringing: [(number: Int, continuation: CheckedContinuation<Waking, Never>)] = []
    for (number, waiter) in state.waiters {
      guard let alarm = waiter.alarm, let continuation = waiter.continuation else { continue }
      if alarm <= now {
        state.waiters[number]?.continuation = nil
        state.waiters[number]?.alarm = nil
        ringing.append((number, continuation))
      } else {
        state.firstAlarm = min(alarm, state.firstAlarm ?? alarm)
      }
    }
    // In the order they came, rather than the order of a dictionary.
    for waiter in ringing.sorted(by: { $0.number < $1.number }) { woken.append((waiter.continuation, .woken)) }
    return woken
  }

  /// When something happens without a call.
  private func due(_ state: inout State, at now: TimeSpan) -> TimeSpan? {
    if state.waiters.isEmpty { return nil }
    var due = state.firstAlarm
    if let held = state.heldUntil, held > now {
      due = min(held, due ?? held)
    } else if !state.hasRoom, state.live > 0 {
      let next = state.counted[state.start]
      due = min(next, due ?? next)
    }
    return due
  }

  private func setSleeper(_ state: inout State, at now: TimeSpan) {
    guard let due = due(&state, at: now) else {
      state.sleeper?.cancel()
      state.sleeper = nil
      return
    }
    if state.sleeper != nil, let until = state.sleepsUntil, until <= due { return }
    state.sleeper?.cancel()
    state.sleepsUntil = due
    // Cancelled when no one waits any more, or when there is something to do before it wakes.
    state.sleeper = Task { [self] in
      await pace?.quiet()
      do { try await time.sleep(for: max(due - time.elapsed(), .milliseconds(1))) } catch { return }
      change { $0.sleeper = nil }
    }
  }
}

/// One call that may be made on a connection with limits: its place, and its first request.
final class CallPermit: Sendable {
  private struct Content {
    var hasRequest = true
    var isOver = false
    /// The call's name for the programs that share the state.
    var ticket: String?
    /// How many of its requests wait, since when, and how long they did before; meanwhile `CallPace` doesn't count it.
    var waiting = 0
    var since = TimeSpan.zero
    var waited = TimeSpan.zero
  }

  let limiter: ConnectionLimiter
  private let content = Mutex(Content())

  init(_ limiter: ConnectionLimiter) { self.limiter = limiter }

  deinit { end() }

  /// Uses the request that was granted with the place; false if it was used.
  func takeRequest() -> Bool {
    content.withLock { content in
      defer { content.hasRequest = false }
      return content.hasRequest && !content.isOver
    }
  }

  /// Gives the place back.
  func end() {
    let left = content.withLock { content -> (unsent: Bool, isCounted: Bool, ticket: String?)? in
      if content.isOver { return nil }
      content.isOver = true
      defer { content.hasRequest = false }
      return (content.hasRequest, content.waiting == 0, content.ticket)
    }
    guard let left else { return }
    limiter.end(unsent: left.unsent, isCounted: left.isCounted)
    if let ticket = left.ticket { limiter.end(ticket: ticket) }
  }

  /// The call's name for the programs that share the state; made when first used.
  fileprivate var ticket: String {
    content.withLock { content in
      let ticket = content.ticket ?? "\(UInt64.random(in: 0 ... .max))-\(UInt64.random(in: 0 ... .max))"
      content.ticket = ticket
      return ticket
    }
  }

  /// The call that a connection is being opened for; the requests to open it are part of the call.
  @TaskLocal static var current: CallPermit?

  // MARK: The time of the attempt

  func stop(at now: TimeSpan, _ pace: CallPace?) {
    content.withLock { content in
      if content.waiting == 0 {
        content.since = now
        if !content.isOver { pace?.end() }
      }
      content.waiting += 1
    }
  }

  func proceed(at now: TimeSpan, _ pace: CallPace?) {
    content.withLock { content in
      content.waiting -= 1
      guard content.waiting == 0 else { return }
      content.waited = content.waited + (now - content.since)
      if !content.isOver { pace?.begin() }
    }
  }

  /// How long its requests have waited in all, and whether one waits now.
  var waited: (span: TimeSpan, isWaiting: Bool) {
    let now = limiter.time.elapsed()
    return content.withLock { content in
      content.waiting == 0 ? (content.waited, false) : (content.waited + (now - content.since), true)
    }
  }
}

/// Counts the calls under way, for limits on the clock of a test: it must not jump while one is.
package final class CallPace: Sendable {
  private struct Content {
    var count = 0
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let content = Mutex(Content())

  package init() {}

  func begin() { content.withLock { $0.count += 1 } }

  func end() {
    let waiters = content.withLock { content -> [CheckedContinuation<Void, Never>] in
      content.count -= 1
      guard content.count == 0 else { return [] }
      defer { content.waiters = [] }
      return content.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Returns when no call is under way.
  func quiet() async {
    await withCheckedContinuation { continuation in
      let isQuiet = content.withLock { content in
        if content.count > 0 { content.waiters.append(continuation) }
        return content.count == 0
      }
      if isQuiet { continuation.resume() }
    }
  }
}

private func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
