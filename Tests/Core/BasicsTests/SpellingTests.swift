import Basics
import Testing

@Suite struct SpellingTests {
  @Test(arguments: [
    ("kye", ["summary", "key", "name"], "key"),
    ("gren", ["red", "green"], "green"),
    ("familyname", ["givenName", "familyName", "family"], "familyName"),
    ("TIMEOUT", ["timeout", "timeouts"], "timeout"),
    ("timeuot", ["retry", "timeout"], "timeout"),
    ("clour", ["colour", "closer"], "colour"),
    // Equally near: by scalars, not by order.
    ("bat", ["cat", "bad"], "bad"),
    ("bat", ["bad", "cat"], "bad"),
    ("grösse", ["größe", "grösser"], "grösser"),
  ])
  func `guesses what was meant`(_ typed: String, _ candidates: [String], _ meant: String) {
    #expect(typed.nearest(among: candidates) == meant)
  }

  @Test(arguments: [
    ("sumary", "summary", ["summary", "steps"], true),
    ("foreach", "forEach", ["forEach", "for"], true),
    ("mark3", "mark1", ["mark1", "mark2"], false),
    ("mark3", "mark1", ["mark1"], false),
    ("mark", "mark1", ["mark1"], false),
    ("bat", "bad", ["cat", "bad"], false),
    ("clour", "colour", ["colour", "closer"], false),
    ("clour", "colour", ["colour", "summary"], true),
    ("lastName", "familyName", ["familyName"], false),
  ])
  func `knows when hardly anything else was meant`(
    _ typed: String, _ guess: String, _ candidates: [String], _ isSure: Bool
  ) {
    #expect(typed.isSurelyMeant(as: guess, among: candidates) == isSure)
  }

  @Test(arguments: [
    ("", ["a"]), ("x", ["y"]), ("ab", ["cd"]), ("steps", ["name", "id"]), ("key", []), ("markbook", ["timetable"]),
    (String(repeating: "a", count: 10_000), [String(repeating: "a", count: 10_001)]),
  ])
  func `guesses nothing rather than nonsense`(_ typed: String, _ candidates: [String]) {
    #expect(typed.nearest(among: candidates) == nil)
  }
}
