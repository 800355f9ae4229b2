public import ActionKit

/// Lets recipes write what they found for people: tables and reports, in Markdown or as plain text.
public enum ReportPlugin: LocalPlugin {
  public static let name = "text"
  public static let summary = "Writes tables and reports for people, in Markdown or as plain text."
  public static let actions: [any Action<ReportStyles>.Type] = [FormatTable.self, FormatReport.self]

  /// Nothing needs to be said of a connection.
  public struct Configuration: FieldSet {
    public init() {}
  }

  public static func connect(_ configuration: Configuration, in context: PluginContext) -> ReportStyles {
    ReportStyles()
  }
}

/// What the actions work on, which is nothing beside their input.
public struct ReportStyles: Sendable {}
