import Basics
import Calendars
import ExpressionTestKit
import Foundation

/// Answers each line of standard input with one line of standard output.
func answerLines(_ answer: (Value) -> Value) {
  while let line = readLine(strippingNewline: true) {
    if line.isEmpty { continue }
    var result: Value
    do throws(JSONError) {
      result = answer(try JSON.parse(line))
    } catch {
      result = .object(["error": .string("the line isn't JSON: \(error)")])
    }
    // Only a double that isn't finite can't be written, and only a bug of ours puts one there.
    print((try? JSON.text(result)) ?? #"{"error":"the answer cannot be written as JSON"}"#)
  }
}

/// The result of a line of an expression suite: `{id, value, type}` or `{id, error, stage}`.
func answerSuiteLine(_ line: Value) -> Value {
  do throws(SuiteError) {
    let test = try SuiteTest(line)
    return test.run().line(id: test.id)
  } catch {
    return .object(["id": line["id"] ?? .null, "error": .string(error.message)])
  }
}

/// The next five times of `{expr, zone, start}`: `{next}` in UTC seconds, or `{error}`.
func answerCronLine(_ line: Value) -> Value {
  func refusal(_ message: String) -> Value { .object(["error": .string(message)]) }
  guard let text = line["expr"]?.string, let zone = line["zone"]?.string, let start = line["start"]?.int,
    var time = Timestamp(seconds: start)
  else { return refusal("a line is {expr, zone, start}, the start in UTC seconds") }
  let (expression, faults) = CronExpression.parse(text)
  guard let expression else {
    return refusal(faults.filter { $0.severity == .error }.map(\.message).joined(separator: "; "))
  }
  do throws(TimeZoneError) {
    let rules = try TimeZoneDatabase.system.rules(named: zone)
    var next: [Value] = []
    while next.count < 5, let following = expression.next(after: time, in: rules) {
      next.append(.int(following.seconds))
      time = following
    }
    return .object(["next": .list(next)])
  } catch {
    return refusal(error.message)
  }
}
