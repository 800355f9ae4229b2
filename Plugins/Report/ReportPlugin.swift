public import ActionKit

/// Lets recipes write tables and reports for people, in Markdown or as plain text.
public enum ReportPlugin: LocalPlugin {
  public static let name = "text"
  public static let summary = "Writes tables and reports for people, in Markdown or as plain text."
  public static let actions: [any Action<ReportStyles>.Type] = [FormatTable.self, FormatReport.self]

  /// The connection has no settings.
  public struct Configuration: FieldSet {
    public init() {}
  }

  public static func connect(_ configuration: Configuration, in context: PluginContext) -> ReportStyles {
    ReportStyles()
  }
}

/// The service of the actions; it is empty, because they need only their input.
public struct ReportStyles: Sendable {}
