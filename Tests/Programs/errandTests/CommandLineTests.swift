import CommandLineParser
import Testing

@testable import errand

@Suite struct CommandLineTests {
  @Test func `describes itself without a fault, and its examples parse`() {
    #expect(program.faults() == [])
  }

  @Test func `draws tables by what terminals make of the cells`() {
    let table = Table(
      headings: ["student", "average", "written"],
      rows: [["明华 李", "99.1", "true"], ["Zoë McAllister", "8", "false"]])
    #expect(
      table.lines(colour: false).joined(separator: "\n") == """
        student         average  written
        明华 李            99.1  true
        Zoë McAllister        8  false
        """)
  }
}
