import ActionKit

enum GeneratePrep: PaidAction {
  static let name = "generatePrep"
  static let summary = "Generates an interview prep pack: an outline, drills for the week, questions and resources."
  static let examples = [
    Example(
      "With constraints",
      """
      profile:
        name: Jo
        stage: 3rd Year
        targetRole: Backend Engineer
        timeBudgetHoursPerDay: 1.5
        availableDays: [Tue, Thu, Sat]
        constraints: [prefers Swift]
      """)
  ]

  struct Input: FieldSet {
    @Field("The person to generate it for.") var profile: Profile
    @Field(
      "Whether the step fails on a ready-made answer, or keeps it; a newer backend gives one when its language model fails."
    )
    var onCanned = CannedAnswer.fail
  }

  struct Output: FieldSet {
    @Field("The pack.") var prep: PrepPack
    @Field("Whether the backend couldn't generate the pack, and gave a ready-made one.") var canned: Bool
  }

  static func run(_ input: Input, on service: InterviewPrepClient, in context: ActionContext) async throws -> Output {
    let answer = try await generated(.prep(for: input.profile), input.onCanned, on: service, in: context)
    return try Output {
      $0.prep = answer.content
      $0.canned = answer.isCanned
    }
  }
}
