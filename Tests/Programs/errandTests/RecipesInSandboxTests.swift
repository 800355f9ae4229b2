import ActionKit
import Basics
import Foundation
import Testing
import TimetablePlugin

/// Recipes of services, as run right after cloning the repository.
@Suite(.timeLimit(.minutes(20))) struct RecipesInSandboxTests {
  private static func recipe(_ name: String) -> String { Program.root.appending(path: "recipes/\(name).yaml").path }

  /// The outputs of a recipe that keeps its files, against a sandbox of timetables.
  private static func outputs(
    of recipe: String, _ program: Program, _ publisher: any RunningSandbox
  ) async throws -> Value {
    let outcome = try await program.call(
      "run", Self.recipe(recipe), "--config", "errand.yaml", "--json", "--set",
      "connections.timetable.baseURL=\(publisher.baseURL)")
    #expect(outcome.code == 0, "\(outcome.error)")
    return outcome.json["outputs"] ?? .null
  }

  @Test func `a rehearsal writes no file where real ones are`() async throws {
    let program = try await Program()
    let outcome = try await program.call("run", Self.recipe("timetable-ics"), "--sandbox", "--json")
    #expect(outcome.code == 0, "\(outcome.error)")
    #expect(outcome.json["outputs"]?["changed"]?.bool == true)
    #expect((outcome.json["outputs"]?["events"]?.int ?? 0) > 200)
    let path = try #require(outcome.json["outputs"]?["path"]?.string)
    #expect(path.hasSuffix("/timetable/classes.ics") && !FileManager.default.fileExists(atPath: path))
    for name in ["timetable", ".errand/cache"] {
      #expect(!FileManager.default.fileExists(atPath: program.folder.appending(path: name).path))
    }
    await program.remove()
  }

  @Test func `a calendar file is written, and left alone while it says the same`() async throws {
    let program = try await Program()
    let publisher = try await TimetablePlugin.startSandbox(SandboxOptions(time: SystemTime()))
    for changed in [true, false] {
      let outputs = try await Self.outputs(of: "timetable-ics", program, publisher)
      #expect(outputs["changed"]?.bool == changed)
      let text = try String(contentsOf: program.folder.appending(path: "timetable/classes.ics"), encoding: .utf8)
      #expect(text.hasPrefix("BEGIN:VCALENDAR\r\n"))
    }
    await publisher.stop()
    await program.remove()
  }

  @Test func `changes are reported against the copy, which is replaced`() async throws {
    let program = try await Program()
    let publisher = try await TimetablePlugin.startSandbox(SandboxOptions(time: SystemTime()))
    func message() async throws -> String? {
      try await Self.outputs(of: "timetable-changes", program, publisher)["message"]?.string
    }
    #expect(try await message() == "The first copy is saved.")
    let copy = program.folder.appending(path: "timetable/copy.json")
    let text = try String(contentsOf: copy, encoding: .utf8)
    try Data(text.replacing("\"7/I\"", with: "\"8/I\"").utf8).write(to: copy)
    #expect(try await message() == "changed: Wednesday 12–14 Computational Logic (lecture): room 8/I → 7/I")
    #expect(try await message() == "Nothing has changed.")
    await publisher.stop()
    await program.remove()
  }

  @Test func `tomorrow's classes are a message`() async throws {
    let program = try await Program()
    let outcome = try await program.call("run", Self.recipe("timetable-tomorrow"), "--sandbox", "--json")
    #expect(outcome.code == 0, "\(outcome.error)")
    let lines = outcome.json["outputs"]?["message"]?.string?.split(separator: "\n") ?? []
    #expect(lines.suffix(2).first == "! Welcome: Timetables are refreshed every morning.")
    await program.remove()
  }

  @Test func `the next departures of two stops are a message`() async throws {
    let program = try await Program()
    let outcome = try await program.call("run", Self.recipe("commute-digest"), "--sandbox", "--json")
    #expect(outcome.code == 0, "\(outcome.error)")
    let parts = outcome.json["outputs"]?["message"]?.string?.split(separator: "\n\n").map { $0.split(separator: "\n") }
    #expect(parts?.map(\.first) == ["Bern", "Bern, Hirschengraben"])
    #expect(parts?.map(\.count) == [6, 6])
    await program.remove()
  }

  @Test func `an answer of a service is reused by the next run, in another process`() async throws {
    let program = try await Program()
    let publisher = try await TimetablePlugin.startSandbox(SandboxOptions(time: SystemTime()))
    func message() async throws -> String? {
      try await Self.outputs(of: "timetable-tomorrow", program, publisher)["message"]?.string
    }
    let live = try await message()
    await publisher.stop()
    #expect(try await message() == live)
    #expect(live?.contains("Welcome") == true)
    await program.remove()
  }
}
