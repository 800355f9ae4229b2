import ActionKit
import Agent
import Basics
import Recipes
import RunState
import Runs
import SecretSources
import Testing

@testable import AgentRuntime

/// The version of the recipe language that a run began with.
@Suite struct LanguageVersionTests {
  private func prepared(_ language: Int?) async throws -> PreparedRun {
    let workspace = try Workspace(
      catalog: ActionCatalog([]), configurationPath: nil, stateFolder: "/nowhere/state", show: { _ in })
    let time = SystemTime()
    let factory = RunFactory(
      workspace: workspace, secrets: SecretSources([:]), pool: ServicePool(time: time), time: time)
    let text = "steps: [{ let: { a: 1 } }]"
    var origin = RunCreated(
      run: "r", at: .earliest, recipe: "r", file: "r.yaml", texts: .inline(.object(["r.yaml": .string(text)])),
      inputs: .object([:]), program: "0.9.0")
    if let language { origin.language = language }
    return try await factory.prepared(RunRecord(origin), from: MemoryStateStore())
  }

  @Test func `a run of an earlier version is resumed, and one of a later version is refused`() async throws {
    #expect(try await prepared(nil).recipe.name == "r")
    #expect(try await prepared(LanguageVersion.current).recipe.name == "r")
    let refusal = await #expect(throws: RunRefusedError.self) { _ = try await prepared(LanguageVersion.current + 1) }
    let wanted =
      "its recipe is of version \(LanguageVersion.current + 1) of the language, and this program knows up to \(LanguageVersion.current); resume it with errand 0.9.0 or later"
    #expect(refusal?.message == wanted)
  }

  @Test func `a run recorded before versions were is of the first`() throws {
    let origin = RunCreated(
      run: "r", at: .earliest, recipe: "r", file: "r.yaml", texts: .inline(.null), inputs: .null, program: "0.1.0")
    let record = origin.encoded()
    #expect(record["language"] == nil)
    #expect(try RunCreated(reading: record).language == 1)
  }
}
