import Basics
import Testing

@testable import RunState

@Suite struct SecretFormsTests {
  private static let quoted = #"it's-a "secret" $42 `x` é\z"#

  /// How programs print the secret: the name of the form and the printed text.
  private static let shells: [(String, String)] = [
    ("bash -x", #"+ : 'it'\''s-a "secret" $42 `x` é\z'"#),
    ("printf %q", #"it\'s-a\ \"secret\"\ \$42\ \`x\`\ é\\z"#),
    ("declare -p", #"declare -x PW="it's-a \"secret\" \$42 \`x\` é\\z""#),
    ("dollar quotes", #"$'it\'s-a "secret" $42 `x` \303\251\\z'"#),
    ("shlex.quote", #"'it'"'"'s-a "secret" $42 `x` é\z'"#),
    ("repr of bytes", #"b'it\'s-a "secret" $42 `x` \xc3\xa9\\z'"#),
    ("PowerShell, double quotes", #""it's-a `"secret`" `$42 ``x`` é\z""#),
    ("PowerShell and YAML, single quotes", #"'it''s-a "secret" $42 `x` é\z'"#),
    ("CSV", #"a,"it's-a ""secret"" $42 `x` é\z",b"#),
    ("XML", #"<p a="it&apos;s-a &quot;secret&quot; $42 `x` &#233;\z"/>"#),
    ("TOML", #"pw = "it's-a \"secret\" $42 `x` é\\z""#),
  ]

  @Test(arguments: shells) func `a quoted secret is hidden and kept by reference`(_ form: String, _ text: String) throws
  {
    let registry = SecretRegistry()
    registry.learn([("PW", Self.quoted)])
    let displayed = registry.finder.redact(text)
    #expect(!displayed.contains("secret") && displayed.contains("•••"), "\(form): \(displayed)")
    let kept = try registry.masked(.string(text))
    #expect(!JSON.displayed(kept.encoded()).contains("secret"), "\(form)")
  }

  private static let account = #"""
    {"type":"account","id":1234567890123,"private_key_id":"f871b60d0617be19393b","private_key":"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\n-----END PRIVATE KEY-----\n","url":"https://me:pa55@db.example.org/x"}
    """#

  private static let parts: [(secret: String, text: String, hidden: [String], displayed: [String])] = [
    (
      account,
      "  \"private_key_id\": \"f871b60d0617be19393b\",\nMIIEvQIBADANBgkqhkiG9w0BAQ\nuser me, account pa55 private_key_id",
      ["f871b60d0617be19393b", "MIIEvQIBADANBgkqhkiG9w0BAQ", "pa55"], ["account", "private_key_id", "user me"]
    ),
    (
      "user: admin\npassword: 'correct horse'\nport: 5432\n", "admin 5432 got 'correct horse' as password",
      ["correct horse"], ["admin", "5432", "password"]
    ),
    (
      "export API_KEY=\"sk-live-123456\"\nMODE=fast", "key sk-live-123456 in mode fast, API_KEY", ["sk-live-123456"],
      ["fast", "API_KEY"]
    ),
    (
      "postgres://app:p%40ss-w0rd@db.example.org:5432/main", "db.example.org refused p%40ss-w0rd and p@ss-w0rd of app",
      ["p%40ss-w0rd", "p@ss-w0rd"], ["db.example.org", "of app"]
    ),
    (
      "Server=db.example.org;Uid=app;Pwd=hunter22;", "db.example.org: hunter22 of app", ["hunter22"],
      ["db.example.org", "of app"]
    ),
  ]

  @Test(arguments: parts.indices) func `what a secret holds is a secret of its own, and nothing else`(_ index: Int)
    throws
  {
    let (secret, text, hidden, displayed) = Self.parts[index]
    let registry = SecretRegistry()
    registry.learn([("PW", secret)])
    let redacted = registry.finder.redact(text)
    for word in hidden { #expect(!redacted.contains(word), "\(word) in \(redacted)") }
    for word in displayed { #expect(redacted.contains(word), "\(word) not in \(redacted)") }
    _ = try registry.masked(.string(text))
  }

  @Test(arguments: [
    "backup volume is 90% full", "9% t", "a & b", "R&D", #"C:\data\new"#, "t&", "100%", #"ends with \"#, "tok", "x%2",
    "e\\u00", "took 74 6f ms", "listening on port 746f", "commit 746f6b2", "commit 746F", "id dG9r", "id dG9rL",
    "id b2steH",
  ])
  func `an end that begins no secret is displayed`(_ text: String) {
    let finder = SecretFinder([(name: "TOK", text: "tok-xyzuvw-123")])
    #expect(finder.redact(text, isCut: true) == text)
    var lines = RedactedLines(finder)
    #expect(lines.add(Array(text.utf8)) + lines.finish() == [text])
  }

  @Test(arguments: [
    ("a tok-x", "a •••"), ("a tok-%", "a •••"), ("a tok-%7", "a •••"), (#"a tok-\u00"#, "a •••"), ("a tok-&#", "a •••"),
    ("a tok-% full", "a tok-% full"), ("a 746f6b2d", "a •••"), ("a 746F6B2D78", "a •••"), ("a dG9rLX", "a •••"),
    ("a \\x74\\x6f\\x6b\\x2d", "a •••"),
  ])
  func `a secret that is cut is hidden from its fourth byte on`(_ text: String, _ displayed: String) {
    #expect(SecretFinder([(name: "TOK", text: "tok-xyzuvw-123")]).redact(text, isCut: true) == displayed)
  }

  private static let controls = "P\u{E4}ssw\u{F6}rd-\u{1F600}\u{1B}\t\u{7}x"

  @Test(arguments: [
    #"P\xE4ssw\xF6rd-\U0001F600\e\t\ax"#, #"P\\xe4ssw\\xf6rd-\\U0001f600\\x1b\\t\\x07x"#,
    #"P\xc3\xa4ssw\xc3\xb6rd-\xf0\x9f\x98\x80\x1b\t\x07x"#,
    #"P\\xc3\\xa4ssw\\xc3\\xb6rd-\\xf0\\x9f\\x98\\x80\\x1b\\t\\x07x"#,
    #"$'P\303\244ssw\303\266rd-\360\237\230\200\E\t\ax'"#, "P\u{E4}ssw\u{F6}rd-\u{1F600}`e`t`ax",
  ])
  func `characters escaped by number or letter are hidden and restored`(_ text: String) async throws {
    let registry = SecretRegistry()
    registry.learn([("PW", Self.controls)])
    let displayed = registry.finder.redact(text)
    #expect(displayed.contains("•••") && !displayed.contains("ssw"), "\(displayed)")
    let kept = JSON.displayed(try registry.masked(.string(text)).encoded())
    #expect(!kept.contains("ssw"))
    #expect(try await registry.restored(Value(reading: JSON.parse(kept)), as: "it") == .string(text))
  }

  private static let dumps: [(text: String, displayed: String)] = [
    (" 47 72 c3 bc 6e 2d 57 61 6c 64 2d 50 66 6f 72 74\n 65 2d 37 37 c3 9f\n", " •••\n"),
    (
      "0000000 47 72 c3 bc 6e 2d 57 61 6c 64 2d 50 66 6f 72 74\n0000020 65 2d 37 37 c3 9f\n0000026\n",
      "0000000 •••\n0000026\n"
    ),
    (
      "0000000 47 72 c3 bc 6e 2d 57 61 6c 64 2d 50 66 6f 72 74  >Gr..n-Wald-Pfort<\n0000020 65 2d 37 37 c3 9f      >e-77..<\n",
      "0000000 •••\n"
    ),
    (
      "00000000: 7878 4772 c3bc 6e2d 5761 6c64 2d50 666f  xxGr..n-Wald-Pfo\n00000010: 7274 652d 3737 c39f 0a        rte-77...\n",
      "00000000: 7878 •••\n"
    ),
    (
      "00000000  47 72 c3 bc 6e 2d 57 61  6c 64 2d 50 66 6f 72 74  |Gr..n-Wald-Pfort|\n00000010  65 2d 37 37 c3 9f        |e-77..|\n00000016\n",
      "00000000  •••\n00000016\n"
    ),
  ]

  /// A secret of letters that are hexadecimal digits, as each tool prints it, and the text shown around it.
  private static let lettersInDumps: [(tool: String, text: String, displayed: String)] = [
    (
      "xxd",
      "00000000: 4131 6232 4333 6434 4535 6636 4737 6838  A1b2C3d4E5f6G7h8\n00000010: 4939 6a30                                I9j0\n",
      "00000000: •••\n"
    ),
    (
      "xxd -c 8",
      "00000000: 4131 6232 4333 6434  A1b2C3d4\n00000008: 4535 6636 4737 6838  E5f6G7h8\n00000010: 4939 6a30            I9j0\n",
      "00000000: •••\n"
    ),
    (
      "xxd -g1",
      "00000000: 41 31 62 32 43 33 64 34 45 35 66 36 47 37 68 38  A1b2C3d4E5f6G7h8\n00000010: 49 39 6a 30                                      I9j0\n",
      "00000000: •••\n"
    ),
    (
      "xxd -u",
      "00000000: 4131 6232 4333 6434 4535 6636 4737 6838  A1b2C3d4E5f6G7h8\n00000010: 4939 6A30                                I9j0\n",
      "00000000: •••\n"
    ),
    (
      "hexdump -C",
      "00000000  41 31 62 32 43 33 64 34  45 35 66 36 47 37 68 38  |A1b2C3d4E5f6G7h8|\n00000010  49 39 6a 30                                       |I9j0|\n00000014\n",
      "00000000  •••\n00000014\n"
    ),
    (
      "od -tx1z",
      "0000000 41 31 62 32 43 33 64 34 45 35 66 36 47 37 68 38  >A1b2C3d4E5f6G7h8<\n0000020 49 39 6a 30                                      >I9j0<\n0000024\n",
      "0000000 •••\n0000024\n"
    ),
    (
      "od -Ax -tx1z",
      "000000 41 31 62 32 43 33 64 34 45 35 66 36 47 37 68 38  >A1b2C3d4E5f6G7h8<\n000010 49 39 6a 30                                      >I9j0<\n000014\n",
      "000000 •••\n000014\n"
    ),
    (
      "xxd user:",
      "00000000: 7573 6572 3a41 3162 3243 3364 3445 3566  user:A1b2C3d4E5f\n00000010: 3647 3768 3849 396a 30                   6G7h8I9j0\n",
      "00000000: 7573 6572 3a•••\n"
    ),
    (
      "xxd -c 8 user:",
      "00000000: 7573 6572 3a41 3162  user:A1b\n00000008: 3243 3364 3445 3566  2C3d4E5f\n00000010: 3647 3768 3849 396a  6G7h8I9j\n00000018: 30                   0\n",
      "00000000: 7573 6572 3a•••\n"
    ),
    (
      "xxd -g1 user:",
      "00000000: 75 73 65 72 3a 41 31 62 32 43 33 64 34 45 35 66  user:A1b2C3d4E5f\n00000010: 36 47 37 68 38 49 39 6a 30                       6G7h8I9j0\n",
      "00000000: 75 73 65 72 3a •••\n"
    ),
    (
      "xxd -u user:",
      "00000000: 7573 6572 3A41 3162 3243 3364 3445 3566  user:A1b2C3d4E5f\n00000010: 3647 3768 3849 396A 30                   6G7h8I9j0\n",
      "00000000: 7573 6572 3A•••\n"
    ),
    (
      "hexdump -C user:",
      "00000000  75 73 65 72 3a 41 31 62  32 43 33 64 34 45 35 66  |user:A1b2C3d4E5f|\n00000010  36 47 37 68 38 49 39 6a  30                       |6G7h8I9j0|\n00000019\n",
      "00000000  75 73 65 72 3a •••\n00000019\n"
    ),
    (
      "od -tx1z user:",
      "0000000 75 73 65 72 3a 41 31 62 32 43 33 64 34 45 35 66  >user:A1b2C3d4E5f<\n0000020 36 47 37 68 38 49 39 6a 30                       >6G7h8I9j0<\n0000031\n",
      "0000000 75 73 65 72 3a •••\n0000031\n"
    ),
    (
      "od -Ax -tx1z user:",
      "000000 75 73 65 72 3a 41 31 62 32 43 33 64 34 45 35 66  >user:A1b2C3d4E5f<\n000010 36 47 37 68 38 49 39 6a 30                       >6G7h8I9j0<\n000019\n",
      "000000 75 73 65 72 3a •••\n000019\n"
    ),
  ]

  @Test(arguments: lettersInDumps) func `a secret in a dump is hidden although its characters may be digits`(
    _ tool: String, _ text: String, _ displayed: String
  ) async throws {
    let registry = SecretRegistry()
    registry.learn([("PW", "A1b2C3d4E5f6G7h8I9j0")])
    #expect(registry.finder.redact(text) == displayed, "\(tool)")
    var lines = RedactedLines(registry.finder)
    let told = lines.add(Array(text.utf8)) + lines.finish()
    #expect(told.contains { $0.contains("•••") } && !told.contains { $0.contains("A1b2") || $0.contains("I9j0") })
    try await expectKept(text, in: registry)
  }

  /// A value with a dump is kept without its secret, or not at all.
  private func expectKept(_ text: String, in registry: SecretRegistry) async throws {
    for value in [Value.string(text), .bytes(Array(text.utf8)), .list([.object(["a": .string(text)])])] {
      let masked: Value
      do throws(StateError) { masked = try registry.masked(value) } catch {
        #expect(error.kind == .invalid && error.message.contains("holds the secret 'PW', spelled so that"))
        continue
      }
      #expect(try await registry.restored(Value(reading: masked.encoded()), as: "it") == value)
      let displayed = JSON.displayed(masked.encoded())
      for part in ["A1b2", "I9j0", "4131", "6a30", "Wald", "Pforte"] {
        #expect(!displayed.contains(part), "\(displayed)")
      }
    }
  }

  /// A secret, and how programs print it.
  private static let others: [(secret: String, text: String, displayed: String)] = [
    ("it's-a-secret-42", #"{"a":"'it'\\''s-a-secret-42'"}"#, #"{"a":"'•••'"}"#),
    ("it's-a-secret-42", #"{"a":"'it'\"'\"'s-a-secret-42'"}"#, #"{"a":"'•••'"}"#),
    (#"q"uote-secret-42"#, #"["\"q\"\"uote-secret-42\""]"#, #"["\"•••\""]"#),
    (#""q"uote-secret-42"#, #"["\"\"\"q\"\"uote-secret-42\""]"#, #"["\"•••\""]"#),
    ("a\tb's-secret-42x", #"'a'$'\t''b'\''s-secret-42x'"#, "'•••'"),
    ("a\tb's-secret-42x", #"{"a":"'a'$'\\t''b'\\''s-secret-42x'"}"#, #"{"a":"'•••'"}"#),
    ("a\n\t'secret-42x", #"'a'$'\n\t'\''secret-42x'"#, "'•••'"),
    ("a\n\n\tb-42x", #"{"a":"a\n\n\tb-42x"}"#, #"{"a":"•••"}"#),
    ("\t\u{E9}secret-42x", #"''$'\t\303\251''secret-42x'"#, "''$'•••'"),
    ("p\u{E4}ssw\u{F6}rd-42-geheim", "<p\u{FFFD}ssw\u{FFFD}rd-42-geheim>", "<•••>"),
    ("p\u{E4}ssw\u{F6}rd-42-geheim", "<p%E4ssw%f6rd-42-geheim>", "<•••>"),
    ("p\u{E4}ssw\u{F6}rd-42-geheim", "<p>p&auml;ssw&ouml;rd-42-geheim</p>", "<p>•••</p>"),
    ("p\u{E4}ss&w'\u{F6}rd-42", "<p>p&amp;auml;ss&amp;amp;w&amp;#39;&amp;amp;#246;rd-42</p>", "<p>•••</p>"),
    ("\u{FC}\u{DF}<&>-42-secret", "&uuml;&szlig;&lt;&amp;&gt;-42-secret", "•••"),
  ]

  @Test(arguments: others) func `a secret in quotes within quotes, and in other characters, is hidden and restored`(
    _ secret: String, _ text: String, _ displayed: String
  ) async throws {
    let registry = SecretRegistry()
    registry.learn([("PW", secret)])
    #expect(registry.finder.redact(text) == displayed)
    let kept = JSON.displayed(try registry.masked(.string(text)).encoded())
    #expect(!kept.contains("42"))
    #expect(try await registry.restored(Value(reading: JSON.parse(kept)), as: "it") == .string(text))
  }

  @Test func `a secret in bytes of Latin-1 is kept by reference`() async throws {
    let registry = SecretRegistry()
    registry.learn([("PW", "p\u{E4}ssw\u{F6}rd-42-geheim")])
    let value = Value.bytes(Array("p".utf8) + [0xE4] + Array("ssw".utf8) + [0xF6] + Array("rd-42-geheim\n".utf8))
    let masked = try registry.masked(value)
    #expect(masked.isMasked)
    #expect(try await registry.restored(Value(reading: masked.encoded()), as: "it") == value)
  }

  @Test(arguments: dumps) func `a secret in a dump is hidden with its characters`(_ text: String, _ displayed: String)
    async throws
  {
    let registry = SecretRegistry()
    registry.learn([("PW", "Grün-Wald-Pforte-77ß")])
    #expect(registry.finder.redact(text) == displayed)
    try await expectKept(text, in: registry)
  }

  private static let cutSecret = "abcd\u{E9}\u{1F600}&'\u{DF}"

  private static func digits(_ value: some BinaryInteger, _ count: Int, radix: Int = 16) -> String {
    let digits = String(value, radix: radix)
    return String(repeating: "0", count: max(0, count - digits.count)) + digits
  }

  private static func octal(_ scalar: Unicode.Scalar) -> String {
    String(scalar).utf8.map { "\\" + digits($0, 3, radix: 8) }.joined()
  }

  /// How each character after the fourth is written.
  private static let cutForms: [(name: String, form: @Sendable (Unicode.Scalar) -> String)] = [
    ("x", { String($0).utf8.map { "\\x" + digits($0, 2) }.joined() }),
    ("doubled x", { String($0).utf8.map { "\\\\\\\\x" + digits($0, 2).uppercased() }.joined() }),
    ("u", { String($0).utf16.map { "\\u" + digits($0, 4) }.joined() }),
    ("doubled u", { String($0).utf16.map { "\\\\u" + digits($0, 4).uppercased() }.joined() }),
    ("U", { "\\U" + digits($0.value, 8) }),
    ("ascii", { $0.value < 256 ? "\\x" + digits($0.value, 2) : "\\U" + digits($0.value, 8) }),
    ("octal", octal),
    ("percent", { String($0).utf8.map { "%" + digits($0, 2) }.joined() }),
    ("nested percent", { String($0).utf8.map { "%2525" + digits($0, 2) }.joined() }),
    ("decimal entity", { "&#\($0.value);" }), ("entity", { "&#x00\(digits($0.value, 1));" }),
    ("named entity", { $0 == "&" ? "&amp;" : $0 == "'" ? "&apos;" : "\($0)" }),
    ("shell", { $0 == "'" ? "'\\''" : "\($0)" }), ("shell in JSON", { $0 == "'" ? "'\\\\''" : "\($0)" }),
    ("named letters", { $0 == "\u{E9}" ? "&eacute;" : $0 == "\u{DF}" ? "&szlig;" : $0 == "&" ? "&amp;" : "\($0)" }),
    ("twice", { "&amp;#\($0.value);" }),
    ("GNU", { $0.isASCII ? "\($0)" : "'$'" + octal($0) + ($0 == "\u{DF}" ? "" : "''") }),
    ("shlex", { $0 == "'" ? "'\"'\"'" : "\($0)" }),
    ("backquote", { $0 == "&" || $0 == "'" ? "`\($0)" : "\($0)" }),
  ]

  @Test(arguments: cutForms.indices) func `a secret is hidden wherever the end cuts an escape`(_ index: Int) {
    let (name, form) = Self.cutForms[index]
    let finder = SecretFinder([(name: "PW", text: Self.cutSecret)])
    let text = Array(("abcd" + Self.cutSecret.unicodeScalars.dropFirst(4).map(form).joined()).utf8)
    for count in 4...text.count {
      let finds = finder.finds(in: Array(text.prefix(count)), SecretFinder.Manner(isShown: true, cutFrom: 4))
      let cut = String(decoding: text.prefix(count), as: UTF8.self)
      #expect(finds.map(\.range) == [0..<count], "\(name): \(cut)")
    }
  }

  @Test func `many encoded percent signs are searched quickly`() {
    let text = String(repeating: "%25", count: 66_000)
    let begin = ContinuousClock.now
    #expect(SecretFinder([(name: "TOK", text: "tok-xyzuvw-123")]).redact(text) == text)
    #expect(begin.duration(to: .now) < .seconds(15))
  }

  /// A search of all readings of each place would take hours.
  @Test(arguments: [16, 40]) func `backslashes are searched quickly for a secret of many`(_ count: Int) throws {
    let secret = String(repeating: "\\", count: count)
    let registry = SecretRegistry()
    registry.learn([("A", secret), ("B", secret + "pw-1")])
    let begin = ContinuousClock.now
    for length in [count, 500, 5000] {
      let text = String(repeating: "\\", count: length)
      #expect(!registry.finder.redact(text).contains(secret), "\(length)")
      #expect(!registry.finder.redact("x\(text)pw-1").contains("pw-1"), "\(length)")
      #expect(!registry.finder.redact("\(text)n\(text)pw-1").contains("pw-1"), "\(length)")
    }
    #expect(begin.duration(to: .now) < .seconds(60))
  }

  @Test func `nothing but the secrets is hidden in ordinary logs`() {
    var random = SeededGenerator(seed: 7)
    let letters = Array("qzX7-k")
    var secrets: [(name: String, text: String)] = []
    for number in 0..<20 {
      var text = ""
      for _ in 0..<(4 + number % 9) { text.append(letters.randomElement(using: &random) ?? "q") }
      secrets.append((name: "S\(number)", text: "\(text)\(number)w"))
    }
    let words: [String] = [
      "GET", "/api/v1/items?limit=20&page=3", "200", "backup", "of", "volume", "90% full;", "took", "12.5ms",
      "user@example.org",
      "C:\\temp\\new", "{\"level\":\"info\",\"msg\":\"it's done\"}", "it's", "can''t", "\"\"", "a,\"b\"\"c\",d",
      "0x7f3a", "&amp;", "%20",
      "2026-11-28T16:05:02Z", "deadbeef", "SGVsbG8gd29ybGQ=", "=>", "`cmd`", "\\n", "\\303\\251", "ü", "日本語", "error:",
      "[INFO]",
      "69 74 27 73", "--retry", "$HOME", "path/to/file.txt", "uuid=0194f3c2-7b1e-7000-8000-5c6d7e8f9a0b", "PASS", "ok",
      "\t",
    ]
    var (text, planted) = ("", 0)
    while text.utf8.count < 1 << 20 {
      for _ in 0..<12 { text += (words.randomElement(using: &random) ?? "") + " " }
      text += "\n"
      guard planted < 20, text.utf8.count > planted * 50_000 else { continue }
      text += "got <\(secrets[planted].text)>\n"
      planted += 1
    }
    let displayed = SecretFinder(secrets).redact(text)
    var wanted = text
    for secret in secrets { wanted = wanted.replacing("<\(secret.text)>", with: "<•••>") }
    #expect(displayed == wanted)
    #expect(displayed.split(separator: "•", omittingEmptySubsequences: false).count - 1 == 60)
  }
}
