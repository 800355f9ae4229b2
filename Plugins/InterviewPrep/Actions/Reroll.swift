import ActionKit

enum Reroll: PaidAction {
  static let name = "reroll"
  static let summary = "Regenerates one section of a plan, and returns the whole plan."
  static let examples = [
    Example(
      "Other resources",
      """
      section: resources
      profile:
        name: Jo
        stage: Recent Grad
        targetRole: iOS
        timeBudgetHoursPerDay: 2
        availableDays: [Mon]
      plan:
        weekOf: 2026-04-13
        timeBlocks:
          Mon: [{ label: Binary trees, durationHours: 1.25 }]
        dailyTasks:
          Mon: [Code a tree traversal]
        milestones: [Ten problems solved]
        resources: [{ title: The Swift Programming Language, url: https://docs.swift.org/swift-book/ }]
      """)
  ]

  struct Input: FieldSet {
    @Field("The section to regenerate; for several sections, use a step for each, with the plan from the step before.")
    var section: PlanSection
    @Field("The person to generate it for.") var profile: Profile
    @Field("The plan, as generateRoutine or another reroll gave it.") var plan: WeekPlan
    @Field(
      "Whether the step fails on a section that comes back unchanged, or keeps it; this happens when the language model fails."
    )
    var onCanned = CannedAnswer.fail
  }

  typealias Output = PlanFields

  static func run(_ input: Input, on service: InterviewPrepClient, in context: ActionContext) async throws -> Output {
    let call = try PaidCall.reroll(input.section, of: input.plan, for: input.profile)
    return PlanFields(try await generated(call, input.onCanned, on: service, in: context))
  }
}
