public import ActionKit
import LocalFiles

extension TimetablePlugin: FootprintPlugin {
  public static func footprint(
    of action: String, _ input: Value, on connection: Configuration, in context: ActionContext
  ) -> Footprint {
    let publisher = Resource.service(connection.baseURL)
    let files = LocalFiles(folder: connection.folder)
    switch action {
    case "compareWithCopy", "saveCopy":
      let copy = files.resources([input["copy"]], in: context)
      return Footprint(reads: [publisher] + copy, changes: copy)
    case "exportCalendar":
      let file = files.resources([input["to"]], in: context)
      return Footprint(reads: [publisher] + file, changes: file)
    default: return Footprint(reads: [publisher])
    }
  }
}

extension TimetablePlugin: RefusingPlugin {
  public static func refusals(
    of action: String, _ input: StepInput, on connection: Configuration?, in context: ActionContext
  ) -> [Refusal] {
    LocalFiles.refusals(
      of: [input["copy"], action == "exportCalendar" ? input["to"] : nil],
      on: connection.map { LocalFiles(folder: $0.folder) }, in: context)
  }
}
