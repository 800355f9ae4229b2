/// A map by names whose copies share what they have in common.
///
/// A recipe of thousands of steps makes a copy of its scope for each and declares a name in it, which in a dictionary would
/// copy all names for each. Here the entries lie in layers, each larger than the one after it, and only layers of about
/// one size are ever joined: a copy with one entry more costs the logarithm of all on the average.
///
/// Inlinable, so that each kind of entry has code of its own: a sixth of the time of a check was spent on finding out at
/// run time what an entry is.
package struct LayeredMap<Entry: Sendable>: Sendable {
  @usableFromInline var layers: [[String: Entry]] = []

  @inlinable package init() {}

  @inlinable package subscript(name: String) -> Entry? {
    for layer in layers.reversed() {
      if let entry = layer[name] { return entry }
    }
    return nil
  }

  /// Adds an entry, which hides one of the same name.
  @inlinable package mutating func insert(_ entry: Entry, for name: String) {
    var newest = [name: entry]
    while var joined = layers.last, joined.count <= newest.count {
      for (name, entry) in newest { joined[name] = entry }
      newest = joined
      layers.removeLast()
    }
    layers.append(newest)
  }

  /// The entries that are not hidden, in no order.
  package var entries: [Entry] {
    var entries: [String: Entry] = [:]
    for layer in layers { entries.merge(layer) { $1 } }
    return Array(entries.values)
  }

  /// The names, each once, in no order.
  package var names: Set<String> {
    var names: Set<String> = []
    for layer in layers { for name in layer.keys { names.insert(name) } }
    return names
  }
}
