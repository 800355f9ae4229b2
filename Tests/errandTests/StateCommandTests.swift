import Basics
import Foundation
import Testing

/// `errand doctor` and `errand state` with the real binary.
@Suite struct StateCommandTests {
  @Test func `a state is looked at, moved, damaged and mended`() async throws {
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
    #expect(found.out.contains("has the mode 755, so that others than its owner may use it"))
    #expect(found.out.contains("state.json.new is left of a write that was cut short"))
    let mended = try await program.call("doctor", "--repair", "--state", "other")
    #expect(mended.code == 0, "\(mended.out)\(mended.error)")
    #expect(mended.out.contains("state.json.new is removed"))
    #expect(try await program.call("runs", "list", "--json", "--state", "other").json["finished"] == runs)
    await program.remove()
  }
}
