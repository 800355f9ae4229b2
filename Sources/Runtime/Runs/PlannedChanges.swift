import ActionKit
import Basics

/// The changes that the writes of a plan make, by the resources that they access.
struct PlannedChanges {
  /// A subject's state after the writes so far.
  enum State: Equatable {
    /// Unchanged, as far as the writes declare their changes.
    case unchanged
    /// The value that a write leaves there; nil for nothing.
    case left(String?)
    /// Another write may have changed it: the step's name.
    case unknown(String)
  }

  /// Writers, in order.
  struct Writer: Comparable {
    fileprivate var number: Int
    var name: String

    static func < (left: Writer, right: Writer) -> Bool { left.number < right.number }
  }

  /// The writes to one resource.
  private struct Written {
    var access: ConcurrencyPosition.Access
    /// The writers of each plugin, and the last of them.
    var plugins: [String: (access: ConcurrencyPosition.Access, last: Writer)] = [:]
    /// The declared changes, and when they happen.
    var subjects: [String: (access: ConcurrencyPosition.Access, state: State, number: Int)] = [:]

    /// The writers that use another plugin's actions, which describe changes in other words.
    func strangers(to plugin: String) -> [(access: ConcurrencyPosition.Access, last: Writer)] {
      plugins.lazy.filter { $0.key != plugin }.map(\.value)
    }
  }

  /// A resource, with those below it.
  private struct Node {
    var written: Written?
    /// The writers to something below.
    var below: ConcurrencyPosition.Access?
    var children: [String: Node] = [:]

    mutating func note(
      _ names: ArraySlice<String>, _ writer: Writer, in position: ConcurrencyPosition, _ change: (inout Written) -> Void
    ) {
      guard let name = names.first else {
        var written = written ?? Written(access: ConcurrencyPosition.Access(writer))
        written.access.note(writer, in: position)
        change(&written)
        self.written = written
        return
      }
      var below = below ?? ConcurrencyPosition.Access(writer)
      below.note(writer, in: position)
      self.below = below
      children[name, default: Node()].note(names.dropFirst(), writer, in: position, change)
    }
  }

  /// The arguments that a write was noted with.
  private struct Note {
    var name: String
    var plugin: String
    var resources: [Resource]
    var told: [Change]?
    var isCertain: Bool
    var position: ConcurrencyPosition
  }

  private var root = Node()
  private var notes: [Note] = []

  /// Notes a write.
  ///
  /// - Parameters:
  ///   - told: All that it changes; nil if the action can't say.
  ///   - isCertain: Whether it certainly happens.
  mutating func note(
    _ name: String, of plugin: String, on resources: [Resource], told: [Change]?, isCertain: Bool,
    in position: ConcurrencyPosition
  ) {
    let writer = Writer(number: notes.count, name: name)
    notes.append(
      Note(name: name, plugin: plugin, resources: resources, told: told, isCertain: isCertain, position: position))
    for resource in resources {
      root.note(resource.names[...], writer, in: position) { written in
        var access = written.plugins[plugin]?.access ?? ConcurrencyPosition.Access(writer)
        access.note(writer, in: position)
        written.plugins[plugin] = (access, writer)
        for change in told ?? [] {
          access = written.subjects[change.subject]?.access ?? ConcurrencyPosition.Access(writer)
          access.note(writer, in: position)
          written.subjects[change.subject] = (
            access, isCertain ? .left(change.after) : .unknown(name), writer.number
          )
        }
      }
    }
  }

  /// Notes the writes that other changes added since a common beginning.
  mutating func add(_ other: PlannedChanges, since beginning: PlannedChanges) {
    for note in other.notes.dropFirst(beginning.notes.count) {
      self.note(
        note.name, of: note.plugin, on: note.resources, told: note.told, isCertain: note.isCertain, in: note.position)
    }
  }

  /// Everything written to resources that overlap with this one, and the first writer of something below it.
  private func overlapping(_ resource: Resource) -> (written: [Written], below: ConcurrencyPosition.Access?) {
    var node = root
    var found: [Written] = []
    if let written = node.written { found.append(written) }
    for name in resource.names {
      guard let child = node.children[name] else { return (found, nil) }
      node = child
      if let written = node.written { found.append(written) }
    }
    return (found, node.below)
  }

  /// The name of the first step that changes something that is read; nil if there is none.
  func writer(before reads: [Resource]) -> String? {
    reads.flatMap { resource in
      let (written, below) = overlapping(resource)
      return written.map(\.access.first) + [below?.first].compactMap { $0 }
    }.min()?.name
  }

  /// The name of a step beside a position that changes something that is read there; nil if there is none.
  func writer(beside position: ConcurrencyPosition, of reads: [Resource]) -> String? {
    if position.isEmpty { return nil }
    return reads.flatMap { resource in
      let (written, below) = overlapping(resource)
      return (written.map(\.access) + [below].compactMap { $0 }).compactMap { $0.beside(position) }
    }.min()?.name
  }

  /// The name of a step beside a position that may change a subject of a plugin's actions; nil if there is none.
  func writer(beside position: ConcurrencyPosition, of subject: String, _ plugin: String, on resources: [Resource])
    -> String?
  {
    if position.isEmpty { return nil }
    return resources.flatMap { resource in
      let (written, below) = overlapping(resource)
      let accesses = written.flatMap { written in
        written.strangers(to: plugin).map(\.access) + [written.subjects[subject]?.access].compactMap { $0 }
      }
      return (accesses + [below].compactMap { $0 }).compactMap { $0.beside(position) }
    }.min()?.name
  }

  /// The state of a subject of a plugin's actions after the writes so far.
  func state(of subject: String, _ plugin: String, on resources: [Resource]) -> State {
    var state = State.unchanged
    for resource in resources {
      let (written, below) = overlapping(resource)
      if let below { return .unknown(below.first.name) }
      for written in written {
        let known = written.subjects[subject]
        if let stranger = written.strangers(to: plugin).map(\.last).max(), stranger.number > known?.number ?? -1 {
          return .unknown(stranger.name)
        }
        guard let known else { continue }
        guard state == .unchanged || state == known.state else { return .unknown(written.access.first.name) }
        state = known.state
      }
    }
    return state
  }
}
