import Basics
import Foundation
import RecipeEditing
import Testing

@Suite struct OutlineTests {
  /// A file, and the items reported about it.
  struct Case: CustomTestStringConvertible, Sendable {
    var path: String
    var text: String
    var told: [String]

    init(_ path: String, _ text: String, _ told: String...) { (self.path, self.text, self.told) = (path, text, told) }

    var testDescription: String { text }
  }

  private static func displayed(_ items: [OutlineItem], _ source: Source, _ indentation: String = "") -> [String] {
    items.flatMap { item -> [String] in
      #expect(item.range.lowerBound <= item.nameRange.lowerBound && item.nameRange.upperBound <= item.range.upperBound)
      let detail = item.detail.isEmpty ? "" : " (\(item.detail))"
      let place =
        "\(source.position(at: item.nameRange.lowerBound).line)-\(source.position(at: item.range.upperBound).line)"
      return ["\(indentation)\(item.kind) \(item.name)\(detail) \(place)"]
        + displayed(item.children, source, indentation + "  ")
    }
  }

  @Test(arguments: [
    Case(
      "a.yaml",
      """
      recipe: a
      inputs:
        day: date
        size: { type: int, default: 1 }
      on:
        - cron: "0 7 * * *"
        - { id: second, event: { name: x } }
      steps:
        - let: { a: 1, b: 2 }
        - id: book
          if: a > 1
          steps:
            - uses: file.read
              with: { path: a }
          else:
            - name: Waits for it.
              wait: 5m
        - parallel:
            one: [{ call: b.yaml }]
            two:
              - fail: no
        - switch: inputs.day
          cases:
            x: { steps: [{ approve: { prompt: a } }], outputs: { a: 1 } }
          default: []
          onError: continue
        - uses: http.get
          onError:
            steps:
              - wait: 1s
        - us
      outputs: { total: "${{ steps.book }}" }
      finally:
        - uses: notify.ntfy
      """,
      "section inputs 2-4", "  input day (date) 3-3", "  input size (int) 4-4",
      "section on 5-7", "  trigger cron 0 7 * * * 6-6", "  trigger second (event) 7-7",
      "section steps 8-31", "  variable a, b (let) 9-9", "  step book (steps) 10-17", "    step file.read 13-14",
      "    branch else 15-17", "      step Waits for it. (wait 5m) 16-17",
      "  step parallel 18-21", "    branch one 19-19", "      step call b.yaml 19-19", "    branch two 20-21",
      "      step fail no 21-21", "  step switch inputs.day 22-26", "    branch x 24-24", "      step approve 24-24",
      "  step http.get 27-30", "    branch onError 28-30", "      step wait 1s 30-30", "  step step 6 31-31",
      "section outputs 32-32", "  output total (${{ steps.book }}) 32-32", "section finally 33-34",
      "  step notify.ntfy 34-34"),
    Case(
      "a.test.yaml", "recipe: a.yaml\ncases:\n  - case: it runs\n    do: [run]\n  - do:\n",
      "section cases 2-5", "  testCase it runs 3-4", "  testCase case 2 5-5"),
    Case(
      "errand.yaml", "zone: UTC\nconnections:\n  shop: { plugin: http }\n  mail:\n    host: a\n",
      "setting zone (UTC) 1-1", "section connections 2-5", "  setting shop (http) 3-3", "  setting mail (mail) 4-5"),
    Case("errand.yaml", "state: runs\nrecipes: chores\n", "setting state (runs) 1-1", "setting recipes (chores) 2-2"),
    // No detail holds a secret.
    Case(
      "errand.yaml", "state: postgres://bob@db/errand\nzone: UTC\ntoken: PLANTED\npostgres: PLANTED\n",
      "setting state (postgres://bob@db/errand) 1-1", "setting zone (UTC) 2-2", "setting token 3-3",
      "setting postgres 4-4"),
    Case("errand.yaml", "state: postgres://bob:PLANTED@db/errand", "setting state (•••) 1-1"),
    Case("errand.yaml", "state: 'bob:PLANTED@db/errand", "setting state (•••) 1-1"),
    Case("errand.yaml", "state: host=db password=PLANTED", "setting state (•••) 1-1"),
    Case("a.yaml", ""),
    Case("a.yaml", "steps:\n  - id: a\n    uses: [", "section steps 1-3", "  step a ([) 2-3"),
  ])
  func `tells the parts of a file`(_ sample: Case) {
    let source = Source(name: sample.path, text: sample.text)
    #expect(Self.displayed(EditedFolder("").service.outline(of: source), source) == sample.told)
  }

  @Test func `tells what can be folded`() {
    let source = Source(
      name: "a.yaml",
      text: """
        # One
        # Two
        recipe: a

        # Alone
        steps:
          - id: a
            with: { b: 1,
              c: 2 }
            # Of the step
            # and more
            text: |
              d
              e
          - uses: f
        outputs:
          # First
          # Second
          g: 1
        """)
    let folds = EditedFolder("").service.folds(of: source).map {
      "\(source.position(at: $0.lowerBound).line)-\(source.position(at: $0.upperBound).line)"
    }
    #expect(folds == ["1-2", "6-15", "7-14", "8-9", "10-11", "12-14", "16-19", "17-18"])
  }

  @Test(arguments: [
    Case(
      "a.yaml",
      "inputs: { day: string }\nsteps:\n  - if: inputs.day in ['a'] && !true\n    wait: 1s",
      "variable inputs", "property day", "keyword in", "string 'a'", "keyword true"),
    Case(
      "a.yaml",
      "steps:\n  - let: { a: \"${{ [1, 2.5].map(x, x + 1).size() + stats.mean([1]) }} b ${{ has(run.slot) }}\" }",
      "number 1", "number 2.5", "macro map", "variable x", "variable x", "number 1", "method size", "function stats",
      "function mean", "number 1", "macro has", "variable run", "property slot"),
    Case(
      "a.yaml", "steps:\n  - fail: '${{ run[''id''] + run.`id` + string(now) }}'",
      "variable run", "string ''id''", "variable run", "property `id`", "function string", "variable now"),
    Case(
      "a.yaml", "steps:\n  - fail: >-\n      ${{ 'a b\n      c' + run.\n      id }}",
      "string 'a b", "string c'", "variable run", "property id"),
    // Unreadable expressions are reported word by word, and comments aren't reported.
    Case(
      "a.yaml", "steps:\n  - fail: ${{ run. }} # ${{ run.id }}\n  - fail: \"${{ run.id + \"\n  us\n", "variable run",
      "variable run",
      "property id"),
    Case(
      "a.test.yaml", "recipe: a.yaml\ncases: [{ case: a, do: [{ expect: { that: outputs.a == 1 } }] }]\n",
      "variable outputs", "property a", "number 1"),
    Case(
      "errand.yaml", "connections: { http: { token: \"${{ secrets.A }}\" } }", "variable secrets", "property A"),
  ])
  func `tells the words of expressions`(_ sample: Case) {
    let source = Source(name: sample.path, text: sample.text)
    let tokens = EditedFolder("").service.highlights(of: source)
    #expect(
      tokens.map { "\($0.kind) \(String(decoding: source.bytes[$0.range], as: UTF8.self))" } == sample.told)
  }

  @Test(arguments: [
    Case(
      "a.yaml", "on:\n  - cron: \"0 7 * * MON-FRI\" # weekdays\n    zone: Europe/Zurich\nsteps: [{ wait: 1s }]",
      "2:39 next: Mon 30 Nov 07:00, Tue 1 Dec 07:00, Wed 2 Dec 07:00 (every weekday at 07:00, Europe/Zurich)"),
    Case(
      "a.yaml",
      "zone: UTC\ninputs: { a: int }\non: [{ id: a, every: 90m, inputs: { a: 1 } }, { id: b, at: 2027-01-02T03:04:05Z, inputs: { a: 1 } }]\nsteps:\n  - us",
      "3:45 next: Fri 27 Nov 19:30, Fri 27 Nov 21:00, Fri 27 Nov 22:30 (every 90 minutes, UTC)",
      "3:100 next: Sat 2 Jan 2027 03:04:05 (once, UTC)"),
    // Faulty entries are skipped, and so are entries without due times.
    Case(
      "a.yaml",
      "on:\n  - { id: a, cron: \"0 25 * * *\" }\n  - { id: b, event: { name: x } }\n  - id: c\n    at: 2026-01-01T00:00:00Z\n  - { id: d, every: 1h, paused: true }\nsteps: [{ wait: 1s }]",
      "4:10 never due again (once, UTC)", "6:39 paused (every hour, UTC)"),
    Case("a.yaml", "steps: [{ wait: 1s }]"),
    Case("a.test.yaml", "on: [{ every: 1h }]"),
  ])
  func `tells when entries are due`(_ sample: Case) {
    let source = Source(name: sample.path, text: sample.text)
    let notes = EditedFolder("").service.fireTimes(in: source).map { note in
      let position = source.position(at: note.offset)
      return "\(position.line):\(position.column) \(note.text) (\(note.tooltip))"
    }
    #expect(notes == sample.told)
  }

  @Test(arguments: [
    String(repeating: "- ", count: 30_000), String(repeating: "[", count: 30_000),
    String(repeating: "${{.", count: 20_000), "steps:" + String(repeating: "\n  - call: a", count: 1_000),
    "steps:" + (0..<400).map { "\n\(String(repeating: "  ", count: $0))- steps:" }.joined(),
    "a: \"" + String(repeating: "${{ 'x", count: 30_000), String(repeating: "a: *b\n", count: 5_000),
  ])
  func `answers in bounded time`(_ text: String) {
    let source = Source(name: "a.yaml", text: text)
    let service = EditedFolder("").service
    let start = ContinuousClock.now
    _ = service.definition(in: source, at: text.utf8.count / 2)
    _ = service.references(in: source, at: text.utf8.count / 2, withDeclaration: true)
    _ = service.renameRange(in: source, at: text.utf8.count)
    _ = service.outline(of: source)
    _ = service.folds(of: source)
    _ = service.links(in: source)
    _ = service.highlights(of: source)
    _ = service.fireTimes(in: source)
    #expect(ContinuousClock.now - start < .seconds(30))
  }

  @Test func `answers at any place of any text`() async {
    let folder = EditedFolder.repository
    let service = folder.service
    var tokens = 0
    for (index, source) in folder.files.values.sorted(by: { $0.name < $1.name }).enumerated() {
      for round in 0..<Self.rounds {
        await Task.yield()
        let place = (index &* 7919 &+ round &* 104_729) % max(1, source.bytes.count)
        let cut = Source(name: source.name, bytes: Array(source.bytes[..<place]))
        var mutated = source.bytes
        if place < mutated.count { mutated[place] = Self.marks[(index + round) % Self.marks.count] }
        for source in [source, cut, Source(name: source.name, bytes: mutated)] {
          _ = service.definition(in: source, at: place)
          if let range = service.renameRange(in: source, at: place) {
            #expect(range.lowerBound <= place && place <= range.upperBound)
          }
          _ = service.outline(of: source)
          _ = service.folds(of: source)
          _ = service.links(in: source)
          let found = service.highlights(of: source)
          for (one, next) in zip(found, found.dropFirst()) { #expect(one.range.upperBound <= next.range.lowerBound) }
          tokens += found.count
          _ = service.fireTimes(in: source)
          if (index + round) % 8 == 0 { _ = service.references(in: source, at: place, withDeclaration: true) }
        }
      }
    }
    #expect(tokens > 1000)
  }

  private static let marks = Array("{}[]:\"'&*|>#-!%@`,\t\r\n\0\u{80}".utf8)
  private static let rounds = ProcessInfo.processInfo.environment["EVERY_PLACE"].flatMap { Int($0) } ?? 1
}
