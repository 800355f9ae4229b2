import Testing

@testable import RunState
import Threads

struct AnswerTests {
  private static let failure = Answer.Outcome.failure(.closed)

  @Test(arguments: [Duration.zero, .milliseconds(1), .seconds(60)])
  func `an answer reaches a caller that asks later`(patience: Duration) async {
    let answer = Answer()
    answer.give(AnswerTests.failure)
    #expect(await answer.outcome(patience: patience) == AnswerTests.failure)
  }

  // Given by another thread, it comes during the polling, the wait, or in between.
  @Test(arguments: [Duration.zero, .microseconds(5), .microseconds(50), .seconds(60)])
  func `an answer reaches a caller that asked before`(patience: Duration) async {
    for _ in 0..<200 {
      let answer = Answer()
      #expect(startThread { answer.give(AnswerTests.failure) })
      #expect(await answer.outcome(patience: patience) == AnswerTests.failure)
    }
  }
}

extension Answer.Outcome {
  fileprivate static func == (left: Self, right: Self) -> Bool {
    switch (left, right) {
    case (.success, .success): true
    case (.failure(let left), .failure(let right)): left == right
    default: false
    }
  }
}
