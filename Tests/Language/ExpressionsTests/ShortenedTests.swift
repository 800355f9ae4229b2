import Basics
import Testing

@testable import Expressions

/// Values as messages show them.
@Suite struct ShortenedTests {
  @Test func `a secret is taken out of each text before anything is cut`() {
    let secret = "s3cret-" + String(repeating: "0123456789", count: 4)
    let redaction: OutsideText.Redaction = { text, _ in text.replacing(secret, with: "•••") }
    for count in 0..<170 {
      let text = String(repeating: "x", count: count) + secret
      let values: [Value] = [
        .string(text), .list([.string("a"), .string(text)]), .object(["k": .object([text: .string(text)])]),
      ]
      for value in values {
        let shortened = OutsideText.redactedAtOnce(by: redaction) { value.shortened() }
        #expect(!shortened.contains("s3cret"), "\(shortened)")
      }
    }
  }
}
