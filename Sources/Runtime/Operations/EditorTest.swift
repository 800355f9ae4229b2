package import ActionKit
package import Agent
import Basics
import RecipeEditing
import Recipes

package struct EditorTest: Operation {
  package static let name = "editorTest"
  package static let summary =
    "Runs the test that is being edited, or the tests of the recipe that is, in sandboxes, for at most a minute."
  package static let scopes = Scopes.editing
  package static let route: Route? = .post("/editor/tests")
  package static let command: String? = "test"
  package static let page: String? = "/edit/{path}"
  package static let refusals: Set<RequestRefusedError.Kind> = .ofFiles.union([.busy])

  @Field(pathSummary) package var path: String
  @Field(textSummary) package var text: String

  package init() {}

  package typealias View = EditorTestAnswer

  package var target: Void { () }

  package func run(
    on anyone: Anyone, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Shown<EditorTestAnswer> {
    let editor = try agent.edited()
    let edited = try await editor.edited(path, text, for: caller)
    guard edited.file.kind != .configuration else {
      throw RequestRefusedError(.request, "only recipes have tests, and '\(edited.file.path)' isn't one")
    }
    try FileEditor.check(caller, for: try await editor.answer { edited.folder.subject(of: edited.source)?.name })
    let tests = try await editor.answer {
      edited.file.kind == .test ? [edited.file.fullPath] : edited.service.tests(of: edited.source)
    }
    var answer = EditorTestAnswer()
    if tests.isEmpty { return Shown(answer) }
    guard let outcomes = try await editor.tested(tests, edited.files, for: caller) else {
      answer.timedOut = true
      return Shown(answer)
    }
    answer.files = outcomes.map { TestedFileAnswer($0, path: editor.path(of: $0.path), editor.paths) }
    answer.passed = outcomes.reduce(0) { $0 + $1.cases.count { $0.failures.isEmpty } }
    answer.failed = outcomes.reduce(0) { $0 + $1.cases.count { !$0.failures.isEmpty } }
    return Shown(answer)
  }
}

/// The outcome of tests of a text that is being edited.
package struct EditorTestAnswer: FieldSet {
  @Field("The test files; none if the recipe has no test.") package var files: [TestedFileAnswer] = []
  @Field("How many cases passed.") package var passed = 0
  @Field("How many cases failed.") package var failed = 0
  @Field("Whether the tests took longer than a minute and were given up.") package var timedOut = false

  package init() {}
}

/// The outcome of a test file.
package struct TestedFileAnswer: FieldSet {
  @Field("Its path.") package var path: String
  @Field("The faults, as errand test prints them; with a fault, no case was run.") package var faults: [String] = []
  @Field("Its cases.") package var cases: [TestedCaseAnswer] = []

  package init() {}

  init(_ file: TestedFile, path: String, _ paths: ServerPaths) {
    self.path = path
    faults = file.faults.map(paths.told)
    cases = file.cases.map { item in
      filled(TestedCaseAnswer()) {
        $0.name = item.name
        $0.passed = item.failures.isEmpty
        $0.milliseconds = item.took.nanoseconds / 1_000_000
        $0.failures = item.failures.map(paths.told)
      }
    }
  }
}

/// The outcome of a case.
package struct TestedCaseAnswer: FieldSet {
  @Field("Its name.") package var name: String
  @Field("Whether every expectation held.") package var passed: Bool
  @Field("How long it took.") package var milliseconds: Int
  @Field("The failures, as errand test prints them.") package var failures: [String] = []

  package init() {}
}
