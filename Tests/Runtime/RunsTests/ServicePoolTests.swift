import ActionKit
import ActionTestKit
import Basics
import Synchronization
import Testing

@testable import Runs

@Suite struct ServicePoolTests {
  static func key(_ account: Int) -> ServicePool.Key {
    ServicePool.Key(plugin: "desk", settings: Array("{\"account\":\(account)}".utf8))
  }

  /// Takes a service of an account; each that is made has the next number.
  static func take(_ pool: ServicePool, _ account: Int, _ made: Counter) async throws -> Int {
    try #require(try await pool.borrow(key(account)) { .success(made.next()) } as? Int)
  }

  final class Counter: Sendable {
    private let value = Mutex(0)
    func next() -> Int {
      value.withLock { value in
        value += 1
        return value
      }
    }
  }

  @Test func `runs of one account share its service, also one after another`() async throws {
    let pool = ServicePool(time: TestTime())
    let made = Counter()
    async let first = ServicePoolTests.take(pool, 1, made)
    async let second = ServicePoolTests.take(pool, 1, made)
    #expect(try await [first, second] == [1, 1])
    #expect(try await ServicePoolTests.take(pool, 2, made) == 2)
    pool.release([ServicePoolTests.key(1), ServicePoolTests.key(1)])
    #expect(try await ServicePoolTests.take(pool, 1, made) == 1)
  }

  @Test func `a service unused for ten minutes is made anew, one in use stays`() async throws {
    let time = TestTime()
    let pool = ServicePool(time: time)
    let made = Counter()
    for account in [1, 2] { _ = try await ServicePoolTests.take(pool, account, made) }
    pool.release([ServicePoolTests.key(1)])
    time.advance(by: .seconds(600))
    #expect(try await ServicePoolTests.take(pool, 2, made) == 2)
    #expect(try await ServicePoolTests.take(pool, 1, made) == 3)
  }

  @Test func `only so many idle ones are kept`() async throws {
    let pool = ServicePool(time: TestTime())
    let made = Counter()
    for account in 0..<40 { _ = try await ServicePoolTests.take(pool, account, made) }
    #expect(pool.count == 40)
    pool.release((0..<40).map(ServicePoolTests.key))
    #expect(pool.count == 16)
  }

  @Test func `what could not be made is tried again by the next who needs it`() async throws {
    let pool = ServicePool(time: TestTime())
    await #expect(throws: ActionError.self) {
      try await pool.borrow(ServicePoolTests.key(1)) { .failure(ActionError(.network, "no answer")) }
    }
    #expect(try await ServicePoolTests.take(pool, 1, Counter()) == 1)
  }

  @Test func `a connection whose secret is too old gets a service of its new one, which the run hides from then on`()
    async throws
  {
    let time = TestTime()
    let read = Counter()
    let told = Mutex<[String]>([])
    let renewal: Services.Renewal = { () async throws(ActionError) in
      let token = "token \(read.next())"
      return Services.Renewed(
        settings: .object(["mark": .string(token)]), secrets: [("TOKEN", token)], due: time.elapsed() + .seconds(50))
    }
    let connection = Services.Connection(
      plugin: PluginDescriptor(MarkPlugin.self), settings: .object(["mark": .string("none")]), renewal: renewal)
    let services = Services(
      catalog: ActionCatalog([MarkPlugin.self]), connections: ["mark": connection], redactor: Redactor([]), time: time)
    services.tellRenewed { secrets in told.withLock { $0 += secrets.map(\.text) } }
    func mark() async throws -> String? { try await services.service(named: "mark", of: "mark") as? String }
    #expect(try await mark() == "token 1")
    time.advance(by: .seconds(49))
    #expect(try await mark() == "token 1")
    time.advance(by: .seconds(1))
    async let first = mark()
    async let second = mark()
    #expect(try await [first, second] == ["token 2", "token 2"])
    #expect(told.withLock { $0 } == ["token 1", "token 2"])
  }
}

/// A plugin whose service is a setting of its connection.
private enum MarkPlugin: Plugin {
  static let name = "mark"
  static let summary = "Tells how it was connected."
  static let actions: [any Action<String>.Type] = []

  struct Configuration: FieldSet {
    @Field("What the service is.") var mark: String
  }

  static func connect(_ configuration: Configuration, in context: PluginContext) -> String { configuration.mark }
}
