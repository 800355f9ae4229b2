import ActionKit
import Basics

/// What the writes of a plan change, by what they touch.
struct PlannedChanges {
  /// What a subject is after the writes so far.
  enum State: Equatable {
    /// As it is now, as far as the writes say what they change.
    case unchanged
    /// What a write leaves there; nil for nothing.
    case left(String?)
    /// Another write may have changed it: the step's name.
    case unknown(String)
  }

  /// Writers by the order in which they come.
  private struct Writer: Comparable {
    var number: Int
    var name: String

    static func < (left: Writer, right: Writer) -> Bool { left.number < right.number }
  }

  /// What is written to one resource.
  private struct Written {
    var first: Writer
    /// The last of each plugin that writes there.
    var last: [String: Writer] = [:]
    /// What is told to be changed, and when.
    var subjects: [String: (state: State, number: Int)] = [:]

    /// The last that writes there with an action of another plugin, whose words for what it changes are others.
    func stranger(to plugin: String) -> Writer? { last.lazy.filter { $0.key != plugin }.map(\.value).max() }
  }

  /// A resource, with those below it.
  private struct Node {
    var written: Written?
    /// The first that writes to something below.
    var below: Writer?
    var children: [String: Node] = [:]

    mutating func note<Names: Collection<String>>(
      _ names: Names, _ writer: Writer, _ change: (inout Written) -> Void
    ) where Names.SubSequence: Collection<String> {
      guard let name = names.first else {
        var written = written ?? Written(first: writer)
        change(&written)
        self.written = written
        return
      }
      below = below ?? writer
      children[name, default: Node()].note(Array(names.dropFirst()), writer, change)
    }
  }

  private var root = Node()
  private var count = 0

  /// Notes a write.
  ///
  /// - Parameters:
  ///   - told: All that it changes; nil if it cannot say.
  ///   - isCertain: Whether it happens for sure.
  mutating func note(
    _ name: String, of plugin: String, on resources: [Resource], told: [Change]?, isCertain: Bool
  ) {
    let writer = Writer(number: count, name: name)
    count += 1
    for resource in resources {
      root.note(resource.names, writer) { written in
        written.last[plugin] = writer
        for change in told ?? [] {
          written.subjects[change.subject] = (isCertain ? .left(change.after) : .unknown(name), writer.number)
        }
      }
    }
  }

  /// Everything written to what overlaps with a resource, and the first that writes to something below it.
  private func overlapping(_ resource: Resource) -> (written: [Written], below: Writer?) {
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

  /// The name of the step that first changes something that is read; nil if none does.
  func writer(before reads: [Resource]) -> String? {
    reads.flatMap { resource in
      let (written, below) = overlapping(resource)
      return written.map(\.first) + [below].compactMap { $0 }
    }.min()?.name
  }

  /// What a subject of a plugin's actions is after the writes so far.
  func state(of subject: String, _ plugin: String, on resources: [Resource]) -> State {
    var state = State.unchanged
    for resource in resources {
      let (written, below) = overlapping(resource)
      if let below { return .unknown(below.name) }
      for written in written {
        let known = written.subjects[subject]
        if let stranger = written.stranger(to: plugin), stranger.number > known?.number ?? -1 {
          return .unknown(stranger.name)
        }
        guard let known else { continue }
        guard state == .unchanged || state == known.state else { return .unknown(written.first.name) }
        state = known.state
      }
    }
    return state
  }
}
