import ActionKit
import Basics
import Foundation
import PluginList
import Testing

@testable import errand

@Suite struct MarkdownTextTests {
  private static let page = """
    # shop.order

    Orders what `catalog` lists; see [`shop.list`](#shoplist), and **not** more than a customer who has an account may have.

    - **Effect:** `write`. Writes.
    - **Tried again:** 3 attempts at most, after waits of up to 1s, 2s, on `rateLimited`, `timeout`, `network`, `server`.

    ## Input

    | Field | Type | | |
    | --- | --- | --- | --- |
    | `item` | string | required | The item's name. |
    | `unit` | 'piece' or 'a\\|b' or 'another that is long' | default `"piece"` | How it is counted; a very long sentence that goes on. |

    ## Example: One

    ```yaml
    - uses: shop.order
      with:
        item: "`pen` and **ink**"   # a comment that is much longer than the terminal is wide

    ```

    """

  @Test func `a page has no marks, is wrapped, and keeps its code`() {
    #expect(
      MarkdownText(width: 50, colour: false).text(Self.page) == """
        shop.order

        Orders what catalog lists; see shop.list, and not
        more than a customer who has an account may have.

          - Effect: write. Writes.
          - Tried again: 3 attempts at most, after waits
            of up to 1s, 2s, on rateLimited, timeout,
            network, server.

        Input

          item  string, required
              The item's name.
          unit  'piece' or 'a|b' or 'another that is
                long', default "piece"
              How it is counted; a very long sentence that
              goes on.

        Example: One

            - uses: shop.order
              with:
                item: "`pen` and **ink**"   # a comment that is much longer than the terminal is wide
        """)
  }

  @Test func `headings, names and labels are bold where there are colours`() {
    let text = MarkdownText(width: 80, colour: true).text(
      "# Title\n\n- **Effect:** none\n\n| A | |\n| --- | --- |\n| `b` | c |")
    #expect(
      text == """
        \u{1B}[1mTitle\u{1B}[0m

          - \u{1B}[1mEffect:\u{1B}[0m none

          \u{1B}[1mb\u{1B}[0m
              c
        """)
  }

  @Test func `no page of a plugin shows a mark, nor a line that is too wide`() {
    for plugin in everyPlugin {
      // Code stays as it is.
      let parts = PluginDescriptor(plugin).markdown().components(separatedBy: "```").enumerated()
      let page = parts.filter { $0.offset % 2 == 0 }.map(\.element).joined()
      let text = MarkdownText(width: 80, colour: false).text(page)
      for line in text.split(separator: "\n") { #expect(String(line).displayWidth <= 80, "\(line)") }
      for mark in ["**", "| ---", "](#"] { #expect(!text.contains(mark), "\(plugin.name): \(mark)") }
    }
  }

  @Test(arguments: ["", "|", "||", "[a](b", "[a]", "`", "**", "# ", "- ", "```", "|\\|", "| a", "[](x)"])
  func `broken marks do no harm`(_ text: String) {
    _ = MarkdownText(width: 1, colour: true).text(text)
    _ = MarkdownText.plain(text)
  }
}
