import Basics
import Foundation
import Testing

/// `errand doctor` and `errand state` with the real binary.
@Suite(.timeLimit(.minutes(20))) struct StateCommandTests {
  @Test func `a state is examined, moved, damaged and repaired`() async throws {
    let program = try await Program()
    let averages = Program.root.appending(path: "recipes/markbook-averages.yaml").path
    _ = try await program.call("run", averages, "--config", "errand.yaml", "-i", "markbook=1207731")
    let healthy = try await program.call("doctor", "--json")
    #expect(healthy.code == 0, "\(healthy.out)\(healthy.error)")
    #expect(healthy.json["findings"]?.list?.count == 0, "\(healthy.out)")
    #expect(healthy.json["counts"]?["finished runs"]?.int == 1)

    let exported = try await program.call("state", "export", "moved.archive")
    #expect(exported.code == 0, "\(exported.error)")
    let refused = try await program.call("state", "import", "moved.archive")
    #expect(refused.code == 73)
    #expect(refused.error.contains("with --replace it is kept aside"))
    let taken = try await program.call("state", "import", "moved.archive", "--state", "other")
    #expect(taken.code == 0, "\(taken.error)")
    let runs = try await program.call("runs", "list", "--json").json["finished"]
    #expect(runs?.list?.count == 1)
    #expect(try await program.call("runs", "list", "--json", "--state", "other").json["finished"] == runs)

    try FileManager.default.setAttributes(
      [.posixPermissions: 0o755], ofItemAtPath: program.folder.appending(path: "other").path)
    try program.write("{}", to: "other/state.json.new")
    let found = try await program.call("doctor", "--state", "other")
    #expect(found.code == 1)
    #expect(found.out.contains("has the mode 755, so that users other than its owner may use it"))
    #expect(found.out.contains("state.json.new is left over from an interrupted write"))
    let mended = try await program.call("doctor", "--repair", "--state", "other")
    #expect(mended.code == 0, "\(mended.out)\(mended.error)")
    #expect(mended.out.contains("state.json.new is removed"))
    #expect(try await program.call("runs", "list", "--json", "--state", "other").json["finished"] == runs)
    await program.remove()
  }

  @Test func `commands that only read work on a read-only disk`() async throws {
    let program = try await Program()
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
    try program.write("on: [{ every: 1h }]\nsteps: [{ let: { x: 1 } }]\n", to: "recipes/tick.yaml")
    #expect(try await program.call("run", "recipes/tick.yaml").code == 0)
    let run = try await program.call("runs", "list", "--json").json["finished"]?.list?.first?["id"]?.string ?? ""
    let folder = program.folder.path
    func reading(_ command: String) async throws -> Program.Outcome {
      try await program.shell(
        "exec unshare -m sh -c 'cd / && mount --bind \(folder) \(folder) && mount -o remount,bind,ro \(folder) && cd \(folder) && exec \(command)'"
      )
    }
    let can = try await reading("true")
    guard can.code == 0 else {
      print("skipped: no disk can be mounted here: \(can.error)")
      return await program.remove()
    }
    let errand = Program.binary.path
    let expected = try await program.call("runs", "list")
    let list = try await reading("\(errand) runs list")
    #expect((list.code, list.out) == (0, expected.out), "\(list.error)")
    for command in [
      "runs show \(run)", "runs logs \(run)", "why \(run)", "schedule list", "schedule next", "schedule log", "doctor",
    ] {
      let outcome = try await reading("\(errand) \(command)")
      #expect(outcome.code == 0, "\(command): \(outcome.out)\(outcome.error)")
    }
    let refused = try await reading("\(errand) runs resume")
    #expect(refused.code == 73, "\(refused.error)")
    await program.remove()
  }

  @Test func `keep-until-damage needs repair`() async throws {
    let program = try await Program()
    let outcome = try await program.call("doctor", "--keep-until-damage")
    #expect(outcome.code == 64)
    #expect(outcome.error.contains("errand doctor --repair --keep-until-damage"), "\(outcome.error)")
    await program.remove()
  }
}
