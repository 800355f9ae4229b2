import Basics

/// Reads the fields of a cron expression and finds fault with them; the grammar is in `CronExpression`.
struct CronParser {
  private let text: String
  private let bytes: [UInt8]
  private let form: CronExpression.Form
  private(set) var faults: [CronExpression.Fault] = []
  /// Days of the month counted from its end, bit 0 for the last.
  private var daysFromEnd: UInt64 = 0

  init(_ text: String, _ form: CronExpression.Form = .cron) {
    self.text = text
    self.form = form
    bytes = Array(text.utf8)
  }

  /// One of the five fields.
  struct Field {
    let name: String
    let range: ClosedRange<Int>
    /// Names of values; the first one stands for `firstNamed`.
    var names: [String] = []
    var firstNamed = 0

    static let minute = Field(name: "minute", range: 0...59)
    static let hour = Field(name: "hour", range: 0...23)
    static let day = Field(name: "day of the month", range: 1...31)
    static let month = Field(
      name: "month", range: 1...12,
      names: ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"], firstNamed: 1)
    static let weekday = Field(
      name: "day of the week", range: 0...7, names: ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"])
    static let all = [minute, hour, day, month, weekday]

    var nameWithArticle: String { "\(name == Field.hour.name ? "an" : "a") \(name)" }

    /// The values that the field accepts, for messages.
    var wanted: String {
      let names = names.isEmpty ? "" : " or \(names[0])-\(names[names.count - 1])"
      return "\(range.lowerBound)-\(range.upperBound)\(names)"
    }
  }

  private static let shorthands = [
    "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
  ]

  private static let longNames = [
    "JANUARY", "FEBRUARY", "MARCH", "APRIL", "MAY", "JUNE", "JULY", "AUGUST", "SEPTEMBER", "OCTOBER", "NOVEMBER",
    "DECEMBER", "SUNDAY", "MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY",
  ]

  mutating func parse() -> CronExpression? {
    var words = split(0..<bytes.count) { $0 == ASCII.space || $0 == ASCII.tab }.filter { !$0.isEmpty }
    guard let first = words.first else {
      error("a cron expression has five fields (minute, hour, day, month, weekday); this one is empty", 0..<bytes.count)
      return nil
    }
    let whole = first.lowerBound..<(words.last ?? first).upperBound
    if bytes[first.lowerBound] == ASCII.at { return shorthand(first, isAlone: words.count == 1) }
    if let equals = bytes[first].firstIndex(of: ASCII.equals) {
      misplaced(
        first, zone: string(equals + 1..<first.upperBound),
        first.lowerBound..<(words.dropFirst().first ?? first).lowerBound)
      words.removeFirst()
    } else if words.count == 6, let last = words.last, isZone(last) {
      misplaced(last, zone: string(last), words[4].upperBound..<last.upperBound)
      words.removeLast()
    }
    guard words.count == 5 else {
      let hint =
        words.count == 6
        ? "leave out the first if it counts seconds, as other programs have it, or the last if it is a year"
        : "write minute, hour, day of the month, month and day of the week"
      error("a cron expression has five fields and this one has \(words.count); \(hint)", whole)
      return nil
    }
    let bits = zip(Field.all, words).map { field, range in values(of: field, in: range) }
    let isStar = words.map { bytes[$0.lowerBound] == ASCII.asterisk }
    let expression = CronExpression(
      minutes: bits[0], hours: bits[1], days: bits[2], daysFromEnd: daysFromEnd, months: bits[3],
      weekdays: (bits[4] | bits[4] >> 7) & 0x7F, isWild: isStar[0] || isStar[1],
      needsBothDays: form == .calendar || isStar[2] || isStar[4])
    if !faults.contains(where: { $0.severity == .error }) { examine(expression, words, isStar) }
    return expression
  }

  private mutating func shorthand(_ range: Range<Int>, isAlone: Bool) -> CronExpression? {
    let word = string(range)
    let name = word.lowercased()
    switch name {
    case "@reboot": error("'@reboot' isn't a time; run the recipe from a unit that starts with the machine", range)
    case "@every": error("'@every' is not cron; use the key `every`, as in `every: 90m`", range)
    default:
      guard let fields = CronParser.shorthands[name] else {
        let guess = name.nearest(among: CronParser.shorthands.keys)
        let hint =
          guess.map {
            MessageText("did you mean '\($0)'?", [.code($0, for: range)])
              .tentative(if: !name.isSurelyMeant(as: $0, among: CronParser.shorthands.keys))
          }
          ?? "there are \(CronParser.shorthands.keys.sorted().joined(separator: " "))"
        error("'\(word)' is unknown; \(hint)", range)
        return nil
      }
      guard isAlone else {
        error(
          "'\(word)' replaces all five fields (\(fields)); leave out what follows", range.upperBound..<bytes.count)
        return nil
      }
      var parser = CronParser(fields)
      return parser.parse()
    }
    return nil
  }

  // MARK: One field

  /// The values of a field, one bit each; 0 if something is wrong with it.
  private mutating func values(of field: Field, in range: Range<Int>) -> UInt64 {
    let before = faults.count
    var bits: UInt64 = 0
    for item in split(range, where: { $0 == ASCII.comma }) { bits |= values(of: field, item: item) }
    return faults[before...].contains { $0.severity == .error } ? 0 : bits
  }

  private mutating func values(of field: Field, item: Range<Int>) -> UInt64 {
    guard !item.isEmpty else {
      error("an item is missing beside the comma; write values as in '1,15'", item)
      return 0
    }
    let slash = split(item) { $0 == ASCII.slash }
    guard slash.count <= 2 else {
      error("'\(string(item))' has two steps; write one, as in '*/15'", item)
      return 0
    }
    if form == .calendar, field.name == Field.day.name, let number = daysBeforeLast(item) {
      daysFromEnd |= 1 << UInt64(number)
      return 0
    }
    var low = field.range.lowerBound
    var high = field.range.upperBound
    let base = slash[0]
    if string(base) == "*" {
      // Sunday once.
      if field.range.upperBound == 7 { high = 6 }
    } else {
      let ends = split(base) { $0 == ASCII.minus }
      guard ends.count <= 2 else {
        error("'\(string(base))' isn't a range; write two values, as in '1-5'", base)
        return 0
      }
      guard let first = value(of: field, in: ends[0]),
        let last = ends.count == 2 ? value(of: field, in: ends[1]) : first
      else { return 0 }
      guard first <= last else {
        let list = unwrapped(field, ends, first, last)
        error(
          MessageText("the range '\(string(base))' runs backwards; write '\(list)'", [.code(list, for: base)]), base)
        return 0
      }
      low = first
      // `a/n` is a range to the largest value.
      high = ends.count == 1 && slash.count == 2 ? max(first, field.range.upperBound == 7 ? 6 : high) : last
    }
    var step = 1
    if slash.count == 2 {
      guard let number = number(slash[1]), number > 0 else {
        error("'\(string(slash[1]))' isn't a step; write a number from 1, as in '*/15'", slash[1])
        return 0
      }
      step = number
      warn(about: step, from: low, to: high, of: field, in: item)
    }
    return stride(from: low, through: high, by: step).reduce(0) { $0 | 1 << UInt64($1) }
  }

  /// Reads `L` and `L-n`; nil if it is neither.
  private func daysBeforeLast(_ item: Range<Int>) -> Int? {
    guard bytes[item.lowerBound] | 0x20 == UInt8(ascii: "l") else { return nil }
    if item.count == 1 { return 0 }
    guard bytes[item.lowerBound + 1] == ASCII.minus, let days = number(item.lowerBound + 2..<item.upperBound)
    else { return nil }
    return days <= 30 ? days : nil
  }

  /// A range over the end of the period, as a list of two.
  private func unwrapped(_ field: Field, _ ends: [Range<Int>], _ first: Int, _ last: Int) -> String {
    func name(_ value: Int, like range: Range<Int>) -> String {
      let isNamed = !ASCII.digits.contains(bytes[range.lowerBound])
      let index = value - field.firstNamed
      return isNamed && field.names.indices.contains(index) ? field.names[index] : String(value)
    }
    func range(_ low: Int, _ high: Int, _ like: Range<Int>) -> String {
      low == high ? name(low, like: like) : "\(name(low, like: like))-\(name(high, like: like))"
    }
    let top = field.range.upperBound == 7 ? 6 : field.range.upperBound
    // 7 is Sunday at the end of a week and cannot begin one.
    return first == 7
      ? range(0, last, ends[1]) : "\(range(first, top, ends[0])),\(range(field.range.lowerBound, last, ends[1]))"
  }

  private mutating func value(of field: Field, in range: Range<Int>) -> Int? {
    let word = string(range)
    if let number = number(range) {
      guard field.range.contains(number) else {
        error("\(word) isn't \(field.nameWithArticle); write \(field.wanted)", range)
        return nil
      }
      return number
    }
    let upper = word.uppercased()
    if let index = field.names.firstIndex(of: upper) { return index + field.firstNamed }
    let hint: MessageText
    if range.isEmpty {
      error("a value is missing; write \(field.wanted)", range)
      return nil
    } else if let extra = upper.first(where: { "?#~".contains($0) })
      ?? (field.names.isEmpty ? upper : "").first(where: { "LWH".contains($0) })
    {
      let replacement =
        switch extra {
        case "?": "write '*'"
        case "H", "~": "write a value, and `jitter` to spread runs out"
        case "L" where field.name == Field.day.name:
          form == .calendar
            ? "write 'L' for the last day, 'L-1' for the one before" : "use the key `calendar` for it"
        default:
          "for a second Monday use the key `calendar` with dayOfMonth: 8-14 and dayOfWeek: MON"
        }
      hint = "'\(extra)' is not supported; \(replacement)"
    } else if let guess = word.nearest(among: field.names) ?? field.names.first(where: { upper.hasPrefix($0) }) {
      // Three letters with one slip resemble several names; a longer word is usually a name written in full.
      let isSure = upper.count > 3 && CronParser.longNames.contains { $0.hasPrefix(upper) && $0.hasPrefix(guess) }
      hint = MessageText("did you mean '\(guess)'?", [.code(guess, for: range)]).tentative(if: !isSure)
    } else {
      hint = "write \(field.wanted)"
    }
    error("'\(word)' isn't \(field.nameWithArticle); \(hint)", range)
    return nil
  }

  // MARK: Traps

  private mutating func warn(about step: Int, from low: Int, to high: Int, of field: Field, in item: Range<Int>) {
    let values = Array(stride(from: low, through: high, by: step))
    let isPeriodic = field.name == Field.minute.name || field.name == Field.hour.name
    if values.count == 1 {
      warning(
        "'\(string(item))' is \(low) alone, because a step begins anew every period; use the key `every` for longer ones",
        item)
    } else if isPeriodic, low == 0, high == field.range.upperBound, (high + 1) % step != 0 {
      let displayed =
        values.count <= 4
        ? values.map(String.init).joined(separator: ", ") : "\(values[0]), \(values[1]) … \(values[values.count - 1])"
      warning(
        "'\(string(item))' is \(displayed) and then begins anew, so the last gap is shorter; use the key `every` for even ones",
        item)
    }
  }

  private mutating func examine(_ cron: CronExpression, _ words: [Range<Int>], _ isStar: [Bool]) {
    func isPlain(_ index: Int) -> Bool { string(words[index]) == "*" }
    func chosenMonthLacks(_ day: Int, in year: Int) -> (all: Bool, some: Bool) {
      let lacking = (1...12).filter { cron.months >> UInt64($0) & 1 != 0 }
        .map { CivilDate.days(inMonth: $0, of: year) < day }
      return (lacking.allSatisfy(\.self), lacking.contains(true))
    }
    let latest = 63 - cron.days.leadingZeroBitCount
    // No bit at all counts as a day that every month lacks.
    if cron.needsBothDays, chosenMonthLacks(cron.days.trailingZeroBitCount, in: 2000).all,
      chosenMonthLacks(cron.daysFromEnd.trailingZeroBitCount + 1, in: 2000).all
    {
      error(
        "none of these months has such a day, so the schedule would never be due",
        words[2].lowerBound..<words[3].upperBound)
    } else if !isStar[2], chosenMonthLacks(latest, in: 2001).some {
      let advice = form == .calendar ? "write 'L' for the last day" : "use the key `calendar` for the last day"
      warning("day \(latest) does not exist in every month; \(advice)", words[2])
    }
    let days = words[2].lowerBound..<words[4].upperBound
    if form == .calendar {
      // Both hold, as its name says.
    } else if !isStar[2], !isStar[4] {
      warning(
        "with both day fields given, either is enough ('\(string(words[2]))' or '\(string(words[4]))'); "
          + "use the key `calendar` where both must hold",
        days)
    } else if let index = [2, 4].first(where: { isStar[$0] && !isPlain($0) }), !isPlain(6 - index) {
      warning("because '\(string(words[index]))' begins with '*', both day fields must hold", days)
    }
    if isPlain(0), !isStar[1] {
      warning("'*' runs every minute of the hour; write '0' for once", words[0])
    }
  }

  // MARK: Text

  private func string(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

  private func number(_ range: Range<Int>) -> Int? {
    guard (1...4).contains(range.count), bytes[range].allSatisfy({ ASCII.digits.contains($0) }) else { return nil }
    return bytes[range].reduce(0) { $0 * 10 + Int($1 - ASCII.zero) }
  }

  private func split(_ range: Range<Int>, where isSeparator: (UInt8) -> Bool) -> [Range<Int>] {
    bytes[range].split(omittingEmptySubsequences: false, whereSeparator: isSeparator)
      .map { $0.startIndex..<$0.endIndex }
  }

  /// Whether a word can only be the name of a zone: UTC, GMT, or words with a slash, as `Europe/Berlin`.
  private func isZone(_ word: Range<Int>) -> Bool {
    let parts = bytes[word].split(separator: ASCII.slash, omittingEmptySubsequences: false)
    let isNamed = parts.allSatisfy { ($0.first ?? 0) & 0xC0 == 0x40 && $0.count > 2 }
    return isNamed && (parts.count > 1 || ["UTC", "GMT"].contains(string(word)))
  }

  private mutating func misplaced(_ word: Range<Int>, zone: String, _ removal: Range<Int>) {
    error("'\(string(word))' doesn't belong here; name the zone with the key `zone`", word)
    faults[faults.count - 1].zone = CronExpression.MisplacedZone(name: zone, removal: removal)
  }

  private mutating func error(_ message: MessageText, _ range: Range<Int>) {
    faults.append(.init(text: message, range: range, severity: .error))
  }

  private mutating func warning(_ message: MessageText, _ range: Range<Int>) {
    faults.append(.init(text: message, range: range, severity: .warning))
  }
}
