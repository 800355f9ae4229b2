import ActionKit

// The fields and the execution that the paid actions share.

/// How a step treats a canned answer.
enum CannedAnswer: String, Choice {
  /// The step fails, as it would if the backend said that its language model failed.
  case fail
  /// The step succeeds and says `canned`.
  case keep
}

/// An action that is paid for.
///
/// It is retried after an error as the backend's own app does. A call that was interrupted by the end of the program is
/// sent once more (`PaidCalls`). The effect allows for both.
protocol PaidAction: RetryingAction where Service == InterviewPrepClient {}

extension PaidAction {
  static var effect: Effect { .consume(repeats: 4) }
  static var retry: RetrySchedule {
    RetrySchedule(after: [.milliseconds(200), .milliseconds(500), .seconds(1)], on: [.timeout, .network, .server])
  }

  /// Makes a paid call on the run's account.
  static func generated<Content>(
    _ call: PaidCall<Content>, _ onCanned: CannedAnswer, on service: InterviewPrepClient, in context: ActionContext
  ) async throws -> Generated<Content> {
    context.report("waiting for the language model")
    let answer = try await service.paidCalls.pay(name, body: call.body, in: context) {
      () async throws(InterviewPrepError) in try await service.make(call)
    }
    if answer.isCanned, onCanned == .fail {
      var error = InterviewPrepError(
        .canned,
        "It gave a ready-made answer, or the one that it was sent, as it does when its language model fails or is late. "
          + "Try later, or take such answers with 'onCanned: keep'.")
      error.mayBePaid = true
      throw error
    }
    return answer
  }
}

/// A plan as recipes get it.
struct PlanFields: FieldSet {
  @Field("The plan, in the form that reroll accepts.") var plan: WeekPlan
  @Field("The seven days, each with its plan, Monday first.") var days: [PlanDay]
  @Field("Whether the backend couldn't generate the plan, and gave a ready-made one or, after a reroll, the same one.")
  var canned: Bool
  @Field("The parts of the answer that were unreadable and left out, a sentence each.") var warnings: [String]

  init() {}

  init(_ answer: Generated<WeekPlan>) {
    plan = answer.content
    days = answer.content.days
    canned = answer.isCanned
    warnings = answer.warnings
  }
}
