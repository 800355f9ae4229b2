import Basics
import Testing

/// A clock that is put right by another one.
@Suite struct CorrectedTimeTests {
  private static let instant = Timestamp(seconds: 1_800_000_000) ?? .earliest

  private static func offset(after notes: [(there: TimeSpan, took: TimeSpan)]) -> TimeSpan? {
    let base = ManualClock(instant)
    let clock = CorrectedTime(base)
    for note in notes { clock.note(instant.advanced(by: note.there) ?? instant, took: note.took) }
    return clock.now().span(since: base.now())
  }

  @Test(arguments: [TimeSpan.seconds(3600), .seconds(-3600), .seconds(63_072_000), .seconds(-1)])
  func `one that is off is put right`(by span: TimeSpan) {
    #expect(Self.offset(after: [(span, .zero)]) == span)
    // The answer was on its way for half the time.
    #expect(Self.offset(after: [(span, .milliseconds(200))]) == span + .milliseconds(100))
  }

  @Test func `what can't be told or doesn't matter changes nothing`() {
    #expect(Self.offset(after: [(.milliseconds(400), .zero)]) == .zero)
    #expect(Self.offset(after: [(.zero, .seconds(20))]) == .zero)
    #expect(Self.offset(after: [(.seconds(60), .zero), (.milliseconds(60_300), .zero)]) == .seconds(60))
  }

  @Test func `one of which the other is off anew is put right anew`() {
    #expect(Self.offset(after: [(.seconds(60), .zero), (.milliseconds(61_500), .zero)]) == .milliseconds(61_500))
  }

  @Test func `a jump of the other clock is heeded once it is sure`() {
    let first = (TimeSpan.seconds(60), TimeSpan.zero)
    let jump = (TimeSpan.seconds(3660), TimeSpan.zero)
    #expect(Self.offset(after: [first, jump]) == .seconds(60))
    #expect(Self.offset(after: [first, jump, first]) == .seconds(60))
    #expect(Self.offset(after: [first, jump, first, jump]) == .seconds(60))
    #expect(Self.offset(after: [first, jump, (.seconds(7200), .zero)]) == .seconds(60))
    #expect(Self.offset(after: [first, jump, (.milliseconds(3_661_000), .zero)]) == .milliseconds(3_661_000))
    #expect(Self.offset(after: [first, jump, jump, first, first]) == .seconds(60))
  }

  @Test func `a machine's clock that is set later changes nothing`() {
    let base = ManualClock(Self.instant)
    let clock = CorrectedTime(base)
    base.setWallClock(to: Self.instant.advanced(by: .seconds(-5)) ?? Self.instant)
    #expect(clock.now() == Self.instant.advanced(by: .seconds(-5)))
    clock.note(Self.instant, took: .zero)
    #expect(clock.now() == Self.instant)
    base.setWallClock(to: Self.instant.advanced(by: .seconds(3600)) ?? Self.instant)
    base.advance(by: .seconds(7))
    #expect(clock.now() == Self.instant.advanced(by: .seconds(7)))
  }
}
