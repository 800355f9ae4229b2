import ActionKit

enum Health: RetryingAction {
  static let name = "health"
  static let summary =
    "Checks whether the backend answers; this costs nothing and doesn't test its language model."
  static let effect = Effect.read
  static let retry = RetrySchedule(after: [])
  static let examples = [Example("The backend's health", "{}")]

  struct Input: FieldSet {}

  struct Output: FieldSet {
    @Field("Whether the backend answers as it should.") var healthy: Bool
    @Field("Why the backend doesn't count as healthy; absent if it does.") var reason: String?
  }

  static func run(_ input: Input, on service: InterviewPrepClient, in context: ActionContext) async throws -> Output {
    var reason: String?
    do throws(InterviewPrepError) {
      try await service.health()
    } catch {
      if error.kind == .cancelled || error.kind == .invalidURL { throw error }
      reason = error.message
    }
    return try Output {
      $0.healthy = reason == nil
      $0.reason = reason
    }
  }
}
