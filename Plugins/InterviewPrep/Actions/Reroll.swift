import ActionKit

enum Reroll: PaidAction {
  static let name = "reroll"
  static let summary = "Regenerates one section of a plan, and gives the plan with it."
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
    @Field("What is made anew; several sections take a step each, each with the plan of the one before.")
    var section: PlanSection
    @Field("The person it is made for.") var profile: Profile
    @Field("The plan, as generateRoutine or another reroll gave it.") var plan: WeekPlan
    @Field("Whether the step fails if the section comes back as it was, as it does when the language model fails.")
    var onCanned = CannedAnswer.fail
  }

  typealias Output = PlanFields

  static func run(_ input: Input, on service: InterviewPrepClient, in context: ActionContext) async throws -> Output {
    let call = try PaidCall.reroll(input.section, of: input.plan, for: input.profile)
    return PlanFields(try await generated(call, input.onCanned, on: service, in: context))
  }
}
