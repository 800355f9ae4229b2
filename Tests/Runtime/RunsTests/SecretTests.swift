import ActionKit
import Basics
import Recipes
import RunState
import Testing

@testable import Runs

@Suite struct SecretTests {
  private static let secret = "pä\"ss/word 1"

  @Test func `no secret reaches an event or a report, whatever the service sends back`() async throws {
    let secret = SecretTests.secret
    let bench = try Bench(
      """
      inputs:
        token: { type: string, secret: true }
      steps:
        - let: { header: "Bearer ${{ secrets.PASSWORD }}" }
        - { id: a, uses: bench.readPatiently, with: { name: a } }
        - { id: b, uses: bench.post, with: { name: b } }
      """, inputs: ValueMap([("token", .object(["secret": .string("TOKEN")]))]),
      secrets: ["PASSWORD": secret, "TOKEN": "tokentoken"])
    let encoded = [UInt8](secret.utf8).base64
    bench.service.script(
      "a",
      .fail(
        ActionError(
          .network, "refused \(secret)\u{301}, \(secret.percentEncoded)", detail: "sent \(encoded) tokentoken",
          cause: ActionError(.server, "inner \(secret)"))),
      .request(
        ServiceRequest(
          method: "GET", redactedURL: "http://x?p=\(secret.percentEncoded.lowercased())", status: nil, bytes: 0,
          duration: .zero)))
    bench.service.script("b", .doneThenFail(ActionError(.server, "{\"sent\": \"pä\\\"ss/word 1\"}")))
    let run = try await bench.run()
    #expect(run.status == .uncertain)
    let text = try bench.store.events.map { try JSON.text($0.encoded()) }.joined() + "\(bench.progress)"
    for form in [secret, "pä\\\"ss", "ss/word", "ss%2Fword", "ss%2fword", encoded, "tokentoken"] {
      // By bytes: what follows a secret may combine with its last letter.
      #expect(!Array(text.utf8).contains(Array(form.utf8)), "\(form)")
    }
    #expect(text.contains("sent ••• •••"))
  }

  @Test(arguments: [
    "as it is: SECRET.", "%70%C3%A4%22s%2Fw%5Cor+d", "p%c3%a4%22s/w%5cor%20d", #"{"a":"pä\"s/w\\or d"}"#,
    #"{"a":"p\u00e4\"s\/w\\or d"}"#, #"{"a":"{\"b\":\"pä\\\"s/w\\\\or d\"}"}"#, #"p\\u00E4\\\"s/w\\or\u0020d"#,
    "p&#228;&quot;s/w&#92;or d", "p&#xE4;&#x22;s/w\\or&#32;d", "70c3a422732f775c6f722064", "x70C3A422732F775C6F722064x",
    "cMOkInMvd1xvciBk", "eHDDpCJzL3dcb3IgZHg=", "eHhww6Qicy93XG9yIGR4eA", "cMOkInMvd1xvciBkeA==",
  ])
  func `a secret is found however it is written`(_ text: String) {
    let secret = #"pä"s/w\or d"#
    let redacted = Redactor(["other", secret]).redact(text.replacing("SECRET", with: secret))
    #expect(redacted.contains("•••"))
    #expect(!redacted.contains("or") && !redacted.contains("s/w") && !redacted.contains("XG"), "\(redacted)")
    // A text that is nearly the secret isn't redacted.
    let other = Redactor([secret + "\u{E9}"])
    #expect(other.redact(text) == text)
  }

  @Test func `base64 is found in the alphabet for addresses, and where it ends anywhere`() {
    let secret = "\u{3FF}~~\u{3FF}??pass"
    let redactor = Redactor([secret])
    for before in ["", "a", "ab"] {
      for after in ["", "a", "ab"] {
        let text = Array("\(before)\(secret)\(after)".utf8).base64
        let url = text.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        for encoded in [text, url] { #expect(redactor.redact(encoded).contains("•••"), "\(encoded)") }
      }
    }
  }

  @Test(arguments: 1...20)
  func `each step sees what was sent, and nothing of it is kept, whenever the program dies`(_ append: Int) async throws
  {
    let bench = try Bench(
      """
      steps:
        - let: { header: "Bearer ${{ secrets.PASSWORD }}" }
        - { id: a, uses: bench.read, with: { name: svc.automation } }
        - { id: b, forEach: "[steps.a.name, 'x']", uses: bench.read, with: { name: "${{ item }}" } }
      outputs: { a: "${{ steps.a.name }}" }
      """, secrets: ["PASSWORD": "svc.automation"], dyingAt: CrashingStore.Point(append: append, isAfter: true))
    _ = try? await bench.run()
    if bench.store.run("r1") != nil { #expect(try await bench.resume().status == .succeeded) }
    #expect(bench.service.count(of: "svc.automation") > 0 && bench.service.names.last == "x")
    let text = try bench.store.memory.state.ended.map { try JSON.text($0.encoded()) }.joined()
    #expect(!text.contains("svc.automation"))
  }

  @Test func `the longest form is taken out first, and short secrets not at all`() {
    let redactor = Redactor(["abcd", "abcdef", "xyz", ""])
    #expect(redactor.redact("abcdef abcd xyz abc") == "••• ••• xyz abc")
    #expect(redactor.redact("nothing") == "nothing")
    #expect(redactor.redact("abcd\u{301}") == "•••\u{301}")
    #expect(redactor.redact("aabcdabcd") == "a••••••")
  }

  @Test func `a loop over secrets is refused, because its list would be kept`() {
    #expect(throws: Bench.Unchecked.self) {
      try Bench(
        """
        steps:
          - { forEach: "[secrets.PASSWORD]", uses: bench.read, with: { name: a } }
        """)
    }
  }
}
