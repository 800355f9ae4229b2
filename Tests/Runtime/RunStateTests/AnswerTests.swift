import Testing

@testable import RunState
import Threads

struct AnswerTests {
  private static let failure = Answer.Outcome.failure(.closed)

  @Test func `an answer reaches a caller that asks later`() async {
    let answer = Answer()
    answer.give(AnswerTests.failure)
    #expect(await answer.outcome == AnswerTests.failure)
  }

  // Given by another thread, it comes before the wait, during it, or in between.
  @Test func `an answer reaches a caller that asked before`() async {
    for _ in 0..<200 {
      let answer = Answer()
      #expect(startThread { answer.give(AnswerTests.failure) })
      #expect(await answer.outcome == AnswerTests.failure)
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
