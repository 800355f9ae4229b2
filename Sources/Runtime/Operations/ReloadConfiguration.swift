package import ActionKit
package import Agent
import Basics
package import RunState
import Synchronization

package struct ReloadConfiguration: Operation {
  package static let name = "reload"
  package static let summary = "Reads errand.yaml, the secrets and the recipes again, as SIGHUP does."
  package static let scopes = Scopes.token(.read, .edit)
  package static let route: Route? = .post("/reload")
  package static let command: String? = "reload"
  package static let page: String? = "/state"
  package static let refusals: Set<RequestRefusedError.Kind> = [.notServing, .configuration]
  package static let repeats = Repeats.harmless("the files are read once more")

  package init() {}

  package var target: Void { () }

  /// The things in force afterwards.
  package struct Answer: Record, UnlimitedAnswer {
    package var recipes: Int
    package var schedules: Int
    /// How many errors the recipes have.
    package var faults: Int

    package init(recipes: Int, schedules: Int, faults: Int) {
      self.recipes = recipes
      self.schedules = schedules
      self.faults = faults
    }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      recipes = try member("recipes", record?.recipes)
      schedules = try member("schedules", record?.schedules)
      faults = try member("faults", record?.faults)
    }
  }

  package func run(
    on _: Everything, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer { try await agent.reloading.reload() }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> ReloadedAnswer {
    filled(ReloadedAnswer()) {
      $0.recipes = answer.recipes
      $0.schedules = answer.schedules
      $0.faults = answer.faults
    }
  }
}

/// The things in force after errand.yaml was read again.
package struct ReloadedAnswer: FieldSet {
  @Field("How many recipes the agent serves.") package var recipes: Int
  @Field("How many schedules the agent has.") package var schedules: Int
  @Field("How many faults the recipes have.") package var faults: Int

  package init() {}
}

/// The requests to read errand.yaml again, for the program that serves.
///
/// It reads for all requests that have come until then at once, and answers each.
package final class Reloading: Sendable {
  package typealias Outcome = Result<ReloadConfiguration.Answer, RequestRefusedError>

  private struct Content {
    /// Tells the program that requests are there; nil while none serves.
    var ask: (@Sendable () -> Void)?
    /// The requests without an answer, by their numbers.
    var waiting: [Int: CheckedContinuation<Outcome, Never>] = [:]
    var count = 0
  }

  private let content = Mutex(Content())

  package init() {}

  /// Takes requests from now on.
  ///
  /// - Parameter ask: Called with each request; it must not wait.
  package func begin(_ ask: @escaping @Sendable () -> Void) { content.withLock { $0.ask = ask } }

  /// Takes the requests that have come; the function that it returns answers them.
  package func take() -> @Sendable (Outcome) -> Void {
    let numbers = content.withLock { Array($0.waiting.keys) }
    return { self.answer(numbers, $0) }
  }

  /// Takes no requests any more, and refuses those without an answer: the state may be away, which a reload waits for.
  package func end() {
    let numbers = content.withLock { content in
      content.ask = nil
      return Array(content.waiting.keys)
    }
    answer(numbers, .failure(Reloading.refusal))
  }

  private func answer(_ numbers: [Int], _ outcome: Outcome) {
    let requests = content.withLock { content in numbers.compactMap { content.waiting.removeValue(forKey: $0) } }
    for request in requests { request.resume(returning: outcome) }
  }

  private static let refusal = RequestRefusedError(
    .notServing, "only 'errand serve' reads errand.yaml again; other commands read it when they begin")

  /// Reads the files again, and gives the reason if they can't be used.
  func failure() async -> String? {
    do throws(RequestRefusedError) { _ = try await reload() } catch { return error.message }
    return nil
  }

  func reload() async throws(RequestRefusedError) -> ReloadConfiguration.Answer {
    let outcome: Outcome = await withCheckedContinuation { request in
      let ask = content.withLock { content -> (@Sendable () -> Void)? in
        guard content.ask != nil else { return nil }
        content.count += 1
        content.waiting[content.count] = request
        return content.ask
      }
      if let ask { ask() } else { request.resume(returning: .failure(Reloading.refusal)) }
    }
    return try outcome.get()
  }
}
