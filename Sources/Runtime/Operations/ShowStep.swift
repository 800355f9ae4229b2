package import ActionKit
package import Agent
package import Basics
package import RunState
import Runs

package struct ShowStep: Operation {
  package static let name = "step"
  package static let summary =
    "Shows one step of a run: its input and output, its attempts, and its place in the recipe."
  package static let scopes = Scopes.token(.data)
  package static let route: Route? = .get("/runs/{run}/steps/{step}")
  package static let command: String? = "runs show"
  package static let page: String? = "/runs/{run}/steps/{step}"
  package static let refusals: Set<RequestRefusedError.Kind> = .ofRuns

  @Field(RunName.summary) package var run: String
  @Field("The path of the step, such as book or put[3]/write.") package var step: String

  package init() {}

  package var target: RunName { RunName(run) }

  package struct Answer: Record, UnlimitedAnswer {
    package var step: StepRecord
    /// How much is known about the input: value, none, kept or unknown; nil where it can't be computed.
    package var inputKind: String?
    package var input: Value?
    /// The output, or the answer that doesn't fit the step's shape; nil if it is too large to be shown.
    package var output: Value?
    package var place: RecipePlace?

    init(_ step: StepRecord) { self.step = step }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      step = try member("step", record?.step)
      inputKind = try member("inputKind", record?.inputKind)
      input = try member("input", record?.input)
      output = try member("output", record?.output)
      place = try member("place", record?.place)
    }
  }

  /// The largest output that is read from a file of its own.
  private static let largestOutput = 1 << 20

  package func run(
    on run: RunReference, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    let record = try await agent.stored(run.id).record()
    guard let known = record.steps[step] else {
      throw RequestRefusedError(.notFound, "no step '\(step.shortened(to: 80))' of the run has begun")
    }
    var answer = Answer(known)
    let found = try await agent.input(ofStep: step, in: record)
    answer.place = found?.place
    switch found?.input {
    case .value(let value): (answer.inputKind, answer.input) = ("value", value)
    case .some(.none): answer.inputKind = "none"
    case .kept: answer.inputKind = "kept"
    case .unknown: answer.inputKind = "unknown"
    case nil: break
    }
    switch known.output ?? known.lastAttempt?.answer {
    case .inline(let value): answer.output = value
    case .blob(let reference) where reference.size <= ShowStep.largestOutput:
      answer.output = try await agent.value(of: reference)
    case .blob, nil: break
    }
    return answer
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> StepDetailAnswer {
    filled(StepDetailAnswer()) {
      $0.step = StepAnswer(answer.step, withData: true)
      $0.step.name = answer.place?.name
      $0.input = answer.input?.asPlainJSON
      $0.isInputUnknown = answer.inputKind == "unknown" ? true : nil
      $0.output = answer.output?.asPlainJSON
      $0.attempts = (answer.step.earlierAttempts + (answer.step.lastAttempt.map { [$0] } ?? [])).map { attempt in
        filled(AttemptAnswer()) {
          $0.number = attempt.number
          $0.startedAt = attempt.startedAt
          $0.endedAt = attempt.endedAt
          $0.error = attempt.error.map { ErrorAnswer($0, withData: true) }
          $0.requests = attempt.exchanges.map(\.asPlainJSON)
        }
      }
      $0.file = answer.place?.file
      $0.line = answer.place?.line
    }
  }
}

/// One step of a run, with all that is known of it.
package struct StepDetailAnswer: FieldSet {
  @Field("The step.") package var step: StepAnswer
  @Field("The input of its action, computed again from the record, with secrets masked.") package var input: Value?
  @Field("Whether the input can't be computed any more.") package var isInputUnknown: Bool?
  @Field("The output, up to 1 MiB.") package var output: Value?
  @Field("The attempts, in order; only the latest if there are many.") package var attempts: [AttemptAnswer] = []
  @Field("The file of the recipe that has the step.") package var file: String?
  @Field("The line where the step begins, as the recipe was when the run began.") package var line: Int?

  package init() {}
}

/// One attempt of a step.
package struct AttemptAnswer: FieldSet {
  @Field("The number, from 1.") package var number: Int
  @Field("When it began.") package var startedAt: Timestamp
  @Field("When it ended.") package var endedAt: Timestamp?
  @Field("Why it failed.") package var error: ErrorAnswer?
  @Field("The requests that it made: method, url, status, bytes and took.") package var requests: [Value] = []

  package init() {}
}
