// What all pages share: the head, the way to the others, and the small parts that they are made of.
import Agent
import Basics
import HTTPServer
import RunState

/// The frame around a page.
struct PageFrame {
  var title: String
  /// The path of the page among those of the top, such as `/runs`.
  var section: String
  /// Who is logged in; nil on the page where one logs in.
  var visitor: String?
  /// How often the page is asked for again while it is looked at, in seconds; nil if it stands still.
  var refresh: Int?
  var content: Markup

  private static let sections = [
    ("/", "Now"), ("/runs", "Runs"), ("/recipes", "Recipes"), ("/schedules", "Schedules"), ("/state", "State"),
  ]

  func response(status: Int = 200) -> HTTPServerResponse {
    var response = HTTPServerResponse.text(
      Markup.document(markup), status: status, type: "text/html; charset=utf-8")
    response.headers.fields += PageFrame.headers.fields
    return response
  }

  /// No script and no style but the agent's own, and no other origin, whatever a page may hold.
  static let headers: HTTPHeaders = [
    "Content-Security-Policy":
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
  ]

  private var markup: Markup {
    let links = PageFrame.sections.map { path, name -> Markup in
      .element("a", ["href": path, "aria-current": path == section ? "page" : nil], Markup(name))
    }
    var top: [Markup] = [.element("strong", [:], "Errand")]
    if let visitor {
      top.append(.element("nav", ["aria-label": "Pages"], Markup(links)))
      top.append(
        .element(
          "form", ["method": "post", "action": "/logout"],
          .element("span", ["class": "quiet"], "\(visitor) "), .element("button", [:], "Log out")))
    }
    // What is live replaces the main part by that of the same page, asked for anew.
    let live = refresh.map { "every \($0)s" }
    return .element(
      "html", ["lang": "en"],
      .element(
        "head", [:], .element("meta", ["charset": "utf-8"]),
        .element("meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"]),
        .element(
          "meta",
          [
            "name": "htmx-config",
            "content":
              #"{"allowEval":false,"includeIndicatorStyles":false,"selfRequestsOnly":true,"historyCacheSize":0}"#,
          ]),
        .element("title", [:], "\(title) · Errand"),
        .element("link", ["rel": "icon", "href": "/assets/errand.svg", "type": "image/svg+xml"]),
        .element("link", ["rel": "stylesheet", "href": "/assets/errand.css"]),
        .element("script", ["src": "/assets/htmx.js", "defer": ""])),
      .element(
        "body", [:], .element("a", ["class": "skip", "href": "#main"], "Skip to the content"),
        .element("header", ["class": "top"], .element("div", [:], Markup(top))),
        .element(
          "main",
          [
            "id": "main", "tabindex": "-1", "hx-get": live == nil ? nil : "", "hx-trigger": live,
            "hx-select": live == nil ? nil : "#main", "hx-swap": live == nil ? nil : "outerHTML",
            "aria-live": live == nil ? nil : "polite",
          ], content)))
  }
}

/// The small parts that pages are made of.
enum Part {
  static func status(_ status: String) -> Markup {
    .element("span", ["class": "status s-\(status)"], Markup(status))
  }

  /// An instant, as people of the folder's zone read it.
  static func time(_ instant: Timestamp?, _ clock: WallClock) -> Markup {
    guard let instant else { return .nothing }
    return .element("time", ["datetime": "\(instant)"], Markup(clock.date(instant)))
  }

  /// A list of rows; a sentence if there are none.
  static func rows(_ rows: [Markup], orElse sentence: Markup) -> Markup {
    if rows.isEmpty { return .element("p", ["class": "none"], sentence) }
    return .element("ul", ["class": "rows"], Markup(rows.map { .element("li", [:], $0) }))
  }

  /// A table with headings.
  static func table(_ caption: String, _ headings: [String], _ rows: [[Markup]]) -> Markup {
    .element(
      "div", ["class": "scroll", "tabindex": "0", "role": "region", "aria-label": caption],
      .element(
        "table", [:],
        .element(
          "thead", [:], .element("tr", [:], Markup(headings.map { .element("th", ["scope": "col"], Markup($0)) }))),
        .element(
          "tbody", [:],
          Markup(rows.map { row in .element("tr", [:], Markup(row.map { .element("td", [:], $0) })) }))))
  }

  /// Names with what belongs to them, without those that have nothing.
  static func facts(_ facts: [(String, Markup?)]) -> Markup {
    .element(
      "dl", [:],
      Markup(
        facts.compactMap { name, value in
          value.map { Markup([.element("dt", [:], Markup(name)), .element("dd", [:], $0)]) }
        }))
  }

  /// A value as people read it.
  static func value(_ value: Value?) -> Markup? {
    guard let value, !value.isNull, value.map?.isEmpty != true else { return nil }
    return .element("pre", ["tabindex": "0"], Markup(JSON.shown(value, .pretty)))
  }

  /// A form of one button.
  static func button(
    _ label: String, to path: String, kind: String? = nil, fields: [(String, String)] = [], command: String? = nil
  ) -> Markup {
    .element(
      "form", ["class": "inline", "method": "post", "action": path],
      Markup(fields.map { .element("input", ["type": "hidden", "name": $0.0, "value": $0.1]) }),
      .element("button", ["class": kind, "title": command], Markup(label)))
  }

  static func link(_ text: String, to path: String) -> Markup { .element("a", ["href": path], Markup(text)) }
}
