package import Basics
package import Recipes
package import RunState
import Synchronization

// Takes in the forms that people send. A filled-in form is a delivery, like a webhook's: an event that only the
// schedule of its entry may consume, on disk before the person reads that it was received. The key of the page is the
// delivery's id, so that a form that is sent twice starts one run. Each use of a link is a key of the delivery, too: a
// link is used up when the keys of all of its uses are known.

/// Receives the forms of recipes that people send.
package final class FormInbox: Sendable {
  /// A form of a served recipe.
  package struct Entry: Sendable {
    package var schedule: String
    package var recipe: String
    package var form: WebForm
  }

  /// A form that a person sent.
  package struct Sent: Sendable {
    package var values: ValueMap
    /// The key of the page, as it was sent.
    package var key: String
    /// The link, as it was sent.
    package var link: String?
    /// Where it came from.
    package var address: String
    /// Whether a field was filled in that no person sees; nothing is kept then.
    package var isOfRobot: Bool

    package init(values: ValueMap, key: String, link: String?, address: String, isOfRobot: Bool) {
      self.values = values
      self.key = key
      self.link = link
      self.address = address
      self.isOfRobot = isOfRobot
    }
  }

  /// The answer to a person.
  package enum Answer: Sendable, Equatable {
    /// It is on disk; the text says so.
    case done(String)
    /// The page is too old, or its key was made elsewhere.
    case keyIsOld
    /// The page was sent before, with other values.
    case keyIsUsed
    case linkIsUsed
    /// It was sent too often; the span says when it may be sent again.
    case tooMany(TimeSpan)
    /// As much waits as may, and the person should try again.
    case full
    /// It can't be taken now, and the person should try again.
    case unavailable
  }

  /// The largest body of a form.
  package static let mostBytes = 64 << 10
  /// How many uses a link may have.
  package static let mostUses = 1000

  private let store: any StateStore
  private let time: any TimeSource
  private let content = Mutex((entries: [String: Entry](), limiter: FormLimiter()))
  private let known = Mutex<(key: LinkKey, at: TimeSpan)?>(nil)
  /// How long the key of the links is used before the state is asked again: anyone may look at a form.
  private static let freshness = TimeSpan.seconds(5)

  init(_ store: any StateStore, time: any TimeSource) {
    self.store = store
    self.time = time
  }

  /// Takes the entries in force.
  func set(_ entries: [Entry]) {
    content.withLock { $0.entries = Dictionary(entries.map { ($0.form.path, $0) }) { first, _ in first } }
  }

  /// The form at a path below `/forms/`.
  package func entry(at path: String) -> Entry? { content.withLock { $0.entries[path] } }

  /// The form of a schedule.
  package func entry(of schedule: String) -> Entry? {
    content.withLock { $0.entries.values.first { $0.schedule.hasSameScalars(as: schedule) } }
  }

  /// The path of the form whose deliveries have ids like this one.
  package func path(ofID id: String) -> String? {
    content.withLock { $0.entries.keys.first { id.utf8.starts(with: "\($0):".utf8) } }
  }

  /// Whether nothing is taken in, because the schedule is paused.
  package func isClosed(_ entry: Entry) async -> Bool { await store.schedule(entry.schedule)?.pause != nil }

  private func linkKey() async throws(StateError) -> LinkKey {
    let now = time.elapsed()
    if let known = known.withLock(\.self), now - known.at < FormInbox.freshness { return known.key }
    let key = try await store.linkKey()
    known.withLock { $0 = (key, now) }
    return key
  }

  /// The key for a page with a form.
  package func newKey(for form: WebForm) async throws(StateError) -> String {
    try FormKey.text(for: form.path, at: time.now(), by: try await linkKey())
  }

  /// Makes a link that lets its owner send a form.
  package func newLink(to form: WebForm, uses: Int, until: Timestamp) async throws(StateError) -> String {
    try FormLink.text(for: form.path, uses: uses, until: until, by: try await linkKey())
  }

  /// Whether a text is a link to a form that hasn't ended.
  package func isLink(_ text: String, to form: WebForm) async throws(StateError) -> Bool {
    try FormLink(text, for: form.path, at: time.now(), by: try await linkKey()) != nil
  }

  /// Takes a form in, durably.
  ///
  /// - Parameter takeIn: Takes an event in, if there is a place for it.
  func receive(
    _ sent: Sent, to entry: Entry, takeIn: (EventRecord) async throws(StateError) -> Intake.Outcome
  ) async -> Answer {
    do throws(StateError) { return try await received(sent, to: entry, takeIn) } catch { return .unavailable }
  }

  private func received(
    _ sent: Sent, to entry: Entry, _ takeIn: (EventRecord) async throws(StateError) -> Intake.Outcome
  ) async throws(StateError) -> Answer {
    let (form, now, secret) = (entry.form, time.now(), try await linkKey())
    guard let key = try FormKey(sent.key, for: form.path, at: now, by: secret) else { return .keyIsOld }
    var link: FormLink?
    if form.access == .link {
      link = try FormLink(sent.link ?? "", for: form.path, at: now, by: secret)
      if link == nil { return .linkIsUsed }
    }
    let stored = try await store.keep(.map(sent.values))
    var record = EventRecord(
      id: "\(form.path):\(key.number)", name: form.path, data: stored, receivedAt: now)
    let done = Answer.done(thanks(for: record, sent.values, form))
    if let known = try await answer(toKnown: record, done) { return known }
    if let wait = content.withLock({ $0.limiter.wait(form, from: sent.address, at: now) }) { return .tooMany(wait) }
    if sent.isOfRobot { return done }
    let end = now.advanced(by: FormKey.lifetime) ?? .latest
    record.delivery = DeliveryRecord(
      schedule: entry.schedule, keys: [try DeliveryRecord.key(form.path, "form", Array(key.number.utf8))],
      until: max(end, link?.until ?? end))
    for use in 0..<max(1, link?.uses ?? 1) {
      var attempt = record
      if let link { attempt.delivery?.keys.append(try link.key(ofUse: use, of: form.path)) }
      switch try await takeIn(attempt) {
      case .new: return done
      case .full: return giveBack(.full, sent, form, now)
      case .unserved: return giveBack(.unavailable, sent, form, now)
      case .known:
        if let known = try await answer(toKnown: record, done) { return giveBack(known, sent, form, now) }
        // Its key is known though the event is forgotten; with a link, one of its uses may be what is known.
        if link == nil { return giveBack(done, sent, form, now) }
      }
    }
    return giveBack(.linkIsUsed, sent, form, now)
  }

  /// The answer to a form that came before, while its event is kept.
  private func answer(toKnown record: EventRecord, _ done: Answer) async throws(StateError) -> Answer? {
    guard let known = await store.event(record.id) else { return nil }
    return known.isSame(as: record, given: store.secrets) ? done : .keyIsUsed
  }

  /// An answer to a form that started nothing, which doesn't count for the limits.
  private func giveBack(_ answer: Answer, _ sent: Sent, _ form: WebForm, _ now: Timestamp) -> Answer {
    content.withLock { $0.limiter.giveBack(form, from: sent.address, at: now) }
    return answer
  }

  private func thanks(for record: EventRecord, _ values: ValueMap, _ form: WebForm) -> String {
    let event = try? form.form.value(of: record, data: .map(values), head: EventForm.Head()).get()
    return form.thanks(for: event ?? .null)
  }
}

/// Counts how often forms are sent, by form and address.
struct FormLimiter: Sendable {
  /// The instants that count, the earliest first, by the form's path, and by path and address.
  private var sent: [String: [Timestamp]] = [:]
  private var sweepsAbove = 1024

  private static let day = TimeSpan.seconds(86_400)

  init() {}

  /// Counts a form that is sent; if it is one too many, it doesn't count, and the span says when it may be sent again.
  mutating func wait(_ form: WebForm, from address: String, at now: Timestamp) -> TimeSpan? {
    let own = FormLimiter.key(form, address)
    let waits = [
      wait(form.path, form.limit.perDay, FormLimiter.day, now), wait(own, form.limit.requests, form.limit.span, now),
    ]
    if let longest = waits.compactMap({ $0 }).max() { return longest }
    for key in [form.path, own] { sent[key, default: []].append(now) }
    sweep(now)
    return nil
  }

  /// Takes a count back.
  mutating func giveBack(_ form: WebForm, from address: String, at instant: Timestamp) {
    for key in [form.path, FormLimiter.key(form, address)] {
      if let index = sent[key]?.lastIndex(of: instant) { sent[key]?.remove(at: index) }
    }
  }

  private static func key(_ form: WebForm, _ address: String) -> String { "\(form.path) \(address)" }

  private mutating func wait(_ key: String, _ most: Int, _ span: TimeSpan, _ now: Timestamp) -> TimeSpan? {
    // A clock that was set back makes nobody wait.
    sent[key]?.removeAll { instant in now.span(since: instant).map { $0 >= span || $0 < .zero } ?? true }
    guard let known = sent[key], known.count >= most, let first = known.first, let age = now.span(since: first) else {
      return nil
    }
    return span - age
  }

  /// Removes what no limit asks for any more, when there are many.
  private mutating func sweep(_ now: Timestamp) {
    guard sent.count > sweepsAbove else { return }
    sent = sent.filter { _, instants in
      instants.contains { instant in now.span(since: instant).map { $0 < FormLimiter.day } ?? false }
    }
    sweepsAbove = max(1024, sent.count * 2)
  }
}
