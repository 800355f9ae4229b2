import Foundation

// The starter recipes of `errand new recipe`: files of `recipes`, as string literals, because the program is one file.

/// The recipes to start from, in the order of the questions: what everyone needs first.
private let templates = [
  "hello", "nightly-backup", "price-watch", "weekly-mail", "order-received", "inbox-import", "parcel-digest",
  "approved-command", "ask-and-remind", "ask-for-a-room", "incremental-sync", "orders-by-cursor", "verified-download",
  "test-matrix",
  "streak", "timetable-changes", "markbook-averages", "approve-averages", "markbook-backup",
]

/// The file with the templates.
func templateFile(in root: URL) throws(ToolError) -> GeneratedFile {
  var text = """
    // Made by '\(GeneratedFile.command)' from the files in recipes. Do not edit.

    /// Recipes to start from.
    enum RecipeTemplates {
      static let all: [(name: String, text: String)] = [

    """
  for name in templates {
    let lines = try root.appending(path: "recipes/\(name).yaml").text().components(separatedBy: "\n")
      .drop { $0.hasPrefix("# yaml-language-server:") }
    let body = lines.map { $0.isEmpty ? "" : "      \($0)" }.joined(separator: "\n")
    text += "    (\n      \"\(name)\",\n      #\"\"\"\n\(body)\n      \"\"\"#\n    ),\n"
  }
  return GeneratedFile(path: "Sources/Programs/errand/RecipeTemplates.swift", text: text + "  ]\n}\n")
}
