import Basics
import Synchronization

/// How often statements of a simulated database fail, and how.
package final class FaultInjection: Sendable {
  private let content: Mutex<(random: SeededGenerator, chance: Int)>

  package init(_ database: SimulatedDatabase, seed: UInt64) {
    content = Mutex((SeededGenerator(seed: seed), 0))
    database.setFaults { [self] in next() }
  }

  /// How many of a hundred statements fail.
  package var chance: Int {
    get { content.withLock { $0.chance } }
    set { content.withLock { $0.chance = newValue } }
  }

  private func next() -> SimulatedDatabase.Fault? {
    content.withLock { content in
      guard Int.random(in: 0..<100, using: &content.random) < content.chance else { return nil }
      return SimulatedDatabase.Fault.allCases.randomElement(using: &content.random)
    }
  }
}
