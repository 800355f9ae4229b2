// How much of a text from outside a message shows.
//
// A service, a command or a file may repeat a secret that it was given. Such a text is cut only here, after its secrets
// are removed from the whole of it: the beginning of a cut secret could no longer be found. Runs and schedules know
// which secrets there are, and pass them to everything that they call; outside of them there are none.

/// Shortens texts from outside, which may repeat secrets, for messages.
public enum OutsideText {
  /// Takes the secrets out of a text; `isCut` says that the text may end within one.
  package typealias Redaction = @Sendable (_ text: String, _ isCut: Bool) -> String

  @TaskLocal private static var redaction: Redaction?

  /// Runs `body`; secrets are removed from every text that its messages quote.
  package static func redacted<Result>(by redaction: @escaping Redaction, _ body: () async -> Result) async -> Result {
    await $redaction.withValue(redaction) { await body() }
  }

  /// Does something that doesn't wait, likewise.
  package static func redactedAtOnce<Result>(by redaction: @escaping Redaction, _ body: () -> Result) -> Result {
    $redaction.withValue(redaction) { body() }
  }

  /// Whether the bytes contain a secret.
  package static func holdsSecret(_ bytes: [UInt8]) -> Bool {
    guard let redaction else { return false }
    let text = String(decoding: bytes, as: UTF8.self)
    return redaction(text, false) != text
  }

  /// Which part of a text is kept.
  public enum Part: Sendable {
    case beginning, end
  }

  fileprivate static let mark = "•••"

  fileprivate static func hidesSecret(_ bytes: some Collection<UInt8>) -> Bool {
    guard let redaction else { return false }
    let text = String(decoding: bytes, as: UTF8.self)
    return !redaction(text, false).hasSameScalars(as: text)
  }

  fileprivate static func withoutSecrets(_ text: String, isCut: Bool) -> String { redaction?(text, isCut) ?? text }
}

extension String {
  /// The text without its secrets, then cut to a number of characters (Unicode scalars), with `…` for the missing part.
  ///
  /// - Parameters:
  ///   - count: The most characters that are kept, the `…` not counted.
  ///   - part: The part of a longer text to keep.
  ///   - isCut: Whether the text broke off anywhere, perhaps within a secret.
  public func excerpt(_ count: Int, _ part: OutsideText.Part = .beginning, isCut: Bool = false) -> String {
    OutsideText.withoutSecrets(self, isCut: isCut).shortened(to: count, part)
  }

  /// The text without secrets; before anything else is done with it, such as to its blanks and line ends.
  public var withoutSecrets: String { OutsideText.withoutSecrets(self, isCut: false) }

  /// The text, a part of a larger one, as messages quote it: `•••` if the whole contains a secret, because the part
  /// may be a part of that secret.
  package func excerpt(_ count: Int, of whole: some Collection<UInt8>) -> String {
    OutsideText.hidesSecret(whole) ? OutsideText.mark : shortened(to: count)
  }

  /// The text, whose secrets were taken out already, no longer than so many characters, the `…` not counted.
  package func shortened(to count: Int, _ part: OutsideText.Part = .beginning) -> String {
    unicodeScalars.count <= count ? self : cut(to: count, part)
  }

  /// The same, with the `…` counted: what fits into so many characters.
  package func shortened(into count: Int) -> String {
    unicodeScalars.count <= count ? self : cut(to: count - 1, .beginning)
  }

  private func cut(to count: Int, _ part: OutsideText.Part) -> String {
    switch part {
    case .beginning: String(String.UnicodeScalarView(unicodeScalars.prefix(max(count, 0)))) + "…"
    case .end: "…" + String(String.UnicodeScalarView(unicodeScalars.suffix(max(count, 0))))
    }
  }
}
