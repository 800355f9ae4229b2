import ActionKit
import Basics

/// What the writes of a plan change, by what they touch.
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
    var touch: Strand.Touch
    /// The writers of each plugin, and the last of them.
    var plugins: [String: (touch: Strand.Touch, last: Writer)] = [:]
    /// The declared changes, and when they happen.
    var subjects: [String: (touch: Strand.Touch, state: State, number: Int)] = [:]

    /// Those that write there with another plugin's actions, which describe changes in other words.
    func strangers(to plugin: String) -> [(touch: Strand.Touch, last: Writer)] {
      plugins.lazy.filter { $0.key != plugin }.map(\.value)
    }
  }

  /// A resource, with those below it.
  private struct Node {
    var written: Written?
    /// Those that write to something below.
    var below: Strand.Touch?
    var children: [String: Node] = [:]

    mutating func note(
      _ names: ArraySlice<String>, _ writer: Writer, in strand: Strand, _ change: (inout Written) -> Void
    ) {
      guard let name = names.first else {
        var written = written ?? Written(touch: Strand.Touch(writer))
        written.touch.note(writer, in: strand)
        change(&written)
        self.written = written
        return
      }
      var below = below ?? Strand.Touch(writer)
      below.note(writer, in: strand)
      self.below = below
      children[name, default: Node()].note(names.dropFirst(), writer, in: strand, change)
    }
  }

  /// What a write was noted with.
  private struct Note {
    var name: String
    var plugin: String
    var resources: [Resource]
    var told: [Change]?
    var isCertain: Bool
    var strand: Strand
  }

  private var root = Node()
  private var notes: [Note] = []

  /// Notes a write.
  ///
  /// - Parameters:
  ///   - told: All that it changes; nil if the action can't say.
  ///   - isCertain: Whether it certainly happens.
  mutating func note(
    _ name: String, of plugin: String, on resources: [Resource], told: [Change]?, isCertain: Bool, in strand: Strand
  ) {
    let writer = Writer(number: notes.count, name: name)
    notes.append(
      Note(name: name, plugin: plugin, resources: resources, told: told, isCertain: isCertain, strand: strand))
    for resource in resources {
      root.note(resource.names[...], writer, in: strand) { written in
        var touch = written.plugins[plugin]?.touch ?? Strand.Touch(writer)
        touch.note(writer, in: strand)
        written.plugins[plugin] = (touch, writer)
        for change in told ?? [] {
          touch = written.subjects[change.subject]?.touch ?? Strand.Touch(writer)
          touch.note(writer, in: strand)
          written.subjects[change.subject] = (
            touch, isCertain ? .left(change.after) : .unknown(name), writer.number
          )
        }
      }
    }
  }

  /// Notes the writes that other changes have since a point from which both began.
  mutating func add(_ other: PlannedChanges, since beginning: PlannedChanges) {
    for note in other.notes.dropFirst(beginning.notes.count) {
      self.note(
        note.name, of: note.plugin, on: note.resources, told: note.told, isCertain: note.isCertain, in: note.strand)
    }
  }

  /// Everything written to what overlaps with a resource, and the first writer of something below it.
  private func overlapping(_ resource: Resource) -> (written: [Written], below: Strand.Touch?) {
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
      return written.map(\.touch.first) + [below?.first].compactMap { $0 }
    }.min()?.name
  }

  /// The name of a step beside a strand that changes something that is read there; nil if there is none.
  func writer(beside strand: Strand, of reads: [Resource]) -> String? {
    if strand.isEmpty { return nil }
    return reads.flatMap { resource in
      let (written, below) = overlapping(resource)
      return (written.map(\.touch) + [below].compactMap { $0 }).compactMap { $0.beside(strand) }
    }.min()?.name
  }

  /// The name of a step beside a strand that may change a subject of a plugin's actions; nil if there is none.
  func writer(beside strand: Strand, of subject: String, _ plugin: String, on resources: [Resource]) -> String? {
    if strand.isEmpty { return nil }
    return resources.flatMap { resource in
      let (written, below) = overlapping(resource)
      let touches = written.flatMap { written in
        written.strangers(to: plugin).map(\.touch) + [written.subjects[subject]?.touch].compactMap { $0 }
      }
      return (touches + [below].compactMap { $0 }).compactMap { $0.beside(strand) }
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
        guard state == .unchanged || state == known.state else { return .unknown(written.touch.first.name) }
        state = known.state
      }
    }
    return state
  }
}
