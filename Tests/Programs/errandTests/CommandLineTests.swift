import CommandLineParser
import Testing

@testable import errand

@Suite struct CommandLineTests {
  @Test func `describes itself without a fault, and its examples parse`() {
    #expect(program.faults() == [])
  }

  @Test func `draws tables by what terminals make of the cells`() {
    let text = table(
      ["student", "average", "written"], [["明华 李", "99.1", "true"], ["Zoë McAllister", "8", "false"]], colour: false)
    #expect(
      text == """
        student         average  written
        明华 李            99.1  true
        Zoë McAllister        8  false
        """)
  }
}
