import AssistantTools
import Basics
import Testing

@Suite struct ConfirmationsTests {
  private let now = Timestamp("2027-01-15T08:00:00Z") ?? .earliest
  private let subject = Confirmations.Subject(
    principal: "token:phone", recipe: "order", arguments: ValueMap([("b", .int(1)), ("a", .string("x"))]))

  @Test func `accepts a state once, with the same arguments in any order`() throws {
    let confirmations = Confirmations()
    let state = try #require(confirmations.issue("abc", of: subject, at: now))
    var same = subject
    same.arguments = ValueMap([("a", .string("x")), ("b", .int(1))])
    #expect(confirmations.redeem(state, of: same, at: now) == .success("abc"))
    #expect(confirmations.redeem(state, of: same, at: now) == .failure(.used))
  }

  @Test func `accepts no state of another caller, recipe, call or server`() throws {
    let confirmations = Confirmations()
    let state = try #require(confirmations.issue("abc", of: subject, at: now))
    var others = [subject, subject, subject]
    others[0].principal = "token:laptop"
    others[1].recipe = "refund"
    others[2].arguments["b"] = .int(2)
    for other in others { #expect(confirmations.redeem(state, of: other, at: now) == .failure(.foreign)) }
    #expect(Confirmations().redeem(state, of: subject, at: now) == .failure(.foreign))
    // A rejected confirmation uses nothing up.
    #expect(confirmations.redeem(state, of: subject, at: now) == .success("abc"))
  }

  @Test func `accepts no state that was changed or made up`() throws {
    let confirmations = Confirmations()
    let state = try #require(confirmations.issue("abc", of: subject, at: now))
    let bytes = Array(state.utf8)
    for index in bytes.indices {
      var changed = bytes
      changed[index] = changed[index] == UInt8(ascii: "1") ? UInt8(ascii: "2") : UInt8(ascii: "1")
      let text = String(decoding: changed, as: UTF8.self)
      #expect(confirmations.redeem(text, of: subject, at: now) == .failure(.foreign))
    }
    for text in ["", ".", "...", "a.b.c.d", "\(state).", String(state.dropLast()), "é.9.abc.00"] {
      #expect(confirmations.redeem(text, of: subject, at: now) == .failure(.foreign))
    }
  }

  @Test func `accepts a state for ten minutes`() throws {
    let confirmations = Confirmations()
    let state = try #require(confirmations.issue("abc", of: subject, at: now))
    let later = try #require(confirmations.issue("abc", of: subject, at: now))
    let (before, after) = (try #require(now.advanced(by: .seconds(599))), try #require(now.advanced(by: .seconds(600))))
    #expect(confirmations.redeem(state, of: subject, at: before) == .success("abc"))
    #expect(confirmations.redeem(later, of: subject, at: after) == .failure(.expired))
  }

  @Test func `forgets the oldest of too many states`() throws {
    let confirmations = Confirmations()
    let states = try (0...1000).map { _ in try #require(confirmations.issue("abc", of: subject, at: now)) }
    #expect(confirmations.redeem(states[0], of: subject, at: now) == .failure(.used))
    #expect(confirmations.redeem(states[1], of: subject, at: now) == .success("abc"))
  }
}
