// How much is taken in from outside.
//
// Who is told that an event is on disk counts on it, so what waits is limited before that, and nothing is refused after it.
// An event has a place in its queue from before the first wait of its request until the schedules or a run have it; starts
// that wait for another run count beside these places. A place is taken before anything is looked at, so that of any number
// of requests at once each sees those before it.
import RunState
import Synchronization

/// The events that are being taken in, or on which nothing is decided yet, by their queues.
final class Intake: Sendable {
  /// How many events of a queue, and starts that these wait for, there may be; more are refused.
  static let most = 500

  /// What comes of an event from outside.
  enum Outcome: Sendable {
    /// It is on disk.
    case new
    /// It came before, and is on disk.
    case known
    /// As many wait as may; it isn't kept.
    case full
    /// No schedule decides on it now; it isn't kept.
    case unserved
  }

  private struct Place {
    var queue: String
    /// How many stages of its way have the event.
    var holders: Int
  }

  private struct Content {
    var places: [String: Place] = [:]
    var counts: [String: Int] = [:]
  }

  private let content = Mutex(Content())

  /// Takes a place for an event, or holds the one that it has; gives how many there are in its queue then.
  @discardableResult func take(_ event: EventRecord) -> Int {
    content.withLock { content in
      let queue = content.places[event.id]?.queue ?? event.queue
      if content.places[event.id] == nil { content.counts[queue, default: 0] += 1 }
      content.places[event.id, default: Place(queue: queue, holders: 0)].holders += 1
      return content.counts[queue] ?? 0
    }
  }

  /// Holds the place of an event for another stage; gives its queue.
  func hold(_ id: String) -> String? {
    content.withLock { content in
      content.places[id]?.holders += 1
      return content.places[id]?.queue
    }
  }

  /// Gives the place back for a stage; the last one frees it.
  func leave(_ id: String) {
    content.withLock { content in
      guard let place = content.places[id] else { return }
      guard place.holders == 1 else {
        content.places[id]?.holders -= 1
        return
      }
      content.places[id] = nil
      let left = (content.counts[place.queue] ?? 1) - 1
      content.counts[place.queue] = left > 0 ? left : nil
    }
  }

  /// How many places are taken in a queue.
  func count(of queue: String) -> Int { content.withLock { $0.counts[queue] ?? 0 } }
}

extension EventRecord {
  /// What it queues with: the deliveries to one webhook, or the events of one name.
  var queue: String { delivery.map { "webhook \($0.schedule)" } ?? EventRecord.queue(ofName: name) }

  static func queue(ofName name: String) -> String { "event \(name)" }
}
