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
