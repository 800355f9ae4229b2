import Basics
import Testing

@testable import RunState

@Suite struct SecretPartsTests {
  /// A secret, and a text that must be one of its parts.
  private static let parts: [(secret: String, part: String)] = [
    ("- first-key-abcd", "first-key-abcd"),
    ("- - - deep-item-1", "deep-item-1"),
    ("a:\n  - password: hunter22xyz # prod", "hunter22xyz"),
    ("p: 'it''s-a-pass12'", "it's-a-pass12"),
    (#"p: "caf\u00e9-secret""#, "café-secret"),
    (#"p: "\x61\ud83d\ude00\U0001F601\tsecret""#, "a😀😁\tsecret"),
    ("x: {api_key: flowkey-12345}", "flowkey-12345"),
    ("keys: [first-key-abcd,\n  second-key-abcd, 'third one abc']\nb: c", "second-key-abcd"),
    (#""a b": value-12345"#, "value-12345"),
    ("k: !!str value-12345", "value-12345"),
    ("DB_PASS=abcd1234efgh # prod", "abcd1234efgh"),
    ("DB_PASS=abcd1234#efgh", "abcd1234#efgh"),
    ("[default]\naws_secret_access_key = abcd/efgh+1234 ; old", "abcd/efgh+1234"),
    (#"export A="x\$y\"zabcd""#, #"x$y"zabcd"#),
    (#"export PW='it'\''s-a-pass'"#, "it's-a-pass"),
    ("KEY=\"line one abc\nline two defg\nthree\" # x\nB=12345678", "line one abc\nline two defg\nthree"),
    (#"["12345678901234567890", 12345678901234567890]"#, "12345678901234567890"),
    ("{\"a\":\"first-text-1\"}\n{\"a\":\"second-text-2\"}", "second-text-2"),
    (#"CONFIG='{"password":"inner-pass-1"}'"#, "inner-pass-1"),
    ("https://u:pass1@h/ and https://v:pass2@i/x", "pass2"),
    (#"Server=h;Password="semi;colon;pw""q";X=y"#, #"semi;colon;pw"q"#),
    ("Driver={x};Pwd={se;mi}}x};", "se;mi}x"),
    ("host=db password='libpq pass 1' user=x", "libpq pass 1"),
    (#"host=db password='it\'s \\pq' user=x"#, #"it's \pq"#),
    ("jdbc:postgresql://h/db?user=abcdefgh&password=p%40ss1&mode=production", "p@ss1"),
    ("https://h/?sig=abcd%2B&x=y", "abcd+"),
    (#""pa\"ss-wörd-77x""#, "pa\"ss-wörd-77x"),
    (#""{\"user\":\"admin\",\"password\":\"inner\\\\pass-2\"}""#, #"inner\pass-2"#),
    (#""\"{\\\"password\\\":\\\"deep-pass-3\\\"}\"""#, "deep-pass-3"),
    (#"{"a":"\"quoted-text-1\""}"#, "quoted-text-1"),
    (#""DB_PASS=abcd1234efgh""#, "abcd1234efgh"),
    ("a = \"\"\"\ntoml-text-1\"\"\"\nb = 2", "toml-text-1"), ("a = '''toml-'text'-2'''", "toml-'text'-2"),
    ("a = \"\"\"line one abc\nline two defg\n\"\"\"", "line one abc\nline two defg"),
    (#"a = { user = "me", pw = "toml-table-3" }"#, "toml-table-3"), ("a = { pw = toml-table-4 }", "toml-table-4"),
    (#"a = [{ pw = "toml,table}5" }, { pw = 'toml-table-6' }]"#, "toml-table-6"),
    (#"a = [{ pw = "toml,table}5" }, { pw = 'toml-table-6' }]"#, "toml,table}5"),
    ("? pw\n: yaml-value-1", "yaml-value-1"), ("? \"pw\"\n: 'yaml-value-2' # prod\nb: c", "yaml-value-2"),
    ("//registry.npmjs.org/:_authToken=npm-token-123", "npm-token-123"),
    (oneLine, "-----BEGIN KEY-----\nMIIabcdefgh1\nMIIabcdefgh2=\n-----END KEY-----"),
    (oneLine, "-----BEGIN KEY-----\nMIIabcdefgh1\nMIIabcdefgh2=\n-----END KEY-----\n"),
    (oneLine, "MIIabcdefgh2="),
    (oneLine.replacing("\\n", with: "\\r\\n"), "MIIabcdefgh2="),
    ("KEY=\(oneLine)", "MIIabcdefgh1"),
    ("{\"key\":\"\(oneLine.replacing("\\", with: "\\\\"))\"}", "MIIabcdefgh1"),
    ("cGx1bUtpdGUtOTMxNw==", "plumKite-9317"), ("cGx1bUtpdGUtOTMxNw", "plumKite-9317"),
    (#"{"auths":{"h":{"auth":"Ym9iOmRvY2tlci1wYXNzLTE="}}}"#, "docker-pass-1"),
    ("eyJwdyI6ImlubmVyLXBhc3MtMSJ9", "inner-pass-1"),
    ("Y0d4MWJVdHBkR1V0T1RNeE53PT0=", "plumKite-9317"),
  ]

  private static let oneLine = #"-----BEGIN KEY-----\nMIIabcdefgh1\nMIIabcdefgh2=\n-----END KEY-----\n"#

  @Test func `the frame of a key in one line isn't a part`() {
    for text in SecretParts.texts(in: Self.oneLine) { #expect(!text.hasSuffix("-----") || text.contains("\n")) }
  }

  @Test(arguments: parts) func `what a program reads from a secret is a part of it`(_ secret: String, _ part: String) {
    #expect(SecretParts.texts(in: secret).contains(part))
  }

  @Test(arguments: [
    "tok-xyzuvw-123", "3q2+7wAAAAAAAAAA", "ghp_0123456789abcdefABCDEF",
    "https://host/path?mode=production", "enabled: true\nport: 5432\nid: 1234567890",
    "# password: commented-1\nmode: fast", "[production]\nmode = fast", "password=true;", "a: null", "\"", "'", "{",
    "[",
    "- ", "a=", "\"\"", "\"abc\"", "5", "true",
    "a: \"", "a: \"\\", "=", "a:", "password=", "password='", "://", "x://@", "x://:@",
  ])
  func `other texts have no parts`(_ secret: String) { #expect(SecretParts.texts(in: secret) == []) }

  @Test func `the first ten thousand texts are parts, in their order`() {
    let texts = (0..<12_000).map { "text-number-\($0)" }
    let list = "[" + texts.map { "\"\($0)\"" }.joined(separator: ",") + "]"
    #expect(SecretParts.texts(in: list) == Array(texts.prefix(SecretParts.most)))
    #expect(SecretParts.texts(in: texts.map { "- \($0)" }.joined(separator: "\n")) == Array(texts.prefix(10_000)))
  }

  @Test(arguments: [
    "a: \"", "[\"", "{a: '", "! ", "- ", "pwd=", "pwd='", "://", "x://a:b@", "k: [", "k: {\n", "k: \"\n", "k: '\n",
    "\"k\": \"a", "'", "\\", "password={ ", "a=b#c ", "a: 'b' ", "a: \"b\" \n", "a: [b] \n",
    "a='''", "a = \"\"\"\n", "{a='x', ", "{a=\"=", "//a=b", ": '",
  ])
  func `texts that end nowhere are read quickly`(_ text: String) {
    let begin = ContinuousClock.now
    _ = SecretParts.texts(in: String(repeating: text, count: 65_536 / text.utf8.count))
    // Reading the rest at each place would take minutes.
    #expect(begin.duration(to: .now) < .seconds(30))
  }
}
