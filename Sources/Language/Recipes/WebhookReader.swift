import ActionKit
package import Basics
import Expressions

// Reads `webhook` of an entry.

extension TriggerReader {
  /// Reads `webhook`; faulty parts get a placeholder, so that `inputs` are read as intended.
  func webhook(_ value: Value, of entry: String) -> Trigger.Kind {
    guard
      let fields = Fields(
        value, of: "'webhook'", .webhook, findings, others: .webhook,
        form: "webhook: { verify: { github: \"${{ secrets.NAME }}\" } }")
    else {
      return .webhook(
        Webhook(
          path: entry, verification: .none, dedupeFor: Webhook.dedupeFor, headers: [], form: EventForm(ofDelivery: nil),
          secrets: []))
    }
    let path = fields["path"].flatMap(addressPath) ?? entry
    let data = fields["type"].map {
      TypeReader(findings: findings).read($0, of: "the type of the event's data") ?? .dyn
    }
    let form = EventForm(ofDelivery: data)
    var secrets: ReadSecrets = []
    let verification = fields.require(
      "verify",
      "how deliveries prove who sent them, as in verify: { github: "
        + "\"${{ secrets.NAME }}\" }"
    ).flatMap { self.verification($0, &secrets) }
    let dedupeFor = fields.duration("dedupeFor")
    if let dedupeFor, let given = fields["dedupeFor"] { check(dedupeFor, at: given, against: verification) }
    var scope = Scope()
    scope.explainEvents()
    scope.declare("event", form.type)
    let match = fields["match"].flatMap { compiler.condition($0, of: "'match'", in: scope) }
    var before = Scope()
    before.explainEvents()
    before.declare("event", form.typeBeforeID)
    let id = fields["id"].flatMap { compiler.expression($0, of: "'id'", in: before, expecting: .string) }
    if let member = fields.member("id"), let verification, verification.namesDeliveries {
      findings.error(
        "'id' isn't allowed beside '\(verification.name)', whose deliveries have an id; it goes with hmac, token, none",
        at: member.key)
    }
    if case .hmac(let form, _, _)? = verification, form.timestampHeader == nil, fields["id"] == nil,
      let member = fields["verify"]?.map?.members.first(where: { $0.name == "hmac" })
    {
      findings.warning(
        "deliveries have neither 'id' nor 'timestampHeader', so one with the same body as another of the last "
          + "\((dedupeFor ?? Webhook.dedupeFor).written) counts as its repeat and starts nothing: add an 'id' that differs, "
          + "or a shorter 'dedupeFor'", at: member.key)
    }
    let headers = (fields.texts("headers") ?? []).filter { isFieldName($0, at: fields["headers"] ?? value) }
    var webhook = Webhook(
      path: path, verification: verification ?? .none, id: id, dedupeFor: dedupeFor ?? Webhook.dedupeFor,
      headers: headers, signal: fields.text("signal"), match: match, form: form, secrets: secrets)
    webhook.unreadAnswers = fields["answer"]
    return .webhook(webhook)
  }

  /// Reports keys for starting runs in an entry that starts none.
  func checkSignal(_ webhook: Webhook, _ fields: Fields) {
    guard webhook.signal != nil else { return }
    for key in ["inputs", "batch", "overlap"] {
      if let member = fields.member(key) {
        findings.error(
          "'\(key)' isn't allowed beside 'signal', which sends the delivery to a run that waits and starts none",
          at: member.key)
      }
    }
  }

  /// The part of an address after its root.
  func addressPath(_ value: Value) -> String? {
    guard let text = findings.text(value, of: "'path'") else { return nil }
    let parts = text.utf8.split(separator: ASCII.slash, omittingEmptySubsequences: false)
    let isSound = parts.allSatisfy { part in
      !part.isEmpty && part.contains { $0 != ASCII.dot }
        && part.allSatisfy {
          ASCII.lowercase.contains($0 | 0x20) || ASCII.digits.contains($0)
            || [ASCII.minus, ASCII.underscore, ASCII.dot, ASCII.tilde].contains($0)
        }
    }
    if isSound, text.utf8.count <= 200 { return text }
    findings.error(
      "'path' takes parts of letters, digits, - . _ and ~ with / between them, such as shop/paid, but found \(value.written)",
      at: value)
    return nil
  }

  private func isFieldName(_ text: String, at value: Value) -> Bool {
    if text.isFieldName { return true }
    findings.error("\(JSON.quoted(text)) isn't the name of a header, such as X-GitHub-Event", at: value)
    return false
  }

  // MARK: verify

  /// The secrets of one entry, as they are found.
  private typealias ReadSecrets = [(name: String, location: Diagnostic.Location?)]

  private func verification(_ value: Value, _ secrets: inout ReadSecrets) -> Webhook.Verification? {
    let fields = Fields(
      value, of: "'verify'", .verify, findings, others: .verify, form: "verify: { github: \"${{ secrets.NAME }}\" }")
    guard let fields, let member = fields.kinds().first, let word = member.name else { return nil }
    if !["standard", "stripe", "hmac"].contains(word), let tolerance = fields.member("tolerance") {
      findings.error(
        "'tolerance' isn't allowed beside '\(word)', whose deliveries have no time that is signed; it goes with "
          + "standard, stripe and hmac", at: tolerance.key)
    }
    let given = fields.duration("tolerance")
    if let given, let place = fields["tolerance"], given > .seconds(3600) {
      findings.error("'tolerance' is at most 1h, but is \(given.written)", at: place)
    }
    let tolerance = given ?? Webhook.tolerance
    switch word {
    case "standard": return .standard(secrets: read(member.value, &secrets), tolerance: tolerance)
    case "github": return .github(secrets: read(member.value, &secrets))
    case "stripe": return .stripe(secrets: read(member.value, &secrets), tolerance: tolerance)
    case "hmac":
      return hmac(member.value, &secrets, tolerance, fields.member("tolerance"))
    case "token":
      guard let inner = Fields(member.value, of: "'token'", .webhookToken, findings) else { return nil }
      let header = inner.require("header", "the header that holds the secret, such as X-Gitlab-Token").flatMap {
        findings.text($0, of: "'header'")
      }
      let names = inner.require("secret", "the secret, as \"${{ secrets.NAME }}\"").map { read($0, &secrets) }
      guard let header, let names, isFieldName(header, at: inner["header"] ?? value) else { return nil }
      return .token(header: header, secrets: names)
    default:
      guard findings.bool(member.value, of: "'none'") == true else {
        if member.value.bool == false {
          findings.error(
            "'none' is only ever true; leave it out, and name how deliveries are verified", at: member.value)
        }
        return nil
      }
      findings.warning(
        "deliveries aren't verified: anyone who can reach the address can start runs; this works only if "
          + "'server' listens on this machine alone", at: member.key)
      return Webhook.Verification.none
    }
  }

  private func hmac(
    _ value: Value, _ secrets: inout ReadSecrets, _ tolerance: TimeSpan, _ given: ValueMap.Member?
  ) -> Webhook.Verification? {
    guard let fields = Fields(value, of: "'hmac'", .webhookHMAC, findings) else { return nil }
    let names = fields.require("secret", "the key, as \"${{ secrets.NAME }}\"").map { read($0, &secrets) }
    let header = fields.require("header", "the header that holds the signature, such as X-Signature").flatMap {
      findings.text($0, of: "'header'")
    }
    let encoding: Webhook.SignatureForm.Encoding? = fields.choice("encoding")
    let clock = fields.text("timestampHeader")
    for (name, key) in [(header, "header"), (clock, "timestampHeader")] {
      if let name, !isFieldName(name, at: fields[key] ?? value) { return nil }
    }
    if clock == nil, let given {
      findings.error("'tolerance' needs 'timestampHeader', the header that holds the time", at: given.key)
    }
    var signed: [Webhook.SignatureForm.Part] = clock == nil ? [.body] : [.timestamp, .text("."), .body]
    if let place = fields["signed"], let text = fields.text("signed") {
      let parts = Webhook.SignatureForm.parts(of: text) ?? []
      guard parts.filter({ $0 == .body }).count == 1 else {
        findings.error(
          "'signed' takes the text that is signed, with {body} once and perhaps {timestamp}, such as "
            + "\"v0:{timestamp}:{body}\"", at: place)
        return nil
      }
      signed = parts
    }
    // Anyone who repeats a delivery could change a time that isn't signed.
    if signed.contains(.timestamp) != (clock != nil) {
      let place = fields["signed"] ?? fields["timestampHeader"] ?? value
      findings.error(
        clock == nil
          ? "'signed' has {timestamp}, so 'timestampHeader' has to name the header that holds it"
          : "'signed' needs {timestamp}: a time that isn't signed proves nothing", at: place)
      return nil
    }
    guard let names, let header else { return nil }
    let form = Webhook.SignatureForm(
      header: header, encoding: encoding ?? .hex, prefix: fields.text("prefix") ?? "", timestampHeader: clock,
      signed: signed)
    return .hmac(form, secrets: names, tolerance: tolerance)
  }

  /// The names of one or more secrets; each of them is valid.
  private func read(_ value: Value, _ secrets: inout ReadSecrets) -> [String] {
    if value.list?.isEmpty == true { findings.error("the list of secrets is empty", at: value) }
    var scope = Scope()
    scope.declare("secrets", .map(.string, .secret(.string)))
    return (value.list ?? [value]).compactMap { item in
      compiler.noteRead(item, in: scope, expecting: .secret(.string))
      guard let name = item.string?.secretName else {
        if !item.holdsExpression { findings.hide(item, isRefused: true) }
        findings.error(
          "a secret is given by its name alone, as \"${{ secrets.NAME }}\"; put its text into the environment or a file "
            + "of secrets", at: item)
        return nil
      }
      if !secrets.contains(where: { $0.name.hasSameScalars(as: name) }) {
        secrets.append((name, findings.location(of: item)))
      }
      return name
    }
  }

  /// A delivery must be remembered for as long as its time is good, or it could be repeated in between.
  private func check(_ dedupeFor: TimeSpan, at place: Value, against verification: Webhook.Verification?) {
    if dedupeFor > .seconds(90 * 86_400) {
      findings.error("'dedupeFor' is at most 90d, but is \(dedupeFor.written)", at: place)
    }
    guard let tolerance = verification?.tolerance, dedupeFor < tolerance + tolerance else { return }
    findings.error(
      "'dedupeFor' must be at least \((tolerance + tolerance).written), twice the 'tolerance', or a delivery could be "
        + "repeated while its time is good", at: place)
  }
}

extension Webhook.Verification {
  /// How far the time of a delivery may be from now; nil if it has none that is signed.
  package var tolerance: TimeSpan? {
    switch self {
    case .standard(_, let tolerance), .stripe(_, let tolerance): tolerance
    case .hmac(let form, _, let tolerance): form.timestampHeader == nil ? nil : tolerance
    case .github, .token, .none: nil
    }
  }

  /// Whether the scheme has an id for each delivery.
  fileprivate var namesDeliveries: Bool {
    switch self {
    case .standard, .github, .stripe: true
    case .hmac, .token, .none: false
    }
  }
}

extension String {
  /// The name in a text that is one secret and nothing else: `${{ secrets.NAME }}`.
  fileprivate var secretName: String? {
    let text = trimmed
    guard text.hasPrefix("${{"), text.hasSuffix("}}") else { return nil }
    let inner = String(text.dropFirst(3).dropLast(2)).trimmed
    guard inner.hasPrefix("secrets.") else { return nil }
    let name = inner.dropFirst("secrets.".count)
    let isName = name.utf8.allSatisfy {
      ASCII.lowercase.contains($0 | 0x20) || ASCII.digits.contains($0) || $0 == ASCII.underscore
    }
    return isName && name.utf8.first.map { !ASCII.digits.contains($0) } == true ? String(name) : nil
  }

  /// Whether the text is the name of a field of a head (RFC 9110, section 5.1).
  fileprivate var isFieldName: Bool {
    !isEmpty && utf8.count <= 100
      && utf8.allSatisfy {
        ASCII.lowercase.contains($0 | 0x20) || ASCII.digits.contains($0) || "!#$%&'*+-.^_`|~".utf8.contains($0)
      }
  }
}
