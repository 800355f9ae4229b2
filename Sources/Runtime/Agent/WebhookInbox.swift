package import Basics
package import Recipes
import RunState
import Synchronization

// Processes a delivery: checks its size, finds the entry, verifies the octets as received, then the time, and then
// determines its id. The delivery becomes an event that only the schedule of its entry may consume. It is on disk
// before its sender gets the answer, together with the digests that identify a repetition. The schedule decides on it
// as on any event, so that each delivery has a row in the ledger, even one that can't be read.
//
// The entry's `answer` may say what the sender gets. Challenges are answered before the secrets are asked for, and leave
// nothing behind.

/// Receives deliveries to the addresses of webhooks.
package final class WebhookInbox: Sendable {
  /// The answer to the sender.
  package enum Answer: Sendable, Equatable {
    /// It is on disk.
    case received(id: String)
    /// It came before, and is on disk.
    case known(id: String)
    /// The entry says the answer to one that is on disk, or to a question that leaves nothing.
    ///
    /// - Parameter isVerified: Whether it is known who asks.
    case replied(Webhook.Reply, isVerified: Bool)
    /// It is on disk, and the entry waits for its run.
    case awaited(Awaited)
    /// A GET to a webhook that answers none.
    case onlyPosts
    case unknownPath
    case tooLarge
    case unverified
    /// As much waits as may, and the sender should try again.
    case full
    /// It can't be taken now, and the sender should try again.
    case unavailable
  }

  /// A delivery on disk whose answer comes from its run.
  package struct Awaited: Sendable, Equatable {
    package var schedule: String
    package var answer: Webhook.Answer
    /// The value of `event`.
    package var event: Value
    /// The event, which is the first one of a delivery that came before.
    package var id: String
    /// When it was received.
    package var at: Timestamp

    package static func == (one: Awaited, other: Awaited) -> Bool { one.id == other.id }
  }

  struct Entry: Sendable {
    var schedule: String
    var webhook: Webhook
  }

  private struct Content {
    var entries: [String: Entry] = [:]
    var secrets: [String: (text: String?, at: Timestamp)] = [:]
    var isLocal = true
  }

  /// The largest body.
  package static let mostBytes = 1 << 20
  /// How long the text of a secret is used before its source is asked again.
  private static let freshness = TimeSpan.seconds(60)
  /// The largest body that is read before it is verified.
  private static let mostPlainBytes = 64 << 10

  private let host: RunHost
  private let store: any StateStore
  private let time: any TimeSource
  private let find: @Sendable (_ name: String, _ isFresh: Bool) async -> String?
  private let content = Mutex(Content())
  /// The answers that wait for the run of a delivery.
  package let waits = DeliveryWaits()

  /// - Parameter find: Finds a secret by its name; asks its source again if it is to be fresh.
  init(
    _ host: RunHost, _ store: any StateStore, time: any TimeSource,
    secret find: @escaping @Sendable (_ name: String, _ isFresh: Bool) async -> String?
  ) {
    self.host = host
    self.store = store
    self.time = time
    self.find = find
  }

  /// Takes the entries in force.
  func set(_ entries: [Entry]) {
    content.withLock { content in
      content.entries = Dictionary(entries.map { ($0.webhook.path, $0) }) { first, _ in first }
    }
  }

  /// The path of the webhook whose deliveries have ids like this one.
  package func path(ofID id: String) -> String? {
    content.withLock { $0.entries.keys.first { id.utf8.starts(with: "\($0):".utf8) } }
  }

  /// Says whether only this machine reaches the agent, without which deliveries have to be verified.
  package func setLocal(_ isLocal: Bool) { content.withLock { $0.isLocal = isLocal } }

  /// Whether a path is the address of a webhook.
  package func has(_ path: String) -> Bool { content.withLock { $0.entries[path] != nil } }

  // MARK: Secrets

  /// The text of a secret, which its source is asked for again after a while, because secrets rotate.
  private func secret(_ name: String) async -> String? {
    let now = time.now()
    let known = content.withLock { $0.secrets[name] }
    if let known, let age = now.span(since: known.at), age >= .zero, age < WebhookInbox.freshness {
      return known.text
    }
    let text = await find(name, known != nil)
    if let text { store.secrets.learn([(name, text)]) }
    content.withLock { $0.secrets[name] = (text, now) }
    return text
  }

  /// Reads the secrets of the entries, so that none of them is stored from now on.
  func loadSecrets() async {
    let names = content.withLock { content in Set(content.entries.values.flatMap(\.webhook.verification.secrets)) }
    content.withLock { content in content.secrets = content.secrets.filter { names.contains($0.key) } }
    for name in names { _ = await secret(name) }
  }

  /// Why webhooks take no deliveries, or not all, each in a sentence.
  package var faults: [String] {
    content.withLock { content in
      content.entries.values.sorted { $0.schedule.precedesByScalars($1.schedule) }.flatMap { entry -> [String] in
        let verification = entry.webhook.verification
        if verification == .none, !content.isLocal {
          return [
            "the webhook of '\(entry.schedule)' takes nothing: 'verify: { none: true }' is taken only where 'server' listens on this machine alone"
          ]
        }
        return verification.secrets.compactMap { name in
          guard let known = content.secrets[name] else { return nil }
          guard let text = known.text else {
            return "the webhook of '\(entry.schedule)' can't verify deliveries: the secret '\(name)' can't be read"
          }
          return verification.fault(of: text).map {
            "the webhook of '\(entry.schedule)' can't verify deliveries: the secret '\(name)' \($0)"
          }
        }
      }
    }
  }

  // MARK: Deliveries

  /// Takes a delivery in, durably.
  ///
  /// - Parameters:
  ///   - takeIn: Takes an event in, if there is a place for it.
  ///   - tell: Reports why a schedule's delivery doesn't get the answer of its entry.
  func receive(
    _ delivery: Delivery, at path: String, takeIn: (EventRecord) async throws(StateError) -> Intake.Outcome,
    tell: (_ schedule: String, _ reason: String) async -> Void
  ) async -> Answer {
    guard delivery.body.count <= WebhookInbox.mostBytes else { return .tooLarge }
    let (found, isLocal) = content.withLock { ($0.entries[path], $0.isLocal) }
    guard let entry = found else { return .unknownPath }
    if let reply = plainReply(.unsigned, to: delivery, of: entry.webhook) { return .replied(reply, isVerified: false) }
    let verification = entry.webhook.verification
    var secrets: [String] = []
    for name in verification.secrets {
      if let text = await secret(name), verification.fault(of: text) == nil { secrets.append(text) }
    }
    if verification == .none ? !isLocal : secrets.isEmpty { return .unavailable }
    let now = time.now()
    guard let verified = verification.verify(delivery, secrets: secrets, at: now) else { return .unverified }
    do throws(StateError) {
      let (record, data) = try await record(of: delivery, verified, for: entry, at: now)
      let head = head(of: delivery, entry.webhook)
      switch try await takeIn(record) {
      case .new:
        let event = data.flatMap { try? entry.webhook.form.value(of: record, data: $0, head: head).get() }
        return await reply(to: event, of: record, in: entry, tell) ?? .received(id: record.id)
      case .full: return .full
      case .unserved: return .unavailable
      case .known:
        // The schedule is told as of any delivery, but starts nothing for it.
        let again = try await repetition(of: record)
        switch try await takeIn(again) {
        case .new, .known:
          // The first may have had other data under the same id.
          if entry.webhook.answers.isEmpty { return .known(id: record.id) }
          let first = await store.event(again.delivery?.repeats ?? record.id) ?? record
          let event = await event(of: first, data, head, in: entry)
          return await reply(to: event, of: first, in: entry, tell) ?? .known(id: record.id)
        case .full: return .full
        case .unserved: return .unavailable
        }
      }
    } catch {
      return .unavailable
    }
  }

  // MARK: Answers

  /// Answers a GET, which proves nothing and leaves nothing.
  package func answer(toGet request: Delivery, at path: String) -> Answer {
    guard let entry = content.withLock({ $0.entries[path] }) else { return .unknownPath }
    guard entry.webhook.answers.contains(where: { $0.request == .get }) else { return .onlyPosts }
    return plainReply(.get, to: request, of: entry.webhook).map { .replied($0, isVerified: false) } ?? .unverified
  }

  /// The answer to a question that anyone may ask; nil if no entry answers it.
  private func plainReply(
    _ request: Webhook.Answer.Request, to delivery: Delivery, of webhook: Webhook
  ) -> Webhook.Reply? {
    let answers = webhook.answers.filter { $0.request == request }
    guard !answers.isEmpty, delivery.body.count <= WebhookInbox.mostPlainBytes,
      let data = delivery.body.isEmpty ? .null : WebhookBody.read(delivery).value,
      case .success(let event) = EventForm(ofDelivery: nil).value(
        id: nil, time: time.now(), name: webhook.path, data: data, head: head(of: delivery, webhook))
    else { return nil }
    return answers.first { $0.holds(for: event) }?.plainReply(to: event)
  }

  /// The entry's answer to a delivery that is on disk; nil if it has none.
  ///
  /// - Parameter event: Nil for one that can't be read.
  private func reply(
    to event: Value?, of record: EventRecord, in entry: Entry,
    _ tell: (_ schedule: String, _ reason: String) async -> Void
  ) async -> Answer? {
    guard let event,
      let answer = entry.webhook.answers.first(where: { $0.request == .delivery && $0.holds(for: event) })
    else { return nil }
    guard answer.patience == nil else {
      return .awaited(
        Awaited(schedule: entry.schedule, answer: answer, event: event, id: record.id, at: record.receivedAt))
    }
    do throws(LocatedEvaluationError) { return .replied(try answer.reply(to: event), isVerified: true) } catch {
      await tell(entry.schedule, "the answer to the delivery \(record.id) can't be computed: \(error.message)")
      return nil
    }
  }

  /// The value of `event` of a delivery that came before, from its record or else from the one that repeats it.
  private func event(
    of first: EventRecord, _ data: Value?, _ head: EventForm.Head, in entry: Entry
  ) async -> Value? {
    var (known, knownHead) = (data, head)
    do throws(StateError) {
      knownHead = try await store.head(of: first)
      if let stored = first.data { known = try await store.restored(stored, as: "the delivery") }
    } catch { (known, knownHead) = (data, head) }
    return known.flatMap { try? entry.webhook.form.value(of: first, data: $0, head: knownHead).get() }
  }

  private func head(of delivery: Delivery, _ webhook: Webhook) -> EventForm.Head {
    var (headers, query) = (ValueMap(), ValueMap())
    for name in webhook.headers {
      let values = delivery.values(name)
      if !values.isEmpty { headers[name] = .string(values.joined(separator: ", ")) }
    }
    for (name, value) in delivery.query where query[name] == nil { query[name] = .string(value) }
    return EventForm.Head(headers: .map(headers), query: .map(query))
  }

  private func record(
    of delivery: Delivery, _ verified: VerifiedDelivery, for entry: Entry, at now: Timestamp
  ) async throws(StateError) -> (record: EventRecord, data: Value?) {
    let webhook = entry.webhook
    let head = head(of: delivery, webhook)
    let (data, fault) = WebhookBody.read(delivery)
    let id = id(of: delivery, data, head, verified, webhook, at: now)
    var keys = [try DeliveryRecord.key(webhook.path, "id", Array(id.utf8))]
    if let signature = verified.signature { keys.append(try DeliveryRecord.key(webhook.path, "signature", signature)) }
    var stored: StoredValue?
    if let data, !data.isNull { stored = try await store.keep(data) }
    let part = DeliveryRecord(
      schedule: entry.schedule, keys: keys, until: now.advanced(by: webhook.dedupeFor) ?? .latest,
      headers: try await store.kept(head.headers), query: try await store.kept(head.query), fault: fault)
    let record = EventRecord(
      id: try recordID(id, of: webhook.path), name: webhook.path, data: stored, receivedAt: now, delivery: part)
    return (record, data)
  }

  /// The event to store for a delivery that came before: it records the repetition.
  private func repetition(of record: EventRecord) async throws(StateError) -> EventRecord {
    let keys = Set(record.delivery?.keys ?? [])
    var first = record.id
    // The id may be another one, with the same signature.
    if await store.event(first) == nil,
      let same = await store.events(EventQuery(name: record.name)).first(where: { known in
        known.delivery?.keys.contains(where: keys.contains) ?? false
      })
    {
      first = same.id
    }
    let id = try recordID(ScheduleHost.newID(record.receivedAt), of: record.name)
    return EventRecord(
      id: id, name: record.name, receivedAt: record.receivedAt,
      delivery: DeliveryRecord(
        schedule: record.delivery?.schedule ?? "", keys: [], until: record.delivery?.until ?? record.receivedAt,
        repeats: first))
  }

  /// The id of a delivery: the scheme's, the entry's own expression, or the signature.
  private func id(
    of delivery: Delivery, _ data: Value?, _ head: EventForm.Head, _ verified: VerifiedDelivery, _ webhook: Webhook,
    at now: Timestamp
  ) -> String {
    if let id = verified.id, !id.isEmpty { return id }
    if case .stripe = webhook.verification, let id = data?["id"]?.string, !id.isEmpty { return id }
    if let expression = webhook.id, let data,
      case .success(let event) = webhook.form.value(
        id: nil, time: now, name: webhook.path, data: data, head: head),
      let id = (try? expression.evaluate(in: [event]))?.string, !id.isEmpty
    {
      return id
    }
    if let signature = verified.signature { return SHA256.digest(of: signature) ?? signature.hexadecimal }
    // Without an id of its own each delivery is new, except for one whose id can't be computed.
    let isNamed = webhook.id != nil || webhook.verification.name == "stripe"
    return isNamed ? SHA256.digest(of: delivery.body) ?? "" : ScheduleHost.newID(now)
  }

  /// The id that people see; of one that can't be shown or kept, its digest.
  private func recordID(_ id: String, of path: String) throws(StateError) -> String {
    let whole = "\(path):\(id)"
    let isPlain = id.utf8.allSatisfy { ASCII.printable.contains($0) }
    if isPlain, whole.utf8.count <= 256, store.secrets.finder.names(in: whole).isEmpty { return whole }
    return "\(path):\(try DeliveryRecord.key(path, "id", Array(id.utf8)))"
  }
}

extension DeliveryRecord {
  /// A digest that identifies a delivery to a path.
  static func key(_ path: String, _ what: String, _ bytes: [UInt8]) throws(StateError) -> String {
    guard let digest = SHA256.digest(of: Array(path.utf8) + [0] + Array(what.utf8) + [0] + bytes) else {
      throw StateError(.unavailable, "libcrypto cannot compute SHA-256 here")
    }
    // Half of it tells more deliveries apart than there will ever be.
    return String(digest.prefix(32))
  }
}

extension EventForm {
  /// The value for a delivery that is stored.
  func value(of record: EventRecord, data: Value, head: Head) -> Result<Value, Misfit> {
    value(id: record.id, time: record.receivedAt, name: record.name, data: data, head: head)
  }
}

extension StateStore {
  /// The beginning of a delivery, as far as its expressions may read it.
  func head(of event: EventRecord) async throws(StateError) -> EventForm.Head {
    var head = EventForm.Head()
    if let stored = event.delivery?.headers { head.headers = try await restored(stored, as: "the headers") }
    if let stored = event.delivery?.query { head.query = try await restored(stored, as: "the query") }
    return head
  }

  /// The map to store; nil if it is empty.
  fileprivate func kept(_ map: Value?) async throws(StateError) -> StoredValue? {
    guard let map, map.map?.isEmpty == false else { return nil }
    return try await keep(map)
  }
}

/// The value of a delivery's body, by its content type.
enum WebhookBody {
  /// The value, or why there is none.
  ///
  /// JSON is what it says; a form is a map of texts, and of lists where a name is there several times; all else is text.
  static func read(_ delivery: Delivery) -> (value: Value?, fault: String?) {
    let type = ContentType(delivery.values("Content-Type").first)
    var form = ValueMap()
    do throws(CharsetError) {
      guard type.isForm else {
        let body = try type.utf8(of: delivery.body)
        guard type.name.isEmpty || type.isJSON else { return (.string(String(decoding: body, as: UTF8.self)), nil) }
        return body.isEmpty ? (.null, nil) : json(body)
      }
      for (name, text) in try delivery.form() {
        let value = Value.string(text)
        form[name] = form[name].map { .list(($0.list ?? [$0]) + [value]) } ?? value
      }
    } catch { return (nil, type.isForm ? error.message : "the body \(error.message)") }
    return (.map(form), nil)
  }

  private static func json(_ body: [UInt8]) -> (value: Value?, fault: String?) {
    do throws(JSONError) { return (try JSON.parse(body, allowing: .halfPairs), nil) } catch {
      let place = error.spot.map { " in line \($0.position.line), column \($0.position.column)" } ?? ""
      return (nil, "the body isn't valid JSON\(place): \(error.message)")
    }
  }
}
