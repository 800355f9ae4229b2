import Testing

@testable import ActionKit

/// Secrets in the settings of a connection, wherever their types put them.
@Suite struct SecretSettingsTests {
  private struct Settings: FieldSet {
    @Field("Where it is.") var url: String
    @Field("Where it is, in secret.") var hook: Secret<String>?
    @Field("Needed.") var token: Secret<String>
    @Field("By name.") var headers: [String: Secret<String>] = [:]
    @Field("In a row.") var keys: [Secret<String>] = []

    init() {}
  }

  private static let given = Value.object([
    "url": .string("https://a.example/open"), "hook": .string("https://a.example:8443/T0?k=s"), "token": .string("t0k"),
    "headers": .object(["X-Key": .string("h1")]), "keys": .list([.string("k1"), .string("k2")]),
  ])

  @Test func `are found`() {
    #expect(
      Settings.schema.secrets(in: Self.given.map ?? ValueMap()) == [
        "https://a.example:8443/T0?k=s", "t0k", "h1", "k1", "k2",
      ])
  }

  @Test func `give way to what is made up, and an address to one of the same server`() {
    #expect(
      Value.map(Settings.schema.withMadeUpSecrets(Self.given.map ?? ValueMap()))
        == .object([
          "url": .string("https://a.example/open"), "hook": .string("https://a.example:8443/made-up-hook"),
          "token": .string("made-up-token"), "headers": .object(["X-Key": .string("made-up-X-Key")]),
          "keys": .list([.string("made-up-keys"), .string("made-up-keys")]),
        ]))
  }

  @Test func `are made up where they are needed and missing`() {
    #expect(Settings.schema.withNeededSecrets(ValueMap())["token"] == .string("made-up-token"))
    #expect(Settings.schema.withNeededSecrets(ValueMap()).count == 1)
    #expect(Settings.schema.withNeededSecrets(Self.given.map ?? ValueMap())["token"] == .string("t0k"))
  }
}
