public import ActionKit
public import LocalFiles

extension JSONTextPlugin: FootprintPlugin {
  public static func footprint(
    of action: String, _ input: Value, on connection: LocalFilesConfiguration, in context: ActionContext
  ) -> Footprint {
    Footprint(LocalFiles(connection).resources([input["path"]], in: context))
  }
}

extension JSONTextPlugin: RefusingPlugin {
  public static func refusals(
    of action: String, _ input: StepInput, on connection: LocalFilesConfiguration?, in context: ActionContext
  ) -> [Refusal] {
    var refusals = LocalFiles.refusals(
      of: [input["path"]], on: connection.map { LocalFiles($0) }, in: context, for: action == "write" ? .write : .read)
    if action == "parse", let given = input["text"], let text = given.string {
      // Where the place is computed, the whole has to be JSON all the same.
      let place = input["at"].flatMap { $0.string == nil ? nil : $0 }
      do throws(ActionError) {
        _ = try JSONReading.value(of: text, at: place?.string ?? "", called: "the text")
      } catch {
        refusals.append(Refusal(error, of: error.kind == .notFound ? place ?? given : given))
      }
    }
    return refusals
  }
}
