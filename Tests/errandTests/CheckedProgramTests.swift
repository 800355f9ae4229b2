import Basics
import Foundation
import Testing

/// What the commands say of what a recipe tells before it runs, and of values that JSON cannot hold.
@Suite struct CheckedProgramTests {
  @Test func `numbers that are no numbers are shown, and hide nothing else`() async throws {
    let program = try await Program()
    try program.write(
      """
      recipe: odd
      inputs: { zero: { type: double, default: 0.0 } }
      steps: [{ let: { nan: "${{ inputs.zero / inputs.zero }}", big: "${{ 1.0 / inputs.zero }}" } }]
      outputs: { nan: "${{ nan }}", both: ["${{ big }}", "${{ -big }}"], keys: "${{ {1: 'a', '1': 'b'} }}", n: 1 }
      """, to: "odd.yaml")
    let outcome = try await program.call("run", "odd.yaml", "--json")
    #expect(outcome.code == 0, "\(outcome.error)")
    let wanted = #"{"nan":"NaN","both":["Infinity","-Infinity"],"keys":{"1":"a","1 (a string)":"b"},"n":1}"#
    #expect(outcome.json["outputs"] == (try JSON.parse(wanted)), "\(outcome.out)")
    let id = try #require(outcome.json["run"]?.string)
    let shown = try await program.call("runs", "show", id, "--json")
    #expect(shown.code == 0, "\(shown.error)")
    #expect(shown.json["outputs"] == (try JSON.parse(wanted)), "\(shown.out)")
    let text = try await program.call("runs", "show", id)
    #expect(text.out.contains("nan: NaN"), "\(text.out)")
    #expect(text.out.contains("n: 1"), "\(text.out)")
    await program.remove()
  }

  @Test func `addresses and settings that a connection lacks are faults of the check`() async throws {
    let program = try await Program()
    let recipes = [
      ("odd", "{ uses: http.get, with: { url: nonsense } }"),
      ("path", "{ uses: http.get, with: { url: /items } }"),
      ("whole", "{ uses: http.get, with: { url: https://example.org/items } }"),
      ("shop", "{ uses: http.post, connection: shop, with: { url: \"/items/${{ run.id }}\" } }"),
      ("mail", "{ uses: mail.send, with: { to: [a@example.org], from: b@example.org, subject: x, text: y } }"),
    ]
    for (name, step) in recipes { try program.write("recipe: \(name)\nsteps: [\(step)]\n", to: "\(name).yaml") }
    func said(_ name: String) async throws -> String {
      let outcome = try await program.call("check", "\(name).yaml")
      let isFault = outcome.code == 3
      #expect(isFault || outcome.code == 0, "\(outcome.error)")
      return isFault ? outcome.error : ""
    }
    // Without the file nothing is known of connections, but an address is an address.
    try FileManager.default.removeItem(at: program.folder.appending(path: "errand.yaml"))
    #expect(
      try await said("odd").contains(
        "'with.url' must be an address such as https://example.org/items, or a path such as /items, but is 'nonsense'"
      ))
    for name in ["path", "whole", "mail"] { #expect(try await said(name).isEmpty) }
    try program.write("connections: { shop: { plugin: http } }\n", to: "errand.yaml")
    #expect(
      try await said("path").contains(
        "errand.yaml has no connection 'http', which needs 'baseURL' here; add it under 'connections'"))
    #expect(
      try await said("shop").contains("connection 'shop' of errand.yaml has no 'baseURL', which this 'http.post' needs")
    )
    #expect(
      try await said("mail").contains(
        "errand.yaml has no connection 'mail', which needs 'host' here; add it under 'connections'"))
    #expect(try await said("whole").isEmpty)
    try program.write(
      "connections: { http: { baseURL: https://a.example }, mail: { host: smtp.example.org, from: a@example.org } }\n",
      to: "errand.yaml")
    for name in ["path", "whole", "mail"] { #expect(try await said(name).isEmpty) }
    await program.remove()
  }
}
