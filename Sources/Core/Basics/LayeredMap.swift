/// A map by names whose copies share what they have in common.
///
/// A recipe of thousands of steps makes a copy of its scope for each and declares a name in it, which in a dictionary would
/// copy all names for each. Here the entries lie in layers, each larger than the one after it, and only layers of about
/// one size are ever joined: a copy with one entry more costs the logarithm of all on the average.
package struct LayeredMap<Entry: Sendable>: Sendable {
  private var layers: [[String: Entry]] = []

  package init() {}

  package subscript(name: String) -> Entry? {
    for layer in layers.reversed() {
      if let entry = layer[name] { return entry }
    }
    return nil
  }

  /// Adds an entry, which hides one of the same name.
  package mutating func insert(_ entry: Entry, for name: String) {
    var newest = [name: entry]
    while let last = layers.last, last.count <= newest.count {
      newest = last.merging(newest) { $1 }
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
  package var names: Set<String> { layers.reduce(into: []) { $0.formUnion($1.keys) } }
}
