import Synchronization

/// Counts what lives: each member counts from its making until nothing holds it.
///
/// A closure that a run is given holds a member, so that anything that outlives the run and holds its engine, its context or
/// its services is seen.
package final class Census: Sendable {
  private let living = Atomic(0)

  package init() {}

  package final class Member: Sendable {
    private let census: Census

    fileprivate init(_ census: Census) {
      self.census = census
      census.living.add(1, ordering: .sequentiallyConsistent)
    }

    deinit { census.living.subtract(1, ordering: .sequentiallyConsistent) }
  }

  package func member() -> Member { Member(self) }

  package var count: Int { living.load(ordering: .sequentiallyConsistent) }

  /// The objects left when tasks that are just ending have ended, or have had more than enough turns to.
  package func settled(at wanted: Int = 0) async -> Int {
    for _ in 0..<100_000 where count > wanted { await Task.yield() }
    return count
  }
}
