import ActionKit
import ActionTestKit
import Synchronization
import Testing

/// A counter as a service, whose sandbox is in memory.
private enum CounterPlugin: SandboxedPlugin {
  static let name = "counter"
  static let summary = "Counts."
  static let actions: [any Action<Counter>.Type] = [AddTo.self]

  struct Configuration: FieldSet {
    @Field("Where it counts.") var baseURL: String
  }

  static func connect(_ configuration: Configuration, in context: PluginContext) async throws -> Counter {
    guard let counter = Counter.running.withLock({ $0[configuration.baseURL] }) else {
      throw ActionError(.network, "nothing answers at \(configuration.baseURL)")
    }
    return counter
  }

  static func startSandbox(_ options: SandboxOptions) async throws -> any RunningSandbox {
    let sandbox = CounterSandbox()
    Counter.running.withLock { $0[sandbox.baseURL] = Counter() }
    return sandbox
  }
}

private final class Counter: Sendable {
  static let running = Mutex<[String: Counter]>([:])
  static let started = Atomic<Int>(0)
  let sum = Atomic<Int>(0)
}

private struct CounterSandbox: RunningSandbox {
  let baseURL = "memory:\(Counter.started.add(1, ordering: .relaxed).newValue)"
  var configuration: Value { .object(["baseURL": .string(baseURL)]) }
  func summaryLines() async -> [String] { [] }
  func stop() async { Counter.running.withLock { $0[baseURL] = nil } }
}

private enum AddTo: Action {
  static let name = "addTo"
  static let summary = "Adds to the counter."
  static let effect = Effect.write
  static let examples = [
    Example("Once", "by: 1"), Example("Again, on a fresh sandbox", "by: 1"), Example("Too much", "by: 100"),
    Example("Much", "by: 50"), Example("An expression", "by: ${{ inputs.by }}"),
  ]

  struct Input: FieldSet {
    @Field("By how much.") var by: Int
  }

  struct Output: FieldSet {
    @Field("What it is now.", .max(9)) var sum: Int
  }

  static func run(_ input: Input, on counter: Counter, in context: ActionContext) async throws -> Output {
    if input.by > 99 { throw ActionError(.validation, "the counter takes two digits") }
    let sum = counter.sum.add(input.by, ordering: .relaxed).newValue
    return try Output { $0.sum = sum }
  }
}

@Suite(.serialized) struct SandboxChecksTests {
  @Test func `runs each example in a sandbox of its own`() async {
    let issues = Mutex<[String]>([])
    await withKnownIssue {
      await expectExamplesRun(of: CounterPlugin.self)
    } matching: { issue in
      issues.withLock { $0 += issue.comments.map(\.rawValue) }
      return true
    }
    #expect(
      issues.withLock { $0 } == [
        "counter.addTo, example 'Too much': validation: the counter takes two digits",
        "counter.addTo, example 'Much': 'output.sum' must be at most 9, but is 50",
      ])
    #expect(Counter.running.withLock { $0.isEmpty })
  }

  @Test func `leaves out exceptions`() async {
    await expectExamplesRun(of: CounterPlugin.self, except: ["addTo"])
  }

  @Test func `ends the sandbox when the body throws`() async throws {
    await #expect(throws: CancellationError.self) {
      try await withSandbox(of: CounterPlugin.self) { counter, _ in
        counter.sum.add(1, ordering: .relaxed)
        throw CancellationError()
      }
    }
    #expect(Counter.running.withLock { $0.isEmpty })
  }
}
