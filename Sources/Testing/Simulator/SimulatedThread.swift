// One thread for everything that a simulated program does concurrently.
//
// Swift's concurrency runtime hands each job (a piece of a task between two suspensions) to the pool's threads, unless
// a hook is set. Ours is set once for the whole process, and keeps the jobs that a simulated thread creates for that
// thread; jobs of other threads go to the pool as usual. So every part of a simulation runs on its thread, and the seed
// alone decides the order of jobs: among the jobs that are ready one is chosen at random, which finds orders that a
// pool of threads would produce once a year.
//
// `Task.yield` bypasses the hook, as does everything that sleeps without the simulated clock; no shipped target uses
// either.
import Basics
import Glibc
import RunState
import RunTestKit
import Synchronization
import Threads

/// The jobs of one simulated program, and the turns that its threads would take.
final class SimulatedThread {
  private typealias Enqueue = @convention(thin) (UnownedJob) -> Void
  private typealias Hook = @convention(thin) (UnownedJob, Enqueue) -> Void

  private var jobs: [UnownedJob] = []
  /// Blocking work, such as writing to the disk.
  let work = ManualExecutor()
  private var random: SeededGenerator
  /// Whether jobs run in the order of becoming ready.
  var isInOrder = false

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  /// The executor of everything that is bound to no actor.
  private static let pool = unsafeBitCast((0, 0), to: UnownedSerialExecutor.self)

  private static let current: pthread_key_t = {
    var key = pthread_key_t()
    pthread_key_create(&key, nil)
    return key
  }()

  /// False if the runtime has no such hook.
  private static let isHooked: Bool = {
    guard let symbol = dlsym(nil, "swift_task_enqueueGlobal_hook") else { return false }
    _ = current
    let hook: Hook = { job, enqueue in
      guard let thread = pthread_getspecific(SimulatedThread.current) else { return enqueue(job) }
      Unmanaged<SimulatedThread>.fromOpaque(thread).takeUnretainedValue().jobs.append(job)
    }
    symbol.assumingMemoryBound(to: Hook?.self).pointee = hook
    return true
  }()

  /// Runs a closure on a thread of its own, which keeps the tasks that it starts.
  static func run<Outcome: Sendable>(
    seed: UInt64, _ body: @escaping @Sendable (SimulatedThread) -> Outcome
  ) async -> Outcome? {
    guard isHooked else { return nil }
    return await withCheckedContinuation { continuation in
      let isRunning = startThread {
        let thread = SimulatedThread(seed: seed)
        pthread_setspecific(current, Unmanaged.passUnretained(thread).toOpaque())
        let outcome = body(thread)
        pthread_setspecific(current, nil)
        continuation.resume(returning: outcome)
      }
      if !isRunning { continuation.resume(returning: nil) }
    }
  }

  /// Whether nothing can continue before time passes.
  var isIdle: Bool { jobs.isEmpty && work.count == 0 }

  /// Runs one job, or one piece of blocking work; false if there is none.
  func step() -> Bool {
    let count = jobs.count + work.count
    guard count > 0 else { return false }
    let index = isInOrder ? 0 : Int.random(in: 0..<count, using: &random)
    if index < jobs.count {
      jobs.remove(at: index).runSynchronously(on: SimulatedThread.pool)
    } else {
      work.perform(index - jobs.count)
    }
    return true
  }

  /// Drops the jobs that are ready; they never run.
  func forget() { jobs = [] }
}
