// The small parts that pages are made of.
import Agent
import Basics
import HTTPServer
import RunState

package enum Part {
  /// About how many bytes a page has at most; beyond that it has pages, or leaves things out and says so.
  static let mostBytes = 80_000

  // MARK: Status

  /// A status as a word, a shape and a colour; the style has a shape for each.
  static func status(_ status: String, _ words: String? = nil) -> Markup {
    .element("span", ["class": "status s-\(status)"], Markup(words ?? Part.words(status)))
  }

  /// The status of a run as a word, also that its end has been asked for.
  static func status(of run: RunRecord) -> Markup { status(run.displayedStatus) }

  /// A name as words: `timedOut` is "timed out".
  static func words(_ name: String) -> String {
    var words = ""
    for scalar in name.unicodeScalars {
      if ("A"..."Z").contains(scalar) { words += " " }
      words.unicodeScalars.append(scalar)
    }
    return words.lowercasedASCII
  }

  // MARK: Times

  /// An instant to the minute, as people of the folder's zone read it; all of it is shown to who points at it.
  static func time(_ instant: Timestamp?, _ clock: WallClock) -> Markup { time(instant, clock, distance: nil) }

  /// An instant, which the browser replaces by how far it is from now.
  static func ago(_ instant: Timestamp?, _ clock: WallClock) -> Markup { time(instant, clock, distance: "alone") }

  /// An instant, to which the browser adds how far it is from now.
  static func timeAndAgo(_ instant: Timestamp?, _ clock: WallClock) -> Markup {
    time(instant, clock, distance: "beside")
  }

  /// - Parameter distance: Where the browser writes how far it is from now: it isn't part of a page, which would change
  ///   each minute.
  private static func time(_ instant: Timestamp?, _ clock: WallClock, distance: String?) -> Markup {
    guard let instant else { return .nothing }
    return .element(
      "time", ["datetime": "\(instant)", "title": clock.date(instant), "data-ago": distance],
      Markup(clock.minute(instant)))
  }

  // MARK: Lists and tables

  static func heading(_ text: Markup, count: Int? = nil) -> Markup {
    guard let count, count > 0 else { return .element("h2", [:], text) }
    return .element("h2", [:], text, .element("span", ["class": "count"], "\(count)"))
  }

  /// A list of rows; a sentence if there are none.
  ///
  /// - Parameter isDense: Whether the rows are low, on a page with several lists.
  static func rows(_ rows: [Markup], orElse sentence: Markup, isDense: Bool = false) -> Markup {
    if rows.isEmpty { return .element("p", ["class": "none"], sentence) }
    return .element("ul", ["class": isDense ? "rows dense" : "rows"], Markup(rows.map { .element("li", [:], $0) }))
  }

  /// A table with headings, which scrolls in a box of its own where it is too wide.
  static func table(
    _ caption: String, _ headings: [String], _ rows: [[Markup]], kind: String? = nil, isPlain: Bool = false
  ) -> Markup {
    .element(
      "div",
      ["class": isPlain ? "scroll plain" : "scroll", "tabindex": "0", "role": "region", "aria-label": caption],
      .element(
        "table", ["class": kind],
        .element(
          "thead", [:], .element("tr", [:], Markup(headings.map { .element("th", ["scope": "col"], Markup($0)) }))),
        .element(
          "tbody", [:],
          Markup(rows.map { row in .element("tr", [:], Markup(row.map { .element("td", [:], $0) })) }))))
  }

  /// A list of names with their values, without names that have none.
  package static func facts(_ facts: [(String, Markup?)]) -> Markup {
    .element(
      "dl", [:],
      Markup(
        facts.compactMap { name, value in
          value.map { Markup([.element("dt", [:], Markup(name)), .element("dd", [:], $0)]) }
        }))
  }

  static func code(_ text: String) -> Markup { .element("code", [:], Markup(text)) }

  static func link(_ text: String, to path: String) -> Markup { .element("a", ["href": path], Markup(text)) }

  /// The rest of a link's name, for people who hear it without the row that it is in.
  static func unseen(_ text: String) -> Markup { .element("span", ["class": "hidden"], Markup(text)) }

  /// A run by the last characters of its id, which differ where the first ones are the same.
  static func short(run id: String) -> String { "run …\(id.suffix(8))" }

  /// The pages above this one.
  static func crumbs(_ pages: (String, path: String)...) -> Markup {
    let links = pages.enumerated().map { index, page in (index == 0 ? "" : " / ") + link(page.0, to: page.path) }
    return .element("nav", ["class": "crumbs", "aria-label": "Above this page"], Markup(links))
  }

  /// As many parts of a page as have room, and a sentence if there are more.
  static func fitting(_ parts: [Markup]) -> Markup {
    var (shown, left) = ([Markup](), mostBytes)
    for part in parts {
      left -= part.text.utf8.count
      if left < 0, !shown.isEmpty {
        shown.append(.element("p", ["class": "quiet"], "The rest is left out here; the command line shows all."))
        break
      }
      shown.append(part)
    }
    return Markup(shown)
  }

  /// The place of a page's rows among all, with the ways to the rows before and after.
  ///
  /// - Parameters:
  ///   - first: How many rows come before.
  ///   - address: The page that begins after so many rows; nil if there is none.
  static func pager(
    _ first: Int, _ shown: Int, of count: Int, by size: Int, address: ((Int) -> String)?
  ) -> Markup {
    guard count > shown || first > 0 else { return .nothing }
    let end = min(first, count) + shown
    let place: Markup = shown < 2 ? "\(end) of \(count)" : "\(first + 1) to \(end) of \(count)"
    var parts = [Markup.element("span", ["class": "quiet"], place)]
    if first > 0, let address {
      let before = address(max(0, min(first, count) - size))
      parts.append(.element("a", ["class": "button", "rel": "prev", "href": before], "Before"))
    }
    if end < count, let address {
      parts.append(.element("a", ["class": "button", "rel": "next", "href": address(end)], "Next"))
    }
    return .element("div", ["class": "actions"], Markup(parts))
  }

  /// The way to the page after this one, if there is one.
  static func next(_ cursor: String?, _ label: String, _ page: String, _ query: HTTPQueryItems = []) -> Markup {
    guard let cursor else { return .nothing }
    let path = pagePath(page, query: query + [("cursor", cursor)])
    return .element(
      "p", ["class": "actions"], .element("a", ["class": "button", "rel": "next", "href": path], Markup(label)))
  }

  static func notice(_ content: Markup, kind: String? = nil) -> Markup {
    .element("div", ["class": kind.map { "notice \($0)" } ?? "notice"], content)
  }

  // MARK: Actions

  /// Something that a person can do, and the command that does the same.
  struct Action {
    var label: String
    var path: String
    var command: String
    var kind: String?
    /// The subject, for people who hear the button without its surroundings; nil if the page has no other.
    var about: String?
    /// Whether a second click must not do it again, so that the form has a key of its own.
    var isOnce = false
    /// The consequence of an action that can't be undone; a second click confirms it.
    var warning: String?
    /// The label of a text that may be given, and the name of its field.
    var text: (label: String, name: String)?
    /// More that the form sends.
    var fields: [(name: String, value: String)] = []
  }

  /// A hidden field that identifies a form, even when it is sent twice.
  static var key: Markup {
    .element("input", ["type": "hidden", "name": "key", "value": "form-" + [UInt8].random(16).hexadecimal])
  }

  /// Buttons with a link before or after them, and the commands that do the same.
  static func actions(_ actions: [Action], _ link: Markup = .nothing, isFirst: Bool = false) -> Markup {
    if actions.isEmpty { return .nothing }
    let buttons = actions.map(button)
    let commands = actions.map { action in
      Markup([.element("dt", [:], Markup(action.label)), .element("dd", [:], code(action.command))])
    }
    return .element("div", ["class": "actions"], Markup(isFirst ? [link] + buttons : buttons + [link]))
      + .element(
        "details", ["class": "small"], .element("summary", [:], "The same on the command line"),
        .element("dl", [:], Markup(commands)))
  }

  /// The form of an action: a button, or a button that shows another one with a warning or a field.
  static func button(_ action: Action) -> Markup {
    let name = Markup(action.label) + (action.about.map { unseen(" \($0)") } ?? .nothing)
    let button = Markup.element("button", ["class": action.kind, "title": action.command], name)
    let fields = (action.isOnce ? key : .nothing) + Markup(action.fields.map { hidden($0.name, $0.value) })
    guard action.warning != nil || action.text != nil else {
      return .element("form", ["method": "post", "action": action.path], fields, button)
    }
    var parts: [Markup] = [fields]
    if let warning = action.warning { parts.append(.element("p", [:], Markup(warning))) }
    if let text = action.text {
      let id = "\(text.name)-\(action.label.lowercasedASCII)"
      parts.append(
        .element(
          "label", ["for": id], Markup(text.label), .element("span", ["class": "quiet"], " (optional)")))
      parts.append(.element("input", ["id": id, "name": text.name, "autocomplete": "off"]))
    }
    parts.append(.element("div", ["class": "actions"], button))
    return .element(
      "details", ["class": "action"], .element("summary", [:], name),
      .element("form", ["class": "card", "method": "post", "action": action.path], Markup(parts)))
  }

  /// A hidden field of a form.
  static func hidden(_ name: String, _ value: String) -> Markup {
    .element("input", ["type": "hidden", "name": name, "value": value])
  }

  /// One command that does the same as a form.
  static func command(_ text: String) -> Markup {
    .element(
      "details", ["class": "small"], .element("summary", [:], "The same on the command line"),
      .element("p", [:], code(text)))
  }

  /// A field of one line with its label, its hint and its fault.
  static func field(
    _ name: String, _ label: String, _ value: String, hint: String? = nil, fault: String? = nil, isRequired: Bool = true
  ) -> Markup {
    let described = [hint.map { _ in "\(name)-hint" }, fault.map { _ in "\(name)-wrong" }].compactMap { $0 }
    var parts: [Markup] = [
      .element(
        "label", ["for": name], Markup(label),
        isRequired ? .nothing : .element("span", ["class": "quiet"], " (optional)"))
    ]
    if let hint { parts.append(.element("p", ["class": "hint", "id": "\(name)-hint"], Markup(hint))) }
    parts.append(
      .element(
        "input",
        [
          "id": name, "name": name, "value": value.isEmpty ? nil : value, "required": isRequired ? "" : nil,
          "autocomplete": "off", "aria-invalid": fault.map { _ in "true" },
          "aria-describedby": described.isEmpty ? nil : described.joined(separator: " "),
        ]))
    if let fault { parts.append(.element("p", ["class": "wrong", "id": "\(name)-wrong"], Markup(fault))) }
    return Markup(parts)
  }

  /// A sentence of a declaration, in which names are between backticks.
  static func prose(_ text: String) -> Markup {
    let pieces = text.split(separator: "`", omittingEmptySubsequences: false).map { String($0) }
    // A backtick without another one is only a character.
    guard pieces.count % 2 == 1 else { return Markup(text) }
    let parts = pieces.enumerated().map { index, piece -> Markup in index % 2 == 0 ? Markup(piece) : code(piece) }
    return Markup(parts)
  }
}

extension RunRecord {
  /// The name of its status for people: a run that is to be cancelled says so before it has ended.
  var displayedStatus: String { pendingCancel != nil && !status.isEnded ? "cancelling" : status.rawValue }
}
