package import ActionKit
package import Agent
import Basics
import RecipeEditing
import Recipes
package import RunState

/// Checks a text beside the recipes that are served: it may use their files, and no others.
///
/// It is about all of them, because the findings say what they take.
package struct CheckText: Operation {
  package static let name = "check"
  package static let summary = "Checks the text of a recipe without running anything."
  package static let scopes = Scopes.token(.read)
  package static let route: Route? = .post("/check")
  package static let command: String? = "check"
  package static let page: String? = "/check"
  package static let lengths = ["text": 0...mostBytes]

  /// The most bytes of a text.
  private static let mostBytes = 256 << 10

  @Field("The text, at most 256 KiB. It can call served recipes.") package var text: String
  @Field(
    "The name of the recipe's file, which names a recipe without a name of its own. Paths in the text start there.")
  package var file = "recipe.yaml"

  package init() {}

  package var target: Void { () }

  package struct Answer: Record, UnlimitedAnswer {
    package var findings: [FindingRecord]

    package init(_ findings: [FindingRecord]) { self.findings = findings }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      findings = try member("value", record?.findings)
    }
  }

  package func run(
    on everything: Everything, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    guard text.utf8.count <= CheckText.mostBytes else {
      throw RequestRefusedError(.request, "a recipe of \(text.utf8.count) bytes isn't checked; it may have 256 KiB")
    }
    let environment = try await agent.steered().environmentOfTexts()
    let now = agent.time.now()
    let folder = EditorFolder(
      catalog: environment.catalog, environment: { _ in environment }, files: { [] }, secretNames: { [] }, now: { now })
    return Answer(
      EditorService(folder).faults(of: Source(name: file, text: text)).map { FindingRecord($0) })
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> FindingListAnswer {
    FindingListAnswer(answer.findings)
  }
}
