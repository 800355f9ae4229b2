// The parts that all pages share: the head and the navigation.
import Agent
import Basics
package import HTTPServer
import RunState

/// The frame around a page.
package struct PageFrame {
  var title: String
  /// The path of the top-level page that this page belongs to, such as `/runs`.
  var section: String
  /// Who is logged in; nil on the page where one logs in.
  var visitor: String?
  /// How the page is renewed while a person looks at it; nil if it isn't.
  var live: Live?
  /// Whether every service is made up, which each page says then.
  var isSandbox: Bool
  var version = PageVersion()
  /// The sentence about the zone of its times; nil if it shows none.
  var zone: String?
  /// Whether it is shown without a way to other pages.
  var isAlone = false
  /// Whether it shows a form that was refused: its title says so first, and nothing replaces the form.
  var isRefused = false
  /// Whether it has a text that is edited.
  var isEditor = false
  var content: Markup
  /// A digest of the content of a live page.
  private let digest: String

  /// How a page is renewed: its content is asked for again, and replaces what is there if it differs.
  package struct Live {
    /// Nil if nothing more will change.
    var seconds: Int?
    /// The text for screen readers when the content changes.
    var announcement: String
    /// Whether the page shows nothing but the record or the log of the run that it is about.
    var isOfRunAlone = false
    /// When the page shows other things though nothing has changed.
    var until: Timestamp?
  }

  package init(
    title: String, section: String, visitor: String?, live: Live? = nil, isSandbox: Bool,
    version: PageVersion = PageVersion(), content: Markup
  ) {
    self.title = title
    self.section = section
    self.visitor = visitor
    self.live = live
    self.isSandbox = isSandbox
    self.version = version
    self.content = content
    digest = live?.seconds == nil ? "" : SHA256.digest(of: Array(content.text.utf8)) ?? ""
  }

  private static let sections = [
    ("/", "Now"), ("/runs", "Runs"), ("/approvals", "Questions"), ("/recipes", "Recipes"), ("/schedules", "Schedules"),
    ("/state", "State"),
  ]

  package func response(status: Int = 200) -> HTTPServerResponse {
    var response = HTTPServerResponse.text(
      Markup.document(markup), status: status, type: "text/html; charset=utf-8")
    response.headers.fields += PageFrame.headers.fields
    return response
  }

  /// The answer to a browser that may have the content already.
  package func response(to request: HTTPServerRequest) -> HTTPServerResponse {
    guard let live, live.seconds != nil, version.has(digest) else { return response() }
    return HTTPServerResponse(status: 204, headers: [PageVersion.field: version.text(of: live, digest)])
  }

  /// No script and no style but the agent's own, and no other origin, whatever a page may hold.
  static let headers: HTTPHeaders = [
    "Content-Security-Policy":
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
  ]

  private var markup: Markup {
    var top: [Markup] = [
      .element(
        "a", ["class": "brand", "href": "/"],
        .element("img", ["src": PageAssets.path("errand.svg"), "alt": "", "width": "24"]),
        "Errand")
    ]
    if let visitor {
      let links = PageFrame.sections.map { path, name -> Markup in
        .element("a", ["href": path, "aria-current": path == section ? "page" : nil], Markup(name))
      }
      top.append(.element("nav", ["class": "pages", "aria-label": "Pages"], Markup(links)))
      top.append(
        .element(
          "form", ["class": "who", "method": "post", "action": "/logout"], .element("span", [:], Markup(visitor)),
          .element("button", ["class": "plain"], "Log out")))
    }
    let title = (isRefused ? "Error: " : "") + (isAlone ? self.title : "\(self.title) · Errand")
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
        .element("title", [:], Markup(title)),
        .element("link", ["rel": "icon", "href": PageAssets.path("errand.svg"), "type": "image/svg+xml"]),
        style("errand.css"),
        isEditor ? style("codemirror.css") + style("edit.css") : .nothing,
        isAlone || isEditor ? .nothing : script("htmx.js"), script("errand.js"),
        isEditor ? script("codemirror.js") + script("edit.js") : .nothing),
      .element(
        "body", [:], .element("a", ["class": "skip", "href": "#main"], "Skip to the content"),
        isAlone ? sandbox : .element("header", ["class": "top"], .element("div", [:], Markup(top)), sandbox),
        .element("main", ["id": "main", "tabindex": "-1"], main), foot))
  }

  private var foot: Markup {
    guard let zone else { return .nothing }
    let choice: Markup = visitor == nil ? .nothing : " " + Part.link("Choose the time zone", to: "/state#zone")
    return .element("footer", ["class": "zone"], .element("p", [:], Markup(zone), choice))
  }

  private func style(_ name: String) -> Markup {
    .element("link", ["rel": "stylesheet", "href": PageAssets.path(name)])
  }

  private func script(_ name: String) -> Markup { .element("script", ["src": PageAssets.path(name), "defer": ""]) }

  private var sandbox: Markup {
    guard isSandbox else { return .nothing }
    return .element(
      "p", ["class": "sandbox"], .element("strong", [:], "Sandbox: "),
      "the services are made up, and everything here is gone when errand serve ends.")
  }

  private var main: Markup {
    guard let live, let seconds = live.seconds, !isRefused else {
      return .element("div", ["id": "live"], content) + announcement(live?.announcement ?? "")
    }
    return .element("p", ["id": "stale", "class": "notice", "role": "status", "hidden": ""])
      + .element(
        "div",
        [
          "id": "live", "hx-get": "", "hx-trigger": "every \(seconds)s", "hx-select": "#live",
          "hx-select-oob": "#announcement:innerHTML", "hx-swap": "outerHTML",
          "hx-headers": "{\"\(PageVersion.field)\":\"\(version.text(of: live, digest))\"}",
        ], content) + announcement(live.announcement)
  }

  private func announcement(_ text: String) -> Markup {
    .element("p", ["id": "announcement", "class": "hidden", "role": "status", "aria-live": "polite"], Markup(text))
  }
}
