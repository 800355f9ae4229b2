import Basics
import RunState
import RunTestKit
import SharedState
import Synchronization
import Testing

/// The store that several programs share, on the simulated database.
@Suite struct SharedStateStoreTests {
  @Test func `It does what every store of the state does`() async throws {
    let store = SharedStateStore(
      SimulatedConnection(SimulatedDatabase()), terms: WorkerTerms(name: "test").patient)
    try await store.join(claiming: true)
    #expect(try await StoreConformance.faults(of: store) == [])
  }
}
