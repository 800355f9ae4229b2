public import ActionKit
public import LocalFiles

/// Lets recipes read and write JSON (RFC 8259), in texts and in files of this machine.
public enum JSONTextPlugin: FilePlugin {
  public static let name = "json"
  public static let summary = "Reads and writes JSON, in texts and in files."
  public static let actions: [any Action<LocalFiles>.Type] = [
    ReadJSON.self, ParseJSON.self, WriteJSON.self, FormatJSON.self,
  ]

  public static func refusals(
    of action: String, _ input: StepInput, on connection: LocalFilesConfiguration?, in context: ActionContext
  ) -> [Refusal] {
    var refusals = fileRefusals(of: action, input, on: connection, in: context)
    if action == "parse", let given = input["text"], let text = given.string {
      // If the pointer is computed, the text must be JSON all the same.
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
