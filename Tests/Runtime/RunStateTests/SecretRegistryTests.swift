import Basics
import Testing

@testable import RunState

@Suite struct SecretRegistryTests {
  private static let secrets = [
    "abcd", "tok-5Xw9QzLr7TnB2xWc9LmZ4kVb8HsJ3pGd6Ye", #"p"%+ä\/ é😀"#, "line one\nline two", "4711", "a%2Bb&<c>'d",
    "Konstanz",
  ]

  /// Every way to write a secret that services use, alone and within something longer.
  private static func spellings(of secret: String) -> [String] {
    var texts = [
      secret, secret.percentEncoded, secret.percentEncoded.percentEncoded,
    ]
    texts += [secret.percentEncoded.replacing("%20", with: "+")]
    let quoted = String(JSON.quoted(secret).dropFirst().dropLast())
    texts += [quoted, String(JSON.quoted(quoted).dropFirst().dropLast()), quoted.replacing("/", with: "\\/")]
    texts.append(
      secret.unicodeScalars.map { scalar in
        String(scalar).utf16.map {
          "\\u" + String(repeating: "0", count: 4 - String($0, radix: 16).count)
            + String($0, radix: 16)
        }.joined()
      }.joined())
    texts.append(
      secret.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
        .replacing("\"", with: "&quot;"))
    let bytes = Array(secret.utf8)
    texts += [bytes.base64, bytes.hexadecimal, bytes.hexadecimal.uppercased()]
    let scalars = secret.unicodeScalars
    func all(_ form: (Unicode.Scalar) -> String) -> String { scalars.map(form).joined() }
    func hex(_ number: UInt32, _ count: Int) -> String {
      let digits = String(number, radix: 16)
      return String(repeating: "0", count: max(0, count - digits.count)) + digits
    }
    texts += [
      all { "&#\($0.value);" }, all { "&#x\(hex($0.value, 1).uppercased());" }, all { "&#X\(hex($0.value, 6));" },
      all { "\($0)".utf8.map { "%\(hex(UInt32($0), 2).uppercased())" }.joined() },
      all { "\($0)".utf8.map { "%252525\(hex(UInt32($0), 2))" }.joined() },
      all { "\($0)".utf16.map { "\\\\u\(hex(UInt32($0), 4).uppercased())" }.joined() },
      String(JSON.quoted(String(JSON.quoted(quoted).dropFirst().dropLast())).dropFirst().dropLast()),
      // Each character in a different way.
      scalars.enumerated().map { index, scalar in
        index % 2 == 0 ? "\(scalar)" : "\(scalar)".utf8.map { "%\(hex(UInt32($0), 2))" }.joined()
      }.joined(),
    ]
    // With fewer bytes, too few digits are independent of the neighbours.
    var digits = [bytes.base64, bytes.hexadecimal]
    for before in ["x", "xy", "xyz"] where bytes.count >= 6 { digits.append(Array("\(before)\(secret)-".utf8).base64) }
    texts += digits
    for digits in digits {
      // With the line breaks of `base64`, `xxd -p` and MIME, each also escaped.
      for end in ["\n", "\r\n", "\\n", "\\r\\n", "\\\\n", "\\u000a", "%0A", "%0d%0a", "%250A", "&#10;", "\n\n"] {
        texts += [broken(digits, after: 5, by: end), broken(digits, after: 1, by: end)]
      }
    }
    return texts
  }

  private static func broken(_ digits: String, after count: Int, by end: String) -> String {
    digits.enumerated().map { ($0 > 0 && $0 % count == 0 ? end : "") + String($1) }.joined()
  }

  @Test(arguments: secrets)
  func `a kept value holds no secret, and is restored exactly`(_ secret: String) async throws {
    let registry = SecretRegistry()
    registry.learn([("OTHER", "something else"), ("S", secret)])
    for text in SecretRegistryTests.spellings(of: secret) {
      for value in [
        Value.string(text), .string("before \(text) after \(text)"), .object(["a": .list([.string(text), .null])]),
        .map(ValueMap([(text, .string("x"))])), .bytes([0xFF] + Array(text.utf8) + [0]),
        Value(.optional(.string(text))),
      ] {
        let masked = try registry.masked(value)
        #expect(masked.isMasked, "\(text)")
        let kept = try JSON.text(masked.encoded())
        #expect(SecretFinder([("S", secret)]).finds(in: kept).isEmpty, "\(kept)")
        let read = try Value(reading: JSON.parse(kept))
        #expect(read == masked)
        #expect(try await registry.restored(read, as: "it") == value, "\(text)")
        #expect(!(try JSON.text(read)).contains(secret))
      }
    }
  }

  @Test func `a long secret in lines of digits is kept by reference to the byte`() async throws {
    let secret = (0..<40).map { "part \($0 * 7919)" }.joined(separator: ".")
    let registry = SecretRegistry()
    registry.learn([("S", secret)])
    for (digits, width) in [(Array(secret.utf8).base64, 76), (Array("token=\(secret);".utf8).hexadecimal, 60)] {
      for end in ["\n", "\r\n"] {
        let text = "-----\n" + SecretRegistryTests.broken(digits, after: width, by: end) + "\n-----\n"
        let masked = try registry.masked(.string(text))
        let kept = try JSON.text(masked.encoded())
        #expect(kept.utf8.count < 700, "\(kept)")
        #expect(try await registry.restored(Value(reading: JSON.parse(kept)), as: "it") == .string(text))
      }
    }
    let letter = Needle.Scalar(value: 0x41, utf8: [0x41])
    #expect(SecretPattern.text("[\n]c", of: letter) == [0x0A, 0x41] && SecretPattern.text("[\n", of: letter) == nil)
  }

  @Test func `a secret whose bytes were read as characters is found, and restored`() async throws {
    let registry = SecretRegistry()
    let secret = "s3cr\"t+%é-äbc"
    registry.learn([("A", secret)])
    let read = String(String.UnicodeScalarView(secret.utf8.map { UnicodeScalar($0) }))
    for text in [read, "Bearer \(read)", JSON.quoted(read)] {
      let masked = try registry.masked(.string(text))
      #expect(!(try JSON.text(masked.encoded()).contains("s3cr")), "\(text)")
      #expect(try await registry.restored(masked, as: "it") == .string(text))
    }
  }

  @Test func `overlapping secrets leave nothing of either`() async throws {
    let registry = SecretRegistry()
    registry.learn([("A", "abcdef"), ("B", "defghijkl"), ("C", "abcdefgh")])
    for text in ["abcdefghijkl", "xabcdefghx", "abcdefabcdefghijkl"] {
      let masked = try registry.masked(.string(text))
      let kept = try JSON.text(masked.encoded())
      for part in ["abc", "fgh", "ijkl"] { #expect(!kept.contains(part), "\(kept)") }
      #expect(try await registry.restored(masked, as: "it") == .string(text))
    }
  }

  @Test func `numbers that hold a secret are kept by reference`() async throws {
    let registry = SecretRegistry()
    registry.learn([("PIN", "4711")])
    for value in [Value.int(4711), .int(-124711), .uint(47110), .double(4711.5)] {
      let masked = try registry.masked(value)
      #expect(masked.isMasked)
      #expect(try await registry.restored(Value(reading: masked.encoded()), as: "it") == value)
    }
    #expect(try registry.masked(.int(4712)) == .int(4712))
  }

  @Test func `a secret that has changed or is missing is reported`() async throws {
    let registry = SecretRegistry()
    registry.learn([("A", "first text")])
    let masked = try registry.masked(.string("it is first text"))
    let other = SecretRegistry()
    var missing = StateError(.secret, "the secret 'A' is missing, and the list holds its text; set 'A'")
    missing.missing = "A"
    await #expect(throws: missing) {
      try await other.restored(masked, as: "the list")
    }
    other.learn([("A", "another text")])
    let changed = """
      the secret 'A' has changed since the list was kept, which holds its former text; set 'A' to that text
      """
    await #expect(throws: StateError(.secret, changed)) { try await other.restored(masked, as: "the list") }
    // The former text of a secret that is renewed is gone for good.
    other.ask(renewed: { $0 == "A" }) { _, _ in nil }
    #expect(try await other.restored(masked, as: "the list") == .string("it is another text"))
    let fresh = SecretRegistry()
    fresh.ask(renewed: { $0 == "A" }) { _, _ in "a third text" }
    #expect(try await fresh.restored(masked, as: "the list") == .string("it is a third text"))
    let setting = SecretRegistry()
    setting.learn([("connections.desk #1", "first text")])
    let nameless =
      "a secret setting of the connection 'desk' is missing, and the list holds its text; set it in errand.yaml"
    missing = StateError(.secret, nameless)
    missing.missing = "connections.desk #1"
    await #expect(throws: missing) {
      try await SecretRegistry().restored(setting.masked(.string("it is first text")), as: "the list")
    }
    let asking = SecretRegistry()
    asking.ask { name, isFresh in name == "A" && isFresh ? "first text" : "what was read before" }
    #expect(try await asking.restored(masked, as: "the list") == .string("it is first text"))
  }

  @Test func `a value that looks like a reference is kept unchanged`() async throws {
    let value = Value.object(["$masked": .list([.string("x")])])
    #expect(try Value(reading: JSON.parse(JSON.text(value.encoded()))) == value)
  }

  @Test(arguments: [
    ("token\n", "a token b", true),
    ("-----BEGIN KEY-----\nabcdefgh1\nABCDEFGH2\n-----END KEY-----\n", "abcdefgh1ABCDEFGH2", true),
    ("-----BEGIN KEY-----\nabcdefgh1\nABCDEFGH2\n-----END KEY-----\n", "-----BEGIN KEY-----", false),
  ])
  func `a secret without its blanks and line ends is kept by reference`(
    _ secret: String, _ text: String, _ isMasked: Bool
  ) async throws {
    let registry = SecretRegistry()
    registry.learn([("S", secret)])
    let masked = try registry.masked(.string(text))
    #expect(masked.isMasked == isMasked)
    let read = try Value(reading: JSON.parse(JSON.text(masked.encoded())))
    #expect(try await registry.restored(read, as: "it") == .string(text))
  }

  @Test func `in a text for display, blanks and broken lines hide nothing`() {
    let secret = "two  blanks and a\tlong enough text to be broken into several lines of digits, as base64 does it"
    let finder = SecretFinder([("S", secret)])
    let digits = Array(secret.utf8).base64
    var broken = ""
    for (index, digit) in digits.enumerated() { broken += (index > 0 && index % 76 == 0 ? "\n" : "") + String(digit) }
    for text in [secret, secret.replacing("  ", with: " "), secret.replacing(" ", with: "\n  "), digits, broken] {
      #expect(finder.redact("<\(text)>") == "<•••>", "\(text)")
    }
    #expect(finder.redact("two blanks and nothing") == "two blanks and nothing")
  }

  @Test(arguments: [("", "\\", 300_000), ("", " \n", 150_000), ("%", "25", 5_000), ("", "\\u005c", 10_000)])
  func `long runs of escapes are searched quickly`(_ start: String, _ unit: String, _ count: Int) async throws {
    let text = start + String(repeating: unit, count: count)
    let registry = SecretRegistry()
    registry.learn([("A", "\\\\server\\share"), ("B", " two  blanks"), ("C", "%25 of it"), ("D", "\"quoted\"")])
    let begin = ContinuousClock.now
    #expect(registry.finder.redact(text) == text)
    for secret in ["\\\\server\\share", "\"quoted\""] {
      let escaped = JSON.quoted(JSON.quoted(secret))
      #expect(registry.finder.redact("\(text)\(secret)\(text)").contains(secret) == false)
      #expect(registry.finder.redact("\(text)x\(escaped)x\(text)").contains(secret.prefix(8).dropFirst(3)) == false)
    }
    // A search of the whole rest at each place would take hours.
    #expect(begin.duration(to: .now) < .seconds(60))
  }

  @Test func `the reason of a pause is kept without secrets`() async throws {
    let store = MemoryStateStore()
    store.secrets.learn([("TOKEN", "s3cret-4711")])
    let pause = PauseRecord(at: instant(0), origin: .person, note: "because s3cret-4711 is old")
    let event = try StateEvent.schedulePaused(SchedulePaused(schedule: "s", pause: pause)).withoutSecrets(store.secrets)
    guard case .schedulePaused(let kept) = event else { throw StateError(.invalid, "another event") }
    #expect(kept.pause?.note == "because ••• is old")
  }

  @Test func `a key of a request is kept as a text, and no other text is taken for a reference`() async throws {
    let registry = SecretRegistry()
    registry.learn([("S", "sesame-4711")])
    for text in ["key", "key of sesame-4711", #"{"$masked":["x"]}"#, #"{"$masked":[["S","00"]]}"#] {
      let kept = try registry.masked(text: text)
      #expect(!kept.contains("sesame"))
      #expect(try await registry.restored(text: kept, as: "it") == text)
      #expect(SecretRegistry.displayed(text: kept) == text.replacing("sesame-4711", with: "•••"))
    }
  }
}
