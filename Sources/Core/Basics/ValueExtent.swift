// How large a value is when it is written out.
//
// Values share their parts: `[v, v]` costs two words, and holds everything in `v` twice. Written, hashed or walked it is
// twice as large, and forty such lists in a row are larger than any disk. So what counts is the size with every part
// counted as often as it is met, and it is looked at where a value comes into being: no later walk can take long then.
//
// The number of bytes is about the length of the value's JSON text.

/// The parts, bytes and depth of a value; a shared part is counted each time it is met.
package struct ValueExtent: Sendable, Equatable {
  /// Scalars, lists and maps, with those inside; keys count.
  package var parts = 0
  /// About the bytes of the JSON text.
  package var bytes = 0
  /// How many lists, maps and optionals are around the innermost value.
  package var depth = 0

  /// The limits of a value.
  package static let most = ValueExtent(parts: 4_000_000, bytes: 64 << 20, depth: JSON.deepest)

  package init(parts: Int = 0, bytes: Int = 0, depth: Int = 0) {
    self.parts = parts
    self.bytes = bytes
    self.depth = depth
  }

  /// The extent of a value, as far as the limit: nil if the value is larger, found out without walking further.
  package init?(of value: Value, upTo limit: ValueExtent = .most) {
    self.init()
    guard add(value, 0, limit) else { return nil }
  }

  private mutating func add(_ value: Value, _ depth: Int, _ limit: ValueExtent) -> Bool {
    parts += 1
    switch value.content {
    case .null, .bool, .int, .uint, .double, .timestamp, .duration: bytes += 10
    case .string(let text), .type(let text): bytes += text.utf8.count + 4
    case .bytes(let octets): bytes += octets.count / 3 * 4 + 16
    case .masked(let text):
      for part in text.parts { if case .plain(let octets) = part { bytes += octets.count + 4 } else { bytes += 80 } }
    case .list(let items):
      bytes += 2
      guard enter(depth, limit) else { return false }
      for item in items where !add(item, depth + 1, limit) { return false }
    case .map(let map):
      bytes += 2
      guard enter(depth, limit) else { return false }
      for member in map.members where !(add(member.key, depth + 1, limit) && add(member.value, depth + 1, limit)) {
        return false
      }
    case .optional(let wrapped):
      bytes += 2
      guard enter(depth, limit) else { return false }
      if let wrapped { return add(wrapped, depth + 1, limit) }
    }
    return parts <= limit.parts && bytes <= limit.bytes
  }

  private mutating func enter(_ depth: Int, _ limit: ValueExtent) -> Bool {
    self.depth = max(self.depth, depth + 1)
    return depth < limit.depth
  }
}

extension Value {
  /// Why the value is too large to be worked with, or nil if it is not.
  package var oversize: String? {
    switch content {
    case .null, .bool, .int, .uint, .double, .timestamp, .duration: return nil
    default: break
    }
    if ValueExtent(of: self) != nil { return nil }
    let most = ValueExtent.most
    var measure = SharedMeasure()
    let (parts, bytes) = measure.size(of: self, 0)
    if measure.isTooDeep { return "it is nested deeper than \(most.depth) levels" }
    let size = bytes > Double(most.bytes) ? "\(inUnits(bytes)) when it is written out" : "\(inMillions(parts)) parts"
    return """
      it has \(size); at most \(most.bytes >> 20) MiB and \(most.parts / 1_000_000) million parts are allowed, \
      and what is held more than once counts each time
      """
  }

  private func inUnits(_ bytes: Double) -> String {
    let units = ["MiB", "GiB", "TiB", "PiB", "EiB"]
    var amount = bytes / Double(1 << 20)
    var unit = 0
    while amount >= 1024, unit < units.count - 1 {
      amount /= 1024
      unit += 1
    }
    return amount >= 1024 ? "far more than 1,000 EiB" : "about \(Int(amount.rounded())) \(units[unit])"
  }

  private func inMillions(_ parts: Double) -> String { "about \(Int((parts / 1_000_000).rounded())) million" }
}

/// Measures a value of any size, each shared part once: it takes no longer than the memory that the value takes.
private struct SharedMeasure {
  private var known: [UnsafeRawPointer: (parts: Double, bytes: Double)] = [:]
  private(set) var isTooDeep = false

  mutating func size(of value: Value, _ depth: Int) -> (parts: Double, bytes: Double) {
    guard depth <= ValueExtent.most.depth else {
      isTooDeep = true
      return (1, 0)
    }
    switch value.content {
    case .null, .bool, .int, .uint, .double, .timestamp, .duration: return (1, 10)
    case .string(let text), .type(let text): return (1, Double(text.utf8.count + 4))
    case .bytes(let octets): return (1, Double(octets.count) / 3 * 4 + 16)
    case .masked(let text): return (1, Double(text.displayed.utf8.count + 80 * text.parts.count))
    case .optional(let wrapped):
      guard let wrapped else { return (1, 2) }
      let (parts, bytes) = size(of: wrapped, depth + 1)
      return (parts + 1, bytes + 2)
    case .list(let items):
      return once(items.withUnsafeBytes(\.baseAddress)) { measure in
        items.reduce(into: (1, 2)) { total, item in total = sum(total, measure.size(of: item, depth + 1)) }
      }
    case .map(let map):
      return once(map.members.withUnsafeBytes(\.baseAddress)) { measure in
        map.members.reduce(into: (1, 2)) { total, member in
          let entry = sum(measure.size(of: member.key, depth + 1), measure.size(of: member.value, depth + 1))
          total = sum(total, entry)
        }
      }
    }
  }

  /// The value is held for as long as it is measured, so that an address stands for one list or map.
  private mutating func once(
    _ address: UnsafeRawPointer?, _ measure: (inout SharedMeasure) -> (parts: Double, bytes: Double)
  ) -> (parts: Double, bytes: Double) {
    guard let address else { return (1, 2) }
    if let known = known[address] { return known }
    let size = measure(&self)
    known[address] = size
    return size
  }
}

private func sum(
  _ left: (parts: Double, bytes: Double), _ right: (parts: Double, bytes: Double)
) -> (parts: Double, bytes: Double) { (left.parts + right.parts, left.bytes + right.bytes) }
