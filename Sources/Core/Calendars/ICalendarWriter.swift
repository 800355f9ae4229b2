package import Basics

// Writing a calendar that other programs subscribe to (iCalendar, RFC 5545).
//
// Every event is complete in itself, with its instants in UTC. Programs don't agree on a rule for a class that is held
// every other week in term, except on holidays; and UTC is right on both sides of a change of the clocks without a
// VTIMEZONE. An event keeps its UID from one export to the next, so that a program updates it instead of adding a
// second one.

/// A calendar to be written.
package struct ICalendar: Sendable {
  /// One event.
  package struct Event: Sendable {
    /// The identifier that distinguishes it from all others, in this export and in every later one.
    package var uid: String
    /// When it was last known to be so.
    package var stamp: Timestamp
    package var start: Timestamp
    package var end: Timestamp
    package var summary: String
    package var location = ""
    package var details = ""
    package var category = ""

    package init(uid: String, stamp: Timestamp, start: Timestamp, end: Timestamp, summary: String) {
      self.uid = uid
      self.stamp = stamp
      self.start = start
      self.end = end
      self.summary = summary
    }
  }

  /// The calendar's name for people.
  package var name: String
  /// The program that wrote it.
  package var product: String
  package var events: [Event] = []

  package init(name: String, product: String) {
    self.name = name
    self.product = product
  }

  /// The calendar as text: lines that end in CR LF, none longer than 75 octets.
  package var text: String {
    var writer = Writer()
    writer.line("BEGIN:VCALENDAR")
    writer.line("VERSION:2.0")
    writer.text("PRODID", product)
    writer.line("CALSCALE:GREGORIAN")
    writer.text("NAME", name)
    // The name for programs that do not know RFC 7986.
    writer.text("X-WR-CALNAME", name)
    for event in events {
      writer.line("BEGIN:VEVENT")
      writer.text("UID", event.uid)
      writer.instant("DTSTAMP", event.stamp)
      writer.instant("DTSTART", event.start)
      writer.instant("DTEND", event.end)
      writer.text("SUMMARY", event.summary)
      if !event.location.isEmpty { writer.text("LOCATION", event.location) }
      if !event.details.isEmpty { writer.text("DESCRIPTION", event.details) }
      if !event.category.isEmpty { writer.text("CATEGORIES", event.category) }
      writer.line("END:VEVENT")
    }
    writer.line("END:VCALENDAR")
    return String(decoding: writer.bytes, as: UTF8.self)
  }

  private struct Writer {
    var bytes: [UInt8] = []

    /// A property whose value is text (section 3.3.11).
    mutating func text(_ name: String, _ value: String) {
      var escaped = "\(name):"
      for scalar in value.unicodeScalars {
        switch scalar {
        case "\\", ";", ",": escaped += "\\\(scalar)"
        case "\n": escaped += "\\n"
        // Characters that a text may not hold; a line break CR LF is written as its LF alone.
        case _ where scalar.value < 0x20 && scalar != "\t" || scalar.value == 0x7F: continue
        default: escaped.unicodeScalars.append(scalar)
        }
      }
      line(escaped)
    }

    /// A property whose value is an instant in UTC (section 3.3.5).
    mutating func instant(_ name: String, _ instant: Timestamp) {
      let whole = instant.description.utf8.prefix(19).filter { $0 != ASCII.minus && $0 != ASCII.colon }
      line("\(name):\(String(decoding: whole, as: UTF8.self))Z")
    }

    /// A line, folded between characters (section 3.1).
    mutating func line(_ text: String) {
      var room = 75
      for scalar in text.unicodeScalars {
        let octets = UTF8.width(scalar)
        if octets > room {
          bytes += "\r\n ".utf8
          room = 74
        }
        bytes += UTF8.encode(scalar) ?? .init()
        room -= octets
      }
      bytes += "\r\n".utf8
    }
  }
}
