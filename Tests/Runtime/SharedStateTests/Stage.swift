import Basics
import RunState
import RunTestKit
import SharedState
import Synchronization

@testable import Simulator

/// One thread where programs and a database play a story in an order that a seed decides.
enum Stage {
  /// Plays a story; time passes when nothing else can happen.
  ///
  /// - Returns: The faults that it found, or that it is stuck.
  static func play(_ seed: UInt64, _ story: @escaping @Sendable (ManualClock) async -> [String]) async -> [String] {
    let faults = await SimulatedThread.run(seed: seed) { thread in
      let clock = ManualClock()
      let outcome = Mutex<[String]?>(nil)
      // Ends with the story; a story that is stuck is left.
      Task {
        let faults = await story(clock)
        outcome.withLock { $0 = faults }
      }
      while true {
        if let faults = outcome.withLock({ $0 }) { return faults }
        if thread.step() { continue }
        guard let span = clock.untilNextSleeper else { return ["it is stuck"] }
        if clock.elapsed() > .seconds(2000) { return ["it never ends"] }
        clock.advance(by: span)
      }
    }
    return faults ?? ["there is no simulated thread"]
  }

  /// Receipts that a seed decides.
  static func receipts(_ program: Int) -> @Sendable () -> String {
    let count = Counter()
    return { "receipt \(program) \(count.next())" }
  }

  final class Counter: Sendable {
    private let count = Mutex(0)

    func next() -> Int {
      count.withLock { count in
        count += 1
        return count
      }
    }
  }
}

extension WorkerTerms {
  /// The terms for tests on the system's clock that aren't about leases: no lease ends while the machine is busy.
  var patient: WorkerTerms {
    var terms = self
    terms.lease = .seconds(900)
    return terms
  }
}
