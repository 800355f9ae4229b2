// The filter of the page of schedules, which is in its address.
import Agent
import Basics
import HTTPServer
import Operations
import RunState

struct ScheduleFilter {
  /// A part of the recipes' names.
  let recipe: String
  let isPaused: Bool
  let isLate: Bool
  private let late: [String: Timestamp]

  /// The most recipes whose slots are asked for by their names; slots of more are found among all.
  private static let mostNamed = 100

  init(_ request: PageRequest, late: [String: Timestamp]) {
    recipe = request.given("recipe") ?? ""
    isPaused = request.given("paused") != nil
    isLate = request.given("late") != nil
    self.late = late
  }

  var isOn: Bool { !recipe.isEmpty || isPaused || isLate }

  func matches(_ schedule: ScheduleRecord) -> Bool {
    if !recipe.isEmpty, schedule.recipe.lowercasedASCII.utf8Parts(around: recipe.lowercasedASCII) == nil {
      return false
    }
    if isPaused, schedule.pause == nil { return false }
    return !isLate || late[schedule.id] != nil
  }

  /// The recipes of some schedules, to ask for no other slots; none if all are to be asked for.
  func recipes(of schedules: [ScheduleRecord]) -> [String] {
    guard isOn else { return [] }
    let names = Set(schedules.map(\.recipe))
    return names.count <= ScheduleFilter.mostNamed ? names.sorted { $0.precedesByScalars($1) } : []
  }

  func markup(_ all: [ScheduleRecord]) -> Markup {
    let names = Set(all.map(\.recipe)).sorted { $0.precedesByScalars($1) }.prefix(Part.mostSuggestions)
    func box(_ name: String, _ label: String, _ isOn: Bool) -> Markup {
      .element(
        "label", ["class": "choice"],
        .element("input", ["type": "checkbox", "name": name, "value": "yes", "checked": isOn ? "" : nil]),
        .element("span", [:], Markup(label)))
    }
    return .element(
      "form", ["class": "filter", "method": "get", "action": "/schedules"],
      .element(
        "label", [:], "Recipe",
        .element(
          "input",
          [
            "name": "recipe", "value": recipe.isEmpty ? nil : recipe, "list": "recipes", "autocomplete": "off",
          ])),
      .element("datalist", ["id": "recipes"], Markup(names.map { .element("option", ["value": $0]) })),
      box("paused", "Paused", isPaused), box("late", "Late", isLate),
      .element("button", [:], "Show"),
      isOn ? .element("a", ["class": "button", "href": "/schedules"], "All") : .nothing)
  }
}

extension Part {
  /// The most names that a field suggests.
  static let mostSuggestions = 500
}

extension Int {
  /// The number with commas between thousands.
  var withCommas: String {
    var text = ""
    for (place, digit) in "\(self)".reversed().enumerated() {
      if place > 0, place % 3 == 0, digit != "-" { text.append(",") }
      text.append(digit)
    }
    return String(text.reversed())
  }
}
