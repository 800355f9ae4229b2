import Basics

/// Reads one event of a calendar file; what counts is in `HolidayCalendar`.
struct HolidayEventReader {
  let file: ICalendarFile
  /// The zone of times that name none.
  let zone: TimeZoneRules
  let database: TimeZoneDatabase
  /// The zones that the file defines, except those in the database.
  var zones: [String: TimeZoneRules] = [:]

  func read(_ properties: [ICalendarProperty]) throws(Diagnostic) -> HolidayEvent {
    guard let start = properties.first(where: { $0.name == "DTSTART" }) else {
      throw file.fault("the event has no DTSTART", properties.first?.range ?? 0..<0)
    }
    var event = HolidayEvent(begin: try moment(start), length: 0, range: start.range)
    var hasLength = false
    for property in properties {
      switch property.name {
      case "UID": event.uid = property.value
      case "STATUS": event.isCancelled = property.value.uppercased() == "CANCELLED"
      case "DTEND":
        event.length = try length(from: event.begin, to: property)
        hasLength = true
      case "DURATION":
        event.length = try duration(property)
        hasLength = true
      case "RRULE":
        guard event.rule == nil else {
          throw file.fault("the event has a second RRULE; one is supported", property.range)
        }
        event.rule = try ICalendarRule(property, file: file, begin: event.begin.time.date) {
          text throws(Diagnostic) in try moment(text, property)
        }
      case "EXRULE":
        throw file.fault("EXRULE is not supported; write the days as EXDATE", property.range)
      case "EXDATE": event.excluded += try moments(property)
      case "RDATE":
        guard property.parameter("VALUE")?.uppercased() != "PERIOD" else {
          throw file.fault("RDATE is supported with days and times, not with periods", property.range)
        }
        event.additional += try moments(property)
      case "RECURRENCE-ID":
        guard property.parameter("RANGE") == nil else {
          throw file.fault("RECURRENCE-ID is supported for one event, not with RANGE", property.range)
        }
        event.replaces = try moment(property)
      default: break
      }
    }
    if !hasLength, event.begin.isDate { event.length = 86_400 }
    return event
  }

  private func moments(_ property: ICalendarProperty) throws(Diagnostic) -> [CalendarMoment] {
    var moments: [CalendarMoment] = []
    for text in property.value.split(separator: ",", omittingEmptySubsequences: false) {
      moments.append(try moment(String(text), property))
    }
    return moments
  }

  func moment(_ property: ICalendarProperty) throws(Diagnostic) -> CalendarMoment {
    try moment(property.value, property)
  }

  /// Reads `20261225`, `20261225T090000` and `20261225T090000Z`.
  func moment(_ text: String, _ property: ICalendarProperty) throws(Diagnostic) -> CalendarMoment {
    let bytes = Array(text.utf8)
    func number(_ range: Range<Int>) -> Int? {
      guard range.upperBound <= bytes.count else { return nil }
      var number = 0
      for byte in bytes[range] {
        guard ASCII.digits.contains(byte) else { return nil }
        number = number * 10 + Int(byte - ASCII.zero)
      }
      return number
    }
    let malformed = file.fault(
      "\(property.name): '\(text)' isn't a day such as 20261225 or a time such as 20261225T090000Z", property.range)
    guard let year = number(0..<4), let month = number(4..<6), let day = number(6..<8), (1...9999).contains(year),
      let date = CivilDate(year: year, month: month, day: day)
    else { throw malformed }
    if bytes.count == 8 { return CalendarMoment(time: CivilTime(date)) }
    let isUTC = bytes.count == 16 && bytes[15] == UInt8(ascii: "Z")
    guard bytes.count == 15 || isUTC, bytes[8] == UInt8(ascii: "T"), let hour = number(9..<11), hour < 24,
      let minute = number(11..<13), minute < 60, let second = number(13..<15), second <= 60
    else { throw malformed }
    var zone = isUTC ? TimeZoneRules.utc : self.zone
    if !isUTC, let name = property.parameter("TZID") {
      if let defined = zones[name] {
        zone = defined
      } else {
        do throws(TimeZoneError) { zone = try database.rules(named: name) } catch {
          throw file.fault("\(property.name): \(error.message)", property.range)
        }
      }
    }
    // A leap second counts as the one before it.
    return CalendarMoment(
      time: CivilTime(date, secondOfDay: hour * 3600 + minute * 60 + min(second, 59)), zone: zone)
  }

  /// The time from the begin to DTEND, on the clock of the begin.
  private func length(from begin: CalendarMoment, to property: ICalendarProperty) throws(Diagnostic) -> Int {
    let end = try moment(property)
    guard end.isDate == begin.isDate else {
      throw file.fault("DTEND and DTSTART must both be days or both be times", property.range)
    }
    let length = end.local(in: begin.zone).secondsSinceEpoch - begin.time.secondsSinceEpoch
    guard length >= 0 else { throw file.fault("DTEND comes before DTSTART", property.range) }
    return length
  }

  /// Reads `P1D`, `P2W`, `PT1H30M`, `P1DT12H`, as seconds; a day has 24 hours on the clock.
  private func duration(_ property: ICalendarProperty) throws(Diagnostic) -> Int {
    let malformed = file.fault("DURATION: '\(property.value)' isn't a duration such as P1D or PT8H", property.range)
    var rest = Array(property.value.uppercased().utf8)[...]
    if rest.first == ASCII.plus { rest = rest.dropFirst() }
    guard rest.first == UInt8(ascii: "P"), rest.count > 2 else { throw malformed }
    rest = rest.dropFirst()
    var seconds = 0
    var isTime = false
    while let byte = rest.first {
      if byte == UInt8(ascii: "T"), !isTime, rest.count > 1 {
        isTime = true
        rest = rest.dropFirst()
        continue
      }
      let digits = rest.prefix { ASCII.digits.contains($0) }
      rest = rest.dropFirst(digits.count)
      // Five digits are 273 years of days.
      guard (1...5).contains(digits.count), let unit = rest.first else { throw malformed }
      rest = rest.dropFirst()
      let number = digits.reduce(0) { $0 * 10 + Int($1 - ASCII.zero) }
      switch (unit, isTime) {
      case (UInt8(ascii: "W"), false): seconds += number * 604_800
      case (UInt8(ascii: "D"), false): seconds += number * 86_400
      case (UInt8(ascii: "H"), true): seconds += number * 3600
      case (UInt8(ascii: "M"), true): seconds += number * 60
      case (UInt8(ascii: "S"), true): seconds += number
      default: throw malformed
      }
    }
    return seconds
  }
}
