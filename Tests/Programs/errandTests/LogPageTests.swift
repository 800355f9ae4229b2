import ActionKit
import Basics
import Foundation
import HTTPClient
import Testing

@testable import errand

/// Logs of runs as people look at them: from the end, by step, searched, followed, downloaded.
@Suite(.timeLimit(.minutes(20))) struct LogPageTests {
  /// Prints lines with colours that are drawn again, one in red, and one with a secret in two chunks; ends with `gate`.
  private static let recipe = #"""
    steps:
      - id: work
        uses: shell.run
        with:
          effect: write
          secretEnvironment: { T: "${{ secrets.MARKBOOK_PASSWORD }}" }
          script: |
            n=1
            while [ $n -le COUNT ]; do
              case $n in
                500) printf 'the token is %.5s' "$T"; sleep 0.2; printf '%s 🦀\n' "${T#?????}" ;;
                700) printf '\033[1;31mERROR\033[0m in <line> %s\n' $n ;;
                *) printf '\033[32mline\033[0m %s\r\033[32mLine\033[0m %s 🦀\r\n' $n $n ;;
              esac
              n=$((n + 1))
            done
            until [ -e gate ]; do sleep 0.05; done
    """#

  private static func lines(_ count: Int) -> [String] {
    (1...count).map { number in
      switch number {
      case 500: "the token is ••• 🦀\n"
      case 700: "\u{1B}[1;31mERROR\u{1B}[0m in <line> 700\n"
      default: "\u{1B}[32mline\u{1B}[0m \(number)\r\u{1B}[32mLine\u{1B}[0m \(number) 🦀\r\n"
      }
    }
  }

  private static func link(_ page: String, _ label: String) throws -> String {
    let before = try #require(page.components(separatedBy: ">\(label)</a>").first, "no link '\(label)'")
    let path = before.components(separatedBy: "href=\"").last?.prefix { $0 != "\"" } ?? ""
    return path.replacing("&amp;", with: "&")
  }

  @Test func `a log of many lines is shown from its end, found, followed, and downloaded byte for byte`() async throws {
    // More with ERRAND_LINES, such as 100000.
    let count = Int(ProcessInfo.processInfo.environment["ERRAND_LINES"] ?? "") ?? 10_000
    let bench = try await APITests.Bench()
    let password = try #require(bench.program.sandbox.configuration["password"]?.string)
    #expect(password.utf8.count > 5)
    let browser = try await PagesTests.Browser(bench)
    _ = try await browser.recipe("prints", Self.recipe.replacing("COUNT", with: "\(count)"))
    let path = try #require(try await browser.post("/recipes/prints/start", [:]).headers["Location"])
    var page = try await browser.get("\(path)/logs").text
    while !page.contains("value=\"\(count)\"") { page = try await browser.get("\(path)/logs").text }
    // The end, each line as a terminal would leave it, in colours.
    #expect(page.contains("<div class=\"log end\"") && page.utf8.count < 100_000)
    #expect(page.contains("</span><span class=\"c4\">Line</span> \(count) 🦀</li>"), "\(page.suffix(2000))")
    #expect(!page.contains(">line<") && !page.contains("\u{1B}"))
    #expect(!page.contains("hx-trigger") && !page.contains(">Later</a>"))
    // Pages, one before the other.
    let earlier = try await browser.get(try Self.link(page, "Earlier")).text
    let first = try #require(
      page.components(separatedBy: "<li id=\"L").dropFirst().first.flatMap { Int($0.prefix { $0 != "\"" }) })
    #expect(earlier.contains("value=\"\(first - 1)\"") && !earlier.contains("value=\"\(first)\""))
    let later = try await browser.get(try Self.link(earlier, "Later")).text
    #expect(later.contains("value=\"\(first)\"") && !later.contains("value=\"\(first - 1)\""))
    // A line, and a text.
    let line = try await browser.get("\(path)/logs?line=500").text
    #expect(line.contains("<li id=\"L500\" value=\"500\" class=\"hit\">") && line.contains("the token is ••• 🦀"))
    let found = try await browser.get("\(path)/logs?find=error%20in%20%3Cline%3E").text
    #expect(found.contains("<span class=\"c0 bold\">ERROR</span> in &lt;line&gt; 700</li>"), "\(found)")
    #expect([698, 699, 701, 702].allSatisfy { found.contains("value=\"\($0)\"") })
    #expect(!found.contains("value=\"697\"") && !found.contains("value=\"703\""))
    #expect(found.contains("value=\"700\" class=\"hit\"") && found.contains("value=\"error in &lt;line&gt;\""))
    #expect(try await browser.get("\(path)/logs?find=nothing").text.contains("No line shows &#39;nothing&#39;."))
    // It is followed while the run is open.
    let followed = try await browser.get("\(path)/logs?follow=true").text
    #expect(followed.contains("hx-trigger=\"every 2s\"") && followed.contains(">Stop following</a>"))
    try bench.program.write("", to: "gate")
    _ = try await browser.ended(path)
    #expect(try await browser.get("\(path)/logs?follow=true").text.contains("hx-trigger") == false)
    // The bytes, without the secret.
    let text = Self.lines(count).joined()
    let download = try await browser.get("\(path)/logs.txt")
    #expect(download.status == 200 && download.text == text)
    #expect(download.headers["Content-Type"] == "text/plain; charset=utf-8")
    #expect(download.headers["Content-Disposition"]?.hasPrefix("attachment; filename=\"prints ") == true)
    #expect(download.headers["X-Content-Type-Options"] == "nosniff")
    #expect(download.headers["Content-Security-Policy"] == "sandbox")
    #expect(try await browser.get("\(path)/logs.txt?step=other").text == "")
    let kept = try await bench.program.shell("cat .errand/logs/*/*.jsonl")
    #expect(!kept.out.contains(password) && !kept.out.contains(String(password.dropFirst(5))))
    // The same for programs.
    let token = try await bench.token("ada", "--scope", "read", "--scope", "data")
    let root = "/api/v1\(path)/logs"
    let end = try await bench.send("GET", "\(root)?before=\(Int.max)&lines=2", token).json
    #expect(end["items"]?.list?.compactMap { $0["number"]?.int } == [count - 1, count])
    #expect(end["items"]?.list?.last?["text"]?.string == String(Self.lines(count)[count - 1].dropLast()) + "\r")
    #expect(end["isLast"] == .bool(true) && end["next"]?.int == count && end["earlier"]?.int == count - 2)
    let before = try await bench.send("GET", "\(root)?before=\(count - 2)&lines=1", token).json
    #expect(before["items"]?.list?.first?["number"]?.int == count - 2)
    let matches = try await bench.send("GET", "\(root)?find=ERROR&attempt=1&step=work", token).json["items"]?.list
    #expect(matches?.compactMap { $0["isMatch"]?.bool } == [false, false, true, false, false])
    #expect(try await bench.send("GET", "\(root)?find=a&before=3", token).status == 400)
    #expect(try await bench.send("GET", "\(root)?attempt=2", token).json["items"]?.list == [])
    let blind = try await bench.token("bob", "--scope", "read")
    #expect(try await bench.send("GET", "\(root).txt", blind).status == 403)
    await bench.end()
  }

  @Test func `the lines of the first failed attempt are open, and each attempt has its own`() async throws {
    let bench = try await APITests.Bench()
    let browser = try await PagesTests.Browser(bench)
    _ = try await browser.recipe(
      "tries",
      """
      steps:
        - { id: good, uses: shell.run, with: { effect: read, script: "echo fine" } }
        - id: bad
          uses: shell.run
          with: { effect: read, script: "echo try >> tries; echo number $(wc -l < tries); echo broken >&2; exit 3" }
          retry: { maxAttempts: 2, initial: 1ms }
      """)
    let path = try #require(try await browser.post("/recipes/tries/start", [:]).headers["Location"])
    let page = try await browser.ended(path, "failed")
    #expect(page.contains("fine</li>") && page.contains("number 2</li>"))
    #expect(page.contains(" class=\"errors\" title=\"standard error\">"))
    let bySteps = try await browser.get("\(path)/logs?by=step").text
    let open = try #require(
      bySteps.components(separatedBy: "<details class=\"card\" open>").last?.components(separatedBy: "</details>").first
    )
    #expect(
      open.contains("<code>bad</code>, attempt 2") && open.contains("number 2</li>") && !open.contains("number 1"))
    #expect(
      bySteps.contains("href=\"\(path)/logs?step=bad&amp;attempt=1\"") && bySteps.contains("step=good&amp;attempt=1"))
    let one = try await browser.get("\(path)/logs?step=bad&attempt=1").text
    #expect(one.contains("number 1</li>") && !one.contains("number 2") && !one.contains("fine"))
    #expect(one.contains("<h1>Printed by <code>bad</code>, attempt 1</h1>"))
    #expect(one.contains("href=\"\(path)/logs.txt?step=bad&amp;attempt=1\""))
    #expect(try await browser.get("\(path)/logs.txt?step=good").text == "fine\n")
    // The step's page has its lines, and its place in the recipe.
    let step = try await browser.get("\(path)/steps/bad").text
    #expect(step.contains("number 1</li>") && step.contains("number 2</li>") && !step.contains("fine</li>"))
    #expect(step.contains("<h2>In the recipe</h2><p>Line 3, as it was when the run began"), "\(step)")
    #expect(
      step.contains("href=\"/recipes/tries#line-3\"") && step.contains("  retry: { maxAttempts: 2, initial: 1ms }"))
    #expect(step.contains("<div class=\"beside\">") && step.contains("<h2>Input</h2>"))
    await bench.end()
  }
}
