import Basics
import Foundation
import Testing

@testable import Recipes

/// The fixes that tools apply: each fix removes its fault and causes no other.
@Suite struct `Fixes of faults` {
  private static func faults(_ files: [String: String], hasHints: Bool = false) -> [Diagnostic] {
    let connections: [String: String]? =
      hasHints ? nil : ["desk": "desk", "archive": "desk", "markbook": "markbook"]
    let environment = RecipeEnvironment.test(files, connections: connections, zone: hasHints ? "UTC" : nil)
    let checked = Recipe.check(Source(name: CaseFile.main, text: files[CaseFile.main] ?? ""), in: environment)
    return checked.diagnostics + (hasHints ? checked.recipe?.hints ?? [] : [])
  }

  private static func faults(_ text: String) -> [Diagnostic] { faults([CaseFile.main: text]) }

  private static func fixed(_ text: String, _ fix: Diagnostic.Fix) -> String {
    String(decoding: fix.edits.applied(to: Array(text.utf8)), as: UTF8.self)
  }

  /// Faults behind which others are that only come to light without them: uses of a name that is declared otherwise,
  /// and values that had no type.
  private static let hiding = [
    "'as' 'Paper' isn't a name",
    "'forEach' takes an expression without braces; write x",
    "'integer' isn't a type; did you mean 'int'?",
    "'list(strin)' isn't a type; did you mean 'list(string)'?",
    "'map(int, string)' isn't a type; did you mean 'map(string, string)'?",
    "'string?' isn't a type; one '?' is enough; write 'string'",
    "a string is expected here, but this is an int; write `string(5)`",
    "event has no field `day`: what came with it is its data; write `event.data.day`",
    "inputs has no field `colors`; did you mean `colour`?",
    "the branch 'Right' isn't a name",
    "the id 'My-Step' isn't a name",
    "the input 'Markbook' isn't a name",
    "the input 'my-book' isn't a name",
    "the name 'total-sum' isn't a name",
    "the output of 'desk.fetch' has no 'parcel.insid'; did you mean 'inside'?",
    "the output of 'desk.fetch' has no 'rst'; did you mean 'rest'?",
    "the recipe has no input 'nme'; did you mean 'name'?",
    "there is no field `papres` here; did you mean `papers`?",
    "there is no field `titel` here; did you mean `title`?",
    "there is no variable `even`; did you mean `event`?",
    "there is no variable `evnt`; did you mean `event`?",
  ]

  @Test(arguments: [
    "toplevel", "inputs", "steps", "actions", "expressions", "blocks", "calls", "rounds", "cases", "schedules",
    "notations", "shapes", "webhooks", "twenty", "hints",
  ])
  func `A fix does away with its fault and brings no other`(_ table: String) {
    var count = 0
    for one in CaseFile(table).cases {
      let before = Self.faults(one.files, hasHints: table == "hints")
      for fault in before {
        for fix in fault.fixes {
          count += 1
          var files = one.files
          let name = fault.location?.source.name ?? ""
          files[name] = Self.fixed(files[name] ?? "", fix)
          let after = Self.faults(files, hasHints: table == "hints")
          let isGone = after.count { $0.message == fault.message } < before.count { $0.message == fault.message }
          let known = before.map(\.message)
          let new = after.map(\.message).filter { !known.contains($0) }
          let isAlone = new.isEmpty || Self.hiding.contains(where: fault.message.hasPrefix)
          #expect(isGone && isAlone, "\(one.name): \(fault.message)\n  \(fix)\n  \(new)\n\(files[name] ?? "")")
        }
      }
    }
    #expect(count > 0, "the table has no fixes")
  }

  private static func mended(_ text: String) -> String {
    let search = FixSearch(Array(text.utf8)) { bytes in
      faults([CaseFile.main: String(decoding: bytes, as: UTF8.self)])
    }
    return String(decoding: search.text, as: UTF8.self)
  }

  /// Lines of a step, as they are written and as they are mended.
  @Test(arguments: [
    // Keys and words.
    ("- uzes: desk.find", "- uses: desk.find"),
    ("- 'uzes': desk.find", "- 'uses': desk.find"),
    ("- \"uzes\": desk.find  # why", "- \"uses\": desk.find  # why"),
    ("- { uzes: desk.find, name: a }", "- { uses: desk.find, name: a }"),
    ("- uses: desk.fnid", "- uses: desk.find"),
    ("- uses: \"desk.fnid\"", "- uses: \"desk.find\""),
    ("- uses: >-\n    desk.fnid", "- uses: desk.find"),
    ("- action: desk.find", "- uses: desk.find"),
    ("- desk.find", "- uses: desk.find"),
    ("- uses: desk.find\n  with: { order: dat }", "- uses: desk.find\n  with: { order: date }"),
    ("- uses: desk.find\n  with: { all: yes }", "- uses: desk.find\n  with: { all: true }"),
    ("- uses: desk.find\n  with: { all: \"true\" }", "- uses: desk.find\n  with: { all: true }"),
    ("- uses: desk.find\n  with: { words: 007 }", "- uses: desk.find\n  with: { words: \"007\" }"),
    ("- uses: desk.find\n  with: { people: me }", "- uses: desk.find\n  with: { people: [me] }"),
    ("- uses: desk.find\n  with: { limit: '5' }", "- uses: desk.find\n  with: { limit: 5 }"),
    ("- uses: desk.find\n  connection: dsek", "- uses: desk.find\n  connection: desk"),
    ("- wait: 5 minutes", "- wait: 5m"),
    ("- wait: \"5 minutes\"", "- wait: 5m"),
    ("- id: My-Step\n  uses: desk.find", "- id: myStep\n  uses: desk.find"),
    ("- approve: Is it right?", "- approve: { prompt: \"Is it right?\" }"),
    ("- uses: desk.find\n  retry: 3", "- uses: desk.find\n  retry: 3"),
    ("- uses: desk.find\n  onError: skip", "- uses: desk.find\n  onError: continue"),
    // Inputs beside `with`.
    ("- uses: desk.file\n  day: 2026-01-01  # one", "- uses: desk.file\n  with:\n    day: 2026-01-01  # one"),
    (
      "- uses: desk.file\n  day: 2026-01-01  # day\n  with:\n    key: 1\n  name: a",
      "- uses: desk.file\n  with:\n    key: 1\n    day: 2026-01-01  # day\n  name: a"
    ),
    (
      "- uses: desk.file\n  with: { key: 1 }\n  day: 2026-01-01",
      "- uses: desk.file\n  with: { key: 1, day: 2026-01-01 }"
    ),
    ("- uses: desk.find\n  words: a  # b", "- uses: desk.find\n  with:\n    words: a  # b"),
    ("- { uses: desk.find, words: a }", "- { uses: desk.find, with: { words: a } }"),
    // Expressions in each style.
    ("- if: now > now and true\n  wait: 1s", "- if: now > now && true\n  wait: 1s"),
    ("- if: 'now > now and true'\n  wait: 1s", "- if: 'now > now && true'\n  wait: 1s"),
    ("- if: \"now > now and true\"\n  wait: 1s", "- if: \"now > now && true\"\n  wait: 1s"),
    ("- if: >-\n    now > now\n    and true\n  wait: 1s", "- if: >-\n    now > now\n    && true\n  wait: 1s"),
    ("- if: |\n    now > now\n    and true\n  wait: 1s", "- if: |\n    now > now\n    && true\n  wait: 1s"),
    ("- if: now > now\n    and true\n  wait: 1s", "- if: now > now\n    && true\n  wait: 1s"),
    ("- { if: now > now and true, wait: 1s }", "- { if: now > now && true, wait: 1s }"),
    ("- if: \"run.id = \\\"a\\\"\"\n  wait: 1s", "- if: \"run.id == \\\"a\\\"\"\n  wait: 1s"),
    ("- if: 'run.id = ''a'''\n  wait: 1s", "- if: 'run.id == ''a'''\n  wait: 1s"),
    ("- if: \"\\u0072un.id = 'a'\"\n  wait: 1s", "- if: \"\\u0072un.id == 'a'\"\n  wait: 1s"),
    ("- if: not (now > now)\n  wait: 1s", "- if: \"!(now > now)\"\n  wait: 1s"),
    ("- { if: not (now > now), wait: 1s }", "- { if: \"!(now > now)\", wait: 1s }"),
    ("- if: '[1].length > 0'\n  wait: 1s", "- if: 'size([1]) > 0'\n  wait: 1s"),
    ("- if: ${{ now > now\n  wait: 1s", "- if: ${{ now > now }}\n  wait: 1s"),
    ("- if: now ≥ now\n  wait: 1s", "- if: now >= now\n  wait: 1s"),
    ("- if: run.id == “a”\n  wait: 1s", "- if: run.id == 'a'\n  wait: 1s"),
    ("- let: { a: \"${{ 1 + ' day' }}\" }", "- let: { a: \"${{ '1' + ' day' }}\" }"),
    ("- if: not run.id == 'a'\n  wait: 1s", "- if: \"!(run.id == 'a')\"\n  wait: 1s"),
    ("- if: not run.id in ['a']\n  wait: 1s", "- if: \"!(run.id in ['a'])\"\n  wait: 1s"),
    (
      "- let:\n    a: \"{{ run.id }}: {{ run.id }}, {{ run.id }}\"",
      "- let:\n    a: \"${{ run.id }}: ${{ run.id }}, ${{ run.id }}\""
    ),
    ("- let:\n    a: $ {{ run.id }}", "- let:\n    a: ${{ run.id }}"),
    (
      "- let:\n    a: \"{{ run.id }} of ${{ '{{ run.id }}' }}, {{ run.id }}\"",
      "- let:\n    a: \"${{ run.id }} of ${{ '{{ run.id }}' }}, ${{ run.id }}\""
    ),
    ("- let:\n    a: 'b, c", "- let:\n    a: 'b, c"),
    ("- let: { a: \"${{ nwo }}\" }", "- let: { a: \"${{ now }}\" }"),
    ("- let:\n    a: {{ now }}", "- let:\n    a: \"${{ now }}\""),
    ("- let:\n    a: ${{ run.id == '' ? 1 : 2 }}", "- let:\n    a: \"${{ run.id == '' ? 1 : 2 }}\""),
    ("- let: { a: ${{ now }} }", "- let: { a: \"${{ now }}\" }"),
    ("- let:\n    a: \"It's {{ run.id }}\"", "- let:\n    a: \"It's ${{ run.id }}\""),
    // YAML.
    ("- let:\n    a: @now", "- let:\n    a: \"@now\""),
    ("- let:\n    a: \"C:\\Data\"", "- let:\n    a: \"C:\\\\Data\""),
    ("- let:\n    a: 'abc", "- let:\n    a: 'abc'"),
    ("- let:\n    a: [1, 2", "- let:\n    a: [1, 2]"),
    ("- let:\n\ta: 1", "- let:\n    a: 1"),
    ("- uses: desk.find\n  name: a\n  name: a", "- uses: desk.find\n  name: a"),
    ("- uses: desk.find\n  name: a\n  name: b", "- uses: desk.find\n  name: a\n  name: b"),
  ])
  func `A step is mended where it is wrong and nowhere else`(_ wrong: String, _ right: String) {
    for lineBreak in ["\n", "\r\n"] {
      func recipe(_ step: String) -> String {
        "recipe: x\nsteps:\n  \(step.replacingOccurrences(of: "\n", with: "\n  "))\n  # The end.\n"
          .replacingOccurrences(of: "\n", with: lineBreak)
      }
      #expect(Self.mended(recipe(wrong)) == recipe(right))
    }
  }

  /// Expressions whose fixes choose for the author.
  @Test(arguments: [
    // Several similar names, and a numbered series.
    "inputs.mark3", "inputs.mark", "inputs.mark12",
    // Operators that give a default or choose a value in other languages.
    "inputs.text || 'world'", "inputs.text or 'world'", "inputs.mark1 & 1", "inputs.flag && 'x' || 'y'",
    "'x' ? 1 : 2",
    // Dates, numbers in texts, texts as numbers, and decimals.
    "inputs.day + 1", "inputs.mark1 + '5'", "inputs.text > 5", "inputs.text * 3", "7 % 2.5", "[1, 2][1.5]",
    "lists.range(2.9)", "1 + '2'", "inputs.text in [1]", "math.abs(inputs.text)",
    // A missing time zone, and a difference in operator precedence.
    "inputs.at > '2026-01-01'", "inputs.thing.note ?? inputs.text == 'a'",
    // Examples.
    "inputs.level ? 1 : 2", "inputs.text ? 1 : 2", "inputs.at.month", "inputs.length.seconds", "inputs.length.days",
    "inputs.at.epoch", "inputs.at.strftime('%H')",
    // Functions that differ between languages, or for some values.
    "inputs.text.substr(1, 3)", "inputs.text.slice(-3)", "inputs.text.toUpperCase()", "inputs.words.select(x, x + 'a')",
    "inputs.words.find(x, x != '')", "'a {}'.format(inputs.text)", "inputs.text.toInt()",
    // Dates as times, and quotients of ints.
    "inputs.day < now", "now > inputs.day", "date(inputs.day)", "inputs.mark1 / inputs.mark2 * 1.5",
    "math.sqrt(inputs.mark1 / inputs.mark2)",
    "split(',', inputs.text)", "contains(inputs.text, 'a')", "stats.sum(inputs.marks) / len(inputs.marks)",
    "inputs.thing.note ?? 'a'", "inputs.names.get('a')", "inputs.flag & inputs.flag",
    "inputs.text is 'a'", "len(inputs.mark1)", "inputs.words == 3", "startsWith('a', inputs.text)",
    "inputs.words.push('a')",
    "inputs.mark1 / 2 == 1 and inputs.flag",
    // Comments and line breaks would go.
    "inputs.text.concat('a'\n        + // the end\n        'b')", "inputs.words\n          .isEmpty()",
  ])
  func `An expression that may mean something else is left as it is`(_ expression: String) {
    let text = """
      recipe: x
      inputs:
        mark1: int
        mark2: int
        text: string
        flag: bool
        day: date
        at: timestamp
        length: duration
        words: list(string)
        marks: list(int)
        share: double
        names: { type: "map(string, int)" }
        level: { type: "choice(low, high)" }
        thing: { type: { note: string? } }
      steps:
        - let: { a: "${{ \(expression) }}" }

      """
    #expect(Self.mended(text) == text)
    #expect(!Self.faults(text).isEmpty)
  }

  @Test func `A name that several expressions read alike is left, because its declaration may be wrong`() {
    let text = """
      recipe: x
      inputs: { ark: int }
      steps:
        - let: { a: "${{ inputs.mark }}", b: "${{ inputs.mark + 1 }}" }

      """
    #expect(Self.mended(text) == text)
    let once = text.replacing(", b: \"${{ inputs.mark + 1 }}\"", with: "")
    #expect(Self.mended(once) == once.replacing("inputs.mark", with: "inputs.ark"))
  }

  /// Methods and fields of other languages that are operators here, within others.
  @Test(arguments: [
    ("10 - inputs.n.plus(2)", "10 - (inputs.n + 2)"), ("-inputs.n.plus(1)", "-(inputs.n + 1)"),
    ("inputs.l.add(3).size()", "(inputs.l + [3]).size()"),
    ("inputs.l.append(1).map(x, x)", "(inputs.l + [1]).map(x, x)"),
    ("inputs.b.equals(inputs.b && inputs.c)", "inputs.b == (inputs.b && inputs.c)"),
    ("!inputs.l.isEmpty()", "!(size(inputs.l) == 0)"), ("!inputs.l.contains(1)", "!(1 in inputs.l)"),
    ("(inputs.l + [1]).first()", "(inputs.l + [1])[0]"),
    ("(inputs.l + [1]).last", "(inputs.l + [1])[size((inputs.l + [1])) - 1]"),
    ("inputs.l.concat(inputs.c ? [1] : [])", "inputs.l + (inputs.c ? [1] : [])"),
    ("inputs.l.plus([1]) == [1]", "inputs.l + [1] == [1]"), ("size(inputs.l.plus([1]))", "size(inputs.l + [1])"),
    ("concat('a', inputs.c ? 'b' : 'c')", "'a' + (inputs.c ? 'b' : 'c')"),
  ])
  func `An operator keeps what it joins together`(_ wrong: String, _ right: String) {
    func recipe(_ expression: String) -> String {
      """
      recipe: x
      inputs: { n: int, l: list(int), b: bool, c: bool }
      steps:
        - let: { a: "${{ \(expression) }}" }

      """
    }
    #expect(Self.mended(recipe(wrong)) == recipe(right))
  }

  /// The rest of a recipe whose fixes choose for the author.
  @Test(arguments: [
    "inputs: { a: string? }\nsteps:\n  - wait: 1s", "inputs: { a: array }\nsteps:\n  - wait: 1s",
    "inputs: { a: object }\nsteps:\n  - wait: 1s", "inputs: { a: time }\nsteps:\n  - wait: 1s",
    "inputs: { a: enum }\nsteps:\n  - wait: 1s",
    "steps:\n  - wait: 5m\n    timeout: 5m\n    timeout: 5m # do not change",
    "steps:\n  - uses: desk.find\n    retries: 3", "steps:\n  - uses: desk.find\n    until: result == []",
    "zone: Asia/Mumbai\nsteps:\n  - wait: 1s", "zone: America/Houston\nsteps:\n  - wait: 1s",
    "zone: Europe/Bern\nsteps:\n  - wait: 1s", "zone: Asia/Osaka\nsteps:\n  - wait: 1s",
    "zone: GMT+2\nsteps:\n  - wait: 1s", "zone: UTC-10\nsteps:\n  - wait: 1s",
    "on: [{ cron: 0 8 * * TUN }]\nsteps:\n  - wait: 1s",
    "on: [{ cron: 0 8 * MA * }]\nsteps:\n  - wait: 1s",
    "steps:\n  - let:\n      a: \"Hi # comment", "steps:\n  - let: { a: \"b }", "steps:\n  - let:\n      a: [\"b, c]",
    "steps:\n  - if: \"${{ 2 }} - ${{ 2 - 1 }} == 1\"\n    wait: 1s", "steps:\n  - wait: 1s # a\n    wait: 2s",
    "steps:\n  - forEach:\n      - 1 # one\n      - 2\n    as: n\n    wait: 1s",
    "on:\n  - { id: one, cron: &c \"CRON_TZ=UTC 0 8 * * *\" }\n  - { id: two, cron: *c }\nsteps:\n  - wait: 1s",
    "inputs: { s: string }\nsteps:\n  - fail: \"={{ inputs.s }}\"",
    "steps:\n  - let: { a: \"C:\\temp\\dir\" }", "zone: San_Juan\nsteps:\n  - wait: 1s",
    "zone: Eastern\nsteps:\n  - wait: 1s",
    "steps:\n  - uses: desk.find\n    with:\n\torder: |\n\t  all:\n\t  \tmake",
    "steps:\n\t- let: { a: 1 }\n\t- let:\n\t\tb: 2",
    "steps:\n  - let: { a: 'b, c: d }", "steps:\n  - let:\n      a: '${{ run.id }}\"",
    "steps:\n  - let:\n      a: \"${{ run.id }}'",
    "steps:\n  - let:\n      a: \"x\" + ${{ run.id }}", "steps:\n  - let:\n      a: - x",
    "steps:\n  - let:\n      a: *x", "steps:\n  - let:\n      a: &x",
    "steps:\n  - let:\n      a:\n        b: 5\n\tif: now > now",
    "steps:\n  - let:\n      a: \"{{ run.id }}: {{ unknown }}\"",
  ])
  func `A recipe that may mean something else is left as it is`(_ rest: String) {
    let text = "recipe: x\n\(rest)\n"
    #expect(Self.mended(text) == text)
    #expect(!Self.faults(text).isEmpty)
  }

  @Test(arguments: [
    ("zone: Australia/Sidney", "zone: Australia/Sydney"), ("zone: sydney", "zone: Australia/Sydney"),
    ("on: [{ cron: CRON_TZ=Asia/Tokyo 0 8 1 * * }]", "on: [{ cron: 0 8 1 * *, zone: Asia/Tokyo }]"),
    ("on:\n  - cron: \"TZ=UTC  */5 8 * * *\"  # a", "on:\n  - cron: \"*/5 8 * * *\"  # a\n    zone: UTC"),
    ("on:\n  - cron: 0 8 * * * Asia/Tokyo", "on:\n  - cron: 0 8 * * *\n    zone: Asia/Tokyo"),
    ("on: { cron: 0 8 * * *, zone: UTC }", "on: [{ cron: 0 8 * * *, zone: UTC }]"),
    ("on: [{ cron: 0 8 * * Monday }]", "on: [{ cron: 0 8 * * MON }]"),
    ("on: [{ cron: 0 8 * JUNE * }]", "on: [{ cron: 0 8 * JUN * }]"),
    ("inputs: { a: integer, b: boolean, c: array<int> }", "inputs: { a: int, b: bool, c: list(int) }"),
  ])
  func `A recipe is mended where nothing else can be meant`(_ wrong: String, _ right: String) {
    func recipe(_ text: String) -> String { "recipe: x\n\(text)\nsteps:\n  - wait: 1s\n" }
    #expect(Self.mended(recipe(wrong)) == recipe(right))
  }

  @Test(arguments: [("\ta: 1", "    a: 1"), ("    a: b: c", "    a: \"b: c\""), ("    a: \"\\d\"", "    a: \"\\\\d\"")])
  func `Faults of YAML are mended however many there are`(_ wrong: String, _ right: String) {
    func recipe(_ line: String) -> String {
      "recipe: x\nsteps:\n"
        + (1...12).map { "- let:\n\(line.replacingOccurrences(of: "a", with: "a\($0)"))\n" }.joined()
    }
    #expect(Self.mended(recipe(wrong)) == recipe(right))
  }

  /// Fixes that guess, which only the author can apply, and the recipes that they produce.
  @Test(arguments: [
    ("on: { cron: 0 8 * * * }", "on: [{ cron: \"0 8 * * *\", zone: UTC }]"),
    ("on:\n  cron: 0 8 * * *", "on: [{ cron: \"0 8 * * *\", zone: UTC }]"),
    ("on:\n  schedule:\n    - cron: 0 8 * * *", "on: [{ cron: \"0 8 * * *\", zone: UTC }]"),
  ])
  func `A fix that guesses is there for its author`(_ wrong: String, _ right: String) throws {
    func recipe(_ text: String) -> String { "recipe: x\n\(text)\n" }
    let fix = try #require(Self.faults(recipe(wrong)).flatMap(\.fixes).first)
    #expect(fix.isTentative)
    #expect(Self.fixed(recipe(wrong), fix) == recipe(right))
  }

  @Test(arguments: [
    "on:\n  cron: 0 8 * * * # a\n  id: x", "on:\n  # a\n  cron: 0 8 * * *",
    "on:\n  schedule:\n    - cron: 0 8 * * *\n    - cron: 1 8 * * *",
    "on: [{ cron: TZ=Mars 0 8 1 * * }]", "on: [{ cron: TZ=UTC 0 8 1 * *, zone: Asia/Tokyo }]",
  ])
  func `There is no fix where the change would lose or guess too much`(_ text: String) {
    let fixes = Self.faults("recipe: x\n\(text)\n").flatMap(\.fixes)
    #expect(fixes.isEmpty)
  }

  /// Steps with faults, to be repeated, and the same steps after fixing.
  ///
  /// Some fixes of the last example reveal further faults.
  @Test(arguments: [
    ("- wiat: 5m", "- wait: 5m"), ("- let:\n\ta: 1", "- let:\n    a: 1"),
    (
      "- uses: desk.fnid\n  with: { order: dat, al: 1 }\n- wiat: 5m",
      "- uses: desk.fnid\n  with: { order: dat, al: 1 }\n- wait: 5m"
    ),
  ])
  func `Many faults are mended in a few checks`(_ wrong: String, _ right: String) {
    func recipe(_ steps: String) -> String {
      "recipe: x\nsteps:\n" + String(repeating: steps + "\n", count: 300)
    }
    var checked = 0
    let text = Array(recipe(wrong).utf8)
    let search = FixSearch(text) { bytes in
      checked += 1
      return Self.faults(String(decoding: bytes, as: UTF8.self))
    }
    #expect(String(decoding: search.text, as: UTF8.self) == recipe(right))
    #expect(search.isComplete == !wrong.contains("fnid"))
    #expect(checked <= (wrong.contains("\t") ? 303 : 60), "\(checked)")
  }

  @Test func `What there is no time for is left, and told`() {
    let text = Array("recipe: x\nsumary: A.\nsteps: [{ wait: 1s }]\n".utf8)
    let search = FixSearch(text) {
      false
    } check: {
      Self.faults(String(decoding: $0, as: UTF8.self))
    }
    #expect(search.text == text)
    #expect(!search.isComplete)
  }

  /// A fault with several possible fixes, or with a value that only the author knows, is left unchanged.
  @Test(arguments: [
    ("- wait: 5", ["write 5s", "write 5m", "write 5h"]),
    ("- uses: desk.find\n  with: { age: 5 }", ["write 5s", "write 5m", "write 5h", "write 5d"]),
    ("- uses: desk.find\n  tieotu: 5m", ["write 'timeout'"]),
  ])
  func `What leaves a doubt is left as it is`(_ step: String, _ titles: [String]) {
    let text = "recipe: x\nsteps:\n  \(step.replacingOccurrences(of: "\n", with: "\n  "))\n"
    #expect(Self.mended(text) == text)
    #expect(Self.faults(text).flatMap(\.fixes).map(\.title) == titles)
  }

  @Test func `A fault without a fix has nothing left to resolve`() {
    for table in ["steps", "actions", "calls", "schedules"] {
      for one in CaseFile(table).cases {
        for fault in Self.faults(one.files) { #expect(fault.suggestions.isEmpty, "\(one.name): \(fault.message)") }
      }
    }
  }
}
