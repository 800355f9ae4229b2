public import ActionKit
import LocalFiles

extension TransitDataPlugin: FootprintPlugin {
  public static func footprint(
    of action: String, _ input: Value, on connection: Configuration, in context: ActionContext
  ) -> Footprint {
    let kept = Resource.own(name, connection.owner, connection.repository)
    var reads = [kept, .service(connection.apiBase), .service(connection.webBase)]
    if action == "install" {
      reads += LocalFiles(folder: connection.folder).resources([input["from"]], in: context)
    }
    return Footprint(reads: reads, changes: [kept])
  }
}

extension TransitDataPlugin: RefusingPlugin {
  public static func refusals(
    of action: String, _ input: StepInput, on connection: Configuration?, in context: ActionContext
  ) -> [Refusal] {
    LocalFiles.refusals(
      of: [action == "install" ? input["from"] : nil], on: connection.map { LocalFiles(folder: $0.folder) },
      in: context)
  }
}
