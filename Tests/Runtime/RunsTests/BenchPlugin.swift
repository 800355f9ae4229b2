import ActionKit
import Synchronization

/// Actions of every effect over one service that only tests know.
enum BenchPlugin: Plugin {
  static let name = "bench"
  static let summary = "Does what a test's script says."
  static let actions: [any Action<BenchService>.Type] = [
    Compute.self, Read.self, ReadPatiently.self, Consume.self, Put.self, PutWithinHour.self, Post.self,
    PostLooked.self, PostKeyed.self, PostKeyedLooked.self, Ask.self, PutShown.self, ReadOpen.self, ConsumeOpen.self,
    PutOpen.self,
    PostOpen.self,
  ]

  struct Configuration: FieldSet {
    @Field("Which of the tests' services it is.") var service: String
  }

  private static let services = Mutex<[String: BenchService]>([:])

  /// Makes a service known, so that a connection finds it.
  static func register(_ service: BenchService) -> String {
    services.withLock { services in
      let name = "service\(services.count)"
      services[name] = service
      return name
    }
  }

  static func connect(_ configuration: Configuration, in context: PluginContext) async throws -> BenchService {
    guard let service = services.withLock({ $0[configuration.service] }) else {
      throw ActionError(.configuration, "there is no service '\(configuration.service)'")
    }
    service.record.withLock { $0 = context.record }
    return service
  }
}

struct BenchInput: FieldSet {
  @Field("What the script calls it.") var name: String
  @Field("What comes back.") var value: Int = 0
}

struct BenchOutput: FieldSet {
  @Field("The name.") var name: String
  @Field("The value.") var value: Int
}

protocol BenchAction: Action where Service == BenchService, Input == BenchInput, Output == BenchOutput {}

extension BenchAction {
  static var summary: String { "Does what the script says." }
  static var examples: [Example] { [Example("One", "name: a")] }

  static func run(_ input: Input, on service: BenchService, in context: ActionContext) async throws -> BenchOutput {
    try await service.perform(input.name, key: self is any KeyedAction.Type ? context.idempotencyKey : nil, context)
    return try BenchOutput {
      $0.name = input.name
      $0.value = input.value
    }
  }
}

enum Compute: BenchAction {
  static let name = "compute"
  static let effect = Effect.pure
}

enum Read: BenchAction {
  static let name = "read"
  static let effect = Effect.read
}

enum ReadPatiently: BenchAction, RetryingAction {
  static let name = "readPatiently"
  static let effect = Effect.read
  static let retry = RetrySchedule(after: [.milliseconds(200), .milliseconds(500), .seconds(1)])
}

enum Consume: BenchAction {
  static let name = "consume"
  static let effect = Effect.consume(repeats: 1)
}

/// Reads how often it was asked.
enum Ask: BenchAction {
  static let name = "ask"
  static let effect = Effect.read

  static func run(_ input: Input, on service: BenchService, in context: ActionContext) async throws -> BenchOutput {
    try await service.perform(input.name, key: nil, context)
    return try BenchOutput {
      $0.name = input.name
      $0.value = service.count(of: input.name)
    }
  }
}

enum Put: BenchAction {
  static let name = "put"
  static let effect = Effect.idempotentWrite(within: .forever)
}

/// Says beforehand how far the value moves from 0; a script can make that fail.
enum PutShown: BenchAction, PreviewingAction {
  static let name = "putShown"
  static let effect = Effect.idempotentWrite(within: .forever)

  static func preview(_ input: Input, on service: BenchService, in context: ActionContext) async throws -> [Change] {
    try await service.perform("preview of \(input.name)", key: nil, context)
    return [Change(input.name, from: "0", to: "\(input.value)")]
  }
}

enum PutWithinHour: BenchAction {
  static let name = "putWithinHour"
  static let effect = Effect.idempotentWrite(within: .span(.seconds(3600)))
}

enum Post: BenchAction {
  static let name = "post"
  static let effect = Effect.write
}

enum PostKeyed: BenchAction, KeyedAction {
  static let name = "postKeyed"
  static let effect = Effect.write
}

enum PostLooked: LookedAction {
  static let name = "postLooked"
  static let effect = Effect.write
}

enum PostKeyedLooked: LookedAction, KeyedAction {
  static let name = "postKeyedLooked"
  static let effect = Effect.write
}

/// Actions that look whether they were done.
protocol LookedAction: BenchAction, ReconcilingAction where Baseline == BenchCount {}

struct BenchCount: FieldSet {
  @Field("How often it was done before.") var count: Int
}

extension LookedAction {
  static func baseline(_ input: Input, on service: BenchService, in context: ActionContext) async throws -> BenchCount {
    let count = service.count(of: input.name)
    return try BenchCount { $0.count = count }
  }

  static func reconcile(
    _ input: Input, with baseline: BenchCount, startedAt: Timestamp, on service: BenchService, in context: ActionContext
  ) async throws -> Reconciliation<BenchOutput> {
    switch service.nextLook(input.name) {
    case .fail(let error): throw error
    case .doubt: return .unknown("look at \(input.name)")
    case .honest:
      guard service.count(of: input.name) > baseline.count else { return .notDone }
      return .done(
        try BenchOutput {
          $0.name = input.name
          $0.value = input.value
        })
    }
  }
}

/// Actions that give their input back as output, in an open field.
protocol OpenAction: Action where Service == BenchService, Input == OpenInput, Output == OpenOutput {}

struct OpenInput: FieldSet {
  @Field("What the script calls it.") var name: String
  @Field("What comes back.") var body: Value
}

struct OpenOutput: FieldSet {
  @Field("The name.") var name: String
  @Field("The value.") var body: Value
}

extension OpenAction {
  static var summary: String { "Does what the script says, and gives what it is given." }
  static var examples: [Example] { [Example("One", "name: a\nbody: 1")] }

  static func run(_ input: Input, on service: BenchService, in context: ActionContext) async throws -> OpenOutput {
    try await service.perform(input.name, key: nil, context)
    return try OpenOutput {
      $0.name = input.name
      $0.body = input.body
    }
  }
}

enum ReadOpen: OpenAction {
  static let name = "readOpen"
  static let effect = Effect.read
}

enum ConsumeOpen: OpenAction {
  static let name = "consumeOpen"
  static let effect = Effect.consume(repeats: 0)
}

enum PutOpen: OpenAction {
  static let name = "putOpen"
  static let effect = Effect.idempotentWrite(within: .forever)
}

enum PostOpen: OpenAction {
  static let name = "postOpen"
  static let effect = Effect.write
}
