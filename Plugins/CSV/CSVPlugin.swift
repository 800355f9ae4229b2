public import ActionKit
public import LocalFiles

/// Lets recipes read and write tables as CSV (RFC 4180), in texts and in files of this machine.
public enum CSVPlugin: FilePlugin {
  public static let name = "csv"
  public static let summary = "Reads and writes tables as CSV, with typed columns."
  public static let actions: [any Action<LocalFiles>.Type] = [
    ReadTable.self, ParseTable.self, WriteTable.self, FormatTable.self,
  ]

  public static func refusals(
    of action: String, _ input: StepInput, on connection: LocalFilesConfiguration?, in context: ActionContext
  ) -> [Refusal] {
    let isRead = action == "parse" || action == "read"
    return fileRefusals(of: action, input, on: connection, in: context)
      + (isRead ? TableReading.refusals(of: input) : TableWriting.refusals(of: input))
  }
}
