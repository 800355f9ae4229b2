import Basics
import Testing

@testable import errand_dev

@Suite struct LinesTests {
  @Test(arguments: [
    (
      #"{"expr":"30 17 * * FRI","zone":"Australia/Sydney","start":1700000000}"#,
      #"{"next":[1700202600,1700807400,1701412200,1702017000,1702621800]}"#
    ),
    // The clocks go forward on 5 October 2025 at 2:00, so that day's run is at 3:00, which is 16:00 UTC.
    (
      #"{"expr":"30 2 * * *","zone":"Australia/Sydney","start":1759500000}"#,
      #"{"next":[1759509000,1759593600,1759678200,1759764600,1759851000]}"#
    ),
    (#"{"expr":"0 0 30 2 *","zone":"UTC","start":0}"#, #"{"error":"#),
    (#"{"expr":"0 0 * *","zone":"UTC","start":0}"#, #"{"error":"#),
    (#"{"expr":"0 0 * * *","zone":"Mars/Olympus","start":0}"#, #"{"error":"#),
    (#"{"expr":"0 0 * * *"}"#, #"{"error":"a line is {expr, zone, start}, the start in UTC seconds"}"#),
    (#"{"expr":"0 0 * * *","zone":"UTC","start":9223372036854775807}"#, #"{"error":"#),
  ])
  func `answers lines with the next five times of a schedule`(line: String, beginning: String) throws {
    let answer = try JSON.text(answerCronLine(JSON.parse(line)))
    #expect(answer.hasPrefix(beginning), "\(answer)")
  }

  @Test func `answers a line that is none of a suite's with its id`() throws {
    let answer = answerSuiteLine(try JSON.parse(#"{"id":"a"}"#))
    #expect(try JSON.text(answer) == #"{"id":"a","error":"the line has no 'expr'"}"#)
  }
}
