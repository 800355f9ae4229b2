import Basics

// The zones that a calendar file defines itself (RFC 5545, section 3.6.5).
//
// A VTIMEZONE has a TZID and observances, STANDARD and DAYLIGHT. Each begins at DTSTART, on the clock of the offset before
// it (TZOFFSETFROM), and again as RRULE and RDATE say; from then on the offset is TZOFFSETTO. Outlook names zones as
// Windows does (`W. Europe Standard Time`), others by a path of their own; such a name means what the file says. A name of
// the IANA database means that zone, whose rules are better kept than a copy of them.

/// A zone as a calendar file defines it.
struct ICalendarZone {
  var name: String
  /// The properties of each observance.
  var observances: [[ICalendarProperty]] = []
  /// Its first line, for faults.
  var range: Range<Int>

  /// The zone's rules in the years that holidays are read for.
  ///
  /// - Parameter budget: How many days may be looked at in all zones of the file.
  func rules(
    in file: ICalendarFile, _ reader: HolidayEventReader, budget: inout Int
  ) throws(Diagnostic) -> TimeZoneRules {
    var changes: [TimeZoneRules.Change] = []
    for properties in observances {
      func required(_ name: String) throws(Diagnostic) -> ICalendarProperty {
        if let property = properties.first(where: { $0.name == name }) { return property }
        throw file.fault("the zone '\(self.name)' has a part without \(name)", properties.first?.range ?? range)
      }
      let begin = try reader.moment(try required("DTSTART")).time
      let (from, to) = (try offset(try required("TZOFFSETFROM"), file), try offset(try required("TZOFFSETTO"), file))
      func change(at time: CivilTime) {
        changes.append(.init(at: time.secondsSinceEpoch - from, from: from, to: to))
      }
      change(at: begin)
      for property in properties {
        switch property.name {
        case "RDATE":
          for text in property.value.split(separator: ",") {
            change(at: try reader.moment(String(text), property).time)
          }
        case "RRULE":
          let rule = try ICalendarRule(property, file: file, begin: begin.date) { text throws(Diagnostic) in
            try reader.moment(text, property)
          }
          let isWithin = rule.dates(from: begin.date, through: HolidayCalendar.years.upperBound, budget: &budget) {
            let time = CivilTime($0, secondOfDay: begin.secondOfDay)
            // UNTIL is an instant in UTC here.
            if let until = rule.until {
              let isOver =
                until.isDate
                ? $0 > until.time.date : time.secondsSinceEpoch - from > until.time.secondsSinceEpoch
              if isOver { return false }
            }
            change(at: time)
            return true
          }
          guard isWithin else { throw file.fault("the zone '\(name)' changes its clocks too often", property.range) }
        default: break
        }
      }
    }
    guard !changes.isEmpty else {
      throw file.fault("the zone '\(name)' has neither a STANDARD nor a DAYLIGHT part", range)
    }
    return TimeZoneRules(name: name, changes: changes.sorted { $0.at < $1.at })
  }

  /// Reads `+0100`, `-0330` and `+013015`, as seconds to add to UTC.
  private func offset(_ property: ICalendarProperty, _ file: ICalendarFile) throws(Diagnostic) -> Int {
    let text = Array(property.value.utf8)
    var parts: [Int] = []
    for index in stride(from: 1, to: text.count, by: 2) {
      guard index + 1 < text.count, let part = Int(String(decoding: text[index...index + 1], as: UTF8.self)), part >= 0
      else { break }
      parts.append(part)
    }
    guard [5, 7].contains(text.count), parts.count == text.count / 2, let sign = text.first,
      sign == ASCII.plus || sign == ASCII.minus, parts[0] < 24, parts.dropFirst().allSatisfy({ $0 < 60 })
    else { throw file.fault("\(property.name): '\(property.value)' isn't an offset such as +0100", property.range) }
    let seconds = parts[0] * 3600 + parts[1] * 60 + (parts.count > 2 ? parts[2] : 0)
    return sign == ASCII.minus ? -seconds : seconds
  }
}
