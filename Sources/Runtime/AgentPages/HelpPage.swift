// The page that explains the words and keys of the other pages.
import Agent
import Basics
import HTTPServer
import RunState

extension Pages {
  static func help(_ request: PageRequest) -> HTTPServerResponse {
    func key(_ keys: String...) -> Markup {
      Markup(keys.enumerated().map { index, key in (index == 0 ? "" : " ") + Markup.element("kbd", [:], Markup(key)) })
    }
    let keys: [[Markup]] = [
      [key("g", "n"), "Now"], [key("g", "r"), "Runs"], [key("g", "a"), "Questions"], [key("g", "e"), "Recipes"],
      [key("g", "s"), "Schedules"], [key("g", "t"), "State"],
      [key("j"), "the next row"], [key("k"), "the row before"], [key("/"), "the first field"], [key("?"), "this page"],
    ]
    var words: [[Markup]] = statuses.map { status, meaning in [Part.status(status.rawValue), Markup(meaning)] }
    words.append([Part.status("cancelling"), "Its end has been asked for; what is in flight finishes first."])
    return request.frame(
      "Help", "", .element("h1", [:], "Help"),
      .element(
        "p", [:],
        "A recipe says what to do, in steps. A run carries out a recipe once. A schedule starts runs at its times, which are its slots."
      ), Part.heading("What the status of a run means"), Part.table("Status", ["Status", "Meaning"], words),
      Part.heading("Keys"),
      .element("p", [:], "They need JavaScript, and do nothing while you type. Everything works without them."),
      Part.table("Keys", ["Keys", "Go to"], keys))
  }

  private static let statuses: [(RunStatus, String)] = [
    (.queued, "It has not begun: others of its group run, or the agent is about to begin."),
    (.running, "A step is being done."), (.waiting, "It waits for a time, an event or a person."),
    (.paused, "A person or a rule stopped it; it continues when it is resumed."),
    (.uncertain, "The program or the connection ended during a write. A person has to check whether it was done."),
    (.succeeded, "Every step was done."), (.failed, "A step failed; the run can be retried."),
    (.timedOut, "It took longer than its time limit."), (.cancelled, "A person or another run cancelled it."),
    (.rejected, "A person rejected it."), (.skipped, "It didn't begin, because its group was full."),
  ]
}
