import ActionKit
package import Basics
import HTTPClient
package import Recipes
import Synchronization

/// What test files are run with.
package struct TestSurroundings: Sendable {
  package var environment: RecipeEnvironment
  /// The clock by which it is told how long a test took, and by which one that hangs is given up.
  package var clock: any TimeSource
  /// Speaks to the sandboxes about what is no service's business.
  let http = HTTPClient()

  package init(environment: RecipeEnvironment, clock: any TimeSource) {
    self.environment = environment
    self.clock = clock
  }

  var catalog: ActionCatalog { environment.catalog }
}

/// Why a case cannot go on.
struct TestFault: Error {
  var message: String
}

/// The ids of a case's runs, which are the same whenever the case runs.
final class RepeatableIDs: Sendable {
  private let numbers = Mutex(RepeatableNumbers())

  func next(at instant: Timestamp) -> String {
    numbers.withLock { UUID7(at: instant, using: &$0).description }
  }
}

/// Numbers that look as if they were made by chance.
private struct RepeatableNumbers: RandomNumberGenerator {
  private var state: UInt64 = 0x6572_7261_6E64

  /// SplitMix64 (Steele, Lea and Flood, 2014).
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}
