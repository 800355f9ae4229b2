import ActionKit
import Agent
import AgentRuntime
import Basics
import CommandLineParser

extension Dispatch {
  /// `errand actions`: lists what recipes can use, read from the declarations.
  func listActions() throws(RuntimeError) -> ExitCode {
    guard let name = parsed["name"].text else {
      let actions = catalog.actionIDs.compactMap(catalog.action)
      let rows = actions.map { [$0.id, $0.effect.name, MarkdownText.plain($0.summary)] }
      show(
        .list(actions.map(\.entry)),
        or: console.table(["ACTION", "EFFECT", "WHAT IT DOES"], rows, cutFirst: ["WHAT IT DOES"]))
      return .done
    }
    if let plugin = catalog.plugin(name) {
      show(.list(plugin.actions.map(\.entry)), or: page(plugin.markdown()))
      return .done
    }
    guard let action = catalog.action(name) else {
      let names = catalog.actionIDs + catalog.plugins.map(\.name)
      let guess = name.nearest(among: names).map { "; did you mean '\($0)'?" } ?? "; 'errand actions' lists them all"
      throw RuntimeError(.noInput, "no action or plugin is named '\(name)'\(guess)")
    }
    show(action.entry, or: page(action.markdown()))
    return .done
  }

  /// A page in lines of at most 100 columns, as help has them.
  private func page(_ markdown: String) -> String {
    MarkdownText(width: min(console.width ?? 100, 100), colour: console.colourOut).text(markdown)
  }

  private func show(_ value: Value, or text: @autoclosure () -> String) {
    if parsed["json"].isGiven { console.out(json: value) } else { console.out(text()) }
  }
}
