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
struct TestError: Error {
  var message: String
}

/// The ids of a case's runs, which are the same whenever the case runs.
final class RepeatableIDs: Sendable {
  private let numbers = Mutex(SeededGenerator(seed: 0x6572_7261_6E64))

  func next(at instant: Timestamp) -> String {
    numbers.withLock { UUID7(at: instant, using: &$0).description }
  }
}
