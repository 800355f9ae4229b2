import Basics

// The outer form of iCalendar files (RFC 5545, section 3.1).
//
//     file      = line *(line-end line)
//     line      = name *(";" parameter "=" value *("," value)) ":" value
//
// Lines end with CR LF, or with one of them alone as many programs write them. A line that begins with a blank or a tab
// continues the line before it, in the middle of a character too. A parameter's value in double quotes may hold `;`,
// `:` and `,`. BEGIN and END lines nest components; names are not case-sensitive.

/// A property of a component, such as `DTSTART;VALUE=DATE:20261225`.
struct ICalendarProperty {
  /// In capitals.
  var name: String
  /// Names in capitals; quotes are taken away.
  var parameters: [(name: String, value: String)]
  var value: String
  /// Its range in the file, folded lines included.
  var range: Range<Int>

  func parameter(_ name: String) -> String? { parameters.first { $0.name == name }?.value }
}

/// Reads the lines of a file's events and zones.
struct ICalendarFile {
  private let source: Source

  /// More bytes are refused.
  static let largest = 1 << 20
  /// Components nested deeper are refused; alarms in events in a calendar are three.
  private static let deepest = 16

  init(_ source: Source) { self.source = source }

  /// The properties of each event, without its inner components' properties, and the zones that the file defines.
  func components() throws(Diagnostic) -> (events: [[ICalendarProperty]], zones: [ICalendarZone]) {
    guard source.bytes.count <= ICalendarFile.largest else {
      throw Diagnostic("a calendar may have 1 MiB; this one has \(source.bytes.count) bytes", at: .init(source, at: 0))
    }
    var events: [[ICalendarProperty]] = []
    var zones: [ICalendarZone] = []
    var open: [String] = []
    var position = 0
    if source.bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    while let (text, range) = line(at: &position) {
      if text.isEmpty { continue }
      let property = try self.property(text, range)
      let component = property.value.uppercased()
      switch property.name {
      case "BEGIN":
        guard open.count < ICalendarFile.deepest else { throw fault("components are nested too deep", range) }
        guard !open.isEmpty || component == "VCALENDAR" else { throw notACalendar(range) }
        open.append(component)
        if open.count == 2, component == "VEVENT" { events.append([]) }
        if open.count == 2, component == "VTIMEZONE" { zones.append(ICalendarZone(name: "", range: range)) }
        if open.count == 3, open[1] == "VTIMEZONE" { zones[zones.count - 1].observances.append([]) }
      case "END":
        guard open.last == component else {
          throw fault(
            open.last.map { "END:\(component) found, but END:\($0) is wanted" }
              ?? "END:\(component) ends nothing", range)
        }
        open.removeLast()
      default:
        guard !open.isEmpty else { throw notACalendar(range) }
        guard open.count > 1 else { break }
        switch open[1] {
        case "VEVENT" where open.count == 2: events[events.count - 1].append(property)
        case "VTIMEZONE" where open.count == 2:
          if property.name == "TZID" { zones[zones.count - 1].name = property.value }
        case "VTIMEZONE" where open.count == 3:
          let zone = zones.count - 1
          zones[zone].observances[zones[zone].observances.count - 1].append(property)
        default: break
        }
      }
    }
    if let name = open.last {
      throw Diagnostic("the file ends before END:\(name); it may have been cut off", at: .init(source, at: position))
    }
    if position == 0 { throw notACalendar(0..<0) }
    return (events, zones)
  }

  /// A fault at a line.
  func fault(_ message: String, _ range: Range<Int>) -> Diagnostic { Diagnostic(message, at: .init(source, range)) }

  private func notACalendar(_ range: Range<Int>) -> Diagnostic {
    fault("this isn't an iCalendar file; one begins with BEGIN:VCALENDAR", range)
  }

  /// The next line, unfolded, and moves on; nil at the end.
  private func line(at position: inout Int) -> (bytes: [UInt8], range: Range<Int>)? {
    let bytes = source.bytes
    guard position < bytes.count else { return nil }
    let start = position
    var text: [UInt8] = []
    var end = start
    repeat {
      // A continuation begins after one blank or tab.
      let from = text.isEmpty && position == start ? position : position + 1
      end = bytes[from...].firstIndex { $0 == ASCII.newline || $0 == ASCII.carriageReturn } ?? bytes.count
      let isPair = end + 1 < bytes.count && bytes[end] == ASCII.carriageReturn && bytes[end + 1] == ASCII.newline
      position = min(end + (isPair ? 2 : 1), bytes.count)
      text += bytes[from..<end]
    } while position < bytes.count && (bytes[position] == ASCII.space || bytes[position] == ASCII.tab)
    return (text, start..<end)
  }

  private func property(_ text: [UInt8], _ range: Range<Int>) throws(Diagnostic) -> ICalendarProperty {
    /// The text up to a byte outside quotes, and the bytes that may end it.
    var rest = text[...]
    func part(until ends: [UInt8]) -> String {
      var isQuoted = false
      let found = rest.prefix { byte in
        if byte == ASCII.quote { isQuoted.toggle() }
        return isQuoted || !ends.contains(byte)
      }
      rest = rest.dropFirst(found.count)
      return String(decoding: found.filter { $0 != ASCII.quote }, as: UTF8.self)
    }
    let (colon, semicolon, equals) = (ASCII.colon, ASCII.semicolon, ASCII.equals)
    let name = part(until: [colon, semicolon]).uppercased()
    var parameters: [(name: String, value: String)] = []
    while rest.first == semicolon {
      rest = rest.dropFirst()
      let parameter = part(until: [equals, colon, semicolon]).uppercased()
      guard rest.first == equals else { break }
      rest = rest.dropFirst()
      parameters.append((parameter, part(until: [colon, semicolon])))
    }
    let isName = name.utf8.allSatisfy { byte in
      ASCII.uppercase.contains(byte) || ASCII.digits.contains(byte) || byte == ASCII.minus
    }
    guard !name.isEmpty, isName, rest.first == colon else {
      throw fault("this isn't a line of an iCalendar file, such as DTSTART:20261225", range)
    }
    return ICalendarProperty(
      name: name, parameters: parameters, value: String(decoding: rest.dropFirst(), as: UTF8.self), range: range)
  }
}
