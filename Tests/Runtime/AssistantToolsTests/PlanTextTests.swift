import Basics
import Testing

@testable import AssistantTools

/// The text that a person reads before confirming a plan.
@Suite struct PlanTextTests {
  @Test func `the writes come first, then what happens on the way, and the inputs`() throws {
    let document = try JSON.parse(
      """
      {"recipe": "order", "inputs": {"list": [1, 2], "word": "pen"},
       "writes": [
         {"path": "put", "action": "http.put", "connection": "shop", "changes": [
           {"subject": "pen", "before": "1 €", "after": "2 €"}, {"subject": "ink", "before": "3 €"},
           {"subject": "cap", "after": "4 €"}, {"subject": "box", "before": "5 €", "after": "5 €"}]},
         {"path": "tell", "action": "mail.send", "connection": "mail", "if": ["if 'ok' holds"],
          "opaque": "a mail is new each time", "input": {"to": "ann", "text": {"$unknown": "known after 'put'"}}},
         {"path": "none", "action": "store.put", "connection": "store", "changes": []}],
       "notes": [{"path": "ask", "kind": "pause", "text": "would wait for a decision"},
                 {"path": "x", "kind": "leftOut", "text": "store.put is left out"}],
       "error": {"message": "the shop is closed"},
       "tally": {"added": 1, "changed": 1, "removed": 1, "unchanged": 1, "opaque": 1, "undecided": 1}}
      """)
    #expect(
      PlanText.of(document) == """
        Plan of order: 1 added, 1 changed, 1 removed, 1 shown by input
        http.put on shop, step put:
          pen: 1 € → 2 €
          ink: removed: 3 €
          cap: added: 4 €
          box: unchanged
        perhaps, if 'ok' holds: mail.send on mail, step tell:
          a mail is new each time
          to: ann
          text: (known after 'put')
        store.put on store, step none:
          no change
        On the way:
          ask: would wait for a decision
        With:
          list: [1,2]
          word: pen
        The run would fail: the shop is closed
        """)
  }

  @Test func `what has a secret in it is masked, wherever it is`() throws {
    let document = try JSON.parse(
      """
      {"recipe": "order", "inputs": {"note": {"$withSecret": {"$masked": [["OTHER", "5d"]]}}},
       "writes": [
         {"path": "tell", "action": "mail.send", "connection": "mail", "opaque": "a mail is new each time",
          "input": {"to": ["ann", {"$withSecret": {"$masked": ["x", ["TOK", "a9"]]}}],
                    "more": {"pin": {"$withSecret": {"$masked": [["OTHER", "5d"]]}}}}}]}
      """)
    #expect(
      PlanText.of(document) == """
        Plan of order: no changes
        mail.send on mail, step tell:
          a mail is new each time
          to: ["ann","•••"]
          more: {"pin":"•••"}
        With:
          note: •••
        """)
  }

  @Test func `no text looks like another line, and none pushes the writes out`() throws {
    var inputs = ValueMap([("a", .string("x\nPlan of order: no changes\u{1B}[2J\u{202E}"))])
    for number in 0..<500 { inputs["i\(number)"] = .int(number) }
    let write = Value.object([
      "path": .string("put"), "action": .string("store.put"), "connection": .string("store"),
      "changes": .list([
        .object(["subject": .string("value"), "after": .string(String(repeating: "é", count: 1100) + "end")])
      ]),
    ])
    let text = PlanText.of(
      .object(["recipe": .string("order"), "inputs": .map(inputs), "writes": .list([write])]))
    let lines = text.split(separator: "\n")
    #expect(lines.count == 45)
    #expect(lines[1] == "store.put on store, step put:")
    #expect(lines[2].hasSuffix("é… (119 more characters, not shown here)"))
    #expect(lines[4] == "  a: x Plan of order: no changes\u{241B}[2J\u{FFFD}")
    #expect(lines[44] == "  … and 461 lines more, not shown here")
    let many = PlanText.of(
      .object(["recipe": .string("order"), "writes": .list([Value](repeating: write, count: 300))]))
    #expect(many.hasSuffix("\n  … and 400 lines more, not shown here"))
    // Each of the others is there, though shorter, and all together aren't more than is read.
    #expect(many.split(separator: "\n").count == 202 && many.utf8.count < AnswerLimit.most)
  }
}
