import Basics
import Foundation
import Glibc
import HTTPClient
import Operations
import Testing

@testable import errand

/// Outputs of runs by page, as JSON and as CSV, and the files that actions wrote.
@Suite(.timeLimit(.minutes(20))) struct OutputPageTests {
  private static func ended(_ browser: PagesTests.Browser, _ recipe: String) async throws -> String {
    let path = try #require(try await browser.post("/recipes/\(recipe)/start", [:]).headers["Location"])
    _ = try await browser.ended(path)
    return path
  }

  @Test func `all rows are shown by page, and given as JSON and as CSV that no spreadsheet computes`() async throws {
    let bench = try await APITests.Bench()
    let browser = try await PagesTests.Browser(bench)
    _ = try await browser.recipe(
      "rows",
      """
      steps:
        - let:
            rows: "${{ lists.range(150).map(n, {'n': n, 'name': '=1+' + string(n)}) }}"
            site: https://example.org/a?b=1
            odd: javascript:alert(1)
      outputs:
        rows: ${{ rows }}
        report: >-
          ${{ {'site': site, 'odd': odd, 'parts': [{'a': -1.5, 'b': '-x, "y"'}, {'a': 4.5, 'b': '+5'}]} }}
      """)
    let path = try await Self.ended(browser, "rows")
    let page = try await browser.get("\(path)/outputs").text
    #expect(page.contains("1 to 100 of 150 rows") && page.contains("=1+99</td>") && !page.contains("=1+100<"))
    #expect(page.contains("href=\"\(path)/outputs?of=rows&amp;from=100#rows\""))
    let later = try await browser.get("\(path)/outputs?of=rows&from=100").text
    #expect(later.contains("101 to 150 of 150 rows") && later.contains("=1+149</td>"))
    #expect(try await browser.get("\(path)/outputs?of=rows&from=99999999999").text.contains("150 to 150 of 150 rows"))
    #expect(page.contains("<a href=\"https://example.org/a?b=1\" rel=\"noreferrer\">https://example.org/a?b=1</a>"))
    #expect(!page.contains("href=\"javascript:"))
    let json = try await browser.get("\(path)/outputs.json")
    #expect(json.headers["Content-Type"] == "application/json")
    let value = try JSON.parse(json.text)
    #expect(value["rows"]?.list?.count == 150 && value["report"]?["parts"]?.list?.count == 2)
    let csv = try await browser.get("\(path)/outputs/rows.csv")
    #expect(csv.headers["Content-Type"] == "text/csv; charset=utf-8")
    #expect(csv.headers["Content-Disposition"]?.hasPrefix("attachment; filename=\"rows rows.csv\"") == true)
    #expect(csv.text.hasPrefix("n,name\r\n0,'=1+0\r\n1,'=1+1\r\n") && csv.text.hasSuffix("149,'=1+149\r\n"))
    #expect(
      try await browser.get("\(path)/outputs/report.parts.csv").text == "a,b\r\n-1.5,\"'-x, \"\"y\"\"\"\r\n4.5,+5\r\n")
    for name in ["report", "nothing", "report.site", "rows.n"] {
      #expect(try await browser.get("\(path)/outputs/\(name).csv").status == 404, "\(name)")
    }
    let token = try await bench.token("ada", "--scope", "read")
    #expect(try await bench.send("GET", "/api/v1\(path)/outputs.json", token).status == 403)
    await bench.end()
  }

  @Test(arguments: [
    ("=1+1", "'=1+1"), ("+1", "+1"), ("-12.5e3", "-12.5e3"), ("-a", "'-a"), ("@SUM(A1)", "'@SUM(A1)"), ("+-1", "'+-1"),
    ("-inf", "'-inf"), ("\t=1", "'\t=1"), ("", ""), ("a,b", "\"a,b\""), ("a\"b", "\"a\"\"b\""),
    ("=\"a\"", "\"'=\"\"a\"\"\""),
    ("a\nb", "\"a\nb\""), ("ä", "ä"),
  ])
  func `a cell is never a formula`(_ text: String, _ cell: String) { #expect(ValueTable.cell(text) == cell) }

  /// A picture of one dot.
  private static let dot =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

  private static let writes = """
    steps:
      - { id: png, uses: file.write, with: { path: out/dot.png, bytes: \(dot) } }
      - { id: svg, uses: file.write, with: { path: out/dot.svg, text: "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>" } }
      - { id: html, uses: file.write, with: { path: out/page.html, text: "<script>alert(1)</script>" } }
      - { id: fake, uses: file.write, with: { path: "out/<b>.gif", text: "<svg onload=alert(1)>" } }
      - { id: table, uses: csv.write, with: { path: out/t.csv, rows: [{ a: 1 }] } }
      - { id: value, uses: json.write, with: { path: out/v.json, value: { a: 1 } } }
      - { id: again, uses: file.append, with: { path: out/v.json, text: "x" } }
    """

  @Test func `pictures are shown and other files saved, as long as they are as the run wrote them`() async throws {
    let bench = try await APITests.Bench()
    let browser = try await PagesTests.Browser(bench)
    _ = try await browser.recipe("writes", Self.writes)
    let path = try await Self.ended(browser, "writes")
    let page = try await browser.get("\(path)/outputs").text
    #expect(page.contains("<img src=\"\(path)/files/1\" alt=\"out/dot.png\" loading=\"lazy\">"), "\(page)")
    #expect(page.contains(">out/dot.svg</a>") && page.contains(">out/&lt;b&gt;.gif</a>"))
    #expect(!page.contains(bench.program.folder.path))
    let picture = try await browser.get("\(path)/files/1")
    #expect(picture.status == 200 && picture.headers["Content-Type"] == "image/png")
    #expect(picture.headers["Content-Disposition"] == nil)
    for number in 2...5 {
      let file = try await browser.get("\(path)/files/\(number)")
      #expect(file.status == 200 && file.headers["Content-Type"] == "application/octet-stream", "\(number): \(file)")
      #expect(file.headers["Content-Disposition"]?.hasPrefix("attachment; filename=\"") == true, "\(number)")
      #expect(file.headers["X-Content-Type-Options"] == "nosniff")
      #expect(file.headers["Content-Security-Policy"] == "sandbox")
    }
    #expect(try await browser.get("\(path)/files/4").headers["Content-Disposition"]?.contains("\"_b_.gif\"") == true)
    // A later step of the same run changed it.
    let changed = try await browser.get("\(path)/files/6")
    #expect(changed.status == 409 && changed.text.contains("has changed since the run wrote it"), "\(changed.text)")
    #expect(try await browser.get("\(path)/files/7").text.hasSuffix("}\nx"))
    for number in ["0", "8", "-1", "x", "99999999999999999999", "1%2F..", ".."] {
      #expect([400, 404].contains(try await browser.get("\(path)/files/\(number)").status), "\(number)")
    }
    let token = try await bench.token("ada", "--scope", "read", "--scope", "data")
    let list = try await bench.send("GET", "/api/v1\(path)/files", token).json["items"]?.list ?? []
    #expect(list.compactMap { $0["number"]?.int } == Array(1...7))
    #expect(list.first?["name"]?.string == "out/dot.png" && list.first?["bytes"]?.int == 70)
    #expect(list.first?["path"] == nil)
    #expect(try await bench.send("GET", "/api/v1\(path)/files/1", token).status == 200)
    let blind = try await bench.token("bob", "--scope", "read")
    #expect(try await bench.send("GET", "/api/v1\(path)/files/1", blind).status == 403)
    // To a token for another recipe, there is no such run.
    let other = try await bench.token("cara", "--scope", "read", "--scope", "data", "--recipe", "ask")
    #expect(try await bench.send("GET", "/api/v1\(path)/files/1", other).status == 404)
    await bench.end()
  }

  @Test func `a file that was swapped after the run isn't shown`() async throws {
    let bench = try await APITests.Bench()
    let browser = try await PagesTests.Browser(bench)
    _ = try await browser.recipe("writes", Self.writes)
    let path = try await Self.ended(browser, "writes")
    func status(_ number: Int) async throws -> Int { try await browser.get("\(path)/files/\(number)").status }
    let swaps = """
      ln -sf /etc/passwd out/dot.png
      printf '%s' 'swapped' > out/dot.svg
      cp -p out/page.html page && rm out/page.html && mkdir out/page.html
      rm out/t.csv && mkfifo out/t.csv
      rm 'out/<b>.gif' && ln errand.yaml 'out/<b>.gif'
      """
    #expect(try await bench.program.shell(swaps).code == 0)
    #expect(try await status(1) == 404)
    #expect(try await status(2) == 409)
    #expect(try await status(3) == 404)
    #expect(try await status(4) == 404)
    #expect(try await status(5) == 404)
    // The folder above is a link now, and then the state's.
    #expect(try await bench.program.shell("mv out elsewhere && ln -s elsewhere out").code == 0)
    #expect(try await status(7) == 404)
    #expect(try await bench.program.shell("rm out && ln -s .errand out && cp elsewhere/v.json .errand/").code == 0)
    #expect(try await status(7) == 404)
    await bench.end()
  }
}
