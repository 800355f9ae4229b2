import Basics
import Testing

@testable import Calendars

@Suite struct RecurrenceWordsTests {
  static let cron: [(String, String)] = [
    ("30 17 * * 1-5", "every weekday at 17:30"),
    ("0 16 * * SUN", "every Sunday at 16:00"),
    ("0 9 * * *", "every day at 09:00"),
    ("0,30 8,20 * * *", "every day at 08:00, 08:30, 20:00 and 20:30"),
    ("*/15 * * * *", "every 15 minutes"),
    ("0/15 * * * 6,0", "every 15 minutes on Sundays and Saturdays"),
    ("* * * * *", "every minute"),
    ("0 * * * 1-5", "every hour, every weekday"),
    ("5 * * * *", "every hour at 5 past"),
    ("0 */2 * * *", "every 2 hours"),
    ("0 9 1,15 * *", "on the 1st and 15th of every month at 09:00"),
    ("0 0 22 JAN,JUL *", "on the 22nd in January and July at 00:00"),
    ("0 9 13 * FRI", "on the 13th of every month and every Friday at 09:00"),
    ("0 12 * 12 *", "every day in December at 12:00"),
    // More times than one would read.
    ("*/7 8-17 * * *", "0,7,14,21,28,35,42,49,56 8-17 * * *"),
    ("0 9 */2 * *", "0 9 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31 * *"),
  ]

  @Test(arguments: cron) func `five fields are told in words`(_ text: String, _ words: String) throws {
    #expect(try #require(CronExpression.parse(text).expression).words == words)
  }

  static let calendar: [(String, String)] = [
    ("0 9 L * *", "on the last of every month at 09:00"),
    ("0 9 1,L-1 * *", "on the 1st and 2nd last of every month at 09:00"),
    // All must match, which takes more words than the fields.
    ("0 9 13 * FRI", "0 9 13 * 5"),
    ("0 9 L-2 * FRI", "0 9 L-2 * 5"),
  ]

  @Test(arguments: calendar) func `fields that must all match are told in words`(_ text: String, _ words: String) throws
  {
    #expect(try #require(CronExpression.parse(text, as: .calendar).expression).words == words)
  }

  static let every: [(String, String)] = [
    ("90m", "every 90 minutes"), ("1h", "every hour"), ("48h", "every 2 days"), ("1s", "every second"),
    ("1.5s", "every 1.5s"),
  ]

  @Test(arguments: every) func `intervals are told in words`(_ text: String, _ words: String) throws {
    #expect(Recurrence(.every(try #require(TimeSpan(text)))).words == words)
  }
}
