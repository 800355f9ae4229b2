// Displays when the entries of `on` are next due.
//
// The entries depend on the inputs, the zone and files beside the recipe, but not on its steps. So the check uses a
// recipe with only these parts and a single step; the rest is blanked. This works even while the steps are incomplete.
// If one of several entries is faulty, each half of them is checked without the other, and so on. After many checks what
// is left has no times.

package import Basics
import Calendars
import Recipes

/// When an entry of `on` is next due.
package struct EntryTimes: Sendable {
  /// The end of the entry's first line.
  package var offset: Int
  /// When it is due, in words, with its zone.
  package var words: String
  /// The next times, at most three; empty if it is paused or never due again.
  package var next: [String]
  package var isPaused: Bool
}

extension EditorService {
  /// The most checks for the times of one text's entries.
  private static let mostChecksOfEntries = 64

  /// The next times of the time-based entries.
  package func entryTimes(in source: Source) -> [EntryTimes] {
    guard EditedFileKind(path: source.name) == .recipe else { return [] }
    let readable = recovered(source)
    let outline = TextOutline(readable.bytes)
    guard let on = outline.child("on", of: 0) else { return [] }
    let entries = outline.nodes[on].children.filter { outline.nodes[$0].kind == .item }
    var found: [Int: Trigger] = [:]
    var parts = [entries[...]]
    for _ in 0..<EditorService.mostChecksOfEntries {
      guard !parts.isEmpty else { break }
      let part = parts.removeFirst()
      if let triggers = triggers(readable, outline, keeping: Set(part), of: entries) {
        for (entry, trigger) in zip(part, triggers) { found[entry] = trigger }
      } else if part.count > 1, !part.contains(where: { outline.nodes[$0].isFlow }) {
        let middle = part.startIndex + part.count / 2
        parts += [part[..<middle], part[middle...]]
      }
    }
    let now = folder.now()
    return entries.compactMap { entry in
      guard let trigger = found[entry], let recurrence = trigger.recurrence else { return nil }
      let node = outline.nodes[entry]
      return EntryTimes(
        offset: node.isFlow ? node.end : outline.lineEnd(at: node.nameRange.lowerBound), words: trigger.wordsWithZone,
        next: trigger.isPaused ? [] : recurrence.nextTimes(after: now), isPaused: trigger.isPaused)
    }
  }

  /// The next times of the time-based entries, as notes after the first line of each entry.
  package func fireTimes(in source: Source) -> [InlayNote] {
    entryTimes(in: source).map { entry in
      let text =
        entry.isPaused
        ? "paused" : entry.next.isEmpty ? "never due again" : "next: \(entry.next.joined(separator: ", "))"
      return InlayNote(text, at: entry.offset, tooltip: entry.words)
    }
  }

  /// The triggers of a recipe that contains only the kept entries; nil if one of them is faulty.
  private func triggers(
    _ source: Source, _ outline: TextOutline, keeping kept: Set<Int>, of entries: [Int]
  ) -> [Trigger]? {
    var bytes = source.bytes
    let other = outline.nodes[0].children.filter {
      !["recipe", "inputs", "zone", "on"].contains(outline.nodes[$0].name)
    }
    for index in other + entries.filter({ !kept.contains($0) }) {
      for offset in outline.nodes[index].nameRange.lowerBound..<outline.nodes[index].end
      where !isBlankOrBreak(bytes[offset]) {
        bytes[offset] = ASCII.space
      }
    }
    bytes += "\nsteps: [{ wait: 1s }]\n".utf8
    return Recipe.check(Source(name: source.name, bytes: bytes), in: folder.environment(source.name)).recipe?.triggers
  }
}

extension Recurrence {
  private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// The next three times, each as `Mon 30 Nov 07:00`, in its zone, with the year if it isn't the current one.
  fileprivate func nextTimes(after now: Timestamp) -> [String] {
    let year = zone.localTime(at: now).time.date.year
    var times: [String] = []
    var last = now
    while times.count < 3, let next = next(after: last) {
      let time = zone.localTime(at: next).time
      let clock = [time.hour, time.minute] + (time.second == 0 ? [] : [time.second])
      times.append(
        "\(Recurrence.weekdays[time.date.weekday]) \(time.date.day) \(Recurrence.months[time.date.month - 1])"
          + (time.date.year == year ? "" : " \(time.date.year)") + " "
          + clock.map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":"))
      last = next
    }
    return times
  }
}
