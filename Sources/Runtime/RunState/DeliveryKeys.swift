/// The keys of deliveries to webhooks, kept for as long as each webhook says, so that no delivery counts twice.
///
/// A key is a digest, so that no legible text of the sender is kept. Expired keys are removed when the oldest of them
/// is a day overdue, so each key is checked at most once a day.
import Basics

struct DeliveryKeys: Sendable, Equatable {
  /// Until when each key is known.
  private(set) var known: [String: Timestamp] = [:]
  /// A bound of when the first of them expires.
  private var earliest: Timestamp?

  /// How long the oldest key is overdue before expired keys are removed.
  private static let slack = TimeSpan.seconds(86_400)

  init() {}

  init(_ known: [String: Timestamp]) {
    self.known = known
    earliest = known.values.min()
  }

  /// Whether one of some keys is known at an instant.
  func has(_ keys: [String], at instant: Timestamp) -> Bool {
    keys.contains { key in known[key].map { instant < $0 } ?? false }
  }

  mutating func take(_ delivery: DeliveryRecord, at instant: Timestamp) {
    for key in delivery.keys { known[key] = delivery.until }
    earliest = min(earliest ?? delivery.until, delivery.until)
    guard let earliest, earliest.advanced(by: DeliveryKeys.slack) ?? .latest <= instant else { return }
    self = DeliveryKeys(known.filter { instant < $0.value })
  }

  // When expired keys are removed changes nothing that counts.
  static func == (one: DeliveryKeys, other: DeliveryKeys) -> Bool { one.known == other.known }
}
