import ActionKit
package import Basics
import HTTPClient
package import Recipes
import Synchronization

/// The parts of the program that test files need.
package struct TestSurroundings: Sendable {
  package var environment: RecipeEnvironment
  /// The clock that times tests and ends one that hangs.
  package var clock: any TimeSource
  /// Gives sandboxes the commands that aren't part of their service.
  let http = HTTPClient()

  package init(environment: RecipeEnvironment, clock: any TimeSource) {
    self.environment = environment
    self.clock = clock
  }

  var catalog: ActionCatalog { environment.catalog }
}

/// Why a case can't continue.
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
