import ActionKit
import ActionTestKit
import Testing

@testable import ReportPlugin

private let catalog = ActionCatalog([ReportPlugin.self])

private func text(_ name: String, _ input: String) async throws -> String? {
  let action = try #require(catalog.action("text.\(name)"))
  let output = try await action.run(try JSON.parse(input), on: ReportStyles(), in: .testing())
  #expect(action.output.check(output, as: "output").map(\.message) == [])
  return output["text"]?.string
}

@Suite struct ActionTests {
  @Test func `is well formed`() { expectWellFormed(ReportPlugin.self) }

  @Test(arguments: [
    (
      #"{"rows":[{"name":"Ada","mark":93.5},{"name":"Al|an","mark":8,"note":null}]}"#,
      """
      | name   | mark | note |
      | ------ | ---: | ---- |
      | Ada    | 93.5 |      |
      | Al\\|an |    8 |      |

      """
    ),
    (
      #"{"style":"plain","rows":[{"name":"Ada","mark":93.5},{"name":"日本","mark":8}]}"#,
      """
      name  mark
      ----  ----
      Ada   93.5
      日本     8

      """
    ),
    (
      #"{"style":"plain","columns":[{"key":"n","title":"Name","align":"right"},{"key":"x","align":"left"}],"rows":[{"x":1,"n":"a"},{"x":10}]}"#,
      """
      Name  x
      ----  --
         a  1
            10

      """
    ),
    (
      #"{"rows":[{"a":"*_`[<x>]~#&\\","b":"one\ntwo\r\nthree","c":[1,{"k":true}],"d":true}]}"#,
      """
      | a                       | b             | c                | d    |
      | ----------------------- | ------------- | ---------------- | ---- |
      | \\*\\_\\`\\[\\<x\\>\\]\\~\\#\\&\\\\ | one two three | \\[1,{"k":true}\\] | true |

      """
    ),
    (#"{"style":"plain","rows":[{"a":"\u001b[31mred\u202e"}]}"#, "a\n---------\n␛[31mred\u{FFFD}\n"),
    (#"{"rows":[]}"#, ""), (#"{"rows":[],"empty":"Nobody."}"#, "Nobody.\n"),
    (#"{"rows":[],"columns":[{"key":"a"}]}"#, "| a   |\n| --- |\n"), (#"{"rows":[{},{}]}"#, ""),
  ])
  func `writes tables`(_ input: String, _ expected: String) async throws {
    #expect(try await text("table", input) == expected)
  }

  private static let parts = #"""
    "title":"Marks *of* 8M","sections":[{"text":"Two **essays**.\n"},{"heading":"Marks","rows":[{"name":"Ada","mark":1}]},{"heading":"To do","items":["Ask Grace\nagain","_x_"]},{"heading":"None","items":[],"empty":"Nothing."},{"rows":[]}]
    """#

  @Test func `writes a report in Markdown`() async throws {
    #expect(
      try await text("report", "{\(Self.parts)}") == """
        # Marks \\*of\\* 8M

        Two **essays**.

        ## Marks

        | name | mark |
        | ---- | ---: |
        | Ada  |    1 |

        ## To do

        - Ask Grace again
        - \\_x\\_

        ## None

        Nothing.

        """)
  }

  @Test func `writes a report as plain text`() async throws {
    #expect(
      try await text("report", "{\"style\":\"plain\",\(Self.parts)}") == """
        Marks *of* 8M
        =============

        Two **essays**.

        Marks
        -----

        name  mark
        ----  ----
        Ada      1

        To do
        -----

        - Ask Grace again
        - _x_

        None
        ----

        Nothing.

        """)
  }
}
