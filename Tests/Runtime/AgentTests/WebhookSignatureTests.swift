import Basics
import Calendars
import Recipes
import Testing

@testable import Agent

/// How deliveries prove who sent them, with the vectors that the schemes publish.
@Suite struct WebhookSignatureTests {
  /// The test vector of Standard Webhooks' specification and its libraries.
  static let standard = Webhook.Verification.standard(secrets: [], tolerance: .seconds(300))
  static let key = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
  static let id = "msg_p5jXN8AQM9LWM0D4loKWxJek"
  static let body = #"{"test": 2432232314}"#
  static let signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
  static let sent = 1_614_265_330

  private static func delivery(_ fields: [(String, String)], _ body: String = body) -> Delivery {
    Delivery(fields: fields.map { (name: $0.0, value: $0.1) }, body: Array(body.utf8))
  }

  private static func standard(
    _ signature: String, at time: String = "\(sent)", id: String = id, _ body: String = body
  ) -> Delivery {
    delivery([("Webhook-Id", id), ("webhook-timestamp", time), ("webhook-signature", signature)], body)
  }

  private static func instant(_ seconds: Int) throws -> Timestamp { try #require(Timestamp(seconds: seconds)) }

  @Test(arguments: [
    (signature, 0, true),
    (signature, 300, true), (signature, 301, false), (signature, -300, true), (signature, -301, false),
    ("v1,AAAA \(signature) v1a,AAAA", 0, true),
    ("v2,\(signature.dropFirst(3))", 0, false),
    ("v1,\(signature.dropFirst(4))", 0, false),
    ("\(signature.dropFirst(3))", 0, false),
    ("", 0, false), ("v1,", 0, false), ("v1", 0, false),
  ]) func `standard takes its signatures within the tolerance both ways`(
    _ signature: String, _ after: Int, _ isGood: Bool
  ) throws {
    let now = try Self.instant(Self.sent + after)
    let found = Self.standard.verify(Self.standard(signature), secrets: [Self.key], at: now)
    #expect(found == (isGood ? VerifiedDelivery(id: Self.id) : nil))
    // Each of several secrets is accepted, and the prefix may be left out.
    let bare = String(Self.key.dropFirst(6))
    #expect(Self.standard.verify(Self.standard(signature), secrets: ["b3RoZXI=", bare], at: now) == found)
    #expect(Self.standard.verify(Self.standard(signature), secrets: ["b3RoZXI="], at: now) == nil)
  }

  @Test func `standard signs the id, the time and the body`() throws {
    let now = try Self.instant(Self.sent)
    let changed = [
      Self.standard(Self.signature, id: "msg_other"),
      Self.standard(Self.signature, at: "\(Self.sent + 1)"),
      Self.standard(Self.signature, #"{"test": 2432232315}"#),
      Self.standard(Self.signature, at: "+\(Self.sent)"),
      Self.standard(Self.signature, at: ""),
      Self.standard(Self.signature, id: ""),
      // A field that is there twice proves nothing.
      Self.delivery(
        [
          ("webhook-id", Self.id), ("webhook-timestamp", "\(Self.sent)"), ("webhook-signature", Self.signature),
          ("webhook-signature", Self.signature),
        ]),
      // With a dot in the id, its parts could be shifted into the time.
      Self.standard(Self.signature, id: "a.b"),
      Self.delivery([]),
    ]
    for delivery in changed { #expect(Self.standard.verify(delivery, secrets: [Self.key], at: now) == nil) }
  }

  @Test func `standard takes signatures by Ed25519`() throws {
    // Signed by OpenSSL with the private key of RFC 8032, section 7.1, test 3.
    let key = "whpk_/FHNjmIYoaONpH7QAjDwWAgW7RO6MwOsXeuRFUiQgCU="
    let signature =
      "v1a,CbWWbcW7B69jFUBICrevjm7uB16AqaX4X9zprrpWvW4012zWjiDpguw4L1VnBIktLL4pyfhNhZgLFTYi5s10AA=="
    let now = try Self.instant(Self.sent)
    #expect(Self.standard.fault(of: key) == nil)
    let good = Self.standard.verify(Self.standard(signature), secrets: [key], at: now)
    #expect(good == VerifiedDelivery(id: Self.id))
    #expect(Self.standard.verify(Self.standard(signature, "{}"), secrets: [key], at: now) == nil)
    // A public key isn't a shared secret.
    #expect(Self.standard.verify(Self.standard(Self.signature), secrets: [key], at: now) == nil)
  }

  @Test(arguments: [
    ("sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17", true),
    ("sha256=757107EA0EB2509FC211221CCE984B8A37570B6D7586C22C46F4379C8B043E17", true),
    ("sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e18", false),
    ("757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17", false),
    ("sha256=757107ea", false), ("sha256=", false), ("", false),
  ]) func `github signs the body`(_ header: String, _ isGood: Bool) throws {
    let scheme = Webhook.Verification.github(secrets: [])
    let delivery = Self.delivery([("X-Hub-Signature-256", header), ("X-GitHub-Delivery", "d1")], "Hello, World!")
    let found = scheme.verify(delivery, secrets: ["It's a Secret to Everybody"], at: .epoch)
    // The octets are the key, however they are written.
    let signature = [UInt8](hexadecimal: "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17")
    #expect(found == (isGood ? VerifiedDelivery(id: "d1", signature: signature) : nil))
    #expect(scheme.verify(delivery, secrets: ["another"], at: .epoch) == nil)
  }

  @Test(arguments: [
    ("t=1492774577,v1=CODE,v0=6ffbb59b", 0, true),
    ("t=1492774577,v1=00,v1=CODE", 300, true),
    ("t=1492774577,v1=CODE", 301, false),
    ("t=1492774577,v1=CODE", -301, false),
    ("t=1492774577,v0=CODE", 0, false),
    ("v1=CODE", 0, false),
    ("t=1492774577,t=1492774577,v1=CODE", 0, false),
  ]) func `stripe signs the time and the body`(_ form: String, _ after: Int, _ isGood: Bool) throws {
    let scheme = Webhook.Verification.stripe(secrets: [], tolerance: .seconds(300))
    let code = try #require(
      MessageAuthentication.code(of: Array("1492774577.{}".utf8), key: Array("whsec_test".utf8)))
    // As Python's `hmac` computes it.
    #expect(code.hexadecimal == "0d0602f6611bd2252dd4b74b58a4528355a7380639a15e6cc21e3059d56d5b8b")
    let header = form.replacing("CODE", with: code.hexadecimal)
    let now = try Self.instant(1_492_774_577 + after)
    let found = scheme.verify(Self.delivery([("Stripe-Signature", header)], "{}"), secrets: ["whsec_test"], at: now)
    #expect(found == (isGood ? VerifiedDelivery() : nil))
    #expect(
      scheme.verify(Self.delivery([("Stripe-Signature", header)], "{ }"), secrets: ["whsec_test"], at: now) == nil)
  }

  /// Slack's published example.
  static let slack = [
    "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V",
    "&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=",
    "&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN",
    "&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
  ].joined()

  @Test func `hmac signs what the entry says`() throws {
    let form = Webhook.SignatureForm(
      header: "X-Slack-Signature", encoding: .hex, prefix: "v0=", timestampHeader: "X-Slack-Request-Timestamp",
      signed: [.text("v0:"), .timestamp, .text(":"), .body])
    let scheme = Webhook.Verification.hmac(form, secrets: [], tolerance: .seconds(300))
    let digits = "a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
    let secret = "8f742231b10e8888abcd99yyyzzz85a5"
    func verified(_ header: String, _ time: String, after: Int = 0) throws -> VerifiedDelivery? {
      scheme.verify(
        Self.delivery([("X-Slack-Signature", header), ("X-Slack-Request-Timestamp", time)], Self.slack),
        secrets: [secret], at: try Self.instant(1_531_420_618 + after))
    }
    #expect(try verified("v0=\(digits)", "1531420618") == VerifiedDelivery(signature: [UInt8](hexadecimal: digits)))
    #expect(try verified("v0=\(digits)", "1531420618", after: 301) == nil)
    #expect(try verified("v0=\(digits)", "1531420618", after: -301) == nil)
    #expect(try verified("v0=\(digits)", "1531420619") == nil)
    #expect(try verified("\(digits)", "1531420618") == nil)
  }

  @Test(arguments: [
    (Webhook.SignatureForm.Encoding.base64, "dXEH6g6yUJ/CESIczphLijdXC211hsIsRvQ3nIsEPhc=", true),
    (.base64url, "dXEH6g6yUJ_CESIczphLijdXC211hsIsRvQ3nIsEPhc", true),
    (.base64url, "dXEH6g6yUJ/CESIczphLijdXC211hsIsRvQ3nIsEPhc=", false),
    (.base64, "dXEH6g6yUJ_CESIczphLijdXC211hsIsRvQ3nIsEPhc=", false),
    (.hex, "dXEH6g6yUJ/CESIczphLijdXC211hsIsRvQ3nIsEPhc=", false),
  ]) func `hmac reads its encoding and no other`(
    _ encoding: Webhook.SignatureForm.Encoding, _ header: String, _ isGood: Bool
  ) {
    let form = Webhook.SignatureForm(
      header: "X-Sign", encoding: encoding, prefix: "", timestampHeader: nil, signed: [.body])
    let found = Webhook.Verification.hmac(form, secrets: [], tolerance: .seconds(300)).verify(
      Self.delivery([("x-sign", header)], "Hello, World!"), secrets: ["It's a Secret to Everybody"], at: .epoch)
    #expect((found != nil) == isGood)
  }

  @Test(arguments: [
    ("X-Token", "s3cret", true), ("X-Token", "s3cret ", false), ("X-Token", "s3cre", false), ("X-Token", "", false),
    ("X-Token", "Bearer s3cret", false), ("Authorization", "Bearer s3cret", true),
    ("Authorization", "bearer s3cret", true), ("Authorization", "s3cret", true),
    ("Authorization", "Basic s3cret", false),
  ]) func `a token is the secret itself`(_ header: String, _ value: String, _ isGood: Bool) {
    let scheme = Webhook.Verification.token(header: header, secrets: [])
    let found = scheme.verify(Self.delivery([(header, value)]), secrets: ["old", "s3cret"], at: .epoch)
    #expect((found != nil) == isGood)
  }

  @Test(arguments: [
    ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", String?.none),
    ("whsec_***", "has to be base64 after whsec_, or 32 octets in base64 after whpk_"),
    ("whpk_AAAA", "has to be base64 after whsec_, or 32 octets in base64 after whpk_"),
    ("", "is empty"),
  ]) func `a secret that can't be one is told without its text`(_ secret: String, _ fault: String?) {
    #expect(Self.standard.fault(of: secret) == fault)
  }
}
