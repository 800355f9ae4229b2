import Foundation
import RunState
import RunTestKit
import Testing

/// Every store passes the same suite.
@Suite struct StoreConformanceTests {
  @Test func `memory does what a store has to`() async throws {
    #expect(try await StoreConformance.faults(of: MemoryStateStore()) == [])
  }

  @Test func `a folder does what a store has to`() async throws {
    let path = NSTemporaryDirectory() + "errand-conformance-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: path) }
    #expect(try await StoreConformance.faults(of: FileStateStore.open(path, program: "test")) == [])
  }
}
