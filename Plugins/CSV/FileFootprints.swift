public import ActionKit
public import LocalFiles

extension CSVPlugin: FootprintPlugin {
  public static func footprint(
    of action: String, _ input: Value, on connection: LocalFilesConfiguration, in context: ActionContext
  ) -> Footprint {
    Footprint(LocalFiles(connection).resources([input["path"]], in: context))
  }
}

extension CSVPlugin: RefusingPlugin {
  public static func refusals(
    of action: String, _ input: Value, on connection: LocalFilesConfiguration?, in context: ActionContext
  ) -> [Refusal] {
    var refusals = LocalFiles.refusals(of: [input["path"]], on: connection.map { LocalFiles($0) }, in: context)
    if let names = input["names"] {
      do throws(ActionError) {
        try TableReading.check(names: (names.list ?? []).compactMap(\.string))
      } catch {
        refusals.append(Refusal(error, of: names))
      }
    }
    return refusals
  }
}
