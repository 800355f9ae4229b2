public import Basics

/// The dates of header fields (RFC 9110, section 5.6.7): one form to write, three to read.
///
///     Sun, 06 Nov 1994 08:49:37 GMT     IMF-fixdate, the one in use
///     Sunday, 06-Nov-94 08:49:37 GMT    RFC 850; years 70 to 99 are of the last century
///     Sun Nov  6 08:49:37 1994          asctime
///
/// The weekday's name is redundant and isn't compared with the date.
public enum HTTPDate {
  private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

  /// Reads a date; nil if it isn't one.
  public static func read(_ text: String) -> Timestamp? {
    let words = text.utf8.split { $0 == ASCII.space || $0 == ASCII.comma || $0 == ASCII.minus }.map {
      String(Substring($0)).lowercasedASCII
    }
    let parts: (day: String, month: String, year: String, time: String)
    switch words.count {
    case 6 where words[5] == "gmt": parts = (words[1], words[2], words[3], words[4])
    case 5: parts = (words[2], words[1], words[4], words[3])
    default: return nil
    }
    guard let month = months.firstIndex(of: parts.month), let day = number(parts.day, 1...2),
      let year = number(parts.year, 2...4), parts.year.utf8.count != 3
    else { return nil }
    let clock = parts.time.split(separator: ":", omittingEmptySubsequences: false).map { number(String($0), 2...2) }
    guard clock.count == 3, let hour = clock[0], let minute = clock[1], let second = clock[2], hour < 24, minute < 60,
      second <= 60,
      let date = CivilDate(year: fullYear(year, parts.year.utf8.count), month: month + 1, day: day)
    else { return nil }
    return Timestamp(seconds: date.daysSinceEpoch * 86_400 + hour * 3600 + minute * 60 + min(second, 59))
  }

  /// The date of an instant, to the second.
  public static func text(_ instant: Timestamp) -> String {
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let date = CivilDate(daysSinceEpoch: instant.seconds.flooredDivision(by: 86_400))
    let month = months[date.month - 1]
    // RFC 3339 has the digits of year and time that are needed here.
    let digits = instant.description.utf8
    let year = String(Substring(digits.prefix(4)))
    let time = String(Substring(digits.dropFirst(11).prefix(8)))
    let name = month.prefix(1).uppercased() + month.dropFirst()
    return "\(days[date.weekday]), \(two(date.day)) \(name) \(year) \(time) GMT"
  }

  private static func fullYear(_ year: Int, _ digits: Int) -> Int {
    digits > 2 ? year : year + (year < 70 ? 2000 : 1900)
  }

  private static func number(_ text: String, _ digits: ClosedRange<Int>) -> Int? {
    guard digits.contains(text.utf8.count), text.utf8.allSatisfy({ ASCII.digits.contains($0) }) else { return nil }
    return Int(text)
  }
}
