// Limits how many events from outside are accepted.
//
// A sender relies on an event once it hears that the event is on disk. So the limit applies before that, and no event
// is refused afterwards. An event has a place in its queue from before the first wait of its request until the
// schedules or a run have taken it; starts that wait for another run are counted as well. The place is taken before
// anything is looked up, so that any number of concurrent requests see those before them.
import RunState
import Synchronization

/// The events, by queue, that are being stored or wait for a decision.
package final class Intake: Sendable {
  /// The most events of a queue, together with the starts that wait for another run; more are refused.
  package static let most = 500

  /// The result of accepting an event from outside.
  package enum Outcome: Sendable {
    /// It is on disk.
    case new
    /// It came before, and is on disk.
    case known
    /// The queue is full; it isn't stored.
    case full
    /// No schedule decides on it now; it isn't stored.
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
  /// The event's queue: the deliveries to one webhook, or the events of one name.
  var queue: String { delivery.map { "webhook \($0.schedule)" } ?? EventRecord.queue(ofName: name) }

  static func queue(ofName name: String) -> String { "event \(name)" }
}
