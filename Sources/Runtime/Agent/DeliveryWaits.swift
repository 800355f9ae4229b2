import Synchronization

/// Wakes the answers of webhooks that wait for the run of their delivery (`WebhookInbox`).
///
/// A waiting answer holds a connection, so only so many wait; others are answered at once.
package final class DeliveryWaits: Sendable {
  /// How many answers wait at most.
  package static let most = 100

  private struct Content {
    var next = 0
    /// By the id of the delivery.
    var waiting: [String: [Int: AsyncStream<Void>.Continuation]] = [:]
    var count = 0
  }

  private let content = Mutex(Content())

  package init() {}

  /// Wakes with each decision on a delivery, from now on and once at the beginning; nil if as many wait as may.
  ///
  /// The place is free again when the stream is no longer read.
  package func decisions(on delivery: String) -> AsyncStream<Void>? {
    let (stream, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let number: Int? = content.withLock { content in
      guard content.count < DeliveryWaits.most else { return nil }
      content.count += 1
      content.next += 1
      content.waiting[delivery, default: [:]][content.next] = wake
      return content.next
    }
    guard let number else { return nil }
    wake.onTermination = { [weak self] _ in self?.end(number, delivery) }
    wake.yield()
    return stream
  }

  private func end(_ number: Int, _ delivery: String) {
    content.withLock { content in
      guard content.waiting[delivery]?.removeValue(forKey: number) != nil else { return }
      content.count -= 1
      if content.waiting[delivery]?.isEmpty == true { content.waiting[delivery] = nil }
    }
  }

  /// Tells the waiters of a delivery that it was decided on.
  package func wake(_ delivery: String) {
    let waiting = content.withLock { $0.waiting[delivery].map { Array($0.values) } ?? [] }
    for wake in waiting { wake.yield() }
  }
}
