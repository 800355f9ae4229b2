import ActionKit

enum GenerateRoutine: PaidAction {
  static let name = "generateRoutine"
  static let summary = "Generates a study routine for the week: blocks of time, daily tasks, milestones and resources."
  static let examples = [
    Example(
      "For two days of the week",
      """
      profile:
        name: Jo
        stage: Recent Grad
        targetRole: iOS
        timeBudgetHoursPerDay: 2
        availableDays: [Mon, Wed]
      """)
  ]

  struct Input: FieldSet {
    @Field("The person to generate it for.") var profile: Profile
    @Field(
      "Whether the step fails on a ready-made answer, or keeps it; a newer backend gives one when its language model fails."
    )
    var onCanned = CannedAnswer.fail
  }

  typealias Output = PlanFields

  static func run(_ input: Input, on service: InterviewPrepClient, in context: ActionContext) async throws -> Output {
    PlanFields(try await generated(.routine(for: input.profile), input.onCanned, on: service, in: context))
  }
}
