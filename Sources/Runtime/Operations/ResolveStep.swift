package import ActionKit
package import Agent
package import Basics
package import RunState
import Runs

package struct ResolveStep: Operation {
  package static let name = "resolve"
  package static let summary = "Records what happened to an uncertain step, so that its run can continue."
  package static let scopes = Scopes.token(.steer)
  package static let route: Route? = .post("/runs/{run}/resolutions")
  package static let command: String? = "runs resolve"
  package static let page: String? = "/runs/{run}"
  package static let refusals: Set<RequestRefusedError.Kind> = .ofRuns.union([.ended, .usedKey])
  package static let repeats = Repeats.key

  /// The words for the outcomes.
  package enum Outcome: String, CaseIterable, Sendable { case done, retry, fail }

  @Field(RunName.summary) package var run: String
  @Field("The step's path.") package var step: String
  @Field("The outcome: done, retry (not done; do it now) or fail (count it as failed).")
  package var `as`: Word<Outcome>
  @Field("With 'done': the output of the step.") package var output: Value?
  @Field("With 'fail': the reason.") package var reason: String?
  @Field("A key that the caller chooses. The same decision with the same key gets the same answer.")
  package var key: String?

  package init() {}

  package var target: RunName { RunName(run, isOpen: true) }

  package struct Answer: Record, UnlimitedAnswer {
    /// The run's id.
    package var resolved: String

    package init(_ run: String) { resolved = run }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      resolved = try member("resolved", record?.resolved)
    }
  }

  private var resolution: Resolution {
    switch self.as.word {
    case .done: .done(output)
    case .retry: .retry
    case .fail: .fail(reason)
    }
  }

  package func run(
    on run: RunReference, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    let (id, resolution) = (run.id, self.resolution)
    var request: [Value] = [.string("resolve"), .string(step), .string(resolution.word)]
    switch resolution {
    case .done(let output): request.append(output ?? .null)
    case .retry: break
    case .fail(let reason): request.append(.string(reason ?? ""))
    }
    let key = try agent.decisionKey(key, of: caller, about: id, request)
    _ = try await agent.once(key, in: id, \.resolution?.key) { () async throws(RequestRefusedError) in
      do throws(RequestRefusedError) {
        try await agent.allowed { () async throws(RunRefusedError) in
          try await agent.host.resolutions.resolve(id, step: step, as: resolution, by: caller.name, key: key)
          // The run resumes once its last uncertain step is resolved; over HTTP, no one else would resume it.
          // Why it can't is kept with it; what was said is noted nonetheless.
          if agent.agent.isServing, await agent.store.openRun(id) != nil { try? await agent.host.continueRun(id) }
        }
        return step
      } catch {
        throw try await agent.saying(error, of: id, step) { step in
          step.resolution.map { "resolved as \($0.choice)\($0.by.map { " by \($0)" } ?? "") at \($0.at)" }
        }
      }
    }
    return Answer(id)
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> ChangedAnswer {
    filled(ChangedAnswer()) { $0.run = answer.resolved }
  }
}
