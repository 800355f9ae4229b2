import Basics
import RunState
import Synchronization

/// Makes a program the leader of the schedules whenever there is no other leader.
///
/// The lead is a lease by the database's clock. It belongs to the worker and ends with the worker's lease. A leader
/// that doesn't know yet that it was fenced does no harm, because its decisions are refused (`ScheduleTerm`). A program
/// whose clock is off doesn't lead, because it would start runs too early or too late.
actor SharedLeader {
  nonisolated let leading: AsyncStream<Bool>
  nonisolated let hints: AsyncStream<Void>
  private let telling: AsyncStream<Bool>.Continuation
  private let hinting: AsyncStream<Void>.Continuation
  private let database: any SharedDatabase
  private let held: HeldRuns
  private let time: any TimeSource
  /// The machine's own clock.
  private let clock: any TimeSource
  private var tasks: [Task<Void, Never>] = []
  private var isWilling = false
  private var isLooking = false
  private var wantsLook = false
  /// As which worker it leads, and the epoch.
  private var lead: (worker: Int, epoch: Int)?
  /// Until when, by the program's own clock, no other leads.
  private var deadline = TimeSpan.zero

  private static let renewal = TimeSpan.seconds(3)

  init(_ database: any SharedDatabase, _ held: HeldRuns, time: any TimeSource, clock: any TimeSource) {
    self.database = database
    self.held = held
    self.time = time
    self.clock = clock
    (leading, telling) = AsyncStream.makeStream(of: Bool.self)
    (hints, hinting) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
  }

  /// Begins to look whether it can lead, if it is willing; its clock is noted in any case.
  ///
  /// One that isn't willing any more gives the lead back.
  ///
  /// - Returns: Whether it leads now.
  func start(isWilling: Bool) async -> Bool {
    self.isWilling = isWilling
    if !isWilling { await resign() }
    guard tasks.isEmpty else { return lead != nil }
    // Before this returns, so that a program that has begun to serve has its schedules.
    await look()
    // Both are cancelled by `stop`.
    tasks = [
      Task {
        while !Task.isCancelled {
          await look()
          do { try await time.sleep(for: SharedLeader.renewal) } catch { return }
        }
      },
      Task { [hints = database.scheduleHints, hinting] in
        for await hint in hints {
          switch hint {
          case .changed: hinting.yield()
          case .vacant: await look()
          }
        }
      },
    ]
    return lead != nil
  }

  /// Gives the lead back.
  func stop() async {
    isWilling = false
    for task in tasks { task.cancel() }
    for task in tasks { await task.value }
    await resign()
    telling.finish()
    hinting.finish()
  }

  private func look() async {
    wantsLook = true
    if isLooking { return }
    isLooking = true
    defer { isLooking = false }
    while wantsLook {
      wantsLook = false
      await lookOnce()
    }
  }

  private func lookOnce() async {
    guard let worker = held.worker else { return follow() }
    let start = time.elapsed()
    do throws(DatabaseError) {
      let epoch = try await database.lead(
        WorkerIdentity(id: worker), lease: SharedWorker.lease, clock: clock.now(), isWilling: isWilling)
      guard let epoch else { return await resign() }
      deadline = start + SharedWorker.lease
      if let lead, lead == (worker, epoch) { return }
      lead = (worker, epoch)
      telling.yield(true)
    } catch {
      if time.elapsed() >= deadline { follow() }
    }
  }

  private func follow() {
    guard lead != nil else { return }
    lead = nil
    telling.yield(false)
  }

  private func resign() async {
    guard let worker = lead?.worker else { return }
    follow()
    // A lead that can't be given back ends by itself.
    try? await database.resign(WorkerIdentity(id: worker))
  }
}
